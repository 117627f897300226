"""One statement makes an effect happen once, in whatever a shop speaks to its database with."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, create_mock_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from kusanya.errors import ConfigurationError
from kusanya.outcomes import Kind, Outcome, claim, claim_async, ddl, shop
from kusanya.wire import Mode

pytestmark = pytest.mark.role("")

OUTCOME = Outcome(
    id="out_1", seq=1, mode=Mode.TEST, reference="INV-1", kind=Kind.PAID, collection_id="col_1",
    intent_id=None, is_paid=True, amount=5000, fee=50, currency="TZS", expected_amount=None,
    failure_code=None, ordinal=1, at=datetime(2026, 3, 2, tzinfo=UTC), previous=None,
    evidence="evt_1",
)  # fmt: skip


def _sqlite3(address: str) -> Any:
    return sqlite3.connect(address.removeprefix("sqlite:///"))


def _psycopg(address: str) -> Any:
    return psycopg.connect(address)


def _engine(address: str) -> Any:
    full = address.replace("postgresql:", "postgresql+psycopg:")
    return create_engine(full, poolclass=NullPool)


def _connection(address: str) -> Any:
    return _engine(address).connect()


def _session(address: str) -> Any:
    return Session(_engine(address))


WAYS: list[tuple[str, Callable[[str], Any]]] = [
    ("sqlite", _sqlite3), ("sqlite", _connection), ("sqlite", _session),
    ("postgres", _psycopg), ("postgres", _connection), ("postgres", _session),
]  # fmt: skip


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a shop's database that has the table."""
    if request.param == "sqlite":
        found = f"sqlite:///{tmp_path / 'shop.db'}"
        with closing(_sqlite3(found)) as connection:
            connection.execute(ddl("sqlite"))
            connection.execute(ddl("sqlite"))
        return found
    postgres: str = request.getfixturevalue("postgres_url")
    with psycopg.connect(postgres) as opened:
        opened.execute(ddl("postgresql").encode())
        opened.execute(ddl("postgresql").encode())
    return postgres


@pytest.mark.parametrize(
    ("address", "connect"),
    [pytest.param(*way, marks=pytest.mark.postgres if "post" in way[0] else ()) for way in WAYS],
    indirect=["address"],
    ids=[f"{engine}-{way.__name__[1:]}" for engine, way in WAYS],
)
def test_what_was_committed_is_done_and_what_was_rolled_back_is_not(
    address: str, connect: Callable[[str], Any]
) -> None:
    with closing(connect(address)) as tx:
        assert claim(tx, "shipping", OUTCOME)
        assert not claim(tx, "shipping", OUTCOME)
        tx.rollback()
    with closing(connect(address)) as tx:
        assert claim(tx, "shipping", OUTCOME)
        assert claim(tx, "books", OUTCOME), "another consumer does its own"
        tx.commit()
    with closing(connect(address)) as tx:
        assert not claim(tx, "shipping", OUTCOME)


@pytest.mark.postgres
@pytest.mark.parametrize("address", ["postgres"], indirect=True)
def test_of_two_at_once_the_second_learns_what_became_of_the_first(address: str) -> None:
    for commits in (False, True):
        answers: list[bool] = []
        with closing(_psycopg(address)) as first:
            assert claim(first, "shipping", OUTCOME)

            def second() -> None:
                with closing(_psycopg(address)) as tx:
                    answers.append(claim(tx, "shipping", OUTCOME))  # noqa: B023 - joined below

            thread = threading.Thread(target=second)
            thread.start()
            (first.commit if commits else first.rollback)()
            thread.join()
        assert answers == [not commits]


@asynccontextmanager
async def _psycopg_async(address: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(address) as tx:
        yield tx


@asynccontextmanager
async def _asyncpg(address: str) -> AsyncIterator[Any]:
    asyncpg: Any = import_module("asyncpg")
    tx = await asyncpg.connect(address)
    try:
        async with tx.transaction():
            yield tx
    finally:
        await tx.close()


@asynccontextmanager
async def _connection_async(address: str) -> AsyncIterator[Any]:
    full = address.replace("postgresql:", "postgresql+psycopg:")
    async with create_async_engine(full, poolclass=NullPool).connect() as tx:
        yield tx
        await tx.commit()


@asynccontextmanager
async def _session_async(address: str) -> AsyncIterator[Any]:
    full = address.replace("postgresql:", "postgresql+psycopg:")
    async with AsyncSession(create_async_engine(full, poolclass=NullPool)) as tx:
        yield tx
        await tx.commit()


@pytest.mark.postgres
@pytest.mark.parametrize("address", ["postgres"], indirect=True)
@pytest.mark.parametrize(
    "connect",
    [_psycopg_async, _asyncpg, _connection_async, _session_async],
    ids=lambda it: it.__name__,
)
def test_an_async_connection_claims_as_well(
    address: str, connect: Callable[[str], AbstractAsyncContextManager[Any]]
) -> None:
    async def twice() -> list[bool]:
        async with connect(address) as tx:
            return [await claim_async(tx, "shipping", OUTCOME) for _ in range(2)]

    assert asyncio.run(twice()) == [True, False]
    assert asyncio.run(twice()) == [False, False], "it was committed"


def _sqlite_alone(address: str) -> Any:
    return sqlite3.connect(address.removeprefix("sqlite:///"), isolation_level=None)


def _psycopg_alone(address: str) -> Any:
    return psycopg.connect(address, autocommit=True)


def _cursor_alone(address: str) -> Any:
    return _sqlite_alone(address).cursor()


def _connection_alone(address: str) -> Any:
    return _engine(address).connect().execution_options(isolation_level="AUTOCOMMIT")


def _session_alone(address: str) -> Any:
    return Session(_engine(address).execution_options(isolation_level="AUTOCOMMIT"))


ALONE = [
    ("sqlite", _sqlite_alone), ("sqlite", _cursor_alone), ("sqlite", _connection_alone),
    ("postgres", _psycopg_alone), ("postgres", _connection_alone), ("postgres", _session_alone),
]  # fmt: skip


@pytest.mark.parametrize(
    ("address", "connect"),
    [pytest.param(*way, marks=pytest.mark.postgres if "post" in way[0] else ()) for way in ALONE],
    indirect=["address"],
    ids=[f"{engine}-{way.__name__[1:]}" for engine, way in ALONE],
)
def test_a_connection_that_commits_each_statement_is_refused_before_it_claims(
    address: str, connect: Callable[[str], Any]
) -> None:
    with closing(connect(address)) as tx, pytest.raises(ConfigurationError, match="by itself"):
        claim(tx, "shipping", OUTCOME)
    usual = _psycopg if address.startswith("postgres") else _sqlite3
    with closing(usual(address)) as tx:
        assert claim(tx, "shipping", OUTCOME), "nothing was claimed"


@pytest.mark.postgres
@pytest.mark.parametrize("address", ["postgres"], indirect=True)
def test_a_transaction_that_was_opened_by_hand_is_one(address: str) -> None:
    with closing(_psycopg_alone(address)) as tx, tx.transaction():
        assert claim(tx, "shipping", OUTCOME)

    async def by_pool() -> None:
        asyncpg: Any = import_module("asyncpg")
        tx = await asyncpg.connect(address)
        with pytest.raises(ConfigurationError, match="by itself"):
            await claim_async(tx, "shipping", OUTCOME)
        await tx.close()

    asyncio.run(by_pool())


def test_begin_by_hand_is_a_transaction_of_sqlite_too(tmp_path: Path) -> None:
    with closing(_sqlite_alone(str(tmp_path / "shop.db"))) as tx:
        tx.execute(ddl("sqlite"))
        tx.execute("BEGIN")
        assert claim(tx, "shipping", OUTCOME)


@pytest.mark.parametrize("dialect", ["mysql", "mariadb"])
def test_mysql_is_asked_in_its_own_words(dialect: str) -> None:
    tx = create_mock_engine(f"{dialect}+pymysql://", lambda *_: None)
    statement, values = shop._of_sqlalchemy(tx, "shipping", OUTCOME)
    assert str(statement).startswith("INSERT IGNORE INTO kusanya_done")
    assert values == {"consumer": "shipping", "outcome": "out_1"}


def test_a_cursor_claims_and_something_else_is_refused() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        cursor = connection.cursor()
        cursor.execute(ddl("sqlite"))
        assert [claim(cursor, "shipping", OUTCOME) for _ in range(2)] == [True, False]
    with pytest.raises(ConfigurationError, match="no transaction"):
        claim(object(), "shipping", OUTCOME)
    with pytest.raises(ConfigurationError, match="is none of"):
        ddl("oracle")
