"""Mappings that are shipped: how exports of operators and of accounting programs are written."""

import tomllib
from importlib.resources import files
from typing import Final

from kusanya.errors import InputRefused
from kusanya_books.read.mapping import Mapping, to_mapping

SHIPPED: Final = ("mpesa", "mixx", "airtel", "halopesa", "selcom", "quickbooks", "xero", "odoo")


def text(name: str) -> str:
    """Return the TOML of a shipped mapping. Raises InputRefused for none of that name."""
    if name not in SHIPPED:
        raise InputRefused(f"there is no mapping {name}; there are {', '.join(SHIPPED)}")
    return files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")


def shipped(name: str) -> Mapping:
    """Return a shipped mapping. Raises InputRefused for none of that name."""
    return to_mapping(tomllib.loads(text(name)), name)
