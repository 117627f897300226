"""What a long list is a list of: where its records come from, its columns, what an empty one says.

A `ListDefinition` is all that `ListScreen` knows about its records. There is one for each list.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Generic, TypeVar

import msgspec

from kusanya.filters import Filter
from kusanya.store.records import SortOrder
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.feed import Snapshot
from kusanya_console.lists.export import Value
from kusanya_console.lists.paging import ListPages
from kusanya_console.screens.base import Grammar
from kusanya_console.ui import vocabulary
from kusanya_console.ui.columns import Column
from kusanya_console.ui.excerpt import Row
from kusanya_console.ui.format import Line
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN

PAYMENT_GRAMMAR: Final[Grammar] = (
    ("failed airtel", "a status, a channel or a code stands alone; a space means and"),
    ("channel:airtel,mixx", "a comma means or, a leading - turns a word round"),
    ("amount:5000..20000", "ranges, and = < <= > >= for amounts, fees, ages and attempts"),
    ("age<15m at:2025-11-19", "15m 2h 3d; a day or 15:00..15:30 in East Africa's time"),
    (
        "meta:order_id=A-1",
        'an entry of the metadata; description:"school fees" is a part of the description',
    ),
    ("INV-48 phone:412", "anything else is a part of a reference; of a phone its last digits do"),
)
"""How a filter of payments is written."""
R = TypeVar("R", bound=Row)
Hours = Sequence[tuple[datetime, int]]
"""Full hours, oldest first, each with how many records it has."""
RAIL: Final = timedelta(days=7)
"""How much time the rail beside a list stands for."""


class ListDefinition(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """One kind of record: what its list reads, how it is filtered, shown and exported."""

    records: str
    """What stands in the list, for sentences and for the name of an export."""
    columns: tuple[Column[R], ...]
    """In the usual order; those that name an index can be sorted by, the first of them usually."""
    keys: tuple[str, ...]
    """The keys of a filter that these records have."""
    grammar: Grammar
    """Examples of such a filter, for the help."""
    pages: Callable[[AppContext, Filter, SortOrder], ListPages[R]]
    """Returns the list as filtered: what has an index is sought, the rest tested."""
    changed_ids: Callable[[Snapshot], frozenset[str]]
    """Returns the ids of this list's records that a snapshot names."""
    selection: Callable[[R], Selection]
    """Returns what a record is about."""
    instant: Callable[[R], datetime]
    """Returns where a record stands in time."""
    hours: Callable[[AppContext], Hours]
    """Returns the hours of the rail's days that have records; reads rollups alone."""
    fields: Mapping[str, Callable[[R], Value]]
    """The columns of an export, each with what it says about a record."""
    empty: tuple[str, ...]
    """What an empty list says, {mode} in it: what would stand here, and which key helps."""
    nothing_passes: str
    """What it says where the filter lets nothing through."""
    keyed_by_time: bool = True
    """False where the keys of its pages are no instants."""

    def empty_lines(self, context: AppContext, query: Filter) -> list[Line]:
        """Return what the empty list says."""
        mode, _ = vocabulary.mode_words(context.mode)
        if query:
            return [((translate(self.nothing_passes, mode=mode), MUTED),)]
        return [
            ((translate(sentence, mode=mode), MUTED if place else PLAIN),)
            for place, sentence in enumerate(self.empty)
        ]


def sum_hours(counted: Iterable[tuple[datetime, int]]) -> Hours:
    """Return the hours that have records, oldest first."""
    hours: Counter[datetime] = Counter()
    for hour, count in counted:
        hours[hour] += count
    return sorted((hour, count) for hour, count in hours.items() if count > 0)
