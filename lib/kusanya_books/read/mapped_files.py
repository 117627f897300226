"""The files that a person names, each with or without the mapping that says how it is written."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from kusanya.errors import InputRefused
from kusanya.text import safe
from kusanya_books.read import files, movements, several_files, spreadsheets, tariff_file
from kusanya_books.read.mapping import Layout, Mapping, read_mapping
from kusanya_books.read.mappings import SHIPPED, shipped
from kusanya_books.read.store import known_receipts
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.quality import Quality

_TOML = ".toml:"


def split(file: str) -> tuple[str, str]:
    """Return mapping and file of `MAPPING:FILE`; the mapping is empty where only a file is named.

    FILE may name a sheet, as `books.xlsx#March`. MAPPING is the name of a shipped mapping or a
    file that ends in .toml.
    """
    name, colon, path = file.partition(":")
    is_named = bool(colon) and name in SHIPPED
    if not is_named and (at := file.lower().find(_TOML)) >= 0:
        name, path, is_named = file[: at + len(_TOML) - 1], file[at + len(_TOML) :], True
    if is_named:
        if not path.strip():
            # What a script makes of a variable that is not set: nothing would be compared.
            raise InputRefused(f"{safe(file, 60)} names a mapping and no file")
        return name, path
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
    books, path = _chosen(request.ledger, plain, "ledger")
    found["basis"] = books.amount_basis or "gross"
    if path:
        found["ledger"], account = files.ledger(path, books, cutoff=cutoff)
        found["quality"] += (account,)
    paid_out = _each(request, plain, "statement", files.statement, found["quality"])
    if paid_out:
        found["statement"], accounts = several_files.settlement(paid_out)
        found["quality"] += accounts
    moved = []
    for leg in (movements.OPERATOR, movements.BANK):
        reader = partial(movements.read, leg=leg, cutoff=cutoff)
        each = _each(request, plain, leg, reader, found["quality"])
        if each:
            frame, accounts = several_files.movements(each)
            moved.append(frame)
            found["quality"] += accounts
    if moved:
        found["movements"] = pd.concat(moved, ignore_index=True)
        if "ledger" in found:
            found["ledger"] = known_receipts.books_by_statements(
                found["ledger"], found["movements"]
            )
    if request.tariff:
        found["tariff"] = tariff_file.read(Path(request.tariff))
    return found


def _each(
    request: CloseRequest,
    plain: Mapping,
    leg: str,
    reader: Callable[[Path, Layout], several_files.Read],
    before: Sequence[Quality],
) -> list[several_files.Read]:
    """Read the files of a leg by name: given in another order they make the same pack.

    Raises InputRefused for one that was given twice, or is among those that were read `before`.
    """
    chosen = (_chosen(file, plain, leg) for file in request.files(leg))
    named = [(layout, path) for layout, path in chosen if path is not None]
    found: list[several_files.Read] = []
    for layout, path in sorted(named, key=lambda one: (one[1].name, one[0].sheet or "")):
        found.append(reader(path, layout))
        _once(found, before)
    return found


def _chosen(file: str, plain: Mapping, leg: str) -> tuple[Layout, Path | None]:
    """Return how a file that a person named is written for one leg, and where it lies."""
    name, text = split(file) if file else ("", "")
    layout: Layout = getattr(mapping_of(name) if name else plain, leg)
    if not text:
        return layout, None
    path, sheet = spreadsheets.named(Path(text))
    return spreadsheets.of_sheet(layout, sheet), path


def _once(read: Sequence[several_files.Read], before: Sequence[Quality]) -> None:
    """Refuse a statement that was given twice: its money would be counted twice."""
    *others, account = (*before, *(each for _, each in read))
    name = _name_of(account)
    for other in others:
        # Two sheets of one workbook are two statements.
        are_sheets = "#" in name and "#" in _name_of(other) and name != _name_of(other)
        if other.sha256 == account.sha256 and other.kept and not are_sheets:
            raise InputRefused(f"{name} was given twice, perhaps under two names")
        if other.source == account.source:
            raise InputRefused(f"two files are called {name}; rename one, so that rows can be told")


def _name_of(account: Quality) -> str:
    return account.source.partition(" ")[2]
