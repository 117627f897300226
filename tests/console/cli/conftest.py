"""The command line, run in this process with an empty configuration."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copy

import pytest
from tests.console.named_options import unknown_options
from tests.console.seeding import NOW, Seed

from kusanya.clock import ManualClock
from kusanya.say import Language
from kusanya.store import Store
from kusanya.telemetry.logs import configure
from kusanya_console.cli.command_line import main
from kusanya_console.ui import language

ActionResult = tuple[int, str, str]
"""Exit code, standard output, standard error."""


@pytest.fixture
def kusanya(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Callable[..., ActionResult]]:
    """Yield a function that runs the command line and tells how it ended.

    A complaint that names an option which the command does not have fails every test that sees it.
    """
    config = tmp_path / "empty.toml"
    config.touch()
    monkeypatch.setenv("KUSANYA_CONFIG", str(config))
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path / "data"))
    for name in ("API_KEY", "BASE_URL", "SECRETS", "STORE", "DASHBOARD_URL", "DASHBOARD_TOKEN"):
        monkeypatch.delenv(f"KUSANYA_{name}", raising=False)

    def run(*arguments: str) -> ActionResult:
        monkeypatch.setattr(sys, "argv", ["kusanya", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        if said.err.startswith("kusanya: "):
            assert unknown_options(arguments, said.err) == [], said.err
        return int(ended.value.code or 0), said.out, said.err

    yield run
    configure("off")  # the log that a command set up in this process
    language.use(Language.ENGLISH)


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_store: Path) -> Iterator[Seed]:
    """Return what writes into the store that the command line looks at, in live mode."""
    monkeypatch.setenv("KUSANYA_MODE", "live")
    monkeypatch.setenv("KUSANYA_STORE", f"sqlite:///{tmp_path / 'kusanya.db'}")
    with Store.open(copy(empty_store, tmp_path / "kusanya.db"), clock=ManualClock(NOW)) as store:
        yield Seed(store)
