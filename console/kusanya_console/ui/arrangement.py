"""How a person has arranged a list: which columns, in which places, how wide, sorted by which.

`Arrangements` keeps that from one session to the next, in a file that the console writes by itself.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kusanya.errors import ConfigurationError
from kusanya.say import Said
from kusanya.store.records import SortOrder
from kusanya_console.ui.columns import Column, Heading

NARROWEST: Final = 3
WIDEST: Final = 80


class ColumnChoice(msgspec.Struct, frozen=True):
    """One column as a person wants it; `width` 0 leaves it to the room there is."""

    title: str
    shown: bool = True
    width: int = 0


class Arrangement(msgspec.Struct, frozen=True):
    """One list as a person wants it; without anything in it the list is as it is declared."""

    columns: tuple[ColumnChoice, ...] = ()
    order: SortOrder | None = None
    ascending: bool = False

    def choices(self, declared: Sequence[Column[Any]]) -> tuple[ColumnChoice, ...]:
        """Return a choice for each declared column, in their places.

        A column that the arrangement does not know, as one of a newer version, stands last.
        """
        known = {column.title: column for column in declared}
        chosen = {one.title: one for one in self.columns if one.title in known}
        usual = (ColumnChoice(one.title, shown=not one.extra) for one in declared)
        return (*chosen.values(), *(one for one in usual if one.title not in chosen))

    def arrange(self, declared: Sequence[Column[Any]], heading: Heading) -> tuple[Column[Any], ...]:
        """Return the columns to show; the one that the list is sorted by is always among them."""
        known = {column.title: column for column in declared}
        pairs = [(one, known[one.title]) for one in self.choices(declared)]
        shown = [(one, column) for one, column in pairs if one.shown or heading.is_by(column)]
        # Nobody can read a list without columns.
        return tuple(_as_wanted(column, one.width) for one, column in shown) or tuple(declared[:1])

    def sorting(self, orders: Sequence[SortOrder]) -> Heading:
        """Return by what the list is sorted: the first of its orders where nothing else fits."""
        if self.order in orders:
            return Heading(self.order, self.ascending)
        return Heading(orders[0] if orders else None)


def _as_wanted(column: Column[Any], width: int) -> Column[Any]:
    if column.extra:  # somebody wants it: others make room for it
        column = replace(column, rank=1)
    if not width:
        return column
    return replace(column, width=min(max(width, NARROWEST), WIDEST), grows=0, whole=False)


class _File(msgspec.Struct, frozen=True):
    lists: dict[str, Arrangement] = {}


class Arrangements:
    """The arrangements of all lists, by their screens; without a path they end with the session."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lists: dict[str, Arrangement] = {}

    def read(self) -> None:
        """Read what was kept; raises ConfigurationError, and all lists are then as declared."""
        self._lists = self._kept()

    def of(self, name: str) -> Arrangement:
        """Return the arrangement of a list."""
        return self._lists.get(name, Arrangement())

    def keep(self, name: str, arrangement: Arrangement) -> None:
        """Keep the arrangement of a list, durably where there is a file.

        What another console has kept of other lists meanwhile stays. Raises ConfigurationError
        where the file cannot be written; the arrangement then counts until the console ends.
        """
        self._lists[name] = arrangement
        if self.path is None:
            return
        try:
            self._lists = self._kept() | {name: arrangement}
        except ConfigurationError:  # it is written anew, whole
            self._lists |= {name: arrangement}
        growing = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            growing.write_bytes(msgspec.json.format(msgspec.json.encode(_File(self._lists))))
            growing.replace(self.path)
        except OSError as error:
            raise ConfigurationError(
                Said("cannot write {path}: {why}").of(path=self.path, why=error.strerror)
            ) from error

    def _kept(self) -> dict[str, Arrangement]:
        if self.path is None:
            return {}
        try:
            return dict(msgspec.json.decode(self.path.read_bytes(), type=_File).lists)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise ConfigurationError(
                Said("cannot read {path}: {why}").of(path=self.path, why=error.strerror)
            ) from error
        except msgspec.MsgspecError as error:
            raise ConfigurationError(
                Said(
                    "{path} is not what the console wrote ({why}): the lists are as usual, and "
                    "the next change of columns writes it anew"
                ).of(path=self.path, why=str(error))
            ) from error


Arrange = Callable[[Arrangement], None]
"""Takes what a person changes, at once."""
