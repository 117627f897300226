"""`kusanya talk`: an incident, a look-up and a paste, by a person who only listens."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any

import pytest
from tests.console.cli.test_careless_values import VALUES
from tests.console.conftest import HOSTILE
from tests.console.seeding import Seed
from tests.console.test_console_messages import customers_message
from tests.console.test_console_no_false_all_clear import Dashboard
from tests.kit.intents import end_attempt, prepare_intent

from kusanya.client import Client
from kusanya.client.requests import CreateRequest
from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.store.records import IntentState, Verdict
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.queries import ServiceQueries
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.cli.talk.announcer import Follow
from kusanya_console.cli.talk.command import converse
from kusanya_console.cli.talk.conversation import Conversation
from kusanya_console.cli.talk.verbs import VERBS
from kusanya_service.testing import payment_service  # noqa: F401 - a fixture

Talk = Callable[..., Conversation]
READ = timedelta(seconds=6)
"""So long after a reading the alarms are judged anew."""


@pytest.fixture
def client(payment_service: Any, clock: ManualClock) -> Iterator[Client]:  # noqa: F811
    url = payment_service.base_url
    with Client(payment_service.test_key, base_url=url, clock=clock) as made:
        yield made


@pytest.fixture
def talk(store: Store, clock: ManualClock) -> Talk:
    """Return what begins a conversation in test mode."""

    def begin(follow: Follow = Follow.PROBLEMS, mode: Mode = Mode.TEST, **sources: Any) -> Any:
        context = AppContext(store=store, mode=mode, clock=clock, **sources)
        return Conversation(context, VERBS, follow=follow)

    return begin


def joined(said: Iterator[str]) -> str:
    return "\n".join(said)


def lost_creation(store: Store, clock: ManualClock) -> None:
    at = clock.now()
    row = prepare_intent(
        store,
        idempotency_key="job-7777-7777", mode=Mode.TEST, profile="main", reference="order-7",
        body=CreateRequest(amount=7000, phone="255754000001", reference="order-7").body(),
        amount=7000, phone="255754000001", prepared_at=at, intent_id="int_7",
    )  # fmt: skip
    store.intents.begin_attempt(row.id, at=at)
    end_attempt(store,
        row.id, 1, at=at, state=IntentState.UNKNOWN, outcome="lost",
        status=None, request_id=None, took_us=10_000_000,
    )  # fmt: skip


def test_a_whole_incident_is_worked_by_its_lines_alone(
    talk: Talk, store: Store, clock: ManualClock, seed: Seed, client: Client
) -> None:
    actions = StoreActions(
        store, actor=store.audit.actor, clock=clock, profile="main", client=client
    )
    queries, me = ServiceQueries(store, client, clock=clock), store.audit.actor
    ours = talk(actions=actions, queries=queries)
    assert "no alarm stands" in joined(ours.greet())

    payment = seed.collection(1, at=clock.now(), mode=Mode.TEST, status="succeeded")
    seed.answered(seed.collection(1, at=clock.now(), mode=Mode.TEST))
    event = seed.event(payment, at=clock.now())
    seed.delivered(
        event, at=clock.now(), verdict=Verdict.REJECTED, reason="no_match", answer=400,
        endpoint="shop",
    )  # fmt: skip
    lost_creation(store, clock)
    clock.sleep(READ.total_seconds())
    news = joined(ours.tick())
    assert "INV-482001, collection.succeeded rejected for no_match, at shop, attempt 1" in news
    assert "order-7 creation unknown, TZS 7,000, phone ending 001" in news
    assert "alarm, urgent: " in news

    listed = joined(ours.answer("alarms"))
    assert "  To do: " in listed
    assert "next:" not in listed, "what to do has one name"
    number = next(line.split(".")[0] for line in listed.splitlines() if " shop " in line)
    asked = joined(ours.answer(f"acknowledge {number} the new secret is not deployed"))
    assert asked.endswith("Say yes to do it, anything else leaves it.")
    assert joined(ours.answer("yes")).startswith("acknowledged, by ")
    assert f"looked after by {me}: the new secret is not deployed" in joined(ours.answer("alarms"))

    assert joined(ours.answer("intents")).startswith("1. order-7 creation unknown")
    assert "with the same key and the same bytes? Say yes" in joined(ours.answer("replay 1"))
    assert "left as it was" in joined(ours.answer("no, wait"))
    assert [row.act for row in store.audit.page().rows] == ["acknowledge"]
    assert "replay order-7 creation" in joined(ours.answer("replay order-7"))
    assert "replayed order-7, same key and bytes" in joined(ours.answer("yes"))
    assert joined(ours.answer("yes")).startswith("nothing in test mode"), "a yes is good for once"

    assert "asked: order-7" in joined(ours.answer("ask order-7"))
    asked = joined(ours.answer("note order-7 told 0754 000 003 at the shop"))
    assert asked.startswith("note on order-7 ")
    assert "000 003" not in asked
    assert "left as it was" in joined(ours.answer("no"))
    assert "told the shop" not in joined(ours.answer("show order-7")), "nothing was kept"
    ours.answer("note order-7 told the shop")
    assert joined(ours.answer("note order-7 told the shop")).endswith("anything else leaves it.")
    assert joined(ours.answer("yes")) == f"noted on order-7, by {me}"
    assert f"note by {me}: told the shop" in joined(ours.answer("show order-7"))

    seed.delivered(event, at=clock.now(), endpoint="shop")
    clock.sleep(READ.total_seconds())
    assert "alarm over: " in joined(ours.tick())
    assert joined(ours.answer("quit")) == "goodbye"
    assert ours.is_over


def test_a_customer_on_the_phone_is_answered_in_one_line_of_typing(talk: Talk, seed: Seed) -> None:
    seed.busy(12)
    ours = talk(mode=Mode.LIVE)
    joined(ours.greet())
    answer = joined(ours.answer("INV-482001"))
    assert "(by reference)" in answer
    assert "  SW   " in answer
    assert "phone" not in answer or "0754" not in answer
    page = joined(ours.answer("list")).splitlines()
    assert [line.split(".")[0] for line in page[:-1]] == [str(n) for n in range(1, 11)]
    assert page[-1] == "there are older: more"
    assert joined(ours.answer("more")).startswith("1. ")
    first = joined(ours.answer("list amount>=1")).splitlines()[0]
    assert first.removeprefix("1. ").split(" ")[0] in joined(ours.answer("1"))


def test_a_message_of_several_lines_is_read_to_its_empty_line(talk: Talk) -> None:
    ours = talk()
    assert "empty line" in joined(ours.answer("paste"))
    assert not joined(ours.answer("list"))
    said = joined(ours.answer(""))
    assert said, "the whole text was looked up"
    assert joined(ours.answer("list")) == "nothing in test mode"


def test_what_a_pasted_message_claims_is_said_again_by_reference(
    talk: Talk, seed: Seed, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=9)
    done: dict[str, Any] = {"completed_at": at + timedelta(seconds=17), "status": "failed"}
    seed.life(3, at=at, failure_code="insufficient_funds", **done)
    ours = talk(mode=Mode.LIVE)
    assert "a new request is safe" in joined(ours.answer("INV-482003"))
    assert "fit this payment alone" in joined(ours.answer(customers_message(seed.store)))
    for line in ("INV-482003", "show INV-482003"):
        said = joined(ours.answer(line))
        assert "A pasted confirmation may be of this payment, the service says failed" in said
        assert "a new request is safe" not in said


def test_what_cannot_be_meant_is_said_in_one_line_and_changes_nothing(
    talk: Talk, store: Store, seed: Seed, clock: ManualClock
) -> None:
    seed.life(1, at=clock.now(), mode=Mode.TEST)
    ours = talk()
    joined(ours.greet())
    for line, words in (
        ("show 7", "the last list has no line 7"),
        ("show", "which one?"),
        ("list statu:failed", "filter: 'statu' is no key"),
        ("more", "the last list has no more"),
        ("follow noise", "follow all, problems or alarms"),
        ("mode both", "mode live or mode test"),
        ("note 1 hello", "read-only; start with --allow-writes"),
        ("ask 1", "no API key in the profile"),
        ("replay 1", "read-only"),
    ):
        answer = joined(ours.answer(line))
        assert words in answer, line
        assert "\n" not in answer
    assert not store.audit.page().rows
    assert [line.split(" ")[0].rstrip(":") for line in ours.answer("help")][:-1] == list(VERBS)


def test_who_follows_all_reads_every_change_once_and_many_as_a_count(
    talk: Talk, seed: Seed, clock: ManualClock
) -> None:
    ours, quiet = talk(Follow.ALL, Mode.LIVE), talk(mode=Mode.LIVE)
    joined(ours.greet())
    joined(quiet.greet())
    for n in range(25):
        seed.polled(seed.collection(n, at=clock.now(), status="created"), at=clock.now())
    news = joined(ours.tick()).splitlines()
    assert sum(" created, TZS " in line for line in news) == 20
    assert news[-1] == "and 5 more: 5 created"
    assert not joined(ours.tick())
    assert " created, TZS " not in joined(quiet.tick())
    assert joined(ours.answer("mode test")).startswith("test mode from now on")


def test_hostile_texts_are_said_without_an_escape_and_phones_without_their_digits(
    talk: Talk, hostile: Seed
) -> None:
    ours = talk(Follow.ALL, Mode.LIVE)
    said = [*ours.greet()]
    for line in (
        "list",
        "deliveries",
        "intents",
        "alarms",
        "list",
        "show 1",
        "\x1b[2J\x07",
        "W" * 9_000,
    ):
        said += ours.answer(line)
    assert len(said) > 20
    assert all(line.isprintable() for line in said)
    assert hostile is not None


def test_a_lost_store_is_said_once_and_its_return_as_well(
    talk: Talk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kusanya.errors import StoreUnavailable

    ours = talk()
    joined(ours.greet())

    def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(store.feed, "changes", away)
        assert (
            joined(ours.tick()) == "the store cannot be read: the disk is gone. It is tried again."
        )
        assert not joined(ours.tick())
    assert joined(ours.tick()) == "the store can be read again"


def test_the_attempts_of_a_delivery_are_said_and_none_is_promised_of_a_disabled_endpoint(
    talk: Talk, seed: Seed, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=8)
    payment = seed.collection(1, at=at, status="succeeded", completed_at=at)
    seed.delivered(
        seed.event(payment, at=at), at=at, verdict=Verdict.REJECTED, reason="no_match", answer=400,
        endpoint="shop",
    )  # fmt: skip
    ours = talk(mode=Mode.LIVE)
    joined(ours.greet())
    joined(ours.answer("deliveries"))
    said = joined(ours.answer("attempts 1"))
    assert "attempt 1: answered 400, " in said
    assert "attempt 3: not seen, " in said
    assert "attempt 4: planned, " in said
    assert "next 15:52:07 in 28 min 0 s" in said
    assert "gives up " in said
    disabled = talk(
        mode=Mode.LIVE, service=Dashboard(status="disabled", disabled_at=at + timedelta(minutes=3))
    )
    joined(disabled.greet())
    joined(disabled.answer("deliveries"))
    said = joined(disabled.answer("attempts 1"))
    assert "held: the endpoint is disabled" in said
    assert "gives up" not in said


def test_failures_are_said_cause_by_cause_and_a_shift_as_it_is_handed_over(
    talk: Talk, seed: Seed, clock: ManualClock
) -> None:
    for n in range(3):
        seed.life(
            n, at=clock.now() - timedelta(minutes=5 + n), status="failed",
            failure_code="user_cancelled",
        )  # fmt: skip
    ours = talk(mode=Mode.LIVE)
    joined(ours.greet())
    said = joined(ours.answer("failures"))
    assert said.startswith("last 60 minutes\nuser_cancelled: 3, new, TZS ")
    assert "M-Pesa" in said
    assert joined(ours.answer("failures week")).startswith("last 7 days\nuser_cancelled: 3")
    assert "failures, failures today or failures week" in joined(ours.answer("failures never"))
    shift = joined(ours.answer("handover"))
    assert "What happened\n  3 collections were created: 3 failed" in shift
    assert "What is open" in shift
    assert "0 collections were created" in joined(ours.answer("handover 15:24"))
    assert "not done: " in joined(ours.answer("handover noon"))


def test_an_event_that_never_came_is_asked_for_after_a_yes(
    talk: Talk, store: Store, seed: Seed, clock: ManualClock, client: Client
) -> None:
    actions = StoreActions(
        store, actor=store.audit.actor, clock=clock, profile="main", client=client
    )
    queries = ServiceQueries(store, client, clock=clock)
    at = clock.now() - timedelta(minutes=4)
    seed.polled(
        seed.collection(7, at=at, mode=Mode.TEST, status="succeeded", completed_at=at), at=at
    )
    ours = talk(actions=actions, queries=queries)
    assert "collection.succeeded missing" in joined(ours.answer("deliveries verdict:missing"))
    assert "attempt 1: not seen" in joined(ours.answer("attempts 1"))
    asked = joined(ours.answer("resend 1"))
    assert asked.startswith("the service has no resend; ask it about INV-482007")
    assert asked.endswith("Say yes to do it, anything else leaves it.")
    assert "left as it was" in joined(ours.answer("no"))
    joined(ours.answer("deliveries verdict:missing"))
    joined(ours.answer("resend 1"))
    assert "the service answered 404" in joined(ours.answer("yes")), "it was asked"


def test_a_receipt_is_kept_and_a_creation_decided_after_a_yes(
    talk: Talk, store: Store, seed: Seed, clock: ManualClock
) -> None:
    actions = StoreActions(store, actor=store.audit.actor, clock=clock, profile="main")
    at = clock.now() - timedelta(minutes=9)
    seed.life(3, at=at, completed_at=at + timedelta(seconds=17), status="succeeded")
    seed.intent(2, sent_ago=timedelta(hours=30), state=IntentState.UNKNOWN)
    ours = talk(mode=Mode.LIVE, actions=actions)
    assert "then say keep" in joined(ours.answer("keep"))
    joined(ours.answer(customers_message(store)))
    assert joined(ours.answer("keep")).startswith("keep receipt ")
    assert not store.audit.page().rows
    assert joined(ours.answer("yes")).startswith("kept receipt ")
    assert "a decision is: decide N" in joined(ours.answer("decide INV-431002 nothing"))
    asked = joined(ours.answer("decide INV-431002 nothing the provider knows of none"))
    assert asked.startswith("decide that INV-431002 creation unknown")
    assert "created nothing, because the provider knows of none?" in asked
    assert joined(ours.answer("yes")).startswith("decided INV-431002: nothing was created")


def test_the_end_of_input_ends_it(
    talk: Talk, seed: Seed, clock: ManualClock, capsys: pytest.CaptureFixture[str]
) -> None:
    seed.life(1, at=clock.now(), mode=Mode.TEST)
    asked: SimpleQueue[str | None] = SimpleQueue()
    for line in ("status", None):
        asked.put(line)
    converse(talk(), asked, every_s=60)
    assert capsys.readouterr().out.count("\nlast 60 minutes: ") == 2


@pytest.mark.merge
def test_the_command_answers_what_is_piped_into_it(
    store: Store, seed: Seed, tmp_path: Path
) -> None:
    seed.busy(3)
    done = subprocess.run(
        [sys.executable, "-m", "kusanya_console.cli", "talk", f"--store={tmp_path}/kusanya.db"],
        input="INV-482001\nquit\n", capture_output=True, text=True, check=True, timeout=60,
        env={"PATH": "", "KUSANYA_MODE": "live", "HOME": str(tmp_path)},
    )  # fmt: skip
    assert "(by reference)" in done.stdout
    assert done.stdout.endswith("goodbye\n")
    assert not done.stderr


WORDS = (
    *VALUES,
    *HOSTILE,
    "at:9999-12-31",
    "at:0001-01-01",
    "age>99999d",
    "amount:NaN",
    "a\0b-123",
)
"""What may stand behind a verb, and on a line of its own."""


@pytest.mark.scale(2, 10, len(WORDS))
@pytest.mark.parametrize("verb", [*sorted(VERBS.keys() - {"quit"}), ""])
def test_no_line_ends_a_conversation_or_is_said_raw(
    talk: Talk, clock: ManualClock, hostile: Seed, verb: str, rounds: int
) -> None:
    lost_creation(hostile.store, clock)
    hostile.collection(99, at=clock.now(), mode=Mode.TEST, status="succeeded")
    actions = StoreActions(hostile.store, actor="asha", clock=clock, profile="main")
    for rest in Random(verb).sample(WORDS, rounds):  # noqa: S311 - repeatable
        ours = talk(actions=actions, mode=Mode.LIVE if len(rest) % 2 else Mode.TEST)
        for line in ("list", f"{verb} {rest}", "more"):
            said = joined(ours.answer(line))
            assert not {"\x1b", "\u202e"} & set(said), (line[:60], said[:300])
