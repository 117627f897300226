"""What importing costs and pulls in, looked at in a fresh interpreter each time."""

import subprocess
import sys
from pathlib import Path

import pytest

from kusanya.store import Store
from kusanya_console.commands import SCREENS

INTERFACES = ("textual", "rich", "IPython", "ipywidgets", "typer")
HEAVY = ("pandas", "duckdb", "pyarrow", "matplotlib", "apprise")

LIBRARY = (
    "kusanya.client",
    "kusanya.store",
    "kusanya.state",
    "kusanya.receiver",
    "kusanya.intents",
    "kusanya.watch",
    "kusanya.watch.catch_up",
    "kusanya.lookup",
    "kusanya.health.report",
    "kusanya.alarms.rules",
    "kusanya.alarms.anomalous_collections",
    "kusanya.alarms.notify",
    "kusanya.filters",
    "kusanya.wording",
    "kusanya.profiles",
    "kusanya.webhooks",
    "kusanya.webhooks.forensics",
)


def modules_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    return set(ended.stdout.split())


def loaded_by(statement: str) -> set[str]:
    return {name.partition(".")[0] for name in modules_after(statement)}


def test_the_library_loads_no_interface_and_no_data_frames() -> None:
    loaded = loaded_by("import " + ", ".join(LIBRARY))
    assert not loaded & {*INTERFACES, *HEAVY, "kusanya_service", "kusanya_console"}


def test_the_service_loads_no_interface_and_nothing_of_the_store() -> None:
    loaded = loaded_by("import kusanya_service.server")
    assert not loaded & {*INTERFACES, *HEAVY, "kusanya_console", "sqlalchemy", "httpx"}


@pytest.mark.parametrize("module", ["kusanya", "kusanya_service"])
def test_importing_a_package_alone_loads_next_to_nothing(module: str) -> None:
    loaded = loaded_by(f"import {module}")
    assert not loaded & {*INTERFACES, *HEAVY, "httpx", "sqlalchemy", "starlette", "msgspec"}


def test_the_command_line_shows_its_help_without_loading_what_commands_need() -> None:
    loaded = loaded_by("import kusanya_console.cli.command_line")
    assert not loaded & {"textual", "httpx", "sqlalchemy", "starlette", "uvicorn", *HEAVY}


def test_a_lookup_for_scripts_never_loads_the_terminal_interface() -> None:
    statement = (
        "import sys; sys.argv = ['kusanya', 'find', 'x', '--store', '/nonexistent/none.sqlite']\n"
        "from kusanya_console.cli.command_line import _run; _run()"
    )
    modules = modules_after(statement)
    loaded = {name.partition(".")[0] for name in modules}
    assert "sqlalchemy" in loaded
    assert not loaded & {"textual", "pydantic", "alembic", "httpx", "httpcore", *HEAVY}
    assert "rich.text" not in modules, "it prints lines, and Rich takes long to load"


FIRST_PAINT = """
import asyncio, sys
from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya_console.commands import SCREENS
from kusanya.wire import Mode
from kusanya_console.cli import command_line
from kusanya_console.cli.console import command as console
from kusanya_console.sandbox.commands import attached as console_service
from kusanya_console.cli.process import terminal
from kusanya_console.actions.context import AppContext
from kusanya_console.application.app import ConsoleApp

async def paint():
    with Store.open(sys.argv[1], read_only=True) as store:
        app = ConsoleApp(AppContext(store=store, mode=Mode.LIVE, clock=SystemClock()))
        async with app.run_test() as pilot:
            while app.context.snapshot is None:
                await pilot.pause()
            assert app.console_screen.NAME == "live"

asyncio.run(paint())
"""


def test_the_first_paint_loads_one_screen_one_database_and_nobody_to_ask(tmp_path: Path) -> None:
    Store.open(tmp_path / "store.db").close()
    loaded = modules_after(
        f"import sys; sys.argv[1:] = [{str(tmp_path / 'store.db')!r}]{FIRST_PAINT}"
    )
    packages = {name.partition(".")[0] for name in loaded}
    assert not packages & {"pydantic", "alembic", "httpx", "httpcore", "aiohttp", "certifi", *HEAVY}
    assert "kusanya.client" not in loaded
    assert {name for name in loaded if name.startswith("sqlalchemy.dialects.")} >= {
        "sqlalchemy.dialects.sqlite"
    }
    assert "sqlalchemy.dialects.postgresql" not in loaded
    screens = {f"kusanya_console.{entry.module}" for entry in SCREENS}
    assert loaded & screens == {"kusanya_console.live.screen"}
    assert not loaded & {"kusanya_console.screens.help", "kusanya_console.intents.decide"}


def test_the_names_for_outsiders_are_where_the_design_promises_them() -> None:
    promised = (
        "import kusanya, kusanya_books, kusanya_service.testing\n"
        "kusanya.Client, kusanya.AsyncClient, kusanya.Store.open, kusanya.receiver.app\n"
        "kusanya.webhooks.verify, kusanya.webhooks.sign, kusanya.webhooks.SignatureError\n"
        "kusanya.state.fold, kusanya_books.report, kusanya_service.testing.payment_service\n"
    )
    assert "kusanya" in loaded_by(promised)
