"""What one reply means for the request that was sent. Pure.

A reply that the specification does not allow is never taken for success: a redirect, a page of
HTML, a 200 where 202 is due, a body that is too long, another mode, another collection. After a
create such a reply is as good as none. So is a refusal that somebody between may have written: only
the service knows whether it acted.
"""

from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from typing import Final, TypeVar

import msgspec

from kusanya.client.answers import is_undecided, response_info, service_error
from kusanya.client.attempts import AttemptOutcome, Classification
from kusanya.client.effects import Failure, Reply, Request, Response
from kusanya.domain.limits import ANSWER_MAX_BYTES
from kusanya.errors import (
    Conflict,
    NoAnswer,
    NotSent,
    ProtocolError,
    RateLimited,
    ServiceError,
    ServiceUnavailable,
    WireError,
)
from kusanya.say import Said
from kusanya.wire import (
    Collection,
    Event,
    Mode,
    Principal,
    decode_collection,
    decode_event,
    decode_principal,
)

Resource = TypeVar("Resource", Collection, Event, Principal)
Reader = Callable[[Response], Resource]
_TRY_AGAIN: Final = (Conflict, RateLimited, ServiceUnavailable)


def classify(
    request: Request, reply: Reply, read: Reader[Resource], *, now: datetime
) -> Classification[Resource]:
    """Return what `reply` means; `read` turns an answer into the resource or raises WireError."""
    creates = request.method == "POST"
    if isinstance(reply, Failure):
        return _unanswered(reply, creates=creates)
    if reply.status >= HTTPStatus.BAD_REQUEST:
        return _refused(reply, creates=creates, now=now)
    info = response_info(reply)
    try:
        value = _read(reply, read, expected=HTTPStatus.ACCEPTED if creates else HTTPStatus.OK)
    except WireError as error:
        return Classification(
            outcome=AttemptOutcome.LOST,
            error=ProtocolError(str(error), status=reply.status, outcome_unknown=creates),
            status=reply.status,
            request_id=info.request_id,
            effect_possible=creates,
        )
    value.__dict__["response"] = info
    return Classification(
        outcome=AttemptOutcome.ANSWERED,
        value=value,
        status=reply.status,
        request_id=info.request_id,
    )


def _unanswered(failure: Failure, *, creates: bool) -> Classification[Resource]:
    if failure.left:
        error = NoAnswer(Said("no usable answer: {our_why}").of(our_why=failure.why))
        return Classification(
            outcome=AttemptOutcome.LOST, error=error, effect_possible=creates, again=True
        )
    return Classification(
        outcome=AttemptOutcome.NOT_SENT,
        error=NotSent(
            Said("the service cannot be reached ({kind}): nothing was sent").of(kind=failure.why)
        ),
        again=True,
    )


def _refused(reply: Response, *, creates: bool, now: datetime) -> Classification[Resource]:
    refusal = service_error(reply, now=now)
    if is_undecided(reply, creates=creates):
        return _undecided(refusal, creates=creates)
    again = isinstance(refusal, _TRY_AGAIN)
    return Classification(
        outcome=AttemptOutcome.RETRYABLE if again else AttemptOutcome.REFUSED,
        error=refusal,
        status=reply.status,
        request_id=refusal.request_id,
        effect_possible=creates and isinstance(refusal, ServiceUnavailable),
        again=again,
    )


def _undecided(refusal: ServiceError, *, creates: bool) -> Classification[Resource]:
    no_answer = NoAnswer(
        Said("no usable answer: a {code} that does not say what became of the request").of(
            code=refusal.status
        )
    )
    no_answer.__cause__ = refusal
    return Classification(
        outcome=AttemptOutcome.LOST,
        error=no_answer,
        status=refusal.status,
        request_id=refusal.request_id,
        effect_possible=creates,
        again=True,
    )


def _read(reply: Response, read: Reader[Resource], *, expected: int) -> Resource:
    if reply.status >= HTTPStatus.MULTIPLE_CHOICES:
        raise WireError(f"the answer is a redirect ({reply.status}), which is never followed")
    if reply.status != expected:
        raise WireError(f"the answer is {reply.status} where {expected} is due")
    if not reply.complete:
        raise WireError(f"the answer is longer than {ANSWER_MAX_BYTES} bytes")
    encoding = (reply.header("content-encoding") or "identity").strip().lower()
    if encoding != "identity":
        raise WireError("the answer is compressed, which was not asked for")
    return read(reply)


def read_created(response: Response, *, sent: bytes, mode: Mode | None) -> Collection:
    """Read the answer to a create and hold it against the request `sent`."""
    collection = decode_collection(response.body)
    _check_mode(collection.mode, mode)
    asked = msgspec.json.decode(sent, type=_CreateFields)
    if (collection.amount, collection.reference) != (asked.amount, asked.reference):
        raise WireError("the answer is about another amount or reference than was asked for")
    return collection


def read_collection(response: Response, *, asked: str, mode: Mode | None) -> Collection:
    """Read the answer to a GET of the collection `asked`."""
    collection = decode_collection(response.body)
    _check_mode(collection.mode, mode)
    _check_id(collection.id, asked)
    return collection


def read_event(response: Response, *, asked: str, mode: Mode | None) -> Event:
    """Read the answer to a GET of the event `asked`."""
    event = decode_event(response.body)
    _check_mode(event.mode, mode)
    _check_id(event.id, asked)
    return event


def read_principal(response: Response) -> Principal:
    """Read the answer to whoami; its mode is for the caller to response_classifier."""
    return decode_principal(response.body)


def reference_of(request: Request) -> str | None:
    """Return the merchant's reference that a create carries, or None for any other request."""
    if request.body is None:
        return None
    return msgspec.json.decode(request.body, type=_CreateFields).reference


class _CreateFields(msgspec.Struct, frozen=True):
    amount: int
    reference: str


def _check_mode(found: Mode, expected: Mode | None) -> None:
    if expected is not None and found is not expected:
        raise WireError(f"the answer is in {found.value} mode, the API key in {expected.value}")


def _check_id(found: str, asked: str) -> None:
    if found != asked:
        raise WireError("the answer is about another object than was asked for")
