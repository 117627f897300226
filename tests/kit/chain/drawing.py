"""Chains drawn at random, and what their closes say wrongly, by a checker that knows the files."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
from tests.kit.chain import world
from tests.kit.chain.checker import is_named, unfounded
from tests.kit.chain.closing import close_chain
from tests.kit.chain.faults import FAULTS, Planter
from tests.kit.chain.shapes import BESIDE_FAULTS, SHAPES

from kusanya_books.judge import findings
from kusanya_books.judge.report import ReportVerdict

Draw = tuple[str, int, bool]
"""A fault, the month it is planted in, and whether the next one puts it right."""

WAYS = {"by day": {"by_item": False}, "by item": {"by_item": True, "fee_lines": False}}
"""How the statements are written: a line for each day and each fee, or for each payment."""


class News(msgspec.Struct, frozen=True):
    """What of a chain becomes known late, and how its files are written and given."""

    silent: int | None = None
    """In this month nothing is heard of the service from some day on."""
    heard_by: int = 0
    """By which close the rest of it is heard."""
    contradicted: Sequence[tuple[int, int]] = ()
    """Months with a payment that failed after all, and by which close that is heard."""
    has_books: bool = True
    days: int | None = None
    """How many days each period has; None for months. Those of one day are closed at night."""
    abroad: bool = False
    """Whether some payments are of another currency."""
    direct: bool = False
    """Whether an operator pays out itself."""
    habit: str | None = None
    """How the files say what they are of: see `HABITS`."""
    shapes: Sequence[str] = ()
    """In what other ways the files are written: see `SHAPES`."""
    left_out: Sequence[tuple[int, str]] = ()
    """Months, and files that their closes are not given."""
    is_twice: bool = False
    """Whether each period is closed before its last days were heard, and again."""

    @property
    def late(self) -> set[int]:
        """Return at which closes something becomes known of a month that was closed."""
        known = {by for number, by in self.contradicted if by > number}
        return known if self.silent is None else known | {self.heard_by}


SOON: Final = News()

HABITS: Final[dict[str, Callable[[world.Chain], None]]] = {
    "the last days with the next": world.pay_last_days_with_the_next,
    "by the day of the payout": world.date_by_the_payout,
    "a day later": lambda made: world.delay(made, "settlement", "business_day"),
    "booked a day later": lambda made: world.delay(made, "books", "booked_at"),
}
"""How a provider or a shop may write its files, but plainly."""

BY_DAY: Final = ("the last days with the next", "by the day of the payout")
"""What a statement that names each payment does not do."""


def wrong_in(
    seed: int, faults: Sequence[Draw], home: Path, store: Path, news: News = SOON
) -> list[str]:
    """Return what is wrong with the closes of a seed's chain with these faults in it."""
    rng, is_nightly = Random(seed), news.days == 1  # noqa: S311 - a repeatable choice
    way = rng.choice(list(WAYS.values())) if news.habit not in BY_DAY else WAYS["by day"]
    made = world.chain(
        rng,
        months=5 if is_nightly else 3,
        size=rng.randint(10, 24),
        days=news.days,
        abroad=news.abroad,
        direct=news.direct,
        **way,
    )
    planter = Planter(made, rng)
    for fault, number, is_put_right in faults:
        planter.plant(fault, number, is_put_right=is_put_right)
    silent = news.silent
    if silent is not None:
        month = made.months[silent]
        made.silent_from[silent] = month.last - rng.randrange(-1, 20) * world.DAY
        made.heard_by[silent] = news.heard_by
    for number, by in news.contradicted:
        planter.contradict(number, by=by)
    if news.habit is not None:
        HABITS[news.habit](made)
    for name in news.shapes:
        SHAPES[name](made, rng)
    home.mkdir()
    shutil.copy(store, home / "store.db")
    found: list[str] = []
    closes = close_chain(
        made,
        home,
        home / "store.db",
        has_books=news.has_books,
        left_out=news.left_out,
        is_twice=news.is_twice,
        is_nightly=is_nightly,
    )
    for close in closes:
        right = ReportVerdict.RECONCILED if news.has_books else ReportVerdict.NOT_PROVEN
        where, stands = f"month {close.number}", close.result.verdict is right
        # What is heard of a night may be heard on the next days.
        is_deaf = close.number == silent and news.has_books and not is_nightly
        if stands and (close.known.certain or is_deaf):
            found.append(f"{where}: {right.value}, with {close.known.certain} open")
        # What comes a day later may lack of the last day: what is said of it must be borne out.
        may_lack = (is_nightly or news.habit is not None) and close.known.waiting
        if not close.known.certain and not stands and close.number != silent and not may_lack:
            only = {row["finding"] for row in close.result.findings if row["rows"]}
            if close.number in news.late and findings.LATE in only:
                continue
            found.append(f"{where}: nothing is open, and it says: {close.result.sentence}")
        found += [
            f"{where}: {key} of {amount} is not named"
            for key, amount in close.known.certain.items()
            if not is_named(key, amount, close.items)
        ]
        found += [
            f"{where}: {item['break_code']} of {item['subject'] or item['reference']} is unfounded"
            for item in unfounded(close.items, close.known)
            if item["leg"] != "late" or close.number not in news.late
        ]
    return found


def drawn(seed: int) -> list[Draw]:
    """Return the faults of a seed: which, in which month, and whether they are put right."""
    rng = Random(seed * 31)  # noqa: S311 - a repeatable choice
    count = rng.choice([0, 1, 2, 4, 6])
    return [(rng.choice(list(FAULTS)), rng.randrange(3), rng.random() < 0.7) for _ in range(count)]


def late_news(seed: int) -> News:
    """Return what of a seed's chain becomes known late, and whether it has books."""
    rng = Random(seed * 17)  # noqa: S311 - a repeatable choice
    silent = seed % 3 if seed % 4 == 1 else None
    heard_by = 0 if silent is None else silent + rng.choice([1, 1, 2])
    contradicted = []
    for _ in range(rng.choice([0, 0, 1, 2])):
        number = rng.randrange(3)
        said = heard_by if number == silent else number
        by = rng.randrange(said, max(3, said + 1))
        contradicted.append((number, heard_by if by == silent else by))
    has_books = rng.random() < 0.8
    days, abroad = rng.choice([None, None, 7, 1]), rng.random() < 0.4
    files = drawn_files(seed)
    if silent is not None and files["habit"] == "by the day of the payout":
        # Of a month of which little was heard nobody can tell what day its lines are of.
        files["habit"] = None
    if days == 1:
        files |= {"left_out": [], "is_twice": False}
        files["habit"] = "a day later" if files["habit"] == "a day later" else None
    shaped = Random(seed * 11)  # noqa: S311 - a repeatable choice
    files["shapes"] = shaped.sample(BESIDE_FAULTS, shaped.choice([0, 0, 1, 2]))
    return News(silent, heard_by, contradicted, has_books, days, abroad, **files)


def drawn_files(seed: int) -> dict[str, Any]:
    """Return how a seed's files are written and which closes lack some of them.

    A file is left out where no fault can be in it: of a month without one, after one without.
    """
    rng = Random(seed * 13)  # noqa: S311 - a repeatable choice
    direct = rng.random() < 0.3
    habit = rng.choice([None, None, *HABITS])
    busy = {number for _, number, _ in drawn(seed)}
    left_out = set()
    if rng.random() < 0.5:
        for number in {0, 1, 2} - busy - {number + 1 for number in busy}:
            file = rng.choice([*world.OPERATORS, "settlement"])
            if direct and number == 0 and file == world.DIRECT:
                continue  # nothing tells that it pays out itself
            left_out.add((number, file))
            if file == "settlement" or (direct and file == world.DIRECT):
                left_out.add((number, "bank"))  # of whose lines nothing would tell
    is_twice = rng.random() < 0.2
    return {
        "direct": direct,
        "habit": habit,
        "left_out": sorted(left_out),
        "is_twice": is_twice,
    }
