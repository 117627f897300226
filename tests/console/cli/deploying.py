"""What `kusanya deploy` writes, read back."""

import configparser
import re
import sys
from collections.abc import Callable
from pathlib import Path

Kusanya = Callable[..., tuple[int, str, str]]
GIVEN = (
    "--mode",
    "test",
    "--base-url",
    "https://pay.example",
    "--domain",
    "hooks.shop.example",
    "--program",
    str(Path(sys.executable).with_name("kusanya")),
)


def deployed(kusanya: Kusanya, folder: Path, kind: str, *more: str) -> dict[str, str]:
    code, out, err = kusanya("deploy", "--to", str(folder), "--kind", kind, *GIVEN, *more)
    assert (code, err) == (0, ""), err
    assert "README.md" in out
    made = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    for name, text in made.items():
        assert "@{" not in text, name
        # Nothing but settings: every secret is a file that these name.
        assert not re.search(r"whsec_[a-z0-9]|_sk_", text), name
    return made


def unit(text: str) -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=True, interpolation=None, delimiters=("=",))
    found.optionxform = str  # type: ignore[assignment,method-assign] # as its documentation says
    found.read_string(text)
    return found
