"""What was asked of an amount: alone, with its time or day beside it, or named in a sentence."""

from kusanya.lookup.search.amounts import AmountAndTime, read_amount, read_amount_in
from kusanya.lookup.search.by_phone import as_phone, phones_in
from kusanya.lookup.search.matches import (
    Candidates,
    CreationMatch,
    LookupQuestion,
    Match,
    MatchKind,
)
from kusanya.say import joined
from kusanya.store import Store
from kusanya.store.records import CollectionFilter


def by_amount(store: Store, question: LookupQuestion) -> Candidates:
    """Return what a text that says an amount and its time, and nothing else, asks for."""
    asked = _amount_of(question)
    return Candidates() if asked is None else _asked(store, question, asked)


def by_amount_in_sentence(store: Store, question: LookupQuestion) -> Candidates:
    """Return what was asked of the one amount that a sentence without a phone names."""
    if _has_phone(question.text) or _amount_of(question) is not None:
        return Candidates()
    asked = read_amount_in(question.text, now=question.now, day=question.day)
    return Candidates() if asked is None else _asked(store, question, asked)


def is_dated_amount(question: LookupQuestion) -> bool:
    """Return whether a text is an amount with a time or a day, and so can be nothing else."""
    asked = _amount_of(question)
    return asked is not None and asked.is_dated


def _amount_of(question: LookupQuestion) -> AmountAndTime | None:
    # A whole phone number is no amount, and is repeated in no sentence.
    if _has_phone(question.text):
        return None
    return read_amount(question.text, now=question.now, day=question.day)


def _has_phone(text: str) -> bool:
    return as_phone(text)[0] is not None or bool(phones_in(text)[0])


def _asked(store: Store, question: LookupQuestion, asked: AmountAndTime) -> Candidates:
    where = CollectionFilter(
        amount_min=asked.amount,
        amount_max=asked.up_to,
        created_from=asked.begin,
        created_to=asked.end,
    )
    mode, limit, at = question.mode, question.limit, asked.at
    page = store.collections.page(mode, where=where, limit=limit)
    if at is not None and page.more:
        # The newest may all be further away than what came before them.
        page = store.collections.around(mode, at, where=where, limit=2 * limit)
    nearest = sorted(page.rows, key=lambda row: abs(row.created_at - at)) if at else page.rows
    rows = nearest[:limit]
    opened = store.intents.still_open(
        mode,
        amounts=(asked.amount, asked.up_to),
        prepared_from=asked.begin,
        prepared_to=asked.end,
        limit=limit,
    )
    return Candidates(
        [Match(row, MatchKind.AMOUNT) for row in rows],
        [CreationMatch(intent, MatchKind.AMOUNT) for intent in opened],
        joined(", ", (asked.amounts, asked.sentence)),
    )
