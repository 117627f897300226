"""Traces: one for each payment, from its creation to its event; none where nobody asked."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from kusanya import Client, Store, receiver
from kusanya.errors import IntentError
from kusanya.intents import create_safely
from kusanya.watch import PollSettings, poll_once
from kusanya.wire import Mode
from kusanya_service.testing import PaymentService, payment_service

__all__ = ["payment_service"]

PHONE = "255754000014"
"""Its creation's answer is lost once."""


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    """Return what takes the spans of this module; a process has one provider for good."""
    found = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    trace.set_tracer_provider(provider)
    yield found
    found.shutdown()


@pytest.fixture
def shop(payment_service: PaymentService, tmp_path: Path) -> Iterator[tuple[Store, Client]]:
    clock = payment_service.clock
    with (
        Store.open(tmp_path / "shop.sqlite", clock=clock) as store,
        Client(payment_service.test_key, base_url=payment_service.base_url, clock=clock) as client,
    ):
        yield store, client


def spans_of(exporter: InMemorySpanExporter) -> list[tuple[str, dict[str, object]]]:
    return [
        (one.name, {k.removeprefix("kusanya."): v for k, v in (one.attributes or {}).items()})
        for one in exporter.get_finished_spans()
    ]


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    found: int = span.context.trace_id
    return found


def test_a_payment_is_one_trace_from_its_creation_to_its_event(
    shop: tuple[Store, Client], payment_service: PaymentService, exporter: InMemorySpanExporter
) -> None:
    exporter.clear()
    store, client = shop
    with trace.get_tracer("the shop's own").start_as_current_span("checkout") as checkout:
        made = create_safely(store, client, amount=5417, phone=PHONE, reference="INV-77")
    payment_service.advance(31)
    [delivery] = payment_service.deliveries
    client.run(poll_once(store, client.core, by="one:1:a", settings=PollSettings()))
    status, _ = receiver.handle(
        store,
        [payment_service.signing_secret],
        delivery.body,
        delivery.headers,
        mode="test",
        clock=payment_service.clock,
    )
    assert status == 200
    spans = {one.name: one for one in exporter.get_finished_spans() if one.name != "checkout"}
    known = spans_of(exporter)
    assert [(name, found.get("attempt")) for name, found in known] == [
        ("kusanya attempt", 1),
        ("kusanya attempt", 2),
        ("kusanya poll", None),
        ("kusanya create", None),
        ("checkout", None),
        ("kusanya poll", None),
        ("kusanya delivery", None),
    ]
    outcomes = [found["outcome"] for name, found in known if name == "kusanya attempt"]
    assert outcomes == ["lost", "answered"]
    assert {trace_of(one) for one in spans.values()} == {trace_of(spans["kusanya create"])}
    assert [link.context for link in spans["kusanya create"].links] == [checkout.get_span_context()]
    assert spans["kusanya attempt"].kind is SpanKind.CLIENT
    ids = {"intent_id": made.intent.id, "collection_id": made.collection.id}
    assert ids.items() <= dict(known)["kusanya create"].items()
    event = dict(known)["kusanya delivery"]
    assert (event["event_id"], event["verdict"]) == (delivery.event["id"], "verified")
    assert event["collection_id"] == made.collection.id
    said = "".join(one.to_json() for one in exporter.get_finished_spans())
    for hidden in (PHONE, "INV-77", "5417", payment_service.signing_secret):
        assert hidden not in said


def test_a_creation_that_fails_names_the_class_of_its_error_alone(
    shop: tuple[Store, Client], exporter: InMemorySpanExporter
) -> None:
    store, client = shop
    create_safely(store, client, amount=5000, phone="255754000001", reference="INV-78")
    exporter.clear()
    with pytest.raises(IntentError):
        create_safely(store, client, amount=6000, phone="255754000001", reference="INV-78")
    [span] = exporter.get_finished_spans()
    assert (span.name, span.status.status_code) == ("kusanya create", StatusCode.ERROR)
    assert (span.status.description, span.events) == (None, ())
    assert dict(span.attributes or {})["error.type"] == "IntentError"


def test_a_trace_that_fails_does_not_fail_a_payment(
    shop: tuple[Store, Client], exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    class BrokenProcessor(SpanProcessor):
        def on_start(self, span: object, parent_context: object = None) -> None:
            if not is_fixed:
                raise ZeroDivisionError

    is_fixed = False
    trace.get_tracer_provider().add_span_processor(BrokenProcessor())  # type: ignore[attr-defined] # the SDK's
    store, client = shop
    made = create_safely(store, client, amount=5000, phone="255754000001", reference="INV-79")
    is_fixed = True
    assert made.collection.reference == "INV-79"
    assert "a span was not recorded" in {one.message for one in caplog.records}


def test_a_forged_delivery_is_in_no_trace_of_a_payment(
    shop: tuple[Store, Client], exporter: InMemorySpanExporter
) -> None:
    exporter.clear()
    body = b'{"id":"evt_1","data":{"reference":"INV-77"}}'
    assert receiver.handle(shop[0], ["whsec_xxxx"], body, {}, mode="test")[0] == 400
    [span] = exporter.get_finished_spans()
    assert span.parent is None
    assert "evt_1" not in span.to_json()


def test_test_and_live_payments_of_one_reference_are_two_traces(
    exporter: InMemorySpanExporter,
) -> None:
    from datetime import UTC, datetime

    from kusanya.telemetry.tracing import SpanName, record_span

    exporter.clear()
    for mode, reference in ((Mode.TEST, "A"), (Mode.LIVE, "A"), (Mode.TEST, "A"), (Mode.TEST, "B")):
        record_span(
            SpanName.POLL,
            mode=mode.value,
            reference=reference,
            ended_at=datetime(2026, 3, 2, tzinfo=UTC),
            took_s=0.25,
            attributes={"status": None},
        )
    one, live, again, other = exporter.get_finished_spans()
    assert trace_of(one) == trace_of(again)
    assert len({trace_of(span) for span in (one, live, other)}) == 3
    assert one.start_time is not None
    assert one.end_time == one.start_time + 250_000_000


@pytest.mark.merge
def test_nothing_is_loaded_where_nobody_asked(tmp_path: Path) -> None:
    script = (
        "import sys, kusanya\n"
        "from kusanya import receiver\n"
        f"store = kusanya.Store.open({str(tmp_path / 'store.db')!r})\n"
        "receiver.handle(store, ['whsec_xxxx'], b'{}', {}, mode='test')\n"
        "store.close()\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout == "[]\n"
