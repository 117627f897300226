"""A receiver of the version before: run by the test of rolling upgrades, never imported by it.

It is today's code, told that the last revision it knows is the one before the newest: it opens,
writes and checks as such a program does. Where KUSANYA_OLDER_LIB names the `lib` folder of an
older checkout, that code runs instead, and is told nothing.

Arguments: the store's address. First it prints the revision that it was made for; then it receives
each number that it is given, and prints the number and what was answered.
"""

import importlib.util
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

OLDER: Final = os.environ.get("KUSANYA_OLDER_LIB")
SECRET: Final = "whsec_of_two_versions"
if OLDER is not None:
    sys.path.insert(0, OLDER)

from kusanya import receiver  # noqa: E402 - from the older folder, where one is named
from kusanya.store import Store  # noqa: E402
from kusanya.store.maintenance import migrations  # noqa: E402
from kusanya.webhooks import sign  # noqa: E402


def forget_the_newest() -> None:
    """Make this process one of the revision before."""
    know: Any = migrations
    know.REVISIONS = migrations.REVISIONS[:-1]


def receive(store: Store, make: Any, number: int) -> int:
    """Receive the signed event of a number, and return the status that is answered."""
    body = make.body(number, status=("succeeded", "failed")[number % 2])
    header = sign(body, SECRET, int(datetime.now(tz=UTC).timestamp()))
    status, _ = receiver.handle(
        store, [SECRET], body, {"Service-Signature": header}, mode="test", resolve_intents=False
    )
    return status


def main(url: str) -> None:
    """Receive what is asked for until there is no more."""
    # By its place: `tests` is no package for a program that is started by itself.
    spec = importlib.util.spec_from_file_location("facts", Path(__file__).with_name("conftest.py"))
    if spec is None or spec.loader is None:
        raise FileNotFoundError("conftest.py")
    facts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(facts)
    make: Any = facts.Make()
    if OLDER is None:
        forget_the_newest()
    with Store.open(url, create=False) as store:
        sys.stdout.write(f"{migrations.REVISIONS[-1]}\n")
        sys.stdout.flush()
        for line in sys.stdin:
            sys.stdout.write(f"{line.strip()} {receive(store, make, int(line))}\n")
            sys.stdout.flush()
        findings = store.maintenance.check()
        sys.stdout.write(f"{len(findings)} findings\n")


if __name__ == "__main__":
    main(sys.argv[1])
