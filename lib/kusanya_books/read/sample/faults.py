"""A seeded month with a ledger, a statement, and known faults in all of them.

What is planted is listed with the verdict it must get, so that a reconciliation can be held
against the list. Every plant has a reference of its own, in the middle of the month unless it is
about time.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec
import numpy as np
import pandas as pd

from kusanya.domain.business_day import EAT
from kusanya.domain.status import PAID, UNPAID, Status
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import INTENTS, KEYS, LEDGER, PLANTED, STATEMENT
from kusanya_books.read.sample.month import MONTH, ROWS, SEED, STORE_ID, raw_collections
from kusanya_books.read.store.normalisation import normalise
from kusanya_books.request.days import Period, business_days

EACH: Final = 3
"""How often each fault is planted, where the month is long enough."""
_MIDDLE: Final = (
    "duplicate_in_ledger",
    "contradiction",
    "unknown_status",
    "double_payment",
    "mode_mismatch",
    "outcome_unknown",
    "missing_at_provider",
    "missing_in_ledger",
    "late_success",
    "still_open",
    "currency_mismatch",
    "booked_net",
    "amount_mismatch",
    "fee_mismatch",
    "timing",
)
_LAST_DAY: Final = ("timing_unseen", "timing_unbooked")
_GONE: Final = ("mode_mismatch", "outcome_unknown", "missing_at_provider", "timing_unseen")
"""Booked, and not among the collections of this mode."""
_WRONG_FEE: Final = 37
_NOT_BILLABLE: Final = 0.3
"""The share of unsuccessful references that have a line in the books all the same."""


class Month(msgspec.Struct, frozen=True, kw_only=True):
    """A month from all sides, and the list of what is wrong with it."""

    period: Period
    collections: pd.DataFrame
    other_mode: pd.DataFrame
    intents: pd.DataFrame
    ledger: pd.DataFrame
    statement: pd.DataFrame
    planted: pd.DataFrame
    """Verdicts that are due; everything else agrees or is not billable."""


def month(
    *,
    seed: int = SEED,
    rows: int = ROWS,
    month: str = MONTH,
    mode: Mode = Mode.LIVE,
    each: int = EACH,
    cutoff: timedelta = timedelta(0),
) -> Month:
    """Return a seeded month of about `rows` collections with `each` of every fault."""
    made = raw_collections(seed=seed, rows=rows, month=month, mode=mode)
    span = Period(first=made.period.first, last=made.period.last, cutoff=cutoff)
    rng = np.random.default_rng([seed, 3])
    raw = made.raw.astype({"amount": "Int64", "fee": "Int64"})
    chosen = _choose(rng, raw, span, each)
    books = _books(rng, raw, chosen)
    collections = normalise(_service(rng, raw, chosen), key=STORE_ID, cutoff=cutoff)
    ledger = _ledger(books, cutoff)
    statement, settled = _statement(collections, span)
    gone, unknown = (raw.loc[chosen[name]] for name in ("mode_mismatch", "outcome_unknown"))
    return Month(
        period=span,
        collections=collections,
        other_mode=columns.frame(KEYS, gone[["id", "reference"]]),
        intents=columns.frame(INTENTS, unknown.assign(sent_at=unknown["created_at"])),
        ledger=ledger,
        statement=statement,
        planted=pd.concat(
            [_due(raw, books, collections, chosen, ledger), settled], ignore_index=True
        ),
    )


def _choose(rng: np.random.Generator, raw: pd.DataFrame, span: Period, each: int) -> dict[str, Any]:
    single = ~raw["reference"].duplicated(keep=False)
    done = raw["completed_at"].fillna(raw["created_at"])
    start, end = business_days(raw["created_at"]), business_days(done)
    same = (start == end) & (raw["fee"] > 0)
    first, last = pd.Timestamp(span.first), pd.Timestamp(span.last)
    won = single & same & raw["status"].isin(PAID)
    lost = single & same & raw["status"].isin(UNPAID)
    # Away from the cutoff's turn on either side, and from the days that grace reaches.
    noon = (raw["created_at"] + EAT.utcoffset(None)).dt.hour.between(13, 19)
    middle = noon & (start > first + timedelta(days=2)) & (start < last - timedelta(days=4))
    return {
        **_deal(rng, raw.index[won & middle], _MIDDLE, each),
        **_deal(rng, raw.index[won & noon & (start == last)], _LAST_DAY, each),
        **_deal(rng, raw.index[lost & middle], ("status_mismatch", "wrong_fee"), each),
    }


def _deal(
    rng: np.random.Generator, pool: pd.Index, names: tuple[str, ...], each: int
) -> dict[str, Any]:
    drawn = rng.permutation(pool.to_numpy(copy=True))
    size = min(each, len(drawn) // len(names))
    return {name: drawn[place * size : (place + 1) * size] for place, name in enumerate(names)}


def _service(
    rng: np.random.Generator, raw: pd.DataFrame, chosen: Mapping[str, Any]
) -> pd.DataFrame:
    ends = ["completed_at", "event_at", "final_seen_at"]
    frame = raw.copy()
    at = chosen["contradiction"]
    frame.loc[at, "contradictions"] = 1
    frame.loc[at[::2], "status"] = "contradiction"
    frame.loc[at[1::2], "fee_event"] += 10
    for name, status in (("unknown_status", "on_hold"), ("still_open", Status.CREATED.value)):
        frame.loc[chosen[name], "status"] = status
        frame.loc[chosen[name], ends] = pd.NaT
    fees = ["fee", "fee_202", "fee_event"]
    frame.loc[chosen["wrong_fee"], fees] += _WRONG_FEE
    again = frame.loc[chosen["double_payment"]].copy()
    again["id"] = [f"col_{rng.bytes(8).hex()}" for _ in range(len(again))]
    for name in ("created_at", *ends):
        again[name] += timedelta(hours=2)
    kept = frame[~frame.index.isin(np.concatenate([chosen[name] for name in _GONE]))]
    both: pd.DataFrame = pd.concat([kept, again], ignore_index=True)
    return both


def _books(rng: np.random.Generator, raw: pd.DataFrame, chosen: Mapping[str, Any]) -> pd.DataFrame:
    won = raw["status"].isin(PAID)
    paid_for = won.groupby(raw["reference"]).transform("any")
    lost = ~won & ~paid_for & ~raw["reference"].duplicated()
    noted = lost & (rng.random(len(raw)) < _NOT_BILLABLE)
    noted.loc[chosen["status_mismatch"]] = True
    books = raw.loc[won | noted, ["id", "reference", "amount", "fee", "currency", "channel"]].copy()
    books["status"] = np.where(won.loc[books.index], "paid", "not_paid")
    books.loc[books.index[~won.loc[books.index]][::2], "status"] = "open"
    books["booked_at"] = raw.loc[books.index, "completed_at"]
    books["plant"] = pd.Series(pd.NA, index=books.index, dtype="object")
    for name, at in chosen.items():
        books.loc[books.index.intersection(at), "plant"] = name
    books.loc[chosen["status_mismatch"], "status"] = "paid"
    books.loc[chosen["late_success"], "status"] = "not_paid"
    books.loc[chosen["currency_mismatch"], "currency"] = "KES"
    books.loc[chosen["booked_net"], "amount"] -= books.loc[chosen["booked_net"], "fee"]
    books.loc[chosen["amount_mismatch"], "amount"] += 1_000
    books.loc[chosen["fee_mismatch"], "fee"] += 5
    books.loc[chosen["timing"], "booked_at"] += timedelta(days=1)
    twice = books.loc[chosen["duplicate_in_ledger"]].copy()
    twice["booked_at"] += timedelta(minutes=1)
    books.loc[chosen["duplicate_in_ledger"], "plant"] = pd.NA
    absent = np.concatenate([chosen["missing_in_ledger"], chosen["timing_unbooked"]])
    listed: pd.DataFrame = pd.concat([books[~books.index.isin(absent)], twice])
    ordered: pd.DataFrame = listed.sort_values(["booked_at", "id"], kind="stable")
    return ordered.reset_index(drop=True)


def _ledger(books: pd.DataFrame, cutoff: timedelta) -> pd.DataFrame:
    booked = books["booked_at"].astype("datetime64[us, UTC]")
    return columns.frame(
        LEDGER,
        books.assign(
            row_no=range(1, len(books) + 1),
            collection_id=None,
            booked_at=booked,
            booked_day=business_days(booked, cutoff=cutoff),
        ),
    )


def _due(
    raw: pd.DataFrame,
    books: pd.DataFrame,
    collections: pd.DataFrame,
    chosen: Mapping[str, Any],
    ledger: pd.DataFrame,
) -> pd.DataFrame:
    lines = books["plant"].notna() & ~books["plant"].isin(["double_payment", "wrong_fee"])
    booked = pd.DataFrame(
        {
            "break_code": books.loc[lines, "plant"],
            "reference": books.loc[lines, "reference"],
            "row_no": ledger.loc[lines, "row_no"],
        }
    )
    tried = raw.loc[chosen["double_payment"]]
    again = collections[collections["reference"].isin(tried["reference"])]
    parts = {
        "double_payment": again.loc[~again["id"].isin(tried["id"]), ["id", "reference"]],
        "missing_in_ledger": raw.loc[chosen["missing_in_ledger"], ["id", "reference"]],
        "timing_unbooked": raw.loc[chosen["timing_unbooked"], ["id", "reference"]],
    }
    paid = pd.concat([part.assign(break_code=name) for name, part in parts.items()]).rename(
        columns={"id": "collection_id"}
    )
    both = pd.concat([booked, paid], ignore_index=True).assign(leg="ledger")
    return columns.frame(PLANTED, both.reindex(columns=list(PLANTED.columns)))


def _statement(collections: pd.DataFrame, span: Period) -> tuple[pd.DataFrame, pd.DataFrame]:
    paid = collections[collections["status"].isin(PAID)].assign(count=1)
    paid = paid.astype({"count": "Int64"}).rename(columns={"amount": "gross"})
    keys = ["business_day", "channel", "currency"]
    lines = paid.groupby(keys)[["gross", "fee", "count"]].sum().reset_index()
    inside = (lines["business_day"] >= pd.Timestamp(span.first)) & (
        lines["business_day"] < pd.Timestamp(span.last)
    )
    lines = lines[inside].reset_index(drop=True)
    lines["plant"] = pd.Series(pd.NA, index=lines.index, dtype="object")
    names = (
        "settlement_missing",
        "settlement_short",
        "settlement_over",
        "settlement_fee_mismatch",
        "settlement_duplicate",
    )
    enough = len(lines) > 4 * len(names)
    # Spread over the month, away from its last days, which are not due yet.
    at = [len(lines) * (place + 1) // 8 for place in range(len(names))] if enough else []
    for place, name in zip(at, names, strict=False):
        lines.loc[place, "plant"] = name
    lines["net"] = lines["gross"] - lines["fee"]
    lines.loc[lines["plant"] == "settlement_short", ["gross", "net"]] -= 1_000
    lines.loc[lines["plant"] == "settlement_over", ["gross", "net"]] += 1_000
    lines.loc[lines["plant"] == "settlement_fee_mismatch", "fee"] += 500
    lines.loc[lines["plant"] == "settlement_fee_mismatch", "net"] -= 500
    lines["batch_id"] = "B-" + lines["business_day"].dt.strftime("%Y%m%d") + "-" + lines["channel"]
    planted = lines[lines["plant"].notna()]
    twin = lines[lines["plant"] == "settlement_duplicate"]
    odd = lines.iloc[at[:1]].drop(columns="plant").assign(channel="OLD_TZ", batch_id="B-OLD")
    listed = pd.concat([lines[lines["plant"] != "settlement_missing"], twin, odd])
    listed = listed.sort_values(["business_day", "channel"], kind="stable").reset_index(drop=True)
    due = pd.concat([planted, odd.assign(plant="settlement_unexpected")])
    due = due.rename(columns={"plant": "break_code"}).assign(leg="settlement")
    statement = listed.assign(line_no=range(1, len(listed) + 1), collection_id=None)
    return (
        columns.frame(STATEMENT, statement),
        columns.frame(PLANTED, due.reindex(columns=list(PLANTED.columns))),
    )
