"""Is everything in place: what the first notebook tells before any figure is read."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from kusanya.errors import InputRefused, StoreError
from kusanya.store import Store
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import CHECKS
from kusanya_books.read.load import MODE_VARIABLE, STORE_VARIABLE
from kusanya_books.read.sample import month as sample
from kusanya_books.read.store import exported

_LIBRARIES = ("kusanya", "pandas", "pyarrow", "duckdb", "matplotlib")


def check(store: str = "", *, mode: str = "") -> pd.DataFrame:
    """Return what the notebooks run on: one row per fact, and whether it is as it should be.

    A store that cannot be read is a row with its reason, not an error: this page is for finding
    out. No figure of a collection is read.
    """
    url = store or os.environ.get(STORE_VARIABLE, "")
    rows = [("Python", platform.python_version(), True)]
    rows += [(name, version(name), True) for name in _LIBRARIES]
    rows.append(("mode", mode or os.environ.get(MODE_VARIABLE, "") or "not set", True))
    if not url:
        rows.append(("store", f"none: {sample.SOURCE}", True))
    else:
        rows += _export(Path(url)) if Path(url).is_dir() else _store(url)
    return columns.frame(
        CHECKS,
        {
            "what": [row[0] for row in rows],
            "found": [row[1] for row in rows],
            "good": [row[2] for row in rows],
        },
    )


def _export(folder: Path) -> list[tuple[str, str, bool]]:
    rows = []
    for mode in (Mode.LIVE, Mode.TEST):
        try:
            rows.append((f"last {mode.value} day", f"{exported.days(folder, mode=mode)[-1]}", True))
        except InputRefused:
            rows.append((f"last {mode.value} day", "none", True))
    good = any(found != "none" for _, found, _ in rows)
    return [("export", safe(folder.resolve().name), good), *rows]


def _store(url: str) -> list[tuple[str, str, bool]]:
    try:
        with Store.open(url, read_only=True) as opened:
            newest = {
                mode: opened.collections.page(mode, limit=1).rows for mode in (Mode.LIVE, Mode.TEST)
            }
            return [
                ("store", opened.url_shown, True),
                ("journal position", f"{opened.feed.head():,}", True),
                *(
                    (
                        f"newest {mode.value} collection",
                        f"{rows[0].created_at:%Y-%m-%d %H:%M:%S} UTC" if rows else "none yet",
                        True,
                    )
                    for mode, rows in newest.items()
                ),
            ]
    except StoreError as error:
        return [("store", str(error), False)]
