"""What does not need Unix does not ask for it: tried in a process that has lost what Windows lacks.

The packages of others are loaded before the loss, because on this machine they take the branch for
this machine.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LOSS = """
import asyncio, getpass, importlib.abc, os, signal, sys
import alembic.command, httpx, platformdirs, psycopg, sqlalchemy, textual.app, typer

GONE = {"fcntl", "grp", "pwd", "resource", "termios", "tty", "uvloop"}

class Windows(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in GONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None

sys.meta_path.insert(0, Windows())
for name in GONE:
    sys.modules.pop(name, None)
for module, names in (
    (os, ("O_DIRECTORY", "O_NOFOLLOW", "fork", "geteuid", "getuid", "register_at_fork")),
    (signal, ("SIGHUP", "SIGKILL", "SIGUSR1")),
):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
"""

MODULES = (
    "kusanya",
    "kusanya.client",
    "kusanya.client.async_client",
    "kusanya.client.transport.async_transport",
    "kusanya.intents",
    "kusanya.lookup",
    "kusanya.receiver",
    "kusanya_books.pack.close",
    "kusanya.store",
    "kusanya.watch.poller",
    "kusanya.webhooks.forensics",
    "kusanya_console.application.app",
    "kusanya_console.cli",
    "kusanya_console.cli.console.command",
    "kusanya_console.cli.command_line",
    "kusanya_console.cli.process.terminal",
    "kusanya_console.sandbox.dashboard.client",
    "kusanya_console.deliveries.screen",
    "kusanya_console.health.screen",
    "kusanya_console.intents.screen",
    "kusanya_console.live.screen",
    "kusanya_console.lookup.screen",
)


TABLES = "import aiohttp, duckdb, itables, numpy, pandas, pyarrow, xlsxwriter\n"
"""The heavy packages, where they are needed."""
COMMANDS = """
from kusanya_console.cli import main

def run(*arguments):
    sys.argv = ["kusanya", *arguments]
    try:
        main()
    except SystemExit as ended:
        print(arguments[0], ended.code, flush=True)
"""


def run(script: str, *, first: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", first + LOSS + script],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_store: Path) -> Path:
    """Return the current folder, with an empty store in it and nobody's configuration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))
    shutil.copyfile(empty_store, tmp_path / "kusanya.sqlite")
    monkeypatch.setenv("KUSANYA_STORE", "kusanya.sqlite")
    return tmp_path


@pytest.mark.merge
def test_the_loss_is_one() -> None:
    ended = run(
        "for lost in ('import fcntl', 'os.O_DIRECTORY', 'signal.SIGHUP'):\n"
        "    try: exec(lost)\n"
        "    except (ImportError, AttributeError) as error: print(type(error).__name__)"
    )
    assert ended.stdout.split() == ["ModuleNotFoundError", "AttributeError", "AttributeError"]


@pytest.mark.merge
def test_what_should_work_everywhere_imports_without_unix() -> None:
    folder = Path(__file__).parents[2] / "notebooks"
    ended = run(
        f"sys.path.insert(0, {str(folder)!r})\n"
        f"for name in (*{MODULES!r}, 'explorer'): __import__(name)\nprint('all')",
        first=TABLES,
    )
    assert (ended.returncode, ended.stdout) == (0, "all\n"), ended.stderr


@pytest.mark.merge
def test_what_should_work_everywhere_runs_without_unix(here: Path) -> None:
    ended = run(
        f"{COMMANDS}\n"
        "run('store', 'migrate', '--store=new.sqlite')\n"
        "run('find', 'INV-1')\n"
        "run('show', 'col_none')\n"
        "run('intents', '--json')\n"
        "run('store', 'check', '--json')\n"
        "os.execvpe = lambda file, arguments, environ: print('jupyterlab' in arguments)\n"
        "run('notebooks', '--no-browser')\n"
    )
    lines = ended.stdout.splitlines()
    assert [line for line in lines if line.endswith((" 0", " 1"))] == [
        *("store 0", "find 1", "show 1", "intents 0", "store 0", "notebooks 0"),
    ]
    assert "True" in lines
    assert "unexpected" not in ended.stderr
    assert (here / "new.sqlite").exists()


@pytest.mark.ci
def test_a_reconciliation_runs_without_unix(here: Path) -> None:
    days = "'--from=2026-03-01', '--to=2026-03-31'"
    ended = run(
        f"{COMMANDS}run('reconcile', '--mode=live', '--out={here / 'packs'}', {days})",
        first=TABLES,
    )
    assert ended.stdout.splitlines()[-1] in {"reconcile 0", "reconcile 1"}
    assert "unexpected" not in ended.stderr


@pytest.mark.merge
@pytest.mark.usefixtures("here")
def test_a_command_that_needs_unix_says_so() -> None:
    ended = run(
        f"{COMMANDS}\nsys.platform = 'win32'\n"
        "run('demo', '--headless')\nrun('service', '--port=0', '--data=service')"
    )
    assert ended.stdout.splitlines() == ["demo 1", "service 1"]
    assert ended.stderr.splitlines() == [
        f"kusanya: kusanya {name} needs Linux or macOS; on Windows use WSL"
        for name in ("demo", "service")
    ]
