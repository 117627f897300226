"""The verdict and its sentence: what each condition makes of them, without a close."""

from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from tests.kit.frames import frame_of

from kusanya_books import columns
from kusanya_books.columns import ACCOUNTED, AGEING, COVERAGE, FINDINGS, ITEMS, LINES
from kusanya_books.judge import findings
from kusanya_books.judge.report import Report, ReportVerdict
from kusanya_books.pack import summary
from kusanya_books.pack.summary import run_id, sentence
from kusanya_books.request.quality import FileTotal, Quality, Remark

AGREES = "The books agree with the service, and the bridge closes to zero."
OF_MONEY = {
    "leg": "books", "channel": "MPESA_TZ", "currency": "TZS", "rows": 2, "amount": 2_000,
    "rows_met": 2, "amount_met": 2_000, "percent": 100,
}  # fmt: skip
COVERED = "TZS 2,000: books 100 %, operator 100 %, settlement 100 %, bank 100 %"


def finding(kind: str, rows: int = 1, amount: int | None = 500, **said: Any) -> dict[str, Any]:
    return {
        "finding": kind, "currency": "TZS", "rows": rows, "amount": amount, "page": "x",
        "note": None, **said,
    }  # fmt: skip


def made(*found: dict[str, Any], **said: Any) -> Any:
    """Return a report of some findings and nothing else that is wrong, but for what is said."""
    inputs = {"rejected": (), "differing": (), "quality": (), **said.pop("inputs", {})}
    return SimpleNamespace(
        **{
            "lost": pd.DataFrame({"input": []}),
            "unexplained": 0,
            "disagrees": 0,
            "breaks": 0,
            "unproven": (),
            "look_first": (),
            "matched": SimpleNamespace(ageing=pd.DataFrame({"x": [1]})),
            "findings": frame_of(FINDINGS, *found),
            "coverage": frame_of(COVERAGE, OF_MONEY),
            "inputs": SimpleNamespace(**inputs),
            **said,
        }
    )


def verdict(report: Any, **limit: int) -> ReportVerdict:
    return Report.verdict(report, **limit)


def said(report: Any, **limit: int) -> str:
    return sentence(report, verdict(report, **limit))


REJECTED = Remark(
    row=7, verdict="rejected", reason="is no amount", column="Sum", currency="TZS", amount=300
)
TOTAL = FileTotal(currency="TZS", stated=5_000, rows=2, read=4_000, unread=0)


def file_with(*remarks: Remark, total: FileTotal | None = None) -> Quality:
    return Quality(
        source="ledger books.csv", rows=2 + len(remarks), kept=2, remarks=remarks, total=total
    )


def test_what_agrees_is_reconciled_and_says_how_much_was_compared() -> None:
    report = made()
    assert verdict(report) is ReportVerdict.RECONCILED
    assert said(report) == f"{AGREES} Compared, of {COVERED}."
    nothing = made(coverage=columns.empty(COVERAGE))
    assert said(nothing) == f"{AGREES} Compared, of no payment."


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"lost": pd.DataFrame({"input": ["b", "a", "a"]})}, "lines of a, b are in no result, or"),
        ({"unexplained": 1}, "The bridge does not close: rows were lost or counted twice"),
        ({"disagrees": 1}, "The bridge does not close: rows were lost or counted twice"),
    ],
)
def test_lines_that_are_lost_and_a_bridge_that_does_not_close_are_said(
    wrong: dict[str, Any], why: str
) -> None:
    report = made(finding("x"), **wrong)
    assert why in said(report)
    if "lost" in wrong:
        assert verdict(report) is ReportVerdict.NOT_CLOSED


def test_rows_that_could_not_be_read_close_nothing() -> None:
    quality = (file_with(REJECTED, REJECTED),)
    report = made(inputs={"rejected": (REJECTED, REJECTED), "quality": quality})
    assert verdict(report) is ReportVerdict.NOT_CLOSED
    assert said(report) == (
        "Not closed: 2 input row(s) could not be read, worth TZS 600 where it could be read: "
        'ledger books.csv, row 7, column "Sum": is no amount, and 1 more on the page unread.'
    )
    bare = Remark(row=7, verdict="rejected", reason="is cut")
    report = made(inputs={"rejected": (bare,), "quality": (file_with(bare),)})
    assert said(report) == (
        "Not closed: 1 input row(s) could not be read: ledger books.csv, row 7: is cut."
    )


@pytest.mark.parametrize(("unread", "end"), [(0, "4,000."), (70, "4,000, with 70 unread.")])
def test_a_total_that_its_rows_do_not_come_to_closes_nothing(unread: int, end: str) -> None:
    total = FileTotal(currency="TZS", stated=5_000, rows=2, read=4_000, unread=unread)
    report = made(inputs={"differing": (file_with(total=total),)})
    assert verdict(report) is ReportVerdict.NOT_CLOSED
    assert said(report) == (
        "Not closed: ledger books.csv states a total of TZS 5,000, and its rows come to " + end
    )


def test_what_is_not_proven_is_named_and_alone_is_the_verdict() -> None:
    report = made(unproven=("no ledger was given", "the feed ended"))
    assert verdict(report) is ReportVerdict.NOT_PROVEN
    assert said(report) == "Not proven: no ledger was given; the feed ended."
    both = made(finding(findings.BREAKS), breaks=1, unproven=("the feed ended",))
    assert verdict(both) is ReportVerdict.BREAKS
    assert said(both) == (
        "The bridge closes to zero. What needs a person: breaks 1. Not proven: the feed ended."
    )


def test_which_file_is_wrong_stands_before_all_else() -> None:
    report = made(finding(findings.BREAKS, 12), breaks=12, look_first=("a", "b"))
    assert said(report).startswith("Look first: a; b. The bridge closes to zero. What needs")


def test_every_finding_is_counted_but_those_that_are_breaks() -> None:
    report = made(
        finding(findings.BREAKS, 2), finding(findings.PAYOUTS, 1), finding(findings.SUSPECTED, 4),
        finding(findings.EDGE, 9), breaks=3,
    )  # fmt: skip
    assert verdict(report) is ReportVerdict.BREAKS
    assert said(report) == (
        f"The bridge closes to zero. What needs a person: breaks 3, {findings.SUSPECTED} 4."
    )
    alone = made(finding(findings.SUSPECTED, 4))
    assert said(alone) == f"The bridge closes to zero. What needs a person: {findings.SUSPECTED} 4."


@pytest.mark.parametrize(
    ("breaks", "limit", "ends"),
    [
        (2, 1, ReportVerdict.BREAKS),
        (2, 2, ReportVerdict.RECONCILED),
        (2, 3, ReportVerdict.RECONCILED),
    ],
)
def test_breaks_within_the_limit_are_tolerated_and_said(
    breaks: int, limit: int, ends: ReportVerdict
) -> None:
    report = made(finding(findings.BREAKS, breaks), breaks=breaks)
    assert verdict(report, max_breaks=limit) is ends
    within = " (within the limit)" if ends is ReportVerdict.RECONCILED else ""
    assert said(report, max_breaks=limit) == (
        f"The bridge closes to zero. What needs a person{within}: breaks 2."
    )
    other = made(finding(findings.BREAKS, 2), finding(findings.SUSPECTED), breaks=2)
    assert verdict(other, max_breaks=9) is ReportVerdict.BREAKS, "the limit is of breaks alone"


def test_what_was_accepted_is_said_with_its_sum_and_by_whom() -> None:
    accepted = (
        finding(findings.ACCEPTED, 2, 700, note="by asha"),
        finding(findings.ACCEPTED, 1, 5, currency="KES", note="by asha"),
    )
    report = made(*accepted)
    assert verdict(report) is ReportVerdict.RECONCILED
    assert said(report) == (
        "The bridge closes to zero, and nothing is left to do but for 3 accepted by asha, worth "
        "TZS 700 and KES 5."
    )
    rest = made(*accepted[:1], finding(findings.BREAKS), breaks=1)
    assert said(rest) == (
        "The bridge closes to zero. What needs a person: breaks 1; 2 accepted by asha, worth "
        "TZS 700."
    )


def test_a_period_without_anything_says_so() -> None:
    empty = SimpleNamespace(ageing=columns.empty(AGEING))
    report = made(matched=empty)
    assert said(report) == (
        "Nothing to reconcile: the period has no collection and no line of the books."
    )
    assert "Nothing to reconcile" not in said(made(matched=empty, breaks=1))
    assert "Nothing to reconcile" not in said(made(finding(findings.SUSPECTED), matched=empty))
    assert "Nothing to reconcile" not in said(made(matched=None))


def test_only_what_is_reconciled_may_be_signed() -> None:
    assert [one for one in ReportVerdict if one.may_sign] == [ReportVerdict.RECONCILED]
    assert [one.value for one in ReportVerdict if not one.banner] == ["reconciled"]
    for one in ReportVerdict:
        assert one.banner.endswith("do not sign.") or one.may_sign


def test_breaks_are_those_of_the_legs_that_stand_and_were_not_accepted() -> None:
    item = {"currency": "TZS", "amount": 5, "standing": "break", "status": "open"}
    items = [
        item | {"finding": findings.BREAKS, "break_code": "b"},
        item | {"finding": findings.BREAKS, "break_code": "b"},
        item | {"finding": findings.PAYOUTS, "break_code": "a"},
        item | {"finding": findings.CARRIED, "break_code": "c"},
        item | {"finding": findings.BREAKS, "break_code": "d", "standing": "expected"},
        item | {"finding": None, "break_code": "e"},
    ]
    report: Any = SimpleNamespace(items=frame_of(ITEMS, *items))
    by_code: Any = Report.by_code.fget  # type: ignore[attr-defined]
    assert by_code(report) == {"a": 1, "b": 2}
    counted: Any = Report.breaks.fget  # type: ignore[attr-defined]
    assert counted(SimpleNamespace(by_code={"a": 1, "b": 2})) == 3


def of_report(name: str, **said: Any) -> Any:
    """Return a property of a report of which only this is known."""
    return getattr(Report, name).fget(SimpleNamespace(**said))


def test_what_the_bridges_leave_is_added_up_over_the_legs_that_were_given() -> None:
    legs = dict.fromkeys(("matched", "settled", "operator", "bank"))
    assert of_report("legs", **legs) == ()
    one, two = SimpleNamespace(unexplained=5), SimpleNamespace(unexplained=70)
    given = of_report("legs", **{**legs, "matched": one, "bank": two})
    assert given == (one, two)
    assert of_report("unexplained", legs=given) == 75
    assert of_report("unexplained", legs=()) == 0


def test_lines_of_the_control_that_differ_are_counted() -> None:
    control = pd.DataFrame({"agrees": [True, False, False]})
    assert of_report("disagrees", inputs=SimpleNamespace(control=control)) == 2


def test_no_file_is_called_wrong_while_nothing_is_left() -> None:
    page = SimpleNamespace(frame=columns.empty(ACCOUNTED))
    known = {"inputs": SimpleNamespace(ledger=None), "page": lambda _: page}
    assert of_report("look_first", breaks=0, **known) == ()
    assert of_report("look_first", breaks=1, **known) == ()


def test_the_same_inputs_in_another_order_are_the_same_run() -> None:
    assert run_id({"a": 1, "b": {"c": 2, "d": 3}}) == run_id({"b": {"d": 3, "c": 2}, "a": 1})
    assert run_id({"a": 1}) != run_id({"a": 2})
    assert len(run_id({})) == 16


def test_each_line_outside_the_period_is_counted_and_the_paid_ones_summed() -> None:
    line = {"input": "books.csv", "currency": "TZS", "rows": 5, "amount": 700, "rows_not_paid": 3,
            "amount_not_paid": 90}  # fmt: skip
    parts = ("before the period", "in the period", "after the period", "all lines")
    frame = frame_of(LINES, *({**line, "part": part} for part in parts))
    report: Any = SimpleNamespace(page=lambda _: SimpleNamespace(frame=frame))
    assert summary._outside(report) == [
        ("books.csv lines before the period, TZS", 8),
        ("books.csv lines before the period, TZS: sum of those that are paid", 700),
        ("books.csv lines after the period, TZS", 8),
        ("books.csv lines after the period, TZS: sum of those that are paid", 700),
    ]
