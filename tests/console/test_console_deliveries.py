"""The Deliveries screen: how an arrival is explained, and the parts of its detail."""

import hmac
import json
import re
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, press, shown

from kusanya.alarms.sender import SenderEndpoint
from kusanya.clock import ManualClock
from kusanya.profiles import parse_endpoint_secrets
from kusanya.store.records import Arrival, DeliveryBody, Verdict
from kusanya.wire import Mode
from kusanya_console.actions.forensics import Forensics
from kusanya_console.application.app import ConsoleApp
from kusanya_console.deliveries import tabs
from kusanya_console.deliveries.signed import claimed_time
from kusanya_console.deliveries.tabs import body_text, shown_body

WIDE = (160, 50)
NEXT = "right_square_bracket"


def pane(app: ConsoleApp) -> str:
    """Return what the pane says, its lines put together."""
    parts = (line.rsplit("│", 1) for line in lines(app))
    return " ".join(part[1].strip() for part in parts if len(part) > 1)


def test_a_phone_in_a_body_is_masked_and_a_broken_body_is_redacted() -> None:
    text = body_text(
        b'{"data":{"phone":"255754000412","description":"call 0754 000 412","id":"col_1"}}'
    )
    assert '"phone": "+255\u2022\u2022\u2022\u2022\u2022412"' in text.replace("•", "\u2022")
    assert "call •••••412" in text
    assert "000 412" not in text
    assert "255754000412" not in body_text(b'{"phone": "255754000412"')
    assert body_text(b"\xff\xfe").startswith("�")


def test_of_a_long_body_only_the_begin_is_looked_through_and_no_phone_is_cut_open() -> None:
    fields = {f"f{n}": "255754000412" for n in range(20_000)}
    for body in (json.dumps({**fields, "phone": "12345678"}).encode(), b"255754000412 " * 20_000):
        for end in range(40):
            said = shown_body(body[: len(body) - end] if body[:1] == b"{" else body[end:])
            assert said.is_cut
            assert len("".join(said.lines)) <= 16_384
            assert not re.search("[0-9]{6}", "".join(said.lines))


@pytest.mark.anyio
async def test_a_long_hostile_body_is_read_beside_the_screen_and_drawn_in_part(
    opened: OpenConsole,
    seed: Any,
    clock: ManualClock,
    at_rest: AtRest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = seed.collection(1, at=clock.now() - timedelta(minutes=9), description="A_" * 131_072)
    event = seed.event(done, at=clock.now() - timedelta(minutes=8))
    seed.delivered(event, at=clock.now() - timedelta(minutes=8))
    on_screen: list[int] = []

    def watched(read: Any) -> Any:
        def call(given: Any, *more: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                on_screen.append(len(given))
            return read(given, *more)

        return call

    for name in ("mask_json", "redact", "sha256", "body_text"):
        monkeypatch.setattr(tabs, name, watched(getattr(tabs, name)))
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", NEXT)
        assert "kept exactly   sha256" in shown(app)
        await press(pilot, at_rest, "G")
        assert "Only the begin of this long body is shown" in pane(app)
    assert max(on_screen, default=0) < 4_096


@pytest.mark.anyio
async def test_the_oldest_delivery_is_one_key_away(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "G")
        assert app.return_code is None
        assert app.screen.table.row.id == app.screen.table.excerpt.rows[-1].id  # type: ignore[attr-defined]
        await press(pilot, at_rest, "g", "j", "n", "N", "exclamation_mark")
        assert app.return_code is None


@pytest.mark.anyio
async def test_an_arrival_that_fits_no_slot_is_delivered_all_the_same(
    opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=20)
    done = seed.collection(5, at=at, status="succeeded", completed_at=at)
    seed.delivered(seed.event(done, at=at), at=clock.now() - timedelta(seconds=5))
    async with opened("2", size=WIDE) as (app, _pilot):
        assert "+1 by hand, or very late" in shown(app)
        assert [line[3:5] for line in lines(app) if line.startswith(" > ")] == ["+1"]
        assert "Delivered: the sender has its 2xx" in shown(app)


@pytest.mark.anyio
async def test_nothing_of_a_forged_delivery_says_that_it_was_sent_by_hand(
    opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=20)
    done = seed.collection(5, at=at, status="succeeded", completed_at=at)
    refused = {"verdict": Verdict.REJECTED, "reason": "no_match", "answer": 400}
    seed.delivered(seed.event(done, at=at), at=clock.now() - timedelta(seconds=5), **refused)
    async with opened("2", size=WIDE) as (app, _pilot):
        assert "? fits no slot of the plan" in shown(app)
        assert "+1" not in shown(app)


@pytest.mark.anyio
async def test_a_repeat_says_why_it_came_again(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    now = clock.now()
    done = seed.collection(1, at=now - timedelta(minutes=9), status="succeeded", completed_at=now)
    event = seed.event(done, at=now - timedelta(minutes=8))
    seed.delivered(event, at=now - timedelta(minutes=8), took_us=10_400_000)
    seed.delivered(event, at=now - timedelta(minutes=6, seconds=50))
    seed.delivered(event, at=now - timedelta(minutes=6))
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2")
        assert "Answered 200 at 15:17:17 already" in pane(app)
        await press(pilot, at_rest, "j")
        assert "our answer at 15:16:07 took 10.4 s, over its 10 s" in pane(app)
        await press(pilot, at_rest, "j")
        assert "The answer came after the sender's 10 s" in pane(app)


@pytest.mark.anyio
async def test_the_parts_of_the_detail_are_turned_with_brackets_and_hold_no_phone(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(0, at=clock.now() - timedelta(minutes=1), phone="255754000412")
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2")
        assert "▸attempts body headers signature " in pane(app)
        assert "signature sender" not in pane(app), "only the embedded service tells its own log"
        await press(pilot, at_rest, NEXT)
        said = shown(app)
        assert "▸body" in said
        assert "kept exactly   sha256" in said
        assert '"phone": "+255•••••412"' in said
        assert "255754000412" not in said
        await press(pilot, at_rest, NEXT)
        assert "service-signature:" in shown(app)
        await press(pilot, at_rest, NEXT)
        assert "start the console with KUSANYA_SECRETS" in pane(app)
        await press(pilot, at_rest, NEXT)
        assert "▸attempts" in shown(app)
        await press(pilot, at_rest, "left_square_bracket")
        assert "▸signature" in shown(app)
        await press(pilot, at_rest, "J")
        assert '"phone": "+255•••••412"' in app.clipboard


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("signed_with", "said", "cause"),
    [
        ("whsec_of_another_shop", "the secret is another", "no_match"),
        ("whsec_billing", "secret of endpoint billing", "other_endpoint"),
    ],
)
async def test_a_rejected_delivery_is_explained_with_the_profiles_secrets(  # noqa: PLR0917 - a table
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest,
    signed_with: str, said: str, cause: str,
) -> None:  # fmt: skip
    now = clock.now()
    event = seed.event(seed.collection(1, at=now, status="succeeded", completed_at=now), at=now)
    stamp = int(now.timestamp())
    digest = hmac.digest(signed_with.encode(), b"%d." % stamp + event.raw, "sha256").hex()
    header = f"t={stamp},v1={digest}".encode()
    seed.store.record(
        Arrival(
            arrived_at=now, endpoint="shop", observed_in=Mode.LIVE, body=event.raw,
            headers=((b"Service-Signature", header),), verdict=Verdict.REJECTED,
            reason="no_match", secrets_tried=1, event_id=event.id,
            event_type=event.type, event_created_at=now, answer=400, took_us=900,
        )
    )  # fmt: skip
    secrets = parse_endpoint_secrets("shop=whsec_shop,billing=whsec_billing")
    forensics = Forensics(secrets, signature_header="Service-Signature")
    async with opened(size=WIDE, forensics=forensics) as (app, pilot):
        await press(pilot, at_rest, "2")
        assert "skew 0 s   unverified" in pane(app)
        await press(pilot, at_rest, NEXT, NEXT, NEXT)
        text = pane(app)
        assert f"cause       {cause}" in text
        assert "skew 0 s of 300 s   unverified" in text
        assert said in text
        assert "reason      no_match" in text
        for secret in ("whsec_shop", "whsec_billing", "whsec_of_another_shop"):
            assert secret not in text


@pytest.mark.parametrize(
    ("headers", "claimed"),
    [
        ([b"t=1772629200,v1=00"], datetime(2026, 3, 4, 13, tzinfo=UTC)),
        ([b"t=1772629200,v1=00", b"text/plain"], datetime(2026, 3, 4, 13, tzinfo=UTC)),
        ([b"t=1772629200,v1=00", b"t=1,v1=00"], None),
        ([b"t=yesterday,v1=00"], None),
        ([b"t=9999999999999999999,v1=00"], None),
        ([], None),
    ],
)
def test_the_claimed_time_of_signing_is_read_from_one_header_alone(
    headers: list[bytes], claimed: datetime | None
) -> None:
    held = DeliveryBody(body=b"{}", headers=tuple((b"x", value) for value in headers))
    assert claimed_time(held) == claimed


@pytest.mark.anyio
async def test_the_disable_fuse_of_the_endpoint_stands_with_the_attempts(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "slash", *"endpoint:billing", "enter")
        said = shown(app)
        assert "disable fuse" in said
        assert "2 d 23 h left" in said
        assert "gives up" in said
        assert "in 29 min" in said


@pytest.mark.merge
@pytest.mark.anyio
@pytest.mark.parametrize("status", ["enabled", "disabled"])
async def test_no_retry_is_promised_of_an_endpoint_that_the_sender_has_disabled(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock, status: str
) -> None:
    seed.busy(10)
    at = clock.now() - timedelta(minutes=1)
    told = SenderEndpoint(
        id="ep_1", url="https://shop.example/billing", mode="live", status=status,
        disabled_at=at if status == "disabled" else None,
    )  # fmt: skip
    async with opened(size=WIDE) as (app, pilot):
        await press(pilot, at_rest, "2", "slash", *"endpoint:billing", "enter")
        app.context.sender = (told,)
        await press(pilot, at_rest, "j", "k")
        said = pane(app)
    held = status == "disabled"
    assert ("the endpoint is disabled, so nothing is sent to it" in said) is held
    assert ("gives up" in said) is not held
