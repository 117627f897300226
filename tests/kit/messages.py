# ruff: noqa: E501 - messages stand as they come
"""Operators' messages as tests need them: written here anew, not by the grammars that read them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Final

import msgspec

from kusanya.domain.business_day import EAT
from kusanya.say import Language

ISSUERS: Final = ("M-Pesa", "Mixx by Yas", "Airtel Money", "HaloPesa", "Selcom Pesa", "CRDB", "NMB")
CHANNELS: Final = {
    "M-Pesa": "MPESA_TZ",
    "Mixx by Yas": "TIGO_TZ",
    "Airtel Money": "AIRTEL_TZ",
    "HaloPesa": "HALOPESA_TZ",
}
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ123456789"
_HEX: Final = "0123456789abcdef"


class Message(msgspec.Struct, frozen=True):
    """A text, and what it says."""

    issuer: str
    language: Language
    amount: int
    at: datetime
    receipt: str
    text: str


Template = Callable[[str, str, datetime, Random], tuple[str, str]]


def message(
    issuer: str, language: Language, *, amount: int, at: datetime, payee: str, random: Random
) -> Message:
    """Return a payment's message as its issuer words it, one of the wordings by chance."""
    local = at.astimezone(EAT)
    receipt = _RECEIPTS[issuer](local, random)
    wordings = _PAID[issuer, language]
    text = random.choice(wordings)(receipt, amount, local, payee, random)
    return Message(issuer, language, amount, at, receipt, text)


def _some(random: Random, count: int, letters: str = _LETTERS) -> str:
    return "".join(random.choice(letters) for _ in range(count))


def _mpesa_receipt(at: datetime, random: Random) -> str:
    day = "0123456789ABCDEFGHIJKLMNOPQRSTUV"[at.day]
    return f"D{' ABCDEFGHIJKL'[at.month]}{day}{_some(random, 7)}"


_RECEIPTS: Final[dict[str, Callable[[datetime, Random], str]]] = {
    "M-Pesa": _mpesa_receipt,
    "Mixx by Yas": lambda _, random: f"26{_some(random, 12, '0123456789')}",
    "Airtel Money": lambda at, random: f"MP{at:%y%m%d.%H%M}.{_some(random, 6)}",
    "HaloPesa": lambda _, random: f"9{_some(random, 9, '0123456789')}",
    "Selcom Pesa": lambda at, random: f"{at:%m%d}{_some(random, 4)}",
    "CRDB": lambda _, random: _some(random, 16, _HEX),
    "NMB": lambda _, random: f"GWX{_some(random, 15, '0123456789')}",
}
_MINUTE: Final = "%d/%m/%y %H:%M"
_SECOND: Final = "%d/%m/%Y %H:%M:%S"
_EN, _SW = Language.ENGLISH, Language.SWAHILI
Wording = Callable[[str, int, datetime, str, Random], str]


def _clock12(at: datetime) -> str:
    return f"{at.day}/{at.month}/{at:%y} at {at.hour % 12 or 12}:{at:%M} {'pm' if at.hour >= 12 else 'am'}"


_PAID: Final[dict[tuple[str, Language], tuple[Wording, ...]]] = {
    ("M-Pesa", _EN): (
        lambda r, a, t, p, _: (
            f"{r} Confirmed. Tsh{a:,}.00 sent to business {p} on {_clock12(t)}. "
            f"New M-Pesa balance is Tsh{a * 3:,}.36."
        ),
        lambda r, a, t, p, _: (
            f"{r} Confirmed. You have paid Tsh{a:,}.00 to {p} for account A-17 "
            f"on {_clock12(t)}. Total fee Tsh120.00 (M-Pesa fee Tsh100.00 + levy Tsh20.00)."
        ),
    ),
    ("M-Pesa", _SW): (
        lambda r, a, t, p, _: (
            f"{r} Imethibitishwa. Tsh{a:,}.00 imelipwa kwa {p} tarehe "
            f"{t.day}/{t.month}/{t:%y} saa {t:%H:%M}. Ada Tsh100.00. Salio lako ni Tsh{a * 2:,}.00."
        ),
        lambda r, a, t, p, _: (
            f"{r} imethibitishwa. Umelipa Tshs {a:,}.00 kwa {p} tarehe "
            f"{t:%d/%m/%Y} saa {t:%H:%M:%S}."
        ),
    ),
    ("Mixx by Yas", _EN): (
        lambda r, a, t, p, _: (
            f"You have paid TSh {a:,} to {p}. Charges TSh 1,125. VAT TSh 172. New "
            f"balance is TSh 0. TxnID: {r}. {t:{_MINUTE}} Please wait for confirmation."
        ),
        lambda r, a, t, p, _: (
            f"Payment made successfully to {p}. Amount TSh {a:,}. Total Charges "
            f"TSh 360, VAT TSh 55. New balance is TSh 0. TxnID: {r}. Receipt: 503-DFE9B1DABO. "
            f"{t:{_MINUTE}}."
        ),
    ),
    ("Mixx by Yas", _SW): (
        lambda r, a, t, p, _: (
            f"Umelipa TSh {a:,} kwa {p}. Makato TSh 360, VAT TSh 55. Salio jipya "
            f"ni TSh 1,200. Muamala namba: {r}. {t:{_MINUTE}}."
        ),
        lambda r, a, t, p, _: (
            f"Umetuma TSh {a:,} kwenda kwa {p}. Ada TSh 0. TxnID: {r}. tarehe {t:{_MINUTE}}"
        ),
    ),
    ("Airtel Money", _EN): (
        lambda r, a, t, p, _: (
            f"Txn ID: {r}. You have paid TZS {a:,}.00 to {p} on {t:{_SECOND}}. "
            "Charges TZS 0. Balance TZS 2,340.00."
        ),
        lambda r, a, t, p, _: (
            f"You have paid TZS {a:,} to {p} on {t:{_MINUTE}}. Fee TZS 150. Trans. ID: {r}."
        ),
    ),
    ("Airtel Money", _SW): (
        lambda r, a, t, p, _: (
            f"Muamala Na: {r}. Umelipa TZS {a:,} kwa {p} tarehe {t:{_SECOND}}. "
            "Ada TZS 150. Salio TZS 2,340."
        ),
        lambda r, a, t, p, _: (
            f"Umelipa TSH {a:,} kwa {p} tarehe {t:{_MINUTE}}. Makato TSH 0. Kumbukumbu namba: {r}."
        ),
    ),
    ("HaloPesa", _EN): (
        lambda r, a, t, p, _: (
            f"Transaction ID: {r}. You have paid TSH {a:,} to {p} on "
            f"{t:{_SECOND}}. Fee TSH 0. Your balance is TSH 7,000."
        ),
    ),
    ("HaloPesa", _SW): (
        lambda r, a, t, p, _: (
            f"Utambulisho wa muamala: {r}. Umelipa TSH {a:,} kwa {p} tarehe "
            f"{t:{_SECOND}}. Ada TSH 0. Salio lako ni TSH 7,000."
        ),
    ),
    ("Selcom Pesa", _EN): (
        lambda r, a, t, p, _: (
            f"{r} Confirmed. You have paid TZS {a:,}.00 to {p} on "
            f"{t:%Y-%m-%d %H:%M}. Total charges TZS 550.00 (Fee 424, VAT 84, Ex Duty 42). Updated "
            "balance is TZS 124,450.00."
        ),
        lambda r, a, t, p, _: (
            f"{r} Accepted. You have sent TZS {a:,}.00 to {p} using your card "
            f"ending 1915 on {t:%Y-%m-%d %H:%M}. Updated balance is TZS 1,650.00."
        ),
    ),
    ("Selcom Pesa", _SW): (
        lambda r, a, t, p, _: (
            f"{r} Imethibitishwa. Umelipa TZS {a:,}.00 kwa {p} tarehe "
            f"{t:%Y-%m-%d %H:%M}. Salio jipya ni TZS 1,650.00."
        ),
    ),
    ("CRDB", _EN): (
        lambda r, a, t, p, _: (
            f"REF:{r} Transaction successful TZS{a} VODACOM to {p} 51469658 "
            f"Receipt:003-{r} {t:%Y-%m-%d %H:%M:%S} CRDB SIMBANKING APP"
        ),
    ),
    ("CRDB", _SW): (
        lambda r, a, t, p, _: (
            f"KUMB:{r} Muamala umefanikiwa TZS{a} VODACOM kwenda LIPA {p} "
            f"51469658 Risiti:003-{r} {t:%Y-%m-%d %H:%M:%S}  CRDB SIMBANKING APP"
        ),
        lambda r, a, t, p, _: (
            f"Umelipa TZS {a:,}.0 kutoka AC:01522***6100 kwenda {p} AC: 11375680 "
            f"REF: {r} {t:%Y-%m-%d %H:%M:%S}. Kwa msaada piga 0755197700"
        ),
    ),
    ("NMB", _EN): (
        lambda _r, a, t, p, _: (
            f"You have paid TZS {a} with account ending 4471 to {p} 15293743 on "
            f"{t:%d-%m-%Y %H:%M:%S}. NMB Karibu Yako"
        ),
    ),
    ("NMB", _SW): (
        lambda r, a, t, p, _: (
            f"Kumb: {r} Imethibitishwa. Kiasi cha TSH{a:,} kimelipwa kutoka katika "
            f"akaunti inayoishia na 4471 kwenda {p}. Tarehe:{t:%d-%m-%Y %H:%M:%S}. Teleza Kidigitali"
        ),
    ),
}


def spoiled(text: str, random: Random) -> str:
    """Return a text as people hand it on: forwarded, broken over lines, scanned with O for 0."""
    return random.choice(
        (
            lambda said: f"Fwd: {said}",
            lambda said: said.replace(". ", ".\n", 2),
            lambda said: said.replace(" ", "\u00a0"),
            lambda said: said.replace(",0", ",O").replace("00 ", "OO "),
            lambda said: f"  hii hapa: \u201c{said}\u201d asante \U0001f64f",
            lambda said: said.upper(),
        )
    )(text)


SOON: Final = timedelta(seconds=40)
"""How long a customer takes from the prompt to the message."""
