"""The operator's receipts that a run found, made facts of the store."""

import os
from pathlib import Path

from kusanya.errors import ConfigurationError
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.judge.report import Report
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.read.load import STORE_VARIABLE


def store_of(url: str) -> str:
    """Return the store that receipts are kept in: `url`, else that of KUSANYA_STORE.

    Raises ConfigurationError where none is named, or an export is.
    """
    chosen = url or os.environ.get(STORE_VARIABLE, "")
    if not chosen or Path(chosen).is_dir():
        raise ConfigurationError("receipts are kept in a store, and none was named")
    return chosen


def record_in(url: str, made: Report) -> int:
    """Record the receipts of a run in the store at `url`, and return how many are new."""
    if made.operator is None:
        return 0
    with Store.open(url) as store:
        return record(store, made.operator, mode=made.inputs.mode)


def record(store: Store, match: OperatorMatch, *, mode: Mode) -> int:
    """Record the receipt of each collection, and return how many are new.

    The source of a receipt is the name of the statement's file. Saying one again changes nothing.
    Raises StoreError where the store cannot be written.
    """
    new = 0
    for source, found in match.receipts.groupby("input", sort=True):
        pairs = [(row.collection_id, row.receipt) for row in columns.records(found)]
        actor = store.audit.actor
        new += store.receipts.record_all(pairs, mode, source=str(source), actor=actor)
    return new
