"""What the gateway takes and answers, and its description for programs (OpenAPI 3.1)."""

from datetime import datetime
from typing import Any, Final

import msgspec

from kusanya.channels import ChannelNow
from kusanya.domain.collection_columns import NAME_MAX
from kusanya.orders import Order
from kusanya.say import in_language
from kusanya.wording import Wording

WAIT_MAX_S: Final = 30
TAKEN_MAX: Final = 50


class Wanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What PUT of an order takes. Its repr shows nothing of the customer."""

    amount: int
    """In whole shillings."""
    phone: str
    """A Tanzanian number in any usual spelling."""
    description: str | None = None
    metadata: dict[str, str] | None = None
    unless_down: bool = False
    """Send no prompt into a channel that is down."""

    def __repr__(self) -> str:
        return f"Wanted(amount={self.amount})"


class Reason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why an outcome is left to a person."""

    why: str


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What to tell the customer, in one language."""

    sentence: str
    next_step: str


class Customer(msgspec.Struct, frozen=True, kw_only=True):
    """What to tell the customer."""

    en: Words
    sw: Words


class Payment(msgspec.Struct, frozen=True, kw_only=True):
    """The collection that an order's state is about; amounts are in whole units."""

    id: str
    status: str
    amount: int
    fee: int
    currency: str
    channel: str
    failure_code: str | None


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Why no prompt was sent that was safe otherwise."""

    limit: str
    wait_s: float | None


class OrderDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What an order has come to. It holds no phone."""

    reference: str
    mode: str
    status: str
    """paid, asked, unpaid, unknown or needs_person."""
    reason: str
    attempts: int
    collection: Payment | None
    wait_s: float | None
    """After how many seconds another look may bring something new."""
    customer: Customer
    not_asked: Held | None

    @staticmethod
    def of(order: Order) -> "OrderDocument":
        """Return an order as it is answered."""
        row, said, held = order.collection, order.customer, order.not_asked
        return OrderDocument(
            reference=order.reference,
            mode=order.mode.value,
            status=order.status.value,
            reason=order.reason.value,
            attempts=len(order.attempts),
            collection=None
            if row is None
            else Payment(
                id=row.id,
                status=row.status,
                amount=row.amount,
                fee=row.fee,
                currency=row.currency,
                channel=row.channel,
                failure_code=row.failure_code,
            ),
            wait_s=order.wait_s,
            customer=_customer(said.english, said.swahili),
            not_asked=None if held is None else Held(limit=held.limit, wait_s=held.wait_s),
        )


class ChannelDocument(msgspec.Struct, frozen=True, kw_only=True):
    """How a channel is doing."""

    channel: str
    label: str
    state: str
    """ok, trouble or down."""
    since: datetime | None
    customer: Customer | None

    @staticmethod
    def of(one: ChannelNow) -> "ChannelDocument":
        """Return a channel as it is answered."""
        said = None
        if one.english is not None and one.swahili is not None:
            said = _customer(one.english, one.swahili)
        return ChannelDocument(
            channel=one.channel,
            label=one.label,
            state=one.state.value,
            since=one.since,
            customer=said,
        )


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was not carried out."""

    code: str
    """A stable word."""
    message: str
    """For a person."""


class ErrorDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer from 400 on."""

    error: Problem


def openapi() -> dict[str, Any]:
    """Return the description of the gateway as an OpenAPI 3.1 document."""
    types = (Wanted, Reason, OrderDocument, ChannelDocument, ErrorDocument)
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    wanted, reason, order, channel, error = schemas
    events = {"type": "array", "items": {"type": "object", "description": "A CloudEvent."}}
    text = {"type": "string", "minLength": 1, "maxLength": NAME_MAX}
    reference = _parameter("reference", "path", text)
    outcome = _parameter("id", "path", {"type": "string"})
    consumer = _parameter("consumer", "query", {"type": "string"})
    wait = _parameter(
        "wait", "query", {"type": "integer", "minimum": 0, "maximum": WAIT_MAX_S}, is_needed=False
    )
    problem = {"description": "Why not.", **_json(error)}

    def operation(
        name: str, said: str, *parameters: dict[str, Any], answer: Any = None, body: Any = None
    ) -> dict[str, Any]:
        done = (
            {"204": {"description": "Done."}}
            if answer is None
            else {"200": {"description": said, **_json(answer)}}
        )
        found = {
            "operationId": name,
            "summary": said,
            "parameters": list(parameters),
            "responses": {**done, "default": problem},
        }
        return (
            found if body is None else {**found, "requestBody": {"required": True, **_json(body)}}
        )

    return {
        "openapi": "3.1.0",
        "info": {"title": "Kusanya gateway", "version": "1"},
        "security": [{"token": []}],
        "paths": {
            "/v1/orders/{reference}": {
                "put": operation(
                    "pay", "Have an order paid; the same request again is always right.",
                    reference, answer=order, body=wanted,
                ),
                "get": operation(
                    "order", "What an order has come to; with wait, once it has an end.",
                    reference, wait, answer=order,
                ),
            },
            "/v1/outcomes": {
                "get": operation(
                    "outcomes", "What a consumer has to do, leased to it for two minutes.",
                    consumer, wait, answer=events,
                ),
            },
            "/v1/outcomes/{id}/done": {
                "post": operation("done", "An outcome is done.", outcome, consumer),
            },
            "/v1/outcomes/{id}/parked": {
                "post": operation(
                    "parked", "A person has to look at an outcome.", outcome, consumer, body=reason
                ),
            },
            "/v1/channels": {
                "get": operation(
                    "channels", "How each channel is doing now.",
                    answer={"type": "array", "items": channel},
                ),
            },
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip


def _customer(english: Wording, swahili: Wording) -> Customer:
    return Customer(en=_words(english), sw=_words(swahili))


def _words(said: Wording) -> Words:
    return Words(
        sentence=in_language(said.sentence, said.language),
        next_step=in_language(said.next_step, said.language),
    )


def _json(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _parameter(
    name: str, place: str, schema: dict[str, Any], *, is_needed: bool = True
) -> dict[str, Any]:
    return {"name": name, "in": place, "required": is_needed, "schema": schema}
