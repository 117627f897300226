"""`kusanya notebooks`: JupyterLab on the notebooks, with the profile's store."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kusanya_console.cli.options import ProfileName, StoreUrl, profile_of
from kusanya_console.cli.output import Refused

_PLACES = (
    Path(__file__).parents[3] / "notebooks",  # a checkout
    Path(__file__).parents[1] / "notebooks",  # an installed wheel
)
_FILE = "sqlite:///"


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya notebooks --store kusanya.sqlite")(notebooks)


def notebooks(
    *,
    store: StoreUrl = None,
    profile: ProfileName = None,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of JupyterLab.")] = 8888,
) -> None:
    """Open the notebooks in JupyterLab on loopback, behind its token."""
    import importlib.util

    chosen = profile_of(profile, store)
    if importlib.util.find_spec("jupyterlab") is None:
        raise Refused("JupyterLab is not installed: pip install 'kusanya[notebooks]'")
    folder = next((place for place in _PLACES if (place / "README.md").exists()), None)
    if folder is None:
        raise Refused("the notebooks are not installed beside the program")
    # The notebooks read the store and the mode; they never see a key or a signing secret.
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("KUSANYA_")}
    found = {"KUSANYA_STORE": _from_anywhere(chosen.store), "KUSANYA_MODE": chosen.mode.value}
    environ = inherited | found
    arguments = _arguments(folder, browser=browser, port=port)
    # In place of this process, so that Ctrl-C and the exit code are JupyterLab's own.
    os.execvpe(arguments[0], arguments, environ)  # noqa: S606 - our own interpreter and arguments


def _from_anywhere(store: str) -> str:
    """Return a store's address that does not depend on the folder: a notebook runs in its own."""
    scheme = _FILE if store.startswith(_FILE) else ""
    is_elsewhere = "://" in store and not scheme
    return store if is_elsewhere else f"{scheme}{Path(store.removeprefix(_FILE)).absolute()}"


def _arguments(folder: Path, *, browser: bool, port: int) -> list[str]:
    import sys

    return [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--notebook-dir={folder}",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        f"--LabApp.app_settings_dir={folder / 'labconfig'}",
        *([] if browser else ["--no-browser"]),
        *(["--allow-root"] if os.geteuid() == 0 else []),
    ]
