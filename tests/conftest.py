"""What every test shares: one asynchronous backend, the four tiers, and where tests write."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.kit.databases import Databases

_ROUNDS = {"commit": 0, "merge": 0, "ci": 1, "release": 2}
"""Which number of a test's `scale` marker each tier takes."""
_TIERS = tuple(_ROUNDS)
_MEMORY = Path("/dev/shm")  # noqa: S108 - every file in it is made by tempfile
_ENOUGH_BYTES = 4 * 2**30
"""What a run may write at once, its servers' databases among it."""


_PATIENCE_S = {"ci": 3_600, "release": 86_400}
"""How long a proof with rounds may take in a longer tier: five minutes would end most of them."""


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio alone, the loop the product runs on."""
    return "asyncio"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --tier: how far the long proofs go."""
    parser.addoption("--tier", choices=_TIERS, default="commit", help="how far the proofs go")
    parser.addoption("--ledger", type=Path, help="write there what the proofs with rounds did")


def pytest_configure(config: pytest.Config) -> None:
    """Let the everyday tier try the same examples each time; the longer ones look for new ones."""
    # No deadlines: they are measured on the wall clock, and the machine may be busy.
    settings.register_profile("commit", derandomize=True, deadline=None)
    settings.register_profile("longer", print_blob=True, deadline=None)
    # The tests start hundreds of programs, each of which would compile every module anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that runs us in the background says so, and every program we start would inherit
        # it: the tests that press Ctrl-C would wait for ever.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _write_into_memory()
    same_each_time = config.getoption("--tier") in {"commit", "merge"}
    settings.load_profile("commit" if same_each_time else "longer")
    ledger = config.getoption("--ledger")
    if ledger is not None and not hasattr(config, "workerinput"):
        from tests.kit.ledger import Ledger

        config.pluginmanager.register(Ledger(ledger, config.getoption("--tier")))


def _write_into_memory() -> None:
    """Let temporary files lie in memory where it has room, unless TMPDIR says where.

    Tests make thousands of stores, and half of a run would be waiting for the disk to keep them:
    what must outlast a power failure is tried on a model of a disk, see tests/proofs.
    """
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(_MEMORY).free > _ENOUGH_BYTES:
        os.environ["TMPDIR"] = str(_MEMORY)
        tempfile.tempdir = None  # it is asked for anew


_TESTS: Final = Path(__file__).parent
_LONG: Final = (
    *("simulation", "proofs", "notebooks", "packaging", "kusanya_books", "kusanya/intents"),
    *("kusanya/store", "kusanya/alarms", "console/test_demo"),
)
"""Where a file of few tests takes long: these are handed out first, so that at the end no process
has such a file left while the others have nothing."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what belongs to a longer tier than the one asked for; let a long proof take long.

    A test that is asked for by its name runs before any merge too.
    """
    reached = _TIERS.index(config.getoption("--tier"))
    if any("::" in named for named in config.args):
        reached = max(reached, _TIERS.index("merge"))
    beyond = _TIERS[reached + 1 :]
    dropped = {item for item in items if any(map(item.get_closest_marker, beyond))}
    if dropped:
        config.hook.pytest_deselected(items=list(dropped))
        items[:] = [item for item in items if item not in dropped]
    patience_s = _PATIENCE_S.get(config.getoption("--tier"))
    for item in items:
        if patience_s is not None and item.get_closest_marker("scale"):
            item.add_marker(pytest.mark.timeout(patience_s), append=False)
    items.sort(key=lambda item: not _takes_long(item.path))


def _takes_long(path: Path) -> bool:
    return path.relative_to(_TESTS).as_posix().startswith(_LONG)


def pytest_collection_finish() -> None:
    """Search for garbage seldom, and never among modules and tests, which stay until the end.

    With Python's own pace a quarter of a run's time goes into searches that find little.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 5, 5)


def pytest_unconfigure() -> None:
    """Let the end of the process clear everything away: DuckDB complains of what it finds then."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty store's file: a copy of it is one too, for a tenth of what making one takes.

    It is closed, so that the whole store is in the one file.
    """
    # Late: many a test needs no store.
    from kusanya.store import Store

    path = tmp_path_factory.mktemp("empty") / "store.db"
    Store.open(path).close()
    return path


@pytest.fixture(scope="session")
def databases() -> "Iterator[Databases]":
    """Start one PostgreSQL for all tests of this process and return the maker of its databases."""
    # Late: many a test needs no server.
    from tests.kit.databases import serving

    with serving() as made:
        yield made


@pytest.fixture
def store_role() -> str:
    """Return the role with which a test's store on PostgreSQL is opened; '' is its owner."""
    return ""


@pytest.fixture
def postgres_url(databases: "Databases", store_role: str) -> Iterator[str]:
    """Return the address of a database of the test's own, which holds an empty store."""
    with databases.fresh(role=store_role) as address:
        yield address


@pytest.fixture(scope="module")
def module_postgres_url(databases: "Databases") -> Iterator[str]:
    """Return the address of a database that holds an empty store, for a whole module."""
    with databases.fresh() as address:
        yield address


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    """Return how many rounds the test's `scale` marker sets for this tier."""
    marker = request.node.get_closest_marker("scale")
    if marker is None:
        pytest.fail("a test that asks for rounds carries @pytest.mark.scale(commit, ci, release)")
    count: int = marker.args[_ROUNDS[request.config.getoption("--tier")]]
    request.node.user_properties.append(("rounds", count))
    return count
