"""The fixture for merchants' tests: its documented example runs by itself."""

import os
import signal
import subprocess
import sys
import textwrap
from datetime import timedelta
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kusanya_service.helpers import deliveries

import kusanya_service.testing as merchants
from kusanya import receiver
from kusanya.clock import ManualClock
from kusanya.store import Store
from kusanya.webhooks import verify
from kusanya.wire import Mode
from kusanya_service.errors import BadOption
from kusanya_service.testing import FaultKind, FaultRule, PaymentService, fresh_service
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint

ORDER = {"amount": 5000, "phone": "255754000001", "reference": "order-1"}

MERCHANTS_TESTS = """
import sys

LOADED = sorted(name for name in sys.modules if name.startswith("kusanya"))

from kusanya import receiver
from kusanya.store import Store
from kusanya.wire import Mode


def test_nothing_of_the_service_was_loaded_before_the_fixture():
    assert LOADED == ["kusanya_service", "kusanya_service.pytest_plugin"]


def test_an_event_of_an_hour_later_reaches_the_shop(payment_service, tmp_path):
    with Store.open(tmp_path / "store.db", clock=payment_service.clock) as store:
        secret = payment_service.signing_secret
        payment_service.deliver_to(
            receiver.app(store, [secret], mode=Mode.TEST, clock=payment_service.clock)
        )
        payment_service.advance(3600)
        order = {"amount": 5000, "phone": "255754000001", "reference": "order-1"}
        made = payment_service.create(order).json
        payment_service.advance(20)
        assert store.collections.get(made["id"], Mode.TEST).status == "succeeded"


def test_the_loop_is_pythons_own_where_there_is_no_uvloop(payment_service):
    assert sys.modules["uvloop"] is None
"""
WITHOUT_OTHERS = [
    option
    for name in ("cacheprovider", *(one.name for one in entry_points(group="pytest11")))
    if not name.startswith("kusanya")
    for option in ("-p", f"no:{name}")
]
"""Other people's plugins take seconds to import; ours is found by itself, as a merchant's is."""
WITHOUT = """
import os, signal, sys
for module in ("uvloop", "fcntl"):
    sys.modules[module] = None
del signal.SIGHUP, os.O_DIRECTORY
"""


def example() -> str:
    """Return the example as the module's documentation shows it."""
    assert merchants.__doc__ is not None
    body = merchants.__doc__.split("\n\n", 1)[1]
    body = body[: body.index("The fixture gives")]
    return textwrap.dedent(body)


@pytest.mark.merge
def test_the_documented_example_passes_in_an_empty_folder(tmp_path: Path) -> None:
    text = example()
    assert text.startswith("from kusanya_service.testing import")
    assert len([line for line in text.splitlines() if line]) <= 10
    (tmp_path / "test_order.py").write_text(text)
    printed = run_pytest(tmp_path, "test_order.py")
    assert "1 passed" in printed, printed


def test_the_fixture_needs_nothing_else_of_the_project() -> None:
    program = (
        "import sys, kusanya_service.testing; "
        "print([name for name in sys.modules if name.startswith(('kusanya.', 'kusanya_console'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stdout.decode().strip("[]\n").replace("'", "").split(", "))
    shared = {
        "clock",
        "domain",
        "domain.assumptions",
        "domain.business_day",  # the years of which an instant can be
        "domain.limits",
        "domain.status",  # what the wire stands on; the service keeps its own list
        "errors",
        "platform",
        "platform.http_limits",  # how a connection is bounded, in receiver and service alike
        "platform.http_limits.forwarded",
        "platform.http_limits.places",
        "platform.http_limits.protocol",
        "platform.http_limits.server",
        "platform.sqlite",  # which driver is new enough: nothing that one could check the other by
        "privacy",
        "privacy.secret",
        "say",  # the sentences of our errors
        "webhooks",
        "webhooks.schedule",
        "webhooks.signature",
        "wire",
    }
    assert loaded == {f"kusanya.{name}" for name in shared}


def test_what_is_captured_verifies_with_the_endpoints_secret(
    payment_service: PaymentService,
) -> None:
    payment_service.create({"amount": 1, "phone": "255754000001", "reference": "r"})
    payment_service.advance(20)
    [delivery] = payment_service.deliveries
    header = delivery.headers["service-signature"]
    verify(delivery.body, header, payment_service.signing_secret, tolerance=None)


def test_an_unknown_outcome_is_refused_with_the_known_ones(payment_service: PaymentService) -> None:
    with pytest.raises(BadOption, match="'lost' is no outcome; known are succeeded, expired"):
        payment_service.script("255754000001", "lost")


def run_pytest(folder: Path, *arguments: str) -> str:
    """Run pytest as a merchant does, in a folder of their own; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *WITHOUT_OTHERS, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.stdout


@pytest.mark.merge
def test_the_fixture_needs_no_import_no_uvloop_and_lives_past_five_minutes(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import sys\nsys.modules['uvloop'] = None\n")
    (tmp_path / "test_shop.py").write_text(MERCHANTS_TESTS)
    printed = run_pytest(tmp_path)
    assert "3 passed" in printed, printed


def test_the_fixture_may_be_loaded_by_its_plugin_by_its_module_and_by_import(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_shop.py").write_text(
        "from kusanya_service.testing import payment_service\n"
        "def test_it_is_there(payment_service):\n"
        "    assert payment_service.test_key\n"
    )
    by_name = ("-p", "kusanya_service.pytest_plugin", "-p", "kusanya_service.testing")
    printed = run_pytest(tmp_path, *by_name)
    assert "1 passed" in printed, printed


def test_it_is_imported_where_a_platform_lacks_what_only_unix_has() -> None:
    program = f"{WITHOUT}\nimport kusanya_service.testing"
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)


def test_a_signal_ends_the_service_on_a_loop_that_knows_no_signals(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from pathlib import Path
sys.modules["uvloop"] = None
from kusanya_service.server import Options, run
def unknown(*_):
    raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = unknown
run(Options(data=Path(sys.argv[1])), lambda running: print("ready", flush=True))
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        os.kill(child.pid, signal.SIGTERM)
        assert child.wait(timeout=20) == 0


def statuses(service: PaymentService) -> list[Any]:
    found = deliveries(service)
    return [[attempt["status_code"] for attempt in one["attempts"]] for one in found]


def test_an_app_on_the_services_clock_receives_what_happens_days_later(
    payment_service: PaymentService, tmp_path: Path
) -> None:
    before = payment_service.clock.now()
    with Store.open(tmp_path / "store.db", clock=payment_service.clock) as store:
        app = receiver.app(
            store,
            [payment_service.signing_secret],
            mode=Mode.TEST,
            clock=payment_service.clock,
        )
        assert payment_service.deliver_to(app) == payment_service.signing_secret
        for days in range(3):
            made = payment_service.create(ORDER | {"reference": f"order-{days}"}).json
            payment_service.advance(24 * 3600)
            row = store.collections.get(made["id"], Mode.TEST)
            assert row is not None
            assert row.status == "succeeded"
    assert payment_service.clock.now() - before == timedelta(days=3)
    assert statuses(payment_service) == [[200]] * 3
    assert len(payment_service.deliveries) == 3


def test_a_wsgi_program_receives_too_and_its_refusals_count(
    payment_service: PaymentService, tmp_path: Path
) -> None:
    """As Django and Flask are served."""
    statuses = iter([500, 200])

    def shop(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        header = environ["HTTP_SERVICE_SIGNATURE"]
        event = verify(body, header, secret, now=payment_service.clock.now().timestamp())
        seen.append(event.data.reference)
        start_response(f"{next(statuses)} said", [])
        return [b""]

    seen: list[str] = []
    secret = payment_service.deliver_to(shop)
    payment_service.create(ORDER)
    payment_service.advance(20)
    payment_service.advance(60)
    assert seen == ["order-1", "order-1"]


def test_the_signing_secret_is_the_newest_after_a_rotation(payment_service: PaymentService) -> None:
    before = payment_service.signing_secret
    assert payment_service.rotate_secret() == payment_service.signing_secret != before
    old = payment_service.signing_secret
    [endpoint] = payment_service.dashboard("GET", "endpoints")["data"]
    payment_service.dashboard("POST", f"endpoints/{endpoint['id']}/rotate-secret")
    assert payment_service.signing_secret not in {before, old}
    payment_service.create(ORDER)
    payment_service.advance(20)
    [captured] = payment_service.deliveries
    header, now = captured.headers["service-signature"], payment_service.clock.now().timestamp()
    event = verify(captured.body, header, payment_service.signing_secret, now=now)
    assert event.data.reference == "order-1"


def test_an_app_with_another_clock_refuses_what_is_signed_an_hour_later(
    payment_service: PaymentService, tmp_path: Path
) -> None:
    clock = ManualClock(payment_service.clock.now())
    with Store.open(tmp_path / "store.db", clock=clock) as store:
        secret = payment_service.signing_secret
        payment_service.deliver_to(receiver.app(store, [secret], mode=Mode.TEST, clock=clock))
        payment_service.advance(3600)
        payment_service.create(ORDER)
        payment_service.advance(20)
    [[status]] = statuses(payment_service)
    assert 400 <= status < 500


def test_a_program_on_this_machine_gets_the_exact_bytes_and_its_answer_counts(
    payment_service: PaymentService, endpoint: CapturingEndpoint
) -> None:
    payment_service.deliver_to(f"{endpoint.url}?shop=1")
    endpoint.answer_with(418)
    payment_service.create(ORDER)
    payment_service.advance(20)
    [arrived], [captured] = endpoint.deliveries, payment_service.deliveries
    assert arrived.path == "/webhooks?shop=1"
    assert arrived.body == captured.body
    assert arrived.headers["service-signature"] == captured.headers["service-signature"]
    assert statuses(payment_service) == [[418]]


def test_a_program_that_is_not_there_is_a_failed_attempt(
    payment_service: PaymentService, endpoint: CapturingEndpoint
) -> None:
    payment_service.deliver_to("http://127.0.0.1:9/")
    payment_service.create(ORDER)
    payment_service.advance(20)
    assert statuses(payment_service) == [[502]]
    payment_service.deliver_to(endpoint.url)
    payment_service.advance(60)
    assert statuses(payment_service) == [[502, 200]]


@pytest.mark.parametrize(
    "url", ["http://192.0.2.1/", "https://127.0.0.1/", "127.0.0.1:80", "http://shop.example/"]
)
def test_deliveries_never_leave_this_machine(payment_service: PaymentService, url: str) -> None:
    with pytest.raises(BadOption, match="an http:// address of this machine, or to an app"):
        payment_service.deliver_to(url)


def test_an_app_that_does_not_start_is_said_so(payment_service: PaymentService) -> None:
    async def broken(scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(RuntimeError, match="the application did not start"):
        payment_service.deliver_to(broken)


@pytest.mark.parametrize("spelling", ["0754 123 456", "+255 754-123-456", "754123456"])
@pytest.mark.parametrize("sent", ["255754123456", "0754123456", "+255754123456"])
def test_a_script_matches_its_phone_however_it_is_written(
    shared: PaymentService, spelling: str, sent: str
) -> None:
    shared.script(spelling, "declined")
    made = shared.create(ORDER | {"phone": sent}).json
    shared.advance(20)
    assert shared.get(f"collections/{made['id']}").json["failure_code"] == "declined"


@pytest.mark.parametrize("phone", ["x", "", "12", "M-PESA", "0754x23456"])
def test_a_script_for_what_is_no_phone_is_refused(shared: PaymentService, phone: str) -> None:
    with pytest.raises(BadOption, match="no phone number: write it as 255 and nine digits") as info:
        shared.script(phone, "succeeded")
    assert "0754" not in str(info.value)


def test_a_fault_is_a_typed_rule_and_what_happened_can_be_read(
    payment_service: PaymentService,
) -> None:
    payment_service.inject(FaultRule(kind=FaultKind.DROP_DELIVERY, times=1))
    payment_service.create(ORDER)
    payment_service.advance(20)
    assert payment_service.deliveries == []
    assert [fault.kind for fault in payment_service.injected] == [FaultKind.DROP_DELIVERY]
    payment_service.inject()
    payment_service.advance(60)
    assert len(payment_service.deliveries) == 1
    with pytest.raises(AssertionError, match="rate"):
        payment_service.inject(FaultRule(kind=FaultKind.DROP_DELIVERY, rate=2.0))


@pytest.mark.merge
@settings(max_examples=5, deadline=None)
@given(amount=st.integers(500, 100_000))
def test_under_hypothesis_each_example_has_a_service_of_its_own(amount: int) -> None:
    with fresh_service() as payment_service:
        assert payment_service.create(ORDER | {"amount": amount}).status == 202
