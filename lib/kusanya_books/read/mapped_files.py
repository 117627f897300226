"""The files that a person names, each with or without the mapping that says how it is written."""

from pathlib import Path
from typing import Any

import pandas as pd

from kusanya.errors import InputRefused
from kusanya.text import safe
from kusanya_books.read import files, movements, tariff_file
from kusanya_books.read.mapping import Layout, Mapping, read_mapping
from kusanya_books.read.mappings import SHIPPED, shipped
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.quality import Quality

_TOML = ".toml:"


def split(file: str) -> tuple[str, str]:
    """Return mapping and file of `MAPPING:FILE`; the mapping is empty where only a file is named.

    MAPPING is the name of a shipped mapping or a file that ends in .toml.
    """
    name, colon, path = file.partition(":")
    if colon and name in SHIPPED:
        return name, path
    at = file.lower().find(_TOML)
    if at >= 0:
        return file[: at + len(_TOML) - 1], file[at + len(_TOML) :]
    if colon and len(name) > 1 and not Path(file).exists():
        raise InputRefused(
            f"there is no mapping {safe(name, 60)}; there are {', '.join(SHIPPED)}, "
            "or a file that ends in .toml"
        )
    return "", file


def mapping_of(name: str) -> Mapping:
    """Return a shipped mapping, or the one kept in a TOML file. Raises InputRefused."""
    return shipped(name) if name in SHIPPED else read_mapping(Path(name))


def read(request: CloseRequest) -> dict[str, Any]:
    """Return the parts of `Inputs` that come from files. Raises InputRefused."""
    cutoff = request.shift
    plain = read_mapping(Path(request.mapping) if request.mapping else None)
    found: dict[str, Any] = {"quality": ()}
    books, path = _chosen(request.ledger, plain)
    found["basis"] = books.ledger.amount_basis or "gross"
    if path:
        found["ledger"], account = files.ledger(Path(path), books.ledger, cutoff=cutoff)
        found["quality"] += (account,)
    paid_out, path = _chosen(request.statement, plain)
    if path:
        found["statement"], account = files.statement(Path(path), paid_out.statement)
        found["quality"] += (account,)
    frames = []
    legs = ((movements.OPERATOR, request.operator), (movements.BANK, request.bank))
    for leg, listed in legs:
        for file in listed:
            chosen, path = _chosen(file, plain)
            layout: Layout = getattr(chosen, leg)
            frame, account = movements.read(Path(path), layout, leg=leg, cutoff=cutoff)
            _once(account, found["quality"], path)
            frames.append(frame)
            found["quality"] += (account,)
    if frames:
        found["movements"] = pd.concat(frames, ignore_index=True)
    if request.tariff:
        found["tariff"] = tariff_file.read(Path(request.tariff))
    return found


def _chosen(file: str, plain: Mapping) -> tuple[Mapping, str]:
    name, path = split(file) if file else ("", "")
    return (mapping_of(name) if name else plain), path


def _once(account: Quality, others: tuple[Quality, ...], path: str) -> None:
    """Refuse a statement that was given twice: its money would be counted twice."""
    name = safe(Path(path).name)
    if any(other.sha256 == account.sha256 and other.kept for other in others):
        raise InputRefused(f"{name} was given twice, perhaps under two names")
    if any(other.source == account.source for other in others):
        raise InputRefused(f"two files are called {name}; rename one, so that rows can be told")
