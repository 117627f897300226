"""The wheel and the source archive, built once, and environments that hold nothing else."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.packaging.running import ROOT, run


@pytest.fixture(scope="session")
def uv(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the program that builds and installs; skip where it or a package index is missing."""
    found = shutil.which("uv")
    if found is None:
        pytest.skip("uv is not installed")
    # A dry run too locks the folder it would install into, and leaves that lock behind.
    folder = tmp_path_factory.mktemp("asked")
    asked = run(found, "pip", "install", "--dry-run", "--no-deps", "--target", folder, "hatchling")
    if asked.returncode:
        pytest.skip(f"no package index can be reached: {asked.stderr.strip()[-200:]}")
    return found


@pytest.fixture(scope="session")
def built(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the source archive and the wheel, each built from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    for kind in ("--sdist", "--wheel"):
        made = run(uv, "build", kind, "--out-dir", folder, ROOT)
        assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """Return the wheel."""
    [found] = built.glob("*.whl")
    return found


def interpreter(version: str) -> str:
    """Return a Python of this version, or skip with the reason."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    found = shutil.which(f"python{version}")
    if found is None or run(found, "--version").returncode:
        # A version manager's shim that does not lead anywhere is there and does not run.
        pytest.skip(f"no python{version} on the PATH")
    return found


@pytest.fixture(scope="session")
def installed(
    uv: str, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Return a function that installs the wheel with an extra and returns the folder of programs.

    Each environment is made once and holds nothing but that.
    """
    made: dict[tuple[str, str], Path] = {}

    def install(version: str, extra: str = "") -> Path:
        if (version, extra) not in made:
            folder = tmp_path_factory.mktemp(f"env-{version}-{extra}")
            for command in (
                ("venv", "--clear", "--python", interpreter(version), folder),
                (
                    *("pip", "install", "--python", folder / "bin" / "python", "--only-binary"),
                    *(":all:", f"kusanya{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}"),
                ),
            ):
                done = run(uv, *command)
                assert done.returncode == 0, done.stderr
            made[version, extra] = folder / "bin"
        return made[version, extra]

    return install
