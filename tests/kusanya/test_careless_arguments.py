"""Whatever a program gives to a public function by mistake is taken for what it says, or refused.

Refused in our words, by a type that the docstring names: no attribute is looked for on it in vain,
and none of it is found out only when a customer was asked, or an order waits for a handler.
"""

import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from kusanya import (
    Client,
    Store,
    channels,
    intents,
    orders,
    outcomes,
    receiver,
    webhooks,
)
from kusanya.errors import ConfigurationError, KusanyaError
from kusanya.outcomes import Kind
from kusanya.privacy.secret import Secret
from kusanya.wire import Mode
from kusanya_service.testing import PaymentService

_SECRET = "whsec_" + "a" * 32


class Text(str):
    """What a template engine gives for a text."""

    __slots__ = ()


CARELESS: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 10**30, 1.5, float("nan"), float("inf"), Decimal(5000),
    Decimal("nan"), "", " ", "\0", "a\0b", "\ud800", "x" * 10_000, "5000", "tset",
    "\N{RIGHT-TO-LEFT OVERRIDE}abc", Text("abc"), b"", b"abc", b"\xff\xfe", bytearray(b"a"),
    [], [1], [None], ["a"], (), {}, {"a": 1}, {1: 2}, {"a": None}, set(), object(), int, len,
    datetime.max.replace(tzinfo=UTC), date(2026, 1, 1), timedelta(-1), Path("x"),
    Mode.TEST, Secret(_SECRET), ValueError("x"),
)  # fmt: skip

_NUMBERS = count(1)


def _calls(
    store: Store, client: Client, service: PaymentService
) -> Iterator[tuple[str, dict[str, Any], Callable[..., Any]]]:
    """Yield each public function with arguments that are good."""
    # Of one phone only so many are asked for: each call has one of its own.
    order = {
        "amount": 5000,
        "phone": "NEW",
        "reference": "NEW",
        "description": "tea",
        "metadata": {"a": "b"},
    }

    def new(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(**given: Any) -> Any:
            number = next(_NUMBERS)
            fresh = {"phone": f"0754{number:06}", "reference": f"order-{number}"}
            return function(
                **{
                    name: fresh[name] if value == "NEW" and name in fresh else value
                    for name, value in given.items()
                }
            )

        return call

    limits = {"attempts": 5, "phone_hour": 5, "phone_day": 20, "wrong_pins": 2}
    yield "orders.Limits", limits, orders.Limits
    yield (
        "orders.pay",
        {"store": store, "client": client, **order, "profile": "main", "limits": orders.Limits()},
        new(orders.pay),
    )
    yield "orders.get", {"store": store, "reference": "order-1", "mode": "test"}, orders.get
    waited = {"store": store, "client": client, "reference": "no order", "timeout_s": 0.0}
    yield "orders.wait", waited, orders.wait
    yield (
        "intents.create_safely",
        {"store": store, "client": client, **order, "profile": "main", "idempotency_key": None},
        new(intents.create_safely),
    )
    yield (
        "create_collection",
        {**order, "idempotency_key": None, "timeout": None},
        new(client.create_collection),
    )
    yield "get_collection", {"collection_id": "col_unknown", "timeout": 5.0}, client.get_collection
    yield "wait", {"collection_id": "col_unknown", "timeout": 0.0}, client.wait
    settings = {
        "mode": "test",
        "timeout": 5.0,
        "max_attempts": 1,
        "key_prefix": None,
        "verify": None,
        "cert": None,
        "proxy": None,
    }

    def whoami(**given: Any) -> Any:
        with Client(**given) as one:
            return one.origin

    yield "Client", {"api_key": service.test_key, "base_url": service.base_url, **settings}, whoami
    yield "channels.now", {"store": store, "mode": "test"}, channels.now
    yield (
        "webhooks.sign",
        {"payload": b"{}", "secret": _SECRET},
        lambda **given: webhooks.sign(timestamp=1, **given),
    )
    yield (
        "webhooks.check",
        {"payload": b"{}", "header": webhooks.sign(b"{}", _SECRET, 1), "secret": _SECRET},
        lambda **given: webhooks.check(now=1.0, **given),
    )
    endpoint = {"secrets": _SECRET, "mode": "test"}
    yield "EndpointSecrets", {"name": "shop", **endpoint}, receiver.EndpointSecrets
    yield (
        "receiver.Limits",
        {"body_bytes": 1000, "receipt_s": 8.0, "in_flight": 5, "health_s": 1.0},
        receiver.Limits,
    )
    yield (
        "receiver.app",
        {"store": store, **endpoint, "signature_header": "X-Signature"},
        receiver.app,
    )
    yield (
        "receiver.handle",
        {
            "store": store,
            **endpoint,
            "body": b"{}",
            "headers": {"X-Signature": "t=1"},
            "signature_header": "X-Signature",
        },
        receiver.handle,
    )
    yield (
        "Consumer",
        {"store": store, "name": "shipping", "mode": "test", "unexpected": "person"},
        outcomes.Consumer,
    )

    def forwarder(**given: Any) -> Any:
        with outcomes.Forwarder(
            url="http://127.0.0.1:9/", secrets=[Secret(_SECRET)], **given
        ) as one:
            return one

    yield "Forwarder", {"store": store, "name": "shipping", "mode": "test"}, forwarder
    yield (
        "Consumer.on",
        {"kind": Kind.PAID, "handler": lambda _outcome, _tx: None},
        lambda kind, handler: outcomes.Consumer(store, "a", mode=Mode.TEST).on(kind)(handler),
    )
    yield (
        "Consumer.ignore",
        {"kind": Kind.PAID, "why": "not sold"},
        lambda kind, why: outcomes.Consumer(store, "a", mode=Mode.TEST).ignore(kind, why=why),
    )
    yield "outcomes.ddl", {"database": "sqlite"}, outcomes.ddl
    yield "outcomes.Later", {"seconds": 5.0}, outcomes.Later
    yield (
        "outcomes.add",
        {"name": "shipping", "mode": "test"},
        lambda name, mode: store.outcomes.add(name, mode=mode, begin=None, actor="a"),
    )


def _fault(call: Callable[..., Any], given: dict[str, Any]) -> str:
    """Return what is wrong with how a call ended; empty for nothing."""
    try:
        call(**given)
    except (TypeError, ValueError, KusanyaError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        is_ours = "/lib/kusanya/" in last.filename and (last.line or "").startswith("raise")
        said = f"{type(error).__name__} {error}"
        if not is_ours or isinstance(error, UnicodeError) or "cannot be kept" in said:
            return f"{said} ({last.filename}:{last.lineno})"
    except Exception as error:  # noqa: BLE001 - any other end is what the test is for
        return repr(error)
    return ""


@pytest.fixture
def shop(tmp_path: Path, payment_service: PaymentService) -> Iterator[tuple[Store, Client]]:
    with (
        Store.open(tmp_path / "kusanya.sqlite", clock=payment_service.clock) as store,
        Client(payment_service.test_key, base_url=payment_service.base_url) as client,
    ):
        yield store, client


def test_a_careless_argument_is_refused_in_words(
    shop: tuple[Store, Client], payment_service: PaymentService
) -> None:
    faults = []
    for name, good, call in _calls(*shop, payment_service):
        assert not (fault := _fault(call, good)), (name, fault)
        faults += [
            f"{name}({argument}={value!r:.40}): {fault}"
            for argument in good
            for value in CARELESS
            if (fault := _fault(call, {**good, argument: value}))
        ]
    assert not faults, "\n".join(["", *faults[:40]])


@pytest.mark.parametrize(
    ("bounded", "given"),
    [
        # NaN is above and below nothing: a limit of it would hold nobody back.
        (orders.Limits, {"attempts": float("nan")}),
        (orders.Limits, {"phone_hour": 1.5}),
        (orders.Limits, {"wrong_pins": True}),
        (receiver.Limits, {"in_flight": 0}),
        (receiver.Limits, {"receipt_s": float("nan")}),
        (Client, {"timeout": float("nan")}),
        (Client, {"max_attempts": 2.5}),
        (Client, {"verify": ""}),
        (Client, {"cert": ""}),
    ],
    ids=str,
)
def test_a_bound_that_bounds_nothing_is_refused(
    bounded: Callable[..., object], given: dict[str, Any]
) -> None:
    if bounded is Client:
        bounded = partial(Client, "shop_test_sk_a", base_url="https://shop.example")
    with pytest.raises((TypeError, ValueError, ConfigurationError)):
        bounded(**given)


def test_a_wait_for_an_open_order_is_not_without_an_end(shop: tuple[Store, Client]) -> None:
    store, client = shop
    orders.pay(store, client, "INV-1", amount=5000, phone="0754000001")
    with pytest.raises(ValueError, match="timeout_s is no number of seconds"):
        orders.wait(store, client, "INV-1", timeout_s=float("nan"))


def test_a_text_of_a_template_engine_names_the_same_order(shop: tuple[Store, Client]) -> None:
    store, client = shop
    asked = partial(orders.pay, store, client, amount=5000, phone=Text("0754000001"))
    first = asked(Text("INV-1"), description=Text("tea"), metadata={Text("a"): Text("b")})
    assert asked("INV-1").attempts == first.attempts
    assert orders.get(store, Text("INV-1"), mode=Mode.TEST).attempts == first.attempts


def test_a_misspelt_setting_of_a_consumer_is_no_other_one(tmp_path: Path) -> None:
    with Store.open(tmp_path / "kusanya.sqlite") as store:
        with pytest.raises(ConfigurationError, match="unexpected is 'person' or 'paid'"):
            outcomes.Consumer(store, "a", mode=Mode.TEST, unexpected="piad")  # type: ignore[arg-type]
        consumer = outcomes.Consumer(store, "a", mode=Mode.TEST)
        for kinds in [(), ("piad",), (Kind.PAID, None), (len,)]:
            with pytest.raises(ConfigurationError, match="a handler answers kinds of outcomes"):
                consumer.on(*kinds)  # type: ignore[arg-type]
        consumer.on("paid")(lambda _outcome, _tx: None)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="paid has a handler already"):
            consumer.ignore(Kind.PAID, why="x")
        with pytest.raises(ValueError, match="is no name for a consumer"):
            store.outcomes.add("../a", mode=Mode.TEST, begin=None, actor="a")


def test_a_secret_in_the_place_of_a_mode_is_not_shown() -> None:
    for mode in ("shop_live_sk_0123456789", _SECRET, "x" * 500):
        with pytest.raises(ConfigurationError, match="a mode is 'live' or 'test', not this str"):
            Client("shop_test_sk_a", base_url="https://a.example", mode=mode)
