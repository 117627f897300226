"""What a reconciliation that runs by itself sends to people: the verdict, counts and sums.

No reference, phone number, path or row leaves the machine this way.
"""

from datetime import date
from typing import TYPE_CHECKING, Any, Final

from kusanya.errors import ConfigurationError
from kusanya.wire import Mode
from kusanya_console.output import USAGE, Refused, complain

if TYPE_CHECKING:
    from kusanya_books.judge.report import CloseResult

_NOTHING: Final = "Nothing needs a person."
UNSENT: Final = 3
"""The exit code when a notification could not be sent."""


class Notification:
    """Where to send how a run ended. Raises Refused for an address to which nothing can go."""

    def __init__(self, urls: tuple[str, ...], mode: Mode, days: tuple[date, date]) -> None:
        self._urls, self._mode, self._days = urls, mode, days
        if urls:
            from kusanya.alarms import notify

            try:
                notify.check(urls)
            except ConfigurationError as error:
                raise Refused(str(error), code=USAGE) from error

    def send(self, result: "CloseResult | None") -> bool:
        """Send a result, None for a run that was refused; say what was not sent and return it."""
        if not self._urls:
            return False
        from kusanya.alarms import notify

        data = _data(result, self._mode, self._days)
        title = f"Reconciliation {data['first']} to {data['last']}, {data['mode']}: "
        failures = notify.send(self._urls, title + data["verdict"], _body(data), data=data)
        for failure in failures:
            complain(f"the notification to {failure.target} was not sent: {failure.reason}")
        return bool(failures)


def _data(result: "CloseResult | None", mode: Mode, days: tuple[date, date]) -> dict[str, Any]:
    findings = () if result is None else result.findings
    return {
        "verdict": "failed" if result is None else result.verdict.value,
        "mode": mode.value,
        "first": days[0].isoformat(),
        "last": days[1].isoformat(),
        "run_id": None if result is None else result.run_id,
        "breaks": None if result is None else result.breaks,
        "by_code": {} if result is None else result.by_code,
        "coverage": () if result is None else list(result.coverage),
        "look_first": () if result is None else list(result.look_first),
        "unproven": () if result is None else list(result.unproven),
        "waiting": () if result is None else list(result.waiting),
        "findings": [
            {name: row[name] for name in ("finding", "currency", "rows", "amount")}
            for row in findings
            if row["rows"]
        ],
    }


def news_of(result: "CloseResult", *, said: str) -> list[str]:
    """Return what is not proven, what waits and what came before, as lines, but for what was said.

    `said` is the sentence as it was printed: a long one is cut.
    """
    lines = [f"not proven: {one}" for one in result.unproven if one not in said]
    lines += [format_waiting(row) for row in result.waiting]
    if result.previous is not None:
        lines.append(f"open items carried from {result.previous}")
    if result.gap is not None:
        lines.append(f"no pack holds the days {result.gap}: close them too")
    if result.carried_by is not None:
        lines.append(
            f"the close of {result.carried_by} carries an earlier close of these days: close it, "
            "and what follows it, again"
        )
    return lines


def format_waiting(row: dict[str, Any]) -> str:
    """Return what waits as a line: "waits: 2 paid, not booked yet, TZS 2,000, the oldest 1 day"."""
    days = row["oldest_days"]
    age = "" if days is None else f", the oldest {days} {'day' if days == 1 else 'days'}"
    return f"waits: {row['rows']:,} {row['meaning']}, {row['currency']} {row['amount']:,}{age}"


def _body(data: dict[str, Any]) -> str:
    if data["verdict"] == "failed":
        return "Nothing was closed; the output of the run says why."
    from kusanya_books.judge import findings

    found = data["findings"]
    is_nothing_left = all(row["finding"] in findings.NOT_LEFT for row in found)
    lines = [f"Look first: {said}" for said in data["look_first"]]
    lines += [_NOTHING] if is_nothing_left else []
    lines += map(findings.in_words, found)
    lines += [f"Not proven: {said}" for said in data["unproven"]]
    lines += [format_waiting(row) for row in data["waiting"]]
    return "\n".join([*lines, f"Run {data['run_id']}"])
