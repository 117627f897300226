"""The list of the Audit screen: what people did, newest first."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kusanya.alarms.alarm import describe_alarm_id
from kusanya.filters import Filter
from kusanya.lookup import load_subjects
from kusanya.store.records import AuditRow, Key, Page, SortOrder
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.audit.filtering import AUDIT_KEYS, Act, audit_query
from kusanya_console.lists.definition import ListDefinition
from kusanya_console.lists.export import Value, format_exact, masked
from kusanya_console.lists.paging import ListPages
from kusanya_console.ui.columns import Column
from kusanya_console.ui.format import Look, cell, format_listed_instant, format_text
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, Run

_BUDGET_S: Final = 1.0
"""What people did is little beside what machines do: a search of it may take longer."""

FIELDS: Final[Mapping[str, Callable[[Act], Value]]] = {
    "at": lambda act: format_exact(act.row.at),
    "actor": lambda act: masked(act.row.actor),
    "act": lambda act: act.row.act,
    "subject": lambda act: masked(act.row.subject),
    "mode": lambda act: None if act.subject is None else act.subject.mode.value,
    "reference": lambda act: None if act.subject is None else masked(act.subject.reference),
    "outcome": lambda act: masked(act.row.outcome),
    "detail": lambda act: masked(act.row.detail),
}


def subject_name(act: Act, mode: Mode) -> str:
    """Return what an act was done to: a reference where it has one, its mode where it is another.

    Every text in it is safe to show.
    """
    if act.subject is None:
        raw = act.row.subject
        alarm = None if raw is None else describe_alarm_id(raw, here=mode)
        if alarm is not None:
            return translate(alarm)
        return "—" if raw is None else format_text(raw, 60)
    name = format_text(act.subject.reference, 60)
    return name if act.subject.mode is mode else f"{name} ({act.subject.mode.value})"


def outcome(act: Act) -> Run:
    """Return how an act ended."""
    return cell(translate(act.row.outcome), PLAIN if act.row.is_done else FAILED, limit=200)


def _columns(mode: Mode) -> tuple[Column[Act], ...]:
    def subject(act: Act, _look: Look) -> Run:
        return subject_name(act, mode), PLAIN if act.subject else MUTED

    return (
        Column("when", 9, lambda act, look: (format_listed_instant(act.row.at, look), MUTED),
               whole=True, order=SortOrder.CREATED),
        Column("who", 8, lambda act, _: cell(act.row.actor, limit=60), whole=True, key="actor"),
        Column("did", 17, lambda act, _: (act_name(act.row), PLAIN), key="act"),
        Column("to", 12, subject, grows=2, names=True, whole=True, key="ref"),
        Column("outcome", 12, lambda act, _: outcome(act), grows=12, rank=1, key="outcome"),
        Column("why", 10, lambda act, _: cell(act.row.detail, MUTED, limit=200), grows=60, rank=2),
    )  # fmt: skip


def act_name(row: AuditRow) -> str:
    """Return what somebody did, in words."""
    return format_text(translate(row.act.replace("_", " ")), 40)


def _pages(context: AppContext, query: Filter, _order: SortOrder) -> ListPages[Act]:
    store = context.store
    where, test = audit_query(query, now=context.clock.now())

    def acts(rows: Sequence[AuditRow]) -> tuple[Act, ...]:
        subjects = load_subjects(store, (row.subject for row in rows))
        return tuple(Act(row, subjects.get(row.subject or "")) for row in rows)

    def page(older: Key | None, newer: Key | None, limit: int) -> Page[Act]:
        found = store.audit.page(where=where, older_than=older, newer_than=newer, limit=limit)
        return Page(acts(found.rows), found.more)

    def refetch(ids: Sequence[str]) -> dict[str, Act]:
        return {act.id: act for act in acts(tuple(store.audit.by_id(ids).values()))}

    return ListPages(
        page, refetch=refetch, key=lambda act: act.row.key, test=test, budget_s=_BUDGET_S
    )


def _selection(act: Act, mode: Mode) -> Selection:
    """Return the payment or creation that an act was done to, if it is one of `mode`."""
    name = subject_name(act, mode)
    if act.subject is None or act.subject.mode is not mode:
        return Selection(name=name if act.row.subject else translate("this act"))
    opens = act.subject.id
    if opens.startswith("int_"):
        return Selection(name=name, intent_id=opens)
    return Selection(name=name, collection_id=opens)


def audit_list(mode: Mode) -> ListDefinition[Act]:
    """Return the list as it is shown in one mode; acts are those of both."""
    return ListDefinition(
        records="acts",
        columns=_columns(mode),
        keys=AUDIT_KEYS,
        grammar=(
            ("actor:asha act:reveal", "parts of who acted and of what they did, in any case"),
            ("at:2025-11-19 age<8h", "a day or 15:00..15:30 in East Africa's time; 15m 2h 3d"),
            ("-outcome:done", "a leading - turns a word round"),
            ("INV-48 id:col_…", "anything else is a part of a payment's reference"),
        ),
        pages=_pages,
        changed_ids=lambda snapshot: snapshot.audited,
        selection=lambda act: _selection(act, mode),
        instant=lambda act: act.row.at,
        # Acts are too few to count by the hour: a page or two hold weeks of them.
        hours=lambda _context: (),
        fields=FIELDS,
        empty=(
            "Nobody has acted on this store yet.",
            "Notes, replays, decisions and reveals stand here with who did them.",
            "? lists the keys.",
        ),
        nothing_passes="No act passes the filter. esc clears it.",
        keyed_by_time=False,
    )
