"""The row of a collection: what its state looks like in the columns that lists search.

A pure function of the folded state and the position of its latest fact, so that it can be computed
again at any time and must come out the same.
"""

from collections import namedtuple
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Final

from kusanya.domain.collection_columns import COLUMNS, WORD_MAX, ColumnType
from kusanya.domain.status import CONTRADICTION, OPEN, PAID, Status
from kusanya.state.fold import fold
from kusanya.state.observation import CollectionState, Observation, ShownStatus
from kusanya.store.records import AMOUNT_COUNTED_MAX, CollectionRow
from kusanya.store.tables.schema import collection
from kusanya.store.tables.values import hour_of, is_plain, maybe_at, maybe_clean, maybe_us
from kusanya.wire import Mode

_Row: Final[Any] = namedtuple("_Row", [one.name for one in COLUMNS])  # type: ignore[misc]  # noqa: PYI024 - its fields are declared elsewhere


class ProjectedRow(_Row):
    """The columns of `collection`, in the table's order; the writer knows these by name."""

    __slots__ = ()
    id: str
    seq: int
    mode: str
    status: str
    amount: int
    fee: int
    currency: str
    channel: str
    failure_code: str | None
    created_at: int
    completed_at: int | None
    event_id: str | None

    @property
    def bucket(self) -> tuple[str, int, str, str, str, str]:
        """Return the rollup that counts this collection, in the order of that table's key."""
        return (
            self.mode,
            hour_of(self.created_at),
            self.channel,
            self.currency,
            self.status,
            self.failure_code or "",
        )

    @property
    def counted(self) -> tuple[int, int, int]:
        """Return what this collection adds to its rollup: 1, its amount and its fee."""
        return (1, _countable(self.amount), _countable(self.fee))


SELECTED: Final = tuple(collection.c[column.name] for column in COLUMNS)
"""What a query selects of a collection for `ProjectedRow`."""
SHOWN: Final = tuple(collection.c[name] for name in CollectionRow.__struct_fields__)
"""What a query selects of a collection for `to_row`."""
PLAINLY_WELL: Final = OPEN | PAID
"""Every collection with another status has `unwell` set, and so has one with a failure code."""


def project_facts(facts: Sequence[Observation], mode: Mode, seq: int) -> ProjectedRow | None:
    """Return the row that `facts` about one id make in `mode`; None where none of them counts.

    `facts` are those of both modes, and `seq` is the place of the latest of all.
    """
    if not any(fact.counts_in(mode) for fact in facts):
        return None
    return project(fold(facts, mode=mode), seq)


_NAMES: Final = tuple(one.name for one in COLUMNS)
_AT: Final = {name: place for place, name in enumerate(_NAMES)}
_INSTANTS: Final = tuple(_AT[one.name] for one in COLUMNS if one.type is ColumnType.INSTANT)
_WORDS: Final = tuple((_AT[one.name], one.longest) for one in COLUMNS if one.longest is not None)
_TEXTS: Final = tuple(
    _AT[one.name] for one in COLUMNS if one.type is ColumnType.TEXT and one.longest is None
)
_OWN: Final = frozenset({"seq", "event_id", "unwell"})
"""What is no field of the state: `project` reads the id in their place and sets them."""
# One C call for all fields: this runs for every fact.
_read: Final[Callable[[CollectionState], tuple[Any, ...]]] = attrgetter(
    *("id" if name in _OWN else name for name in _NAMES)
)
_words: Final[Callable[[Sequence[Any]], tuple[Any, ...]]] = itemgetter(*(at for at, _ in _WORDS))


def project(state: CollectionState, seq: int) -> ProjectedRow:
    """Return the row of `state`, whose latest fact stands at `seq` in the journal."""
    said = list(_read(state))
    for at in _INSTANTS:
        said[at] = maybe_us(said[at])
    if not is_plain(*_words(said), limit=WORD_MAX):
        for at, longest in _WORDS:
            said[at] = maybe_clean(said[at], longest)
    for at in _TEXTS:
        said[at] = maybe_clean(said[at])
    # An empty code says nothing, and no code is kept as the empty text in rollups.
    code = said[_AT["failure_code"]] = said[_AT["failure_code"]] or None
    event_id = state.event_ids[0] if state.event_ids else None
    said[_AT["seq"]] = seq
    said[_AT["mode"]] = str(state.mode)
    said[_AT["status"]] = str(said[_AT["status"]])
    said[_AT["learned_from"]] = None if state.learned_from is None else str(state.learned_from)
    said[_AT["event_id"]] = event_id
    said[_AT["contradictions"]] = len(state.contradictions)
    said[_AT["unwell"]] = int(
        state.status not in PLAINLY_WELL
        or code is not None
        or bool(state.contradictions)
        or (state.final_seen_at is not None and event_id is None)
    )
    row: ProjectedRow = ProjectedRow._make(said)
    return row


_SHOWN_AT: Final = {name: place for place, name in enumerate(CollectionRow.__struct_fields__)}
_SHOWN_INSTANTS: Final = tuple(_SHOWN_AT[_NAMES[at]] for at in _INSTANTS)
_SHOWN_MODE: Final = _SHOWN_AT["mode"]
_SHOWN_STATUS: Final = _SHOWN_AT["status"]
_MODES: Final = {mode.value: mode for mode in Mode}
_STATUSES: Final[dict[str, ShownStatus]] = {
    CONTRADICTION: CONTRADICTION,
    **{status.value: status for status in Status},
}


def to_row(values: Sequence[Any]) -> CollectionRow:
    """Return the record of a row selected with SHOWN."""
    # By place: this runs for every row that anything lists.
    said = list(values)
    for at in _SHOWN_INSTANTS:
        said[at] = maybe_at(said[at])
    said[_SHOWN_MODE] = _MODES[said[_SHOWN_MODE]]
    status = said[_SHOWN_STATUS]
    said[_SHOWN_STATUS] = _STATUSES.get(status) or Status(status)
    return CollectionRow(*said)


_shown: Final[Callable[[ProjectedRow], tuple[Any, ...]]] = attrgetter(
    *CollectionRow.__struct_fields__
)


def shown(row: ProjectedRow) -> CollectionRow:
    """Return the record of a row that the writer has at hand."""
    return to_row(_shown(row))


def _countable(number: int) -> int:
    return max(-AMOUNT_COUNTED_MAX, min(AMOUNT_COUNTED_MAX, number))
