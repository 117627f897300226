"""Logins of a store on PostgreSQL, one for each role that `kusanya store roles` makes."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from kusanya.store import roles_sql
from kusanya.store.tables.engine import engines

ROLES: Final = ("look", "ask", "act", "reveal", "decide", "admin")


def run_script(found: Any, script: str) -> None:
    """Run several statements as the owner."""
    with found.writing() as connection:
        connection.connection.driver_connection.execute(script)


@contextmanager
def logins_of(postgres_url: str) -> Iterator[Callable[[str], str]]:
    """Return what gives the address of a database for a login that has one of the roles."""
    owner = engines(postgres_url)
    for _ in range(2):  # it may be run again
        run_script(owner, roles_sql())
    run_script(owner, "".join(
        f"DROP ROLE IF EXISTS as_{role}; CREATE ROLE as_{role} LOGIN; "
        f"GRANT kusanya_{role} TO as_{role};" for role in ROLES
    ))  # fmt: skip

    def login(role: str) -> str:
        path = "&options=" + quote("-csearch_path=kusanya_look") if role == "look" else ""
        return re.sub(r"//postgres:@", f"//as_{role}:@", postgres_url) + path

    yield login
    run_script(owner, "".join(f"DROP OWNED BY as_{role}; DROP ROLE as_{role};" for role in ROLES))
    run_script(owner, "".join(f"DROP OWNED BY kusanya_{role};" for role in ROLES))
    owner.dispose()
