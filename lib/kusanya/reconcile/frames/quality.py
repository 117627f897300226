"""What a load kept, what it dropped, and why: shown beside every frame."""

import msgspec
import pandas as pd

from kusanya.reconcile.frames import columns


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """One input row that was not simply kept. `row` counts from 1 as the file's reader counts."""

    row: int | None
    verdict: str
    """skipped, rejected or warned (kept, but look at it)."""
    reason: str


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """The account of one load: rows in = kept + skipped + rejected."""

    source: str
    """What was read, for people: no password, no full path of another person's folder."""
    rows: int
    kept: int
    remarks: tuple[Remark, ...] = ()
    sha256: str | None = None
    """Of the input's bytes, for a file."""

    def count(self, verdict: str) -> int:
        """Return how many rows have this verdict."""
        return sum(remark.verdict == verdict for remark in self.remarks)

    def __post_init__(self) -> None:
        if self.rows != self.kept + self.count("skipped") + self.count("rejected"):
            raise ValueError(f"{self.source}: rows are lost between reading and keeping")


def account(*loads: Quality) -> pd.DataFrame:
    """Return one row per load: what was read, kept, skipped, rejected and warned about."""
    return columns.frame(
        columns.ACCOUNT,
        {
            "input": [load.source for load in loads],
            "rows": [load.rows for load in loads],
            "kept": [load.kept for load in loads],
            "skipped": [load.count("skipped") for load in loads],
            "rejected": [load.count("rejected") for load in loads],
            "warned": [load.count("warned") for load in loads],
            "sha256": [load.sha256 for load in loads],
        },
    )


def remarks(*loads: Quality) -> pd.DataFrame:
    """Return one row per remark of all loads, in the order of the inputs."""
    listed = [(load.source, remark) for load in loads for remark in load.remarks]
    return columns.frame(
        columns.QUALITY,
        {
            "input": [source for source, _ in listed],
            "row": [remark.row for _, remark in listed],
            "verdict": [remark.verdict for _, remark in listed],
            "reason": [remark.reason for _, remark in listed],
        },
    )
