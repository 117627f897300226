"""Which row is the header, and what people call our columns, in English and in Swahili.

A name is compared without case, without spaces at its ends and with single ones within; one that
we know also without the currency or the rate that stands beside it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kusanya.text import plain
from kusanya_books.read.tables import numbers
from kusanya_books.read.tables.sheet import HEADER_ROWS, Fits

_SPACES: Final = re.compile(r"[\s_]+")
_ASIDE: Final = re.compile(r"[(\[]([^()\[\]]*)[)\]]$")
_AROUND: Final = " .:*-,/"

KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "booked_at": ("date", "posted", "booked", "posting date", "transaction date", "tarehe"),
    "at": (
        *("date", "time", "transaction date", "transaction time", "completion time", "date time"),
        *("value date", "booking date", "posting date", "tarehe", "tarehe ya muamala", "muda"),
        "tarehe na muda",
    ),
    "business_day": ("date", "day", "settlement date", "tarehe", "siku"),
    "amount": ("amount", "transaction amount", "kiasi", "kiasi cha fedha"),
    "net": (
        *("net amount", "settled amount", "settlement amount", "net settlement", "payout amount"),
        *("net payout", "kiasi halisi"),
    ),
    "gross": ("gross amount", "kiasi cha jumla"),
    "fee": (
        *("fee", "fees", "fee amount", "charge", "charges", "charge amount", "service charge"),
        *("commission", "commission amount", "ada", "makato", "tozo", "komisheni"),
    ),
    "currency": ("ccy", "currency code", "sarafu"),
    "channel": ("network", "mtandao", "njia"),
    "reference": (
        *("ref", "ref no", "reference no", "reference number", "invoice", "invoice no"),
        *("invoice number", "order", "order no", "order id", "a/c no", "account no"),
        *("kumbukumbu", "namba ya kumbukumbu", "ankara", "namba ya ankara", "rejea"),
        *("namba ya rejea", "oda", "namba ya oda", "agizo", "namba ya agizo"),
    ),
    "collection_id": ("collection",),
    "receipt": (
        *("receipt no", "receipt number", "transaction id", "txn id", "trans id"),
        *("transaction reference", "risiti", "namba ya risiti", "muamala", "namba ya muamala"),
    ),
    "status": ("transaction status", "state", "hali", "hali ya muamala"),
    "details": ("description", "narration", "narrative", "particulars", "memo", "maelezo"),
    "balance": (
        *("running balance", "closing balance", "book balance", "account balance", "post balance"),
        *("balance after", "salio", "salio la mwisho"),
    ),
    "money_in": (
        *("paid in", "credit", "credits", "credit amount", "deposit", "deposits", "money in"),
        *("kilichoingia", "fedha ndani"),
    ),
    "money_out": (
        *("withdrawn", "debit", "debits", "debit amount", "withdrawal", "withdrawals", "paid out"),
        *("money out", "kilichotoka", "fedha nje"),
    ),
    "side": (
        *("dr/cr", "cr/dr", "d/c", "c/d", "dr cr", "cr dr", "debit/credit", "credit/debit"),
        *("dr/cr indicator", "cr/dr indicator", "debit/credit indicator"),
    ),
    "batch_id": ("batch", "batch no", "kundi"),
    "count": (
        *("transactions", "number of transactions", "no of transactions", "transaction count"),
        *("txn count", "idadi"),
    ),
}
"""What a column of ours is called elsewhere, so that a file without a mapping can be read."""
TAXES: Final = (
    *("vat", "vat amount", "vat on fee", "vat on fees", "vat on charges", "vat on commission"),
    *("tax", "tax amount", "excise duty", "levy", "government levy", "kodi"),
)
"""What taxes on a fee are called; whether they are part of it a mapping says, or a net."""
_SIDES: Final = frozenset({"debit", "debits", "debit amount", "credit", "credits", "credit amount"})
"""Of the books these say nothing: money in is a debit of one account and a credit of another."""


def key(text: str | None) -> str:
    """Return a header as it is compared."""
    return _SPACES.sub(" ", plain(text or "").casefold()).strip(" .:*")


def bare(text: str | None) -> tuple[str, str | None]:
    """Return a header without a currency or a rate that stands beside it, and the currency's code.

    As in `Amount (TZS)`, `Kiasi Tsh`, `Fee in TZS` and `VAT (18%)`.
    """
    found = key(text)
    aside = _ASIDE.search(found)
    words = found.split(" ")
    if aside is not None:
        code = next(filter(None, map(_code, aside[1].split())), None)
        if code or "%" in aside[1]:
            return found[: aside.start()].strip(_AROUND), code
    elif len(words) > 1 and _code(words[-1]):
        rest = " ".join(words[:-1]).strip(_AROUND).removesuffix(" in")
        return rest.strip(_AROUND), _code(words[-1])
    elif len(words) > 1 and _code(words[0]):
        return " ".join(words[1:]).strip(_AROUND), _code(words[0])
    return found, None


def _code(word: str) -> str | None:
    code = numbers.currency_of(word)
    return None if code == word else code


def names_of(column: str, *, books: bool = False) -> tuple[str, ...]:
    """Return what our column may be called where no mapping says it, our own name first."""
    known = (name for name in KNOWN.get(column, ()) if not (books and name in _SIDES))
    return (key(column), *known)


def find(rows: Sequence[Sequence[str | None]], fits: Fits | None, header_row: int | None) -> int:
    """Return the place of the header: as said, else the first row that fits, else the first one."""
    if header_row is not None:
        return header_row - 1
    if fits is None:
        return 0
    found = (place for place, row in enumerate(rows[:HEADER_ROWS]) if fits(row))
    return next(found, 0)


def place_of(names: Sequence[str], headers: Sequence[str | None]) -> list[str]:
    """Return the headers that bear one of `names`, as the file writes them."""
    wanted = {key(name) for name in names}
    return [header for header in headers if header and key(header) in wanted]


def known_in(names: Sequence[str], headers: Sequence[str | None]) -> list[str]:
    """Return the headers that bear one of the names that we know; else those that do when bare."""
    wanted = {key(name) for name in names}
    return place_of(names, headers) or [
        header for header in headers if header and bare(header)[0] in wanted
    ]
