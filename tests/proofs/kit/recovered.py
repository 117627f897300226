"""What is in a store after a crash: looked at quickly for thousands of states, and thoroughly."""

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from pysqlite3 import dbapi2

from kusanya.store import Store

_EXISTS = "SELECT count(*) FROM sqlite_master WHERE name = 'delivery'"


class Contents(NamedTuple):
    """What SQLite alone says of a store."""

    lost: int
    """How many of the bodies looked for are not there, byte for byte and as often as asked."""
    damage: str | None


def look(path: Path, bodies: Iterable[bytes]) -> Contents:
    """Open the file as SQLite does after a crash, check it, and look for `bodies`."""
    wanted = Counter(bodies)
    if not path.exists():
        return Contents(wanted.total(), None)
    with closing(dbapi2.connect(path, isolation_level=None)) as connection:
        try:
            said = [line for (line,) in connection.execute("PRAGMA integrity_check")]
            if said != ["ok"]:
                return Contents(0, "; ".join(said))
            if connection.execute(_EXISTS).fetchone()[0]:
                rows = connection.execute("SELECT body FROM delivery")
                wanted -= Counter(bytes(body) for (body,) in rows)
        except dbapi2.DatabaseError as error:
            return Contents(0, str(error))
    return Contents(wanted.total(), None)


def disagreements(path: Path) -> list[str]:
    """Open the store as the product does, and return what it finds wrong with itself."""
    with Store.open(path) as store:
        return [finding.sentence for finding in store.maintenance.check()]
