"""Traces of OpenTelemetry, from the call that creates a payment to the event that ends it.

Off unless the program itself has loaded OpenTelemetry's API and set a provider up, as
`opentelemetry-instrument` does: nothing is imported here. All spans of one payment are in one
trace, whose id every process computes of mode and reference: nothing is sent or stored for it. The
span that calls us is a link, for it belongs to a trace of its own.

A span holds ids, a status, times and the class of an error: never a reference, a phone number, an
amount or a text from outside.
"""

import hashlib
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

_log: Final = logging.getLogger("kusanya.tracing")
_API: Final = "opentelemetry.trace"


class SpanName(StrEnum):
    """What a span is of."""

    CREATE = "kusanya create"
    """A whole creation, retries included."""
    ATTEMPT = "kusanya attempt"
    """One sending of it."""
    DELIVERY = "kusanya delivery"
    """A delivery, from its request to its durable commit."""
    POLL = "kusanya poll"
    """A question about a collection and its answer."""


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_KINDS: Final = {
    SpanName.CREATE: "INTERNAL",
    SpanName.ATTEMPT: "CLIENT",
    SpanName.DELIVERY: "CONSUMER",
    SpanName.POLL: "CLIENT",
}


def is_on() -> bool:
    """Return whether this program has loaded OpenTelemetry's API."""
    return _API in sys.modules


def record_span(
    name: SpanName,
    *,
    mode: str,
    reference: str | None,
    ended_at: datetime,
    took_s: float,
    error: BaseException | None = None,
    attributes: Mapping[str, str | int | None],
) -> None:
    """Record what has ended as a span of the payment's trace, or of its own without a reference.

    Nothing happens where tracing is off. What is None among the attributes is left out. It never
    raises: a trace that fails must not fail a payment; then a line of the log says so.
    """
    if not is_on():
        return
    try:
        span = _started(name, mode, reference, ended_at - timedelta(seconds=took_s), attributes)
        if error is not None:
            _mark_failed(span, error)
        span.end(_ns(ended_at))
    except Exception:  # noqa: BLE001 - an exporter's or processor's, whatever it is
        _log.exception("a span was not recorded")


def _started(
    name: SpanName,
    mode: str,
    reference: str | None,
    began_at: datetime,
    attributes: Mapping[str, str | int | None],
) -> "Span":
    from opentelemetry import trace

    known = {f"kusanya.{key}": value for key, value in attributes.items() if value is not None}
    caller = trace.get_current_span().get_span_context()
    return trace.get_tracer("kusanya").start_span(
        name.value,
        context=None if reference is None else _payment(mode, reference),
        kind=trace.SpanKind[_KINDS[name]],
        attributes={"kusanya.mode": mode, **known},
        links=[trace.Link(caller)] if caller.is_valid and reference is not None else (),
        start_time=_ns(began_at),
    )


def _mark_failed(span: "Span", error: BaseException) -> None:
    from opentelemetry import trace

    span.set_attribute("error.type", type(error).__name__)
    span.set_status(trace.StatusCode.ERROR)


def _ns(at: datetime) -> int:
    # Exact: a float of seconds holds no nanoseconds of today.
    return (at - _EPOCH) // _MICROSECOND * 1_000


def _payment(mode: str, reference: str) -> "Context":
    """Return the context that all spans of a payment stand in."""
    from opentelemetry import trace

    digest = hashlib.sha256(f"kusanya\0{mode}\0{reference}".encode()).digest()
    root = trace.SpanContext(
        trace_id=int.from_bytes(digest[:16], "big"),
        span_id=int.from_bytes(digest[16:24], "big"),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(root))
