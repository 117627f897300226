"""The bank's leg against the same rules written as plain loops, on many small months at once."""
# ruff: noqa: C901, PLR0911, PLR0912, PLR0917 - the rules stand here as plainly as they are stated

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import product
from random import Random
from typing import Any

import pandas as pd
import pytest
from tests.kit.movements import movements_of
from tests.kit.statements import statement_of
from tests.kusanya_books.plain_legs import (
    Counted,
    Row,
    bridge,
    bridge_rows,
    check_bridge_order,
    check_brief,
    check_order,
    copies,
    day_of,
    drawn,
    first,
    last,
    oldest,
    place_rows,
    places_of,
)

from kusanya_books import columns
from kusanya_books.columns import BANK_MATCHES
from kusanya_books.match import bank, breaks
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

WEEK = period("2026-03-02..2026-03-08")
TERMS = Tolerance(amount=1, settle_days=2)
JUDGED = (date(2026, 3, 9), date(2026, 3, 12))
"""The second is long after the statements end."""
STARTS = (datetime(2026, 2, 27, 9, tzinfo=UTC), datetime(2026, 3, 2, 9, tzinfo=UTC))
"""Payouts begin before the week, or on its first day."""
Move = int
Edges = set[tuple[Move, int]]
Account = tuple[str | None, str]
Sums = dict[tuple[int, ...], set[tuple[date, date]]]
"""The members of each run of days, with the runs' edges."""

PAYOUTS: dict[str, Sequence[Any]] = {
    "receipt": ["PO-1", "PO-2", "po/3", "P", None, None],
    "reference": [None, None, "RF-9", "R"],
    "amount": [1, 100, 100, 200, 300, 500, 2**53 + 1],
    "channel": ["MPESA_TZ", "MPESA_TZ", "TIGO_TZ", None],
    "currency": ["T", "T", "T", "K"],
    "status": ["completed"] * 11 + ["failed"],
    "kind": ["payout"] * 13 + ["payment"],
    "day": range(11),
}
BATCHES: dict[str, Sequence[Any]] = {
    "batch_id": ["BA-1", "BA-1", "BA-2", "B", None],
    "channel": ["AIRTEL_TZ", "AIRTEL_TZ", "TIGO_TZ", None],
    "currency": ["T", "T", "T", "K"],
    "net": [1, 100, 100, 200, 300, -100],
    "is_late": [False, False, True],
    "day": [*range(11), None],
}
FORMS: dict[str, Sequence[Any]] = {
    "form": ["one"] * 3
    + ["parts", "together", "together", "together", "again", "back", "back", "odd", "early"],
    "is_named": [True, False],
    "late": [0, 0, 1, 1, 2, 3, 4, 5, -1],
    "apart": [0] * 6 + [1, -1, 2, -2, 60],
}
LINES: dict[str, Sequence[Any]] = {
    "receipt": [None, None, "S1", "S2"],
    "kind": ["other"] * 12 + ["payout"] * 4 + ["payment", "charge", "fee", "tax", "reversal"],
    "status": ["completed"] * 12 + ["pending"],
    "balance": [None, 1_000, 2_000],
    "input": ["a.csv", "b.csv"],
    "channel": [None, "AIRTEL_TZ"],
    "later": [0, 0, 0, 1],
    "other": [False] * 14 + [True],
    "is_copied": [False] * 9 + [True],
}
AGAIN: list[Row] = [
    *({}, {}, {"status": "completed"}, {"details": "again"}, {"balance": 7}, {"amount": 3}),
    *({"currency": "UGX"}, {"kind": "other"}, {"channel": "TIGO_TZ"}, {"receipt": "S9"}),
]
"""What a line says that is said again: the same, or one thing otherwise."""
ODD = ["reversal", "chargeback", "refund", "other", "payout", "charge"]


CREDITED = {"form": "one", "is_named": False, "apart": 0}


def said_of(chance: Random, payout: Row) -> str | None:
    """Return what a line names a payout by, now and then by both of its names."""
    names = [payout[name] for name in ("receipt", "reference") if payout[name]]
    return " ".join(names[: chance.choice([1, 1, 2])]) or None


def world(chance: Random, name: str, start: datetime) -> tuple[list[Row], list[Row], list[Row]]:
    """Return payouts, lines of the settlement and lines of the bank, in currencies of their own."""

    def own(text: str | None) -> str | None:
        return text and f"{text}{name}"

    mood = chance.choice(["calm", "summed", "parted", "wild", "wild"])
    begins = chance.randrange(9)
    paid = []
    for row in drawn(chance, PAYOUTS, 3):
        day = row.pop("day")
        at = start + timedelta(days=(begins + day % 2) if mood == "summed" else day)
        named = {key: own(row[key]) for key in ("receipt", "reference", "currency")}
        if named["receipt"] == own("P"):
            named["receipt"] = "P" + name[1:]
        paid.append({**row, **named, "at": at, "amount": -row["amount"]})
    if paid and mood == "calm" and chance.random() < 0.5:
        # The same sum again and again: only the order of the days tells them apart.
        paid = [{**row, "amount": paid[0]["amount"], "currency": own("T")} for row in paid]
    paid += [dict(row) for row in paid if chance.random() < 0.06]
    settled = [
        {
            **row,
            "batch_id": own(row["batch_id"]),
            "currency": own(row["currency"]),
            "day": None if row["day"] is None else day_of(start + timedelta(days=row["day"])),
        }
        for row in drawn(chance, BATCHES, 2)
    ]
    late = {id(s): (s["day"] or WEEK.last) - day_of(start) for s in settled}
    asked = [
        (said_of(chance, p), -p["amount"], p["at"], p["currency"], p["channel"]) for p in paid
    ] + [
        (s["batch_id"], s["net"], start + late[id(s)], s["currency"], s["channel"]) for s in settled
    ]
    came: list[Row] = []
    bends = drawn(chance, FORMS, 4)
    if mood == "calm":
        # Each is credited by its amount alone, most of them in time.
        bends = [
            {**CREDITED, "late": chance.choice([0, 0, 1, 1, 2, 3]), "of": one} for one in asked
        ]
    elif mood == "parted":
        parted = {**CREDITED, "form": "parts", "late": chance.choice([0, 0, 1])}
        bends = [*({**parted, "of": one} for one in asked[:1]), *bends[3:]]
    elif mood == "summed" and asked:
        # All of a currency are credited at once.
        parts = chance.choice([(3,), (3, 4)])
        whole = [one for one in asked if all(one[part] == asked[0][part] for part in parts)]
        day = max(one[2] for one in whole)
        total = (None, sum(one[1] for one in whole), day, asked[0][3], None)
        bends = [{**CREDITED, "late": chance.choice([0, 0, 0, 1, -1]), "of": total}, *bends[3:]]
    for bend in bends:
        chosen = chance.choice(asked) if asked else ("none", 100, start, own("T"), None)
        chosen = bend.get("of", chosen)
        near = [one for one in asked if one[3] == chosen[3] and one is not chosen]
        more = chance.choice([*near, chosen]) if bend["form"] == "together" else chosen
        amount = chosen[1] + bend["apart"]
        sum_, half = chosen[1], chosen[1] // 2
        backs = [(-sum_,), (-sum_, sum_), (-sum_, -half, half, sum_), (-half, -sum_, sum_)]
        amounts = {
            "one": [amount],
            "parts": [chosen[1] // 2, amount - chosen[1] // 2],
            "together": [amount + more[1]],
            "again": [amount, chosen[1]],
            "back": [amount, *chance.choice(backs)],
            "odd": [chance.choice([amount, -amount, 0])],
            "early": [77],
        }[bend["form"]]
        texts = (
            [str(one[0]).lower() for one in (chosen, more) if one[0]]
            if bend["is_named"] or bend["form"] == "back"
            else []
        )
        since = start if bend["form"] == "early" else max(chosen[2], more[2])
        kinds = ODD if bend["form"] == "odd" else LINES["kind"]
        if bend["form"] == "early":
            texts, kinds = [], ["payout"]
        for each in amounts:
            line: Row = {key: chance.choice(values) for key, values in LINES.items()}
            days = bend["late"] + line.pop("later")
            other, is_copied = line.pop("other"), line.pop("is_copied")
            came.append(
                {
                    **line,
                    "kind": chance.choice(kinds),
                    "amount": each,
                    "currency": own("K") if other else chosen[3],
                    "receipt": own(line["receipt"]),
                    "reference": texts[-1] if len(texts) > 1 else None,
                    "details": f"MM. {texts[0]}; tz" if texts else None,
                    "at": since + timedelta(days=days),
                }
            )
            if is_copied or (bend["form"] == "back" and chance.random() < 0.2):
                # Said again, now and then once it happened, or in other words.
                came.append(came[-1] | chance.choice(AGAIN))
    return paid, settled, came


def payouts_of(
    paid: list[Row], settled: list[Row], shown: list[Row], perhaps: set[Account], begins: date
) -> list[Row]:
    """Return what was paid out, in the order of its numbers, less what was shown before."""
    found: dict[Any, Row] = {}
    for row in paid:
        if row["kind"] == "payout" and row["status"] == "completed":
            line = f"line {row['line_no']} of {row['input']}" if row["receipt"] is None else None
            payout: Row = {
                "source": "operator",
                "day": day_of(row["at"]),
                "channel": row["channel"],
                "currency": row["currency"],
                "payout": row["receipt"] or line,
                "amount": -row["amount"],
                "keys": (row["receipt"], row["reference"]),
                "is_late": False,
                "is_perhaps": (row["channel"], row["currency"]) in perhaps,
            }
            found[tuple(payout.values()), row["at"]] = payout
    batches: dict[Any, list[Row]] = defaultdict(list)
    for row in settled:
        day = row["day"] if row["batch_id"] is None else None
        batches[(row["channel"], row["currency"]), row["batch_id"], day].append(row)
    for ((channel, currency), batch, own_day), rows in batches.items():
        day = max((row["day"] for row in rows if row["day"]), default=WEEK.last)
        name = batch or " ".join(filter(None, (channel, str(day))))
        found[channel, currency, name, own_day] = {
            "source": "statement",
            "day": day,
            "channel": channel,
            "currency": currency,
            "payout": name,
            "amount": sum(row["net"] for row in rows),
            "keys": (batch,),
            "is_late": any(row["is_late"] for row in rows),
            "is_perhaps": False,
        }
    gone = {said_by(one) for one in shown if one["bank_day"] < begins}
    return sorted((one for one in found.values() if said_by(one) not in gone), key=order_of_payout)


def said_by(row: Row) -> tuple[Any, ...]:
    return row["currency"], row["payout"], row["day"], row["amount"]


def order_of_payout(row: Row) -> tuple[Any, ...]:
    channel = (row["channel"] is None, row["channel"] or "")
    return (row["source"], row["day"], channel, row["currency"], row["payout"], row["amount"])


def words(*texts: str | None) -> str:
    joined = " ".join(text for text in texts if text is not None).upper()
    return f" {re.sub('[^A-Z0-9]+', ' ', joined).strip()} "


class Leg:
    """The payouts and lines of one currency, and what met.

    What the bank has shown before has a number below zero.
    """

    def __init__(self, payouts: dict[int, Row], shown: list[Row], moves: dict[int, Row]) -> None:
        self.payouts = payouts
        names = {p["payout"] for p in payouts.values()}
        kept = [one for one in shown if one["payout"] not in names]
        self.shown = dict(zip(range(-1, -len(kept) - 1, -1), kept, strict=True))
        self.known = payouts | self.shown
        self.moves = moves
        done = {move: m for move, m in moves.items() if m["is_done"]}
        self.credits = {
            move: m
            for move, m in done.items()
            if (m["amount"] > 0 and m["kind"] in {"payout", "payment", "other"})
            or (m["amount"] < 0 and m["kind"] not in {"fee", "charge", "tax"})
        }
        self.named = {
            (move, one)
            for one, p in self.known.items()
            for key in p["keys"]
            for move, m in done.items()
            if key is not None and len(key) >= 4 and words(key) in m["narrative"]
        }
        # Money out that names money which came: it takes that back.
        self.taking_back: dict[Move, str] = {}
        for move, one in self.named:
            if moves[move]["amount"] < 0 < self.known[one]["amount"]:
                name = self.known[one]["payout"]
                self.taking_back[move] = min(name, self.taking_back.get(move, name))
        self.edges: dict[tuple[Move, int], tuple[str, str]] = {}
        self.seconds: set[Move] = set()
        self.paid_again: set[Move] = set()
        self.remembered: set[Move] = set()
        self._by_name()
        self._as_it_was(shown)
        self._by_amount()
        self._by_sum()
        self._in_turn()

    def _when(self, move: Move) -> tuple[date, Move]:
        return self.moves[move]["day"], move

    def _free(self) -> tuple[list[int], list[Move]]:
        met_moves = {move for move, _ in self.edges}
        met = {one for _, one in self.edges}
        left = [one for one, p in self.payouts.items() if p["amount"] != 0 and one not in met]
        gone = {*met_moves, *self.seconds, *self.taking_back, *self.remembered}
        rest = [m for m in self.credits if m not in gone]
        return left, rest

    def _incoming(self) -> tuple[list[int], list[Move]]:
        left, rest = self._free()
        return (
            [one for one in left if self.payouts[one]["amount"] > 0],
            [move for move in rest if self.moves[move]["amount"] > 0],
        )

    def _meet(self, edges: Edges, rule: str, form: str) -> None:
        self.edges |= dict.fromkeys(edges, (rule, form))

    def _by_name(self) -> None:
        mine = {(move, one) for move, one in self.named if one in self.payouts}
        above = {move for move, one in mine if self.payouts[one]["amount"] > 0}
        edges = {
            (move, one)
            for move, one in mine
            if move in self.credits
            and (
                self.moves[move]["amount"] > 0
                if self.payouts[one]["amount"] < 0 and move in above
                else self.moves[move]["amount"] * self.payouts[one]["amount"] > 0
            )
        }
        names: dict[Move, set[int]] = defaultdict(set)
        payers: dict[int, list[Move]] = defaultdict(list)
        for move, one in sorted(edges, key=lambda edge: self._when(edge[0])):
            names[move].add(one)
            payers[one].append(move)
        at_once = {
            one
            for one, found in payers.items()
            if len(found) > 1
            and abs(self.moves[found[0]]["amount"] - self.payouts[one]["amount"]) <= TERMS.amount
        }
        again = {(m, one) for one in at_once for m in payers[one][1:] if len(names[m]) == 1}
        once = [m for m, _ in self.named if sum(m == other for other, _ in self.named) == 1]
        backs: dict[Any, list[Move]] = defaultdict(list)
        laters: dict[Any, list[Move]] = defaultdict(list)
        for move, one in sorted(self.named, key=lambda edge: self._when(edge[0])):
            amount = self.moves[move]["amount"]
            if amount < 0 < self.known[one]["amount"] and move in once:
                backs[one, -amount].append(move)
        again |= {
            (move, one)
            for move, one in self.named
            if one in self.shown
            and move in self.credits
            and move not in names
            and self.moves[move]["day"] > self.shown[one]["bank_day"]
            and (amount := self.moves[move]["amount"]) > 0
            and (
                abs(amount - self.shown[one]["amount"]) <= TERMS.amount or backs.get((one, amount))
            )
        }
        self.seconds = {move for move, _ in again}
        for move, one in sorted(again, key=lambda edge: self._when(edge[0])):
            laters[one, self.moves[move]["amount"]].append(move)
        for key, debits in backs.items():
            for debit, later in zip(debits, laters[key], strict=False):
                if self.moves[later]["day"] >= self.moves[debit]["day"]:
                    self.paid_again |= {debit, later}
        clean = {(m, one) for m, one in edges if one not in at_once or m == payers[one][0]}

        def form(edge: tuple[Move, int]) -> tuple[bool, bool]:
            many = len(payers[edge[1]]) > 1 and edge[1] not in at_once
            return len(names[edge[0]]) > 1, many

        mixed = {edge for edge in clean if form(edge) == (True, True)}
        for edge in clean:
            if not any(edge[0] == m or edge[1] == one for m, one in mixed):
                together, parts = form(edge)
                said = "together" if together else "parts" if parts else "one"
                self._meet({edge}, "name", said)

    def _as_it_was(self, shown: list[Row]) -> None:
        """Let what was shown before be paid by a credit of its day."""
        left, rest = self._free()
        named = {one for _, one in self.edges}
        twins: dict[Any, list[int]] = defaultdict(list)
        for one, p in sorted(self.payouts.items()):
            twins[said_by(p)].append(one)
        free = {move: self.moves[move] for move in sorted(rest)}
        found: Edges = set()
        for was in sorted(shown, key=lambda was: (was["day"], was["payout"], was["bank_day"])):
            mine = twins[said_by(was)]
            one = mine.pop(0) if mine else 0
            fits = [
                move
                for move, m in free.items()
                if (m["day"], m["amount"]) == (was["bank_day"], was["amount"])
            ]
            if one in named or not fits:
                continue
            del free[fits[0]]
            if one in left:
                found.add((fits[0], one))
            else:
                self.remembered.add(fits[0])
        self._meet(found, "amount_day", "one")

    def _by_amount(self) -> None:
        left, rest = self._free()
        found: Edges = set()
        for amount in {self.payouts[one]["amount"] for one in left}:
            ours = sorted(
                (one for one in left if self.payouts[one]["amount"] == amount),
                key=lambda one: (self.payouts[one]["day"], one),
            )
            theirs = sorted((m for m in rest if self.moves[m]["amount"] == amount), key=self._when)
            pairs = set(zip(theirs, ours, strict=False))
            if len(ours) == len(theirs) and all(self._is_within(*pair) for pair in pairs):
                found |= pairs
        self._meet(found, "amount_day", "one")
        left, rest = self._free()
        edges = [
            (m, one)
            for m in rest
            for one in left
            if self.moves[m]["amount"] == self.payouts[one]["amount"] and self._is_within(m, one)
        ]
        self._meet(
            {
                edge
                for edge in edges
                if sum(edge[0] == m for m, _ in edges) == 1
                and sum(edge[1] == one for _, one in edges) == 1
            },
            "amount_day",
            "one",
        )  # fmt: skip

    def _is_within(self, move: Move, one: int) -> bool:
        late: timedelta = self.moves[move]["day"] - self.payouts[one]["day"]
        return 0 <= late.days <= TERMS.settle_days

    def _by_sum(self) -> None:
        left, rest = self._free()
        sums: Sums = {}
        for scope, among in product(
            {None, *(self.payouts[one]["channel"] for one in left)}, (left, self._incoming()[0])
        ):
            mine = [one for one in among if scope is None or self.payouts[one]["channel"] == scope]
            days = {one: self.payouts[one]["day"] for one in mine}
            for members, spans in runs(days, {self.payouts[one]["day"] for one in left}).items():
                sums.setdefault(members, set()).update(spans)
        self._claim(sums, rest, left, form="together")
        left, rest = self._incoming()
        days = {m: self.moves[m]["day"] for m in rest}
        self._claim(runs(days, set(days.values())), rest, left, form="parts")

    def _in_turn(self) -> None:
        _, rest = self._free()
        for is_payout in (True, False):
            for is_perhaps in (False, True):
                for move in sorted(rest, key=self._when):
                    if (self.moves[move]["kind"] == "payout") != is_payout:
                        continue
                    left, free = self._free()
                    fits = [
                        one
                        for one in left
                        if self.payouts[one]["amount"] == self.moves[move]["amount"]
                        and self.payouts[one]["is_perhaps"] == is_perhaps
                        and self._is_within(move, one)
                    ]
                    if fits and move in free:
                        one = min(fits, key=lambda one: (self.payouts[one]["day"], one))
                        self._meet({(move, one)}, "amount_day", "one")

    def _claim(self, sums: Sums, rest: list[Move], left: list[int], *, form: str) -> None:
        """Let what equals exactly one sum have it, unless two want a part of it."""
        is_credit = form == "together"
        wholes, parts = (self.moves, self.payouts) if is_credit else (self.payouts, self.moves)
        chosen: dict[int, tuple[int, ...]] = {}
        for whole in rest if is_credit else left:
            fitting = []
            for members, spans in sums.items():
                total = sum(parts[one]["amount"] for one in members)
                day = wholes[whole]["day"]
                near = any(
                    (to <= day if is_credit else day <= from_)
                    and ((day - from_) if is_credit else (to - day)).days <= TERMS.settle_days
                    for from_, to in spans
                )
                is_alike = total * wholes[whole]["amount"] > 0
                if near and is_alike and abs(total - wholes[whole]["amount"]) <= TERMS.amount:
                    fitting.append(members)
            if len(fitting) == 1:
                chosen[whole] = fitting[0]
        for whole, members in chosen.items():
            wanted = [one for other, found in chosen.items() if other != whole for one in found]
            if not set(members) & set(wanted):
                pairs = {(whole, one) if is_credit else (one, whole) for one in members}
                self._meet(pairs, "sum", form)


def runs(days: dict[int, date], edges: set[date]) -> Sums:
    """Return all members of each run of days, where they are several, with the runs' edges."""
    found: dict[tuple[int, ...], set[tuple[date, date]]] = defaultdict(set)
    for from_ in edges:
        for to in edges:
            if 0 <= (to - from_).days <= TERMS.settle_days:
                members = tuple(sorted(one for one, day in days.items() if from_ <= day <= to))
                if len(members) > 1:
                    found[members].add((from_, to))
    return dict(found)


def expected(
    paid: list[Row],
    settled: list[Row],
    came: list[Row],
    judged: date,
    *,
    shown: list[Row],
    perhaps: set[Account],
) -> tuple[list[tuple[Any, ...]], set[tuple[Any, ...]]]:
    """Return the rows and the bridge."""
    begins = min((day_of(m["at"]) for m in came), default=WEEK.first)
    payouts = dict(enumerate(payouts_of(paid, settled, shown, perhaps, begins), start=1))
    copied = copies(
        came, *("currency", "receipt", "kind", "status", "amount", "at", "balance", "details")
    )
    moves = {
        m["line_no"]: {
            **m,
            "day": day_of(m["at"]),
            "narrative": words(m["details"], m["reference"], m["receipt"]),
            "is_done": m["status"] == "completed" and m["line_no"] not in copied,
        }
        for m in sorted(came, key=lambda m: (m["input"], m["line_no"]))
    }
    first_payout = min((p["day"] for p in payouts.values()), default=date.max)
    bank_ends = max([WEEK.last, *(m["day"] for m in moves.values())])
    rows: list[tuple[Any, ...]] = []
    counted: list[Counted] = []
    others: list[Counted] = []
    for currency in sorted({one["currency"] for one in (*payouts.values(), *moves.values())}):
        leg = Leg(
            {one: p for one, p in payouts.items() if p["currency"] == currency},
            [one for one in shown if one["currency"] == currency],
            {move: m for move, m in moves.items() if m["currency"] == currency},
        )
        for move, one, edge, members in rows_of(leg):
            m, p = leg.moves.get(move or 0), leg.payouts.get(one or 0)
            sides: tuple[list[Row], list[Row]] = (
                [leg.moves[each] for each in sorted({each for each, _ in members})],
                [leg.payouts[each] for each in sorted({each for _, each in members})],
            )
            if p is not None and p["is_perhaps"] and edge is None:
                # Nobody says that it is for this bank.
                continue
            code = verdict(leg, move, m, p, edge, sides, first_payout, bank_ends, judged)
            own = [x["day"] for x in (m, p) if x is not None]
            # The lines that pay them came in the week.
            is_late = p is not None and p["is_late"]
            inside = (
                is_late
                or any(WEEK.first <= day <= WEEK.last for day in own)
                or any(
                    side and side_days[0] <= WEEK.last and side_days[-1] >= WEEK.first
                    for side in sides
                    for side_days in [sorted(x["day"] for x in side)]
                )
            )
            if not inside:
                continue
            key = None if move is None else leg.taking_back.get(move)
            if edge is not None and edge[1] == "parts":
                key = sides[1][0]["payout"]
            elif edge is not None and edge[1] == "together":
                key = f"line {sides[0][0]['line_no']} of {sides[0][0]['input']}"
            in_bank = m is not None and WEEK.first <= m["day"] <= WEEK.last
            in_paid = p is not None and (p["is_late"] or WEEK.first <= p["day"] <= WEEK.last)
            is_counted = m is not None and in_bank and m["status"] == "completed"
            counted_line = m["amount"] if m is not None and is_counted else 0
            counted_other = p["amount"] if p is not None and in_paid else 0
            if is_counted:
                counted.append((None, currency, code, counted_line, (move, one)))
            if in_paid:
                others.append((None, currency, code, counted_other, (move, one)))
            age = max(0, (judged - (p or m or {})["day"]).days)
            name = p["payout"] if p else None
            rule = edge[0] if edge else None
            effect = counted_line - counted_other
            channel = (p or {}).get("channel") or (m or {}).get("channel")
            source = p["source"] if p else None
            sums = (counted_line, counted_other, effect)
            place = (channel, currency, source)
            rows.append((move, name, rule, key, code, *sums, age, *place, stake(m, p, edge, sides)))
    lines = [{**m, "channel": None} for m in moves.values()]
    return rows, bridge(("bank total", "payouts total"), lines, others, counted, WEEK)


def stake(
    m: Row | None, p: Row | None, edge: tuple[str, str] | None, sides: tuple[list[Row], list[Row]]
) -> int:
    """Return what is at stake: what a group is off by, or comes to, once; all of what is alone."""
    whole = abs((m or p or {})["amount"])
    if edge is None:
        return int(whole)
    lines, dues = sides
    drift = abs(sum(x["amount"] for x in lines) - sum(x["amount"] for x in dues))
    speaks = {"one": m or p, "parts": p, "together": m}[edge[1]]
    return (drift or int(whole)) if speaks is not None else 0


def rows_of(leg: Leg) -> list[tuple[Move | None, int | None, tuple[str, str] | None, Edges]]:
    """Return each row with its group: a pair in one, each part of a larger group in its own."""
    rows: list[tuple[Move | None, int | None, tuple[str, str] | None, Edges]] = []
    groups: dict[Any, Edges] = defaultdict(set)
    for (move, one), (rule, form) in leg.edges.items():
        groups[rule, form, one if form == "parts" else move].add((move, one))
    for (rule, form, _), members in groups.items():
        if form == "one":
            rows += [(move, one, (rule, form), members) for move, one in members]
        else:
            rows += [(move, None, (rule, form), members) for move in {m for m, _ in members}]
            rows += [(None, one, (rule, form), members) for one in {one for _, one in members}]
    met, paid = {m for m, _ in leg.edges}, {one for _, one in leg.edges}
    rows += [(move, None, None, set()) for move in leg.moves if move not in met]
    rows += [(None, one, None, set()) for one in leg.payouts if one not in paid]
    return rows


def verdict(
    leg: Leg,
    move: Move | None,
    m: Row | None,
    p: Row | None,
    edge: tuple[str, str] | None,
    sides: tuple[list[Row], list[Row]],
    first_payout: date,
    bank_ends: date,
    judged: date,
) -> str:
    if m is not None:
        if m["status"] != "completed":
            return "bank_not_completed"
        if not m["is_done"]:
            return "bank_line_again"
        if m["amount"] == 0:
            return "bank_zero"
        if m["kind"] in {"fee", "charge", "tax"}:
            return "bank_charge"
        if move in leg.paid_again:
            return "bank_paid_again"
        if edge is None and move in leg.taking_back:
            return "bank_taken_back"
        if edge is None and m["kind"] in {"reversal", "chargeback", "refund"}:
            return "bank_returned"
        if edge is None and m["amount"] < 0:
            return "bank_debit"
        if move in leg.seconds:
            return "bank_credited_again"
        if edge is None:
            if m["kind"] != "payout":
                return "bank_other_credit"
            early = (m["day"] - first_payout).days < TERMS.settle_days
            return "bank_perhaps_earlier" if early else "bank_unexpected"
    if edge is None:
        assert p is not None
        fresh = (judged - p["day"]).days <= TERMS.settle_days
        ahead = (bank_ends - p["day"]).days < TERMS.settle_days
        return "bank_pending" if fresh or ahead else "bank_missing"
    lines, dues = sides
    drift = sum(x["amount"] for x in lines) - sum(x["amount"] for x in dues)
    if abs(drift) > TERMS.amount:
        return "bank_short" if drift < 0 else "bank_over"
    days = [x["day"] for x in (*lines, *dues)]
    if min(days) < WEEK.first or max(days) > WEEK.last:
        return "bank_across_cutoff"
    if (max(x["day"] for x in lines) - min(x["day"] for x in dues)).days > TERMS.settle_days:
        return "bank_late"
    if drift:
        return "bank_within_tolerance"
    return {"together": "bank_together", "parts": "bank_in_parts"}.get(edge[1], "bank_agrees")


@pytest.mark.scale(2, 10, 100)
def test_every_line_and_payout_gets_the_verdict_of_the_rules_and_the_bridge_closes(
    rounds: int,
) -> None:
    codes: set[str] = set()
    for seed in range(rounds):
        chance = Random(f"bank {seed}")  # noqa: S311 - a repeatable choice
        paid: list[Row] = []
        settled: list[Row] = []
        came: list[Row] = []
        for number in range(300):
            more = world(chance, f"{number:02}", STARTS[seed % 2])
            paid, settled, came = [*paid, *more[0]], [*settled, *more[1]], [*came, *more[2]]
        judged = JUDGED[seed % 2]
        if seed % 2:
            came = [line for line in came if day_of(line["at"]) <= date(2026, 3, 9)]
        paid = [{**row, "line_no": n, "input": "operator.csv"} for n, row in enumerate(paid, 1)]
        came = [
            {**row, "line_no": n, "leg": "bank"}
            for n, row in enumerate(sorted(came, key=lambda m: str(m["input"])), 1)
        ]
        settled = [
            {**row, "line_no": n, "collection_id": None, "gross": None, "fee": None}
            for n, row in enumerate(settled, 1)
        ]
        # Some came before, and the bank has shown them.
        shown = [
            {**row, "payout": row["receipt"], "amount": -row["amount"], "keys": (row["receipt"],)}
            | {"day": day_of(row["at"])}
            for row in paid
            if row["receipt"] and row["line_no"] % 7 == 0 and row["amount"] < 0
        ]
        before = [
            {"leg": "shown", "receipt": row["receipt"], "amount": -row["amount"]}
            | {"currency": row["currency"], "at": row["at"], "kind": "payout"}
            for row in shown
        ]
        shown_at = [
            chance.choice(
                [
                    *(one["at"] - timedelta(days=days) for days in (0, 4, 30)),
                    *(
                        line["at"]
                        for line in came
                        if (line["currency"], line["amount"]) == (one["currency"], one["amount"])
                    ),
                ]
            )
            for one in shown
        ]
        for one, at in zip(shown, shown_at, strict=True):
            one["bank_day"] = day_of(at)
        # A file may say them again.
        paid = [row for row in paid if row["line_no"] % 7 or row["line_no"] % 2]
        accounts = sorted({(row["channel"], row["currency"]) for row in paid}, key=str)
        perhaps = {account for account in accounts if chance.random() < 0.2}
        match = partial(
            bank.match,
            pd.concat(
                [
                    movements_of(*paid, *came),
                    movements_of(*before).assign(at=pd.to_datetime(shown_at, utc=True)),
                ]
            ).sample(frac=1, random_state=seed),
            statement_of([row for row in settled if not row["is_late"]]),
            late=statement_of([row for row in settled if row["is_late"]]),
            perhaps=perhaps,
            period=WEEK,
            tolerance=TERMS,
            as_of=judged,
        )
        found = match()
        rows, bridged = expected(paid, settled, came, judged, shown=shown, perhaps=perhaps)
        columns.check(found.rows, BANK_MATCHES)
        asked = ["line_no", "payout", "match_rule", "group_key", "break_code"]
        asked += ["counted_bank", "counted_payout", "bridge_effect", "age_days"]
        asked += ["channel", "currency", "source", "at_stake"]
        seen = [
            tuple(None if pd.isna(value) else value for value in row)
            for row in found.rows[asked].astype("object").itertuples(index=False, name=None)
        ]
        assert sorted(seen, key=repr) == sorted(rows, key=repr)
        codes |= {row[4] for row in rows}
        assert sorted(bridge_rows(found.bridge), key=repr) == sorted(bridged, key=repr)
        check_bridge_order(found.bridge, breaks.BANK, "bank total", "payouts total")
        then = [("group_key", first), ("age_days", oldest), ("payout", first)]
        check_order(found.rows, breaks.BANK, *then, ("input", last), ("line_no", last))
        check_brief(found.rows, match(everything=False).rows)
        standings = {row[0]: breaks.BANK[row[4]].standing.value for row in rows}
        assert place_rows(found.places) == places_of(came, standings, WEEK)
    assert codes == set(breaks.BANK)
