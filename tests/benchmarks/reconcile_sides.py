"""The contestants of the reconciliation benchmark: `python reconcile_sides.py NAME FOLDER`.

Each is a whole process, imports included, and prints one line of JSON: seconds of wall and CPU time
after the imports and in all, the most memory it held, and what it found, so that a fast wrong
answer is no answer.
"""

# ruff: noqa: S608 - the names in queries are this file's own

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any, Final

_FAILURES: Final = "kusanya_books.judge.failures"


def decode(folder: Path) -> dict[str, Any]:
    """Read every column of both files, look at every value and keep none: the limit."""
    import duckdb

    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    looked = {"VARCHAR": "sum(strlen({}))", "BIGINT": "sum({})"}
    seen = 0
    for name in ("collections", "ledger"):
        con.read_parquet(str(folder / f"{name}.parquet")).create_view(name)
        # Smallest and largest values would be answered from the file's footer.
        values = [
            looked.get(str(kind), "max(epoch_us({}))").format(column)
            for column, kind in zip(con.table(name).columns, con.table(name).types, strict=True)
        ]
        query = f"SELECT count(*) AS seen, {', '.join(values)} FROM {name}"
        seen += con.sql(query).to_arrow_table()["seen"][0].as_py()
    return {"seen": seen}


def naive(folder: Path) -> dict[str, Any]:
    """Read, merge, compare, group: what an analyst writes with pandas on an afternoon."""
    import numpy as np
    import pandas as pd

    service = pd.read_parquet(folder / "collections.parquet")
    books = pd.read_parquet(folder / "ledger.parquet")

    # The attempt that succeeded meets the line that says paid; the others follow in order.
    service["rank"] = service["status"].map({"succeeded": 0, "created": 1}).fillna(2)
    books["rank"] = books["status"].map({"paid": 0, "open": 1}).fillna(2)
    service = service.sort_values(["reference", "rank", "created_at", "id"])
    books = books.sort_values(["reference", "rank", "booked_at", "row_no"])
    service["nth"] = service.groupby("reference").cumcount()
    books["nth"] = books.groupby("reference").cumcount()
    both = books.merge(
        service,
        on=["reference", "nth"],
        how="outer",
        suffixes=("_ledger", "_service"),
        indicator=True,
    )

    booked = both["status_ledger"] == "paid"
    paid = both["status_service"] == "succeeded"
    both["break_code"] = np.select(
        [
            (both["_merge"] == "left_only") & booked,
            (both["_merge"] == "right_only") & paid,
            (both["_merge"] != "both"),
            paid & ~booked,
            booked & ~paid,
            ~booked & ~paid,
            both["currency_ledger"] != both["currency_service"],
            both["amount_ledger"] != both["amount_service"],
            both["fee_ledger"] != both["fee_service"],
            both["booked_day"] != both["business_day"],
        ],
        [
            "missing_at_provider",
            "missing_in_ledger",
            "not_billable",
            "late_success",
            "status_mismatch",
            "not_billable",
            "currency_mismatch",
            "amount_mismatch",
            "fee_mismatch",
            "timing",
        ],
        default="matched",
    )
    breaks = both[~both["break_code"].isin(["matched", "not_billable"])]
    breaks = breaks.sort_values(["break_code", "reference"])

    won = service[service["status"] == "succeeded"]
    daily = won.groupby(["business_day", "channel", "currency"])[["amount", "fee"]].sum()
    failed = service[service["status"] == "failed"]
    codes = failed.groupby("failure_code")["amount"].agg(["count", "sum"])
    return {
        "listed": len(breaks),
        "amount_mismatch": int((breaks["break_code"] == "amount_mismatch").sum()),
        "fee_mismatch": int((breaks["break_code"] == "fee_mismatch").sum()),
        "gross": int(daily["amount"].sum()),
        "failed": int(codes["count"].sum()),
    }


def ours(folder: Path) -> dict[str, Any]:
    """Answer the same questions through the public functions, from the same files."""
    from kusanya_books.engine.engine import Dataset
    from kusanya_books.judge import failures, fees
    from kusanya_books.match import ledger
    from kusanya_books.request.days import period

    march = period("2026-03")
    service = Dataset((folder / "collections.parquet",))
    books = Dataset((folder / "ledger.parquet",))
    matched = ledger.match(service, books, period=march, everything=False)
    daily = fees.daily(service, period=march)
    codes = failures.pareto(service, period=march)
    if matched.unexplained:
        raise AssertionError("the bridge does not close")
    found = matched.rows["break_code"]
    return {
        "listed": len(matched.rows),
        "amount_mismatch": int((found == "amount_mismatch").sum()),
        "fee_mismatch": int((found == "fee_mismatch").sum()),
        "gross": int(daily.loc[daily["channel"] == "(all)", "gross"].iloc[0]),
        "failed": int(codes.loc[codes["code"] != "(expired)", "attempts"].sum()),
    }


def daily(folder: Path) -> dict[str, Any]:
    """Go from a store to everything that the daily report shows, without books."""
    from kusanya_books.judge import failures, fees, report
    from kusanya_books.read import load
    from kusanya_books.request.close_request import CloseRequest

    day = load.inputs(CloseRequest(store=str(folder / "store.db"), mode="live", period="2026-03"))
    summary = fees.daily(day.collections, period=day.period)
    codes = failures.pareto(day.collections, period=day.period)
    made = report.report(day)
    if made.disagrees:
        raise AssertionError("the control does not agree")
    return {"collections": len(day.frame), "days": len(summary), "codes": len(codes)}


SIDES: Final = {
    "decode": (decode, ("duckdb", "pyarrow")),
    "naive": (naive, ("pandas",)),
    "ours": (
        ours,
        ("kusanya_books.match.ledger", "kusanya_books.judge.fees", _FAILURES),
    ),
    "daily": (daily, ("kusanya_books.judge.report", "kusanya_books.read.load")),
}


def _peak_kib() -> int:
    # Not ru_maxrss: a child begins with what its parent held when it made it.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0])


def main(name: str, folder: str) -> None:
    """Run one side and print its figures."""
    side, needs = SIDES[name]
    for module in needs:
        import_module(module)
    imported, began = time.process_time(), time.perf_counter()
    found = side(Path(folder))
    measured = {
        "cpu_s": time.process_time() - imported,
        "wall_s": time.perf_counter() - began,
        "whole_cpu_s": time.process_time(),
        "peak_mb": _peak_kib() / 1024,
        "found": found,
    }
    sys.stdout.write(json.dumps(measured) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
