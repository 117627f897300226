"""The units for PostgreSQL start as they stand, each with the login that their README gives it."""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Connection, create_engine, make_url
from tests.console.cli.deploying import Kusanya, deployed, unit
from tests.console.cli.test_deployed_units_start import SECRET, ask, free_port, now, started
from tests.kit.databases import serving
from tests.kusanya.store.test_store_backups import programs_of_postgresql

from kusanya.store import Store, roles_sql
from kusanya.webhooks import sign
from kusanya_service.testing import PaymentService, payment_service

__all__ = ["payment_service"]
PASSWORD = "Gx7qGeheim"
pytestmark = pytest.mark.postgres


@pytest.fixture
def server() -> Iterator[URL]:
    """Yield the superuser's address of a server of the test's own: roles belong to all of one."""
    with serving() as databases:
        yield make_url(databases.url("postgres"))


@pytest.fixture
def superuser(server: URL) -> Iterator[Connection]:
    """Yield a session of the server's superuser."""
    engine = create_engine(
        server.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        yield connection
    engine.dispose()


class Units:
    """What systemd would do with the units: the words of ExecStart, settings and credential."""

    def __init__(
        self, made: dict[str, str], settings: dict[str, str], server: URL, folder: Path
    ) -> None:
        self._made = made
        self._settings = settings
        self._server = server
        self._folder = folder

    def address(self, login: str) -> URL:
        """Return the address of a login, as the README says it."""
        database = "kusanya_scratch" if login == "scratch" else "kusanya"
        return self._server.set(username=f"kusanya_{login}", password=PASSWORD, database=database)

    def words_and_environ(self, name: str) -> tuple[list[str], dict[str, str]]:
        """Return what a unit starts, and in which environment."""
        service = unit(self._made[f"kusanya-{name}.service"])["Service"]
        credential, _, path = service["LoadCredential"].partition(":")
        folder = self._folder / "credentials" / name
        folder.mkdir(parents=True, exist_ok=True)
        login = path.rpartition("/")[2]
        (folder / credential).write_text(self.address(login).render_as_string(hide_password=False))
        words = [
            re.sub(r"\$\{(\w+)\}", lambda found: self._settings[found[1]], word)
            for word in shlex.split(service["ExecStart"])
        ]
        return words, self._settings | {"CREDENTIALS_DIRECTORY": str(folder)}

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run what a unit starts to its end."""
        words, environ = self.words_and_environ(name)
        return subprocess.run(
            words, env=environ, capture_output=True, text=True, timeout=100, check=False
        )


@pytest.mark.merge
def test_the_units_start_on_a_bare_server_each_with_its_own_login(
    kusanya: Kusanya,
    payment_service: PaymentService,
    superuser: Connection,
    server: URL,
    tmp_path: Path,
) -> None:
    made = deployed(
        kusanya, tmp_path / "new", "systemd", "--store", "postgresql://db.internal/kusanya"
    )
    [sql] = re.findall(r"```sql\n(.*?)```", made["README.md"], flags=re.DOTALL)
    statements = [
        line.replace("…", PASSWORD).rstrip(";") for line in sql.splitlines() if line[:2] != "--"
    ]
    before = [one for one in statements if "IN ROLE" not in one]

    (tmp_path / "backups").mkdir()
    for name, text in {"api-key": payment_service.test_key, "secrets": f"shop={SECRET}"}.items():
        (tmp_path / name).touch(mode=0o600)
        (tmp_path / name).write_text(text)
    settings = dict(
        line.split("=", 1)
        for line in made["kusanya.env"].splitlines()
        if not line.startswith("#") and "NOTIFY" not in line
    )
    settings = {
        name: value.replace("/etc/kusanya", str(tmp_path)).replace(
            "/var/lib/kusanya", str(tmp_path)
        )
        for name, value in settings.items()
    } | {
        "KUSANYA_BASE_URL": payment_service.base_url,
        "KUSANYA_PORT": f"{free_port()}",
        "KUSANYA_METRICS_PORT": f"{free_port()}",
        "PATH": f"{programs_of_postgresql()}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
    }

    units = Units(made, settings, server, tmp_path)
    run, words_and_environ, address = units.run, units.words_and_environ, units.address
    away = run("migrate")
    assert away.returncode == 1, "there is no such login yet: systemd tries again"
    assert PASSWORD not in away.stderr
    for statement in before:
        superuser.exec_driver_sql(statement)
    assert run("migrate").returncode == 0
    owner = create_engine(address("owner").set(drivername="postgresql+psycopg"))
    with owner.connect() as connection, connection.begin():
        raw: Any = connection.connection.driver_connection
        raw.execute(roles_sql())  # as psql sends it: a % in it is no place of a value
    owner.dispose()
    for statement in statements:
        if "IN ROLE" in statement:
            superuser.exec_driver_sql(statement)
    with (
        started(*words_and_environ("receive")) as receiver,
        started(*words_and_environ("watch")) as watcher,
    ):
        assert receiver.stdout is not None
        assert watcher.stdout is not None
        assert "watching" in watcher.stdout.readline()
        assert "receiving test events for shop" in receiver.stdout.readline()
        body = b"{}"
        signed = sign(body, SECRET, now())
        port = int(settings["KUSANYA_PORT"])
        assert ask(port, "POST", "/webhooks", body, **{"Service-Signature": signed}) == 200
        assert ask(port, "GET", "/readyz") == 200
        receiver.send_signal(signal.SIGTERM)
    backup = run("backup")
    assert backup.returncode == 0, backup.stderr
    [dump] = (tmp_path / "backups").iterdir()
    assert dump.suffix == ".dump"
    verified = run("verify")
    assert verified.returncode == 0, verified.stderr
    assert "can be put back" in verified.stdout
    with Store.open(address("owner").render_as_string(hide_password=False), create=False) as store:
        last = store.backups.status().last
        assert last is not None
        assert last.name == dump.name
    assert PASSWORD not in backup.stdout + backup.stderr + verified.stdout + verified.stderr
