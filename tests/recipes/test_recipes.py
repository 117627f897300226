"""Each recipe is a whole shop: clicked twice it charges once, told twice it ships once."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

import httpx
import pytest
from celery.contrib.testing.worker import start_worker
from celery.signals import task_postrun
from sqlalchemy import Engine, create_engine, text
from tests.recipes import celery_shop, django_shop, fastapi_shop, flask_shop

from kusanya import AsyncClient, Client, Store
from kusanya.errors import ConfigurationError
from kusanya.outcomes import Consumer, Kind, Outcome, ddl
from kusanya.wire import Mode
from kusanya_service.testing import PaymentService
from kusanya_service.testing.forwarding import serve_app

SHIP = "UPDATE orders SET shipped = shipped + 1 WHERE reference = :reference"
Drain = Callable[[], object]


class Shop:
    """A recipe that runs, and a way to its database."""

    def __init__(self, url: str, database: Engine, drain: Drain) -> None:
        self.url, self.database, self.drain = url.rstrip("/"), database, drain

    def click(self, reference: str, phone: str) -> str:
        """Ask for money as a browser does, and return what the order has come to."""
        answer = httpx.put(
            f"{self.url}/orders/{reference}/payment", json={"phone": phone}, timeout=60
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["status"])

    def status(self, reference: str) -> str:
        """Return what the shop's page says."""
        answer = httpx.get(f"{self.url}/orders/{reference}/payment", timeout=60)
        return str(answer.json()["status"])

    def shipped(self) -> dict[str, int]:
        """Return how often each order was shipped."""
        with self.database.begin() as tx:
            rows = tx.execute(text("SELECT reference, shipped FROM orders ORDER BY reference"))
            return {row.reference: row.shipped for row in rows}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path / 'shop.db'}")
    with engine.begin() as tx:
        tx.execute(text("CREATE TABLE orders (reference, shipped INTEGER)"))
        tx.execute(text("INSERT INTO orders VALUES ('INV-1', 0), ('INV-2', 0)"))
        tx.execute(text(ddl("sqlite")))
    yield engine
    engine.dispose()


@pytest.fixture
def store(tmp_path: Path, payment_service: PaymentService) -> Iterator[Store]:
    with Store.open(tmp_path / "kusanya.db", clock=payment_service.clock) as opened:
        opened.outcomes.add("shipping", mode=Mode.TEST, begin=None, actor="asha")
        yield opened


def shipping(store: Store, ship: Callable[[Outcome, Any], None]) -> Consumer:
    consumer = Consumer(store, "shipping", mode=Mode.TEST)
    consumer.on(Kind.PAID)(ship)
    consumer.ignore(*set(Kind) - {Kind.PAID}, why="the recipe shows what ships")
    return consumer


def ship(outcome: Outcome, tx: Any) -> None:
    tx.execute(text(SHIP), {"reference": outcome.reference})


def given(service: PaymentService) -> dict[str, Any]:
    return {"api_key": service.test_key, "base_url": service.base_url, "clock": service.clock}


@pytest.fixture(params=["fastapi", "flask", "django"])
def shop(
    request: pytest.FixtureRequest, store: Store, payment_service: PaymentService, database: Engine
) -> Iterator[Shop]:
    made = MAKERS[request.param]
    with ExitStack() as stack:
        app, drain = made(stack, store, payment_service, database)
        server = serve_app(app)
        stack.callback(server.close)
        payment_service.deliver_to(f"{server.url.rstrip('/')}/webhooks/")
        yield Shop(server.url, database, drain)


def of_fastapi(
    _: ExitStack, store: Store, service: PaymentService, database: Engine
) -> tuple[Any, Drain]:
    app = fastapi_shop.shop(store, AsyncClient(**given(service)), service.signing_secret, Mode.TEST)
    return app, lambda: shipping(store, ship).drain(database.begin)


def of_flask(
    stack: ExitStack, store: Store, service: PaymentService, database: Engine
) -> tuple[Any, Drain]:
    client = stack.enter_context(Client(**given(service)))
    app = flask_shop.shop(store, client, service.signing_secret, Mode.TEST)
    return app, lambda: shipping(store, ship).drain(database.begin)


def of_django(
    stack: ExitStack, store: Store, service: PaymentService, database: Engine
) -> tuple[Any, Drain]:
    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application
    from django.db import connection, connections
    from django.urls import clear_url_caches

    module = ModuleType("recipe_of_django")
    if not settings.configured:
        settings.configure(
            ALLOWED_HOSTS=["127.0.0.1"],
            DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ""}},
            INSTALLED_APPS=["kusanya.integrations.django"],
            ROOT_URLCONF=module.__name__,
            SECRET_KEY="of a test",
        )
        django.setup()
    connection.settings_dict["NAME"] = database.url.database
    stack.callback(connections.close_all)
    client = stack.enter_context(Client(**given(service)))
    vars(module)["urlpatterns"] = django_shop.urls(store, client, service.signing_secret, Mode.TEST)
    vars(module)["consumer"] = lambda: shipping(store, by_django)
    sys.modules[module.__name__] = module
    clear_url_caches()
    stack.callback(sys.modules.pop, module.__name__)

    def by_django(outcome: Outcome, tx: Any) -> None:
        with tx.cursor() as cursor:
            cursor.execute(SHIP.replace(":reference", "%s"), [outcome.reference])

    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE kusanya_done")
    call_command("migrate", verbosity=0)
    drain = f"{module.__name__}.consumer"
    return get_wsgi_application(), lambda: call_command("kusanya_outcomes", drain, "--drain")


def of_celery(
    stack: ExitStack, store: Store, service: PaymentService, database: Engine
) -> tuple[Any, Drain]:
    app, _ = of_flask(stack, store, service, database)
    tasks = celery_shop.shop("memory://", shipping(store, ship), database.begin)
    tasks.conf.broker_transport_options = {"polling_interval": 0.02}
    [every] = tasks.conf.beat_schedule.values()
    done = Event()
    task_postrun.connect(lambda **_: done.set(), sender=tasks.tasks[every["task"]], weak=False)
    stack.enter_context(start_worker(tasks, pool="solo", perform_ping_check=False))

    def drain() -> None:
        done.clear()
        tasks.send_task(every["task"], **every["options"])
        assert done.wait(60)

    return app, drain


MAKERS = {"fastapi": of_fastapi, "flask": of_flask, "django": of_django, "celery": of_celery}


def test_an_order_that_is_clicked_and_told_twice_is_charged_and_shipped_once(
    shop: Shop, store: Store, payment_service: PaymentService
) -> None:
    assert [shop.click("INV-1", "0754 000 001") for _ in range(2)] == ["asked", "asked"]
    payment_service.advance(30)
    assert shop.status("INV-1") == "paid"
    assert shop.click("INV-1", "0754 000 001") == "paid"
    shop.drain()
    shop.drain()
    assert shop.shipped() == {"INV-1": 1, "INV-2": 0}
    assert len(store.intents.order(Mode.TEST, "INV-1").collections) == 1


@pytest.mark.merge
@pytest.mark.parametrize("shop", ["celery"], indirect=True)
def test_a_task_of_celery_ships_once_what_is_paid(
    shop: Shop, payment_service: PaymentService
) -> None:
    shop.click("INV-1", "0754 000 001")
    shop.drain()
    assert shop.shipped() == {"INV-1": 0, "INV-2": 0}
    payment_service.advance(30)
    shop.drain()
    shop.drain()
    assert shop.shipped() == {"INV-1": 1, "INV-2": 0}


def test_an_order_that_failed_is_asked_again_and_shipped_once(
    shop: Shop, payment_service: PaymentService
) -> None:
    payment_service.script("255754000002", "insufficient_funds")
    assert shop.click("INV-2", "0754 000 002") == "asked"
    payment_service.advance(30)
    shop.drain()
    assert shop.status("INV-2") == "unpaid"
    assert shop.click("INV-2", "0754 000 001") == "asked"
    payment_service.advance(30)
    shop.drain()
    assert shop.shipped() == {"INV-1": 0, "INV-2": 1}


def test_what_nobody_signed_ships_nothing(shop: Shop) -> None:
    answer = httpx.post(f"{shop.url}/webhooks/", content=b"{}", timeout=60)
    assert answer.status_code == 400
    shop.drain()
    assert shop.shipped() == {"INV-1": 0, "INV-2": 0}


@pytest.mark.parametrize("shop", ["django"], indirect=True)
@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("nothing.at_all", "No module named"),
        ("math.pi", "no consumer"),
        ("builtins.dict", "no consumer"),
    ],
)
def test_what_is_no_consumer_is_said_by_the_command(shop: Shop, named: str, why: str) -> None:
    from django.core.management import CommandError, call_command

    with pytest.raises(CommandError, match=why):
        call_command("kusanya_outcomes", named, "--drain")


@pytest.mark.parametrize("shop", ["django"], indirect=True)
def test_a_transaction_that_is_not_of_djangos_default_database_ships_nothing(
    shop: Shop, store: Store, payment_service: PaymentService
) -> None:
    shop.click("INV-1", "0754 000 001")
    payment_service.advance(30)
    with pytest.raises(ConfigurationError, match="by itself"):
        shipping(store, ship).drain(nullcontext)
    payment_service.advance(300)
    shop.drain()
    assert shop.shipped() == {"INV-1": 1, "INV-2": 0}
