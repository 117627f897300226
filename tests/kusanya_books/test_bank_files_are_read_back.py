"""Statements that are written from drawn entries are read back as these, in each bank's format."""

from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya_books.read.bank import camt, mt940
from kusanya_books.read.bank.entries import BankEntry, Entries

EAT = ZoneInfo("Africa/Dar_es_Salaam")
DAYS = st.dates(date(2026, 1, 1), date(2026, 12, 30))
NAME = st.none() | st.from_regex(r"[A-Z][A-Z0-9-]{2,9}[A-Z0-9]", fullmatch=True)
WORDS = st.lists(st.sampled_from(["paid", "out", "batch", "march", "rent"]), max_size=4)
ENTRY = st.fixed_dictionaries(
    {
        "day": DAYS,
        "amount": st.integers(1, 10**9),
        "is_out": st.booleans(),
        "receipt": NAME,
        "reference": NAME,
        "kind": st.sampled_from(["other", "charge", "tax", "reversal"]),
        "words": WORDS,
        "status": st.sampled_from(["completed", "completed", "PDNG"]),
    }
)
BOOK = st.fixed_dictionaries(
    {
        "currency": st.sampled_from(["TZS", "KES"]),
        "opening": st.integers(-5_000, 10**6),
        "entries": st.lists(ENTRY, max_size=4),
        "closes": st.sampled_from(["right", "right", "wrong", "not"]),
    }
)
Row = dict[str, Any]


def signed(entry: Row) -> int:
    amount: int = entry["amount"]
    return -amount if entry["is_out"] else amount


def booked(entry: Row) -> int:
    return signed(entry) if entry["status"] == "completed" else 0


def closing(book: Row) -> int | None:
    """Return what a statement says that it ends with."""
    right: int = book["opening"] + sum(map(booked, book["entries"]))
    ends: dict[str, int | None] = {"right": right, "wrong": right + 1, "not": None}
    return ends[book["closes"]]


def expected(books: list[Row]) -> list[tuple[list[int | None], int | None]]:
    """Return the balances after each entry, and by how much each statement moved."""
    found: list[tuple[list[int | None], int | None]] = []
    for book in books:
        balance = book["opening"]
        after: list[int | None] = []
        for entry in book["entries"]:
            balance += booked(entry)
            after.append(balance)
        end = closing(book)
        right = end == balance
        moved = None if end is None else end - book["opening"]
        found.append((after if right else [None] * len(after), moved))
    return found


def in_mt940(books: list[Row]) -> bytes:
    """Return the statements in SWIFT's form, which knows no taxes and nothing that waits."""
    lines = []
    for book in books:
        lines += [":20:S1", ":25:TZ/01", f":60F:{balance(book['opening'], book['currency'])}"]
        for entry in book["entries"]:
            sign = "D" if entry["is_out"] else "C"
            kind = {"charge": "NCHG", "reversal": "NRTI"}.get(entry["kind"], "NTRF")
            own = f"//{entry['receipt']}" if entry["receipt"] else ""
            lines.append(
                f":61:{entry['day']:%y%m%d%m%d}{sign}{cents(entry['amount'], ',')}{kind}"
                f"{entry['reference'] or 'NONREF'}{own}"
            )
            if entry["words"]:
                lines += [f":86:{entry['words'][0]}", *entry["words"][1:]]
        end = closing(book)
        if end is not None:
            lines += [f":62F:{balance(end, book['currency'])}", "-}"]
    return "\n".join(lines).encode()


def cents(hundredths: int, mark: str) -> str:
    return f"{hundredths // 100}{mark}{hundredths % 100:02}"


def balance(amount: int, currency: str) -> str:
    return f"{'D' if amount < 0 else 'C'}260301{currency}{cents(abs(amount), ',')}"


def in_camt(books: list[Row]) -> bytes:
    """Return the statements in the XML of ISO 20022."""

    def money(amount: int, currency: str) -> str:
        side = "DBIT" if amount < 0 else "CRDT"
        return f'<Amt Ccy="{currency}">{cents(abs(amount), ".")}</Amt><CdtDbtInd>{side}</CdtDbtInd>'

    def of_balance(code: str, amount: int, currency: str) -> str:
        return (
            f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>{money(amount, currency)}</Bal>"
        )

    def of_entry(entry: Row, currency: str) -> str:
        status = {"completed": "BOOK"}.get(entry["status"], entry["status"])
        code = {"charge": "COMM", "tax": "TAXE"}.get(entry["kind"], "OTHR")
        own = f"<AcctSvcrRef>{entry['receipt']}</AcctSvcrRef>" if entry["receipt"] else ""
        theirs = entry["reference"] or "NOTPROVIDED"
        return (
            f"<Ntry>{money(signed(entry), currency)}<Sts>{status}</Sts>"
            f"<RvslInd>{'true' if entry['kind'] == 'reversal' else 'false'}</RvslInd>"
            f"<BookgDt><Dt>{entry['day']}</Dt></BookgDt>{own}"
            f"<BkTxCd><Domn><Fmly><SubFmlyCd>{code}</SubFmlyCd></Fmly></Domn></BkTxCd>"
            f"<NtryDtls><TxDtls><Refs><EndToEndId>{theirs}</EndToEndId></Refs>"
            f"<RmtInf><Ustrd>{' '.join(entry['words'])}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
        )

    def of_book(book: Row) -> str:
        currency, end = book["currency"], closing(book)
        last = "" if end is None else of_balance("CLBD", end, currency)
        entries = "".join(of_entry(entry, currency) for entry in book["entries"])
        first = of_balance("OPBD", book["opening"], currency)
        return f"<Stmt><Acct><Ccy>{currency}</Ccy></Acct>{first}{last}{entries}</Stmt>"

    xml = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"
    inner = "".join(map(of_book, books))
    return f'<Document xmlns="{xml}"><BkToCstmrStmt>{inner}</BkToCstmrStmt></Document>'.encode()


def said(entry: BankEntry) -> tuple[Any, ...]:
    assert entry.reason is None
    assert entry.column is None
    return (
        *(entry.day, entry.currency, entry.amount, entry.receipt, entry.reference),
        *(entry.kind, entry.status, entry.details),
    )


def meant(books: list[Row]) -> list[tuple[Any, ...]]:
    return [
        (
            *(entry["day"], book["currency"], signed(entry), entry["receipt"], entry["reference"]),
            *(entry["kind"], entry["status"], " ".join(entry["words"])),
        )
        for book in books
        for entry in book["entries"]
    ]


def check(found: Entries, books: list[Row]) -> None:
    assert [said(one) for one in found.entries] == meant(books)
    per_book = expected(books)
    assert list(found.balances) == [one for after, _ in per_book for one in after]
    wrong = [book for book in books if book["entries"] and book["closes"] == "wrong"]
    assert len(found.notes) == len(wrong)
    assert all("not lead to its closing balance" in note for note in found.notes)


@given(st.lists(BOOK, min_size=1, max_size=3))
def test_what_mt940_can_say_is_read_back(books: list[Row]) -> None:
    for entry in [entry for book in books for entry in book["entries"]]:
        entry["status"] = "completed"
        entry["kind"] = "other" if entry["kind"] == "tax" else entry["kind"]
    data = in_mt940(books)
    assert mt940.is_mt940(data)
    assert not camt.is_camt(data)
    found = mt940.read("b.sta", data)
    check(found, books)
    moved = [move for _, move in expected(books) if move is not None]
    open_ = any(book["closes"] == "not" for book in books)
    assert list(found.moved) == [*moved, *([None] if open_ else [])]
    assert bool(found.unproven) is open_
    at = [number for number, line in enumerate(data.decode().splitlines(), 1) if ":61:" in line]
    assert [one.row for one in found.entries] == at


@given(st.lists(BOOK, min_size=1, max_size=3))
def test_what_camt_says_is_read_back(books: list[Row]) -> None:
    data = in_camt(books)
    assert camt.is_camt(data)
    assert not mt940.is_mt940(data)
    found = camt.read("b.xml", data)
    check(found, books)
    assert list(found.moved) == [move for _, move in expected(books)]
    assert [one.row for one in found.entries] == list(range(1, len(found.entries) + 1))
    assert camt.read("b.xml", data.decode().encode("utf-16")) == found


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
@pytest.mark.parametrize("word", ["camt.053", "BkToCstmrStmt"])
def test_each_formats_beginning_is_known(word: str, mark: bytes) -> None:
    coded = word.encode("utf-16-le" if mark == b"\xff\xfe" else "utf-16-be")
    assert camt.is_camt(mark + coded)
    assert camt.is_camt(word.encode())
    assert not camt.is_camt(coded), "of another file a zero is a zero"
    assert not camt.is_camt(b" " * 4_096 + word.encode())
    for opening, is_one in ((":60F:", True), (":60M:", True), (":60X:", False), ("", False)):
        assert mt940.is_mt940(f":20:a\n:25:b\n{opening}".encode()) is is_one
    assert not mt940.is_mt940(b":20:a\n:60F:")
    assert not mt940.is_mt940(b":25:a\n:60F:")


ONE = {
    "currency": "TZS",
    "opening": 0,
    "closes": "right",
    "entries": [
        {
            "day": date(2026, 3, 5), "amount": 50_000, "is_out": False, "receipt": "R-1",
            "reference": None, "kind": "other", "words": [], "status": "completed",
        }
    ],
}  # fmt: skip


def one_camt(old: str, new: str) -> BankEntry:
    """Return the entry of a statement in which something is written otherwise."""
    text = in_camt([ONE]).decode()
    assert old in text
    [entry] = camt.read("b.xml", text.replace(old, new).encode()).entries
    return entry


@pytest.mark.parametrize(
    ("old", "new", "at", "day"),
    [
        (
            "<Dt>2026-03-05</Dt>",
            "<DtTm>2026-03-05T10:00:00Z</DtTm>",
            datetime(2026, 3, 5, 10, tzinfo=UTC),
            None,
        ),
        (
            "<Dt>2026-03-05</Dt>",
            "<DtTm>2026-03-05T10:00:00</DtTm>",
            datetime(2026, 3, 5, 10, tzinfo=EAT),
            None,
        ),
        ("<Dt>2026-03-05</Dt>", "<Dt>2026-03-05+03:00</Dt>", None, date(2026, 3, 5)),
        ("BookgDt", "ValDt", None, date(2026, 3, 5)),
        ("<Dt>2026-03-05</Dt>", "<Dt>2026-02-30</Dt>", None, None),
        ("<Dt>2026-03-05</Dt>", "", None, None),
        ("<Dt>2026-03-05</Dt>", "<Dt>9999-12-31</Dt>", None, None),
        ("<Dt>2026-03-05</Dt>", "<DtTm>9999-12-31T23:59:59Z</DtTm>", None, None),
    ],
)
def test_the_moment_of_an_entry_is_its_own_or_that_of_its_value(
    old: str, new: str, at: datetime | None, day: date | None
) -> None:
    entry = one_camt(old, new)
    assert (entry.at, entry.day) == (at, day)
    assert (entry.column == "BookgDt") is (at is None and day is None)


@pytest.mark.parametrize(
    ("old", "new", "currency", "column"),
    [
        ('Ccy="TZS"', "", "TZS", None),
        ('Ccy="TZS"', 'Ccy=" KES "', "KES", None),
        ("<Ccy>TZS</Ccy>", "<Ccy> </Ccy>", "TZS", None),
        ("<Acct><Ccy>TZS</Ccy></Acct>", "<Ccy>KES</Ccy>", "TZS", None),
        ("<Ntry><Amt", "<Ntry><Sum", "TZS", "Amt"),
        ("<CdtDbtInd>CRDT</CdtDbtInd><Sts>", "<Sts>", "TZS", "CdtDbtInd"),
    ],
)
def test_the_currency_is_the_entrys_else_that_of_the_account(
    old: str, new: str, currency: str, column: str | None
) -> None:
    text = in_camt([ONE]).decode().replace(old, new)
    if "<Sum" in text:
        text = text.replace('<Sum Ccy="TZS">500.00</Amt>', "")
    [entry] = camt.read("b.xml", text.encode()).entries
    assert (entry.currency, entry.column) == (currency, column)


def test_without_any_currency_an_entry_is_refused() -> None:
    text = in_camt([ONE]).decode().replace('Ccy="TZS"', "").replace("<Ccy>TZS</Ccy>", "")
    [entry] = camt.read("b.xml", text.encode()).entries
    assert (entry.currency, entry.column) == (None, "Ccy")
    line = in_mt940([ONE]).decode().replace(":60F:", ":60X:")
    [alone] = mt940.read("b.sta", line.encode()).entries
    assert (alone.amount, alone.reason) == (50_000, "the statement names no currency")
    assert alone.column == ":61:"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (":61:2603050305C500,00", ":61:nothing", "the line cannot be read"),
        ("C500,00", "C500,505", "amount is not a number with at most two decimals"),
    ],
)
def test_a_line_of_mt940_that_cannot_be_used_says_why(old: str, new: str, reason: str) -> None:
    text = in_mt940([ONE]).decode()
    assert old in text
    [entry] = mt940.read("b.sta", text.replace(old, new).encode()).entries
    assert (entry.row, entry.reason, entry.column, entry.currency) == (4, reason, ":61:", "TZS")


def test_of_mt940_a_taken_back_credit_is_money_out_and_what_follows_no_entry_is_none_of_its() -> (
    None
):
    text = in_mt940([ONE]).decode().replace("C500,00", "RC500,00")
    [back] = mt940.read("b.sta", text.encode()).entries
    assert (back.amount, back.kind) == (-50_000, "reversal")
    after = in_mt940([ONE]).decode().replace(":62F:", ":28C:22\n:86:not of the entry\n:62F:")
    [entry] = mt940.read("b.sta", after.encode()).entries
    assert entry.details == ""
    assert entry.day == date(2026, 3, 5)
