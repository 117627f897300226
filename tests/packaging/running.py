"""The checkout, the versions of Python it is for, and programs run without our settings."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
_LONG_S = 900


def run(
    *command: str | Path, cwd: Path | None = None, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program without our settings and return how it ended."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("KUSANYA_", "PYTEST_"))
        and name not in {"PYTHONPATH", "VIRTUAL_ENV"}
    }
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=inherited | (environ or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LONG_S,
    )
