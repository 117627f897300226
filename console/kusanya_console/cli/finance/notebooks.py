"""`kusanya notebooks`: JupyterLab on the notebooks, with the profile's store."""

import os
from pathlib import Path
from typing import Annotated

import typer

from kusanya.profiles import default_store
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.cli.options import ProfileName, StoreUrl, profile_of
from kusanya_console.output import Refused, say

_CHECKOUT = Path(__file__).parents[4] / "notebooks"
_INSTALLED = Path(__file__).parents[2] / "_notebooks"
_FILE = "sqlite:///"


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya notebooks --store kusanya.sqlite")(notebooks)


def notebooks(
    *,
    store: StoreUrl = None,
    profile: ProfileName = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Which mode they open with; else the profile's.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser window.")] = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of JupyterLab.")] = 8888,
) -> None:
    """Open the notebooks in JupyterLab on loopback, behind its token."""
    environ = environment(profile, store, mode)
    folder = _folder()
    say(f"notebooks in {safe(str(folder), 600)}")
    arguments = _arguments(folder, browser=browser, port=port)
    # In place of this process, so that Ctrl-C and the exit code are JupyterLab's own.
    os.execvpe(arguments[0], arguments, environ)  # noqa: S606 - our own interpreter and arguments


def environment(
    profile: str | None = None, store: str | None = None, mode: Mode | None = None
) -> dict[str, str]:
    """Return the environment of the notebooks: store and mode, never a key or a signing secret.

    Without a store they show the sample month: a store is handed over where an option, a variable
    or a profile named one, or where the file that lies in the data folder by default exists.
    Raises Refused for settings that cannot be used.
    """
    chosen = profile_of(profile, store)
    passed = {name: v for name, v in os.environ.items() if not name.startswith("KUSANYA_")}
    default = default_store(chosen.name)
    named = store is not None or os.environ.get("KUSANYA_STORE") or chosen.store.reveal() != default
    if not named and not Path(default.removeprefix(_FILE)).exists():
        # The sample month has both modes too.
        return passed if mode is None else passed | {"KUSANYA_MODE": mode.value}
    return passed | {
        "KUSANYA_STORE": _from_anywhere(chosen.store.reveal()),
        "KUSANYA_MODE": (mode or chosen.mode).value,
    }


def _folder() -> Path:
    """Return the folder to work in: a checkout's own, else a copy of the installed notebooks.

    The copy is the user's to change. Another version of the program makes another one, and what is
    there already is never written over.
    """
    if not _INSTALLED.is_dir():
        if not (_CHECKOUT / "README.md").exists():
            raise Refused("this installation holds no notebooks: install kusanya again")
        return _CHECKOUT
    from importlib.metadata import version

    from kusanya.profiles import data_folder

    folder = data_folder() / "notebooks" / version("kusanya")
    try:
        _copy_missing(_INSTALLED, folder)
    except OSError as error:
        raise Refused(
            f"cannot copy the notebooks to {folder}: {error.strerror}; "
            "KUSANYA_DATA names another folder"
        ) from error
    return folder


def _copy_missing(source: Path, target: Path) -> None:
    for found in sorted(source.rglob("*")):
        copy = target / found.relative_to(source)
        if "__pycache__" in found.parts or found.is_dir() or copy.exists():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        # A copy that was interrupted must not stand there as the user's own.
        part = copy.with_name(f"{copy.name}.part")
        part.write_bytes(found.read_bytes())
        part.replace(copy)


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
        *(["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
    ]
