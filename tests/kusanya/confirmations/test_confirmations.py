# ruff: noqa: E501, S311 - messages stand as they come
"""What a customer's message says: seven issuers, two languages, and texts that are none."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.messages import ISSUERS, message, spoiled

from kusanya.confirmations import Direction, grammar, read
from kusanya.confirmations.fragments import TEXT_MAX, plain
from kusanya.confirmations.issuers import GRAMMARS
from kusanya.say import Language

START = datetime(2026, 6, 19, 4, 0, tzinfo=UTC)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("issuer", ISSUERS)
def test_a_payment_is_read_from_every_sender_in_both_languages(
    issuer: str, language: Language
) -> None:
    random = Random(f"{issuer} {language}")
    for number in range(12):
        made = message(
            issuer,
            language,
            amount=random.choice((500, 5_000, 52_000, 85_000, 1_250_000)),
            at=START + timedelta(minutes=random.randrange(0, 14 * 1440)),
            payee="DUKA LA VITABU",
            random=random,
        )
        text = spoiled(made.text, random) if number % 2 else made.text
        (said,) = read(text).confirmations
        assert (said.issuer, said.language, said.direction) == (issuer, language, Direction.PAID)
        assert said.amount == made.amount, text
        assert said.at == made.at, text
        assert "DUKA LA VITABU" in said.payee
        # One issuer writes no number into its English messages.
        assert (said.receipt or "").upper() in (made.receipt.upper(), ""), text
        assert bool(said.receipt) == ((issuer, language) != ("NMB", Language.ENGLISH))
        assert said.doubts == ()


PUBLISHED = [
    # (text, issuer, direction, amount, receipt, day and time in East Africa)
    (
        (
            "DFJ7C2KPQ8 Confirmed. Tsh7,500.00 sent to business CITY-WATER 2 on 19/6/26 at 10:56 pm. "
            "New M-Pesa balance is Tsh0.36."
        ),
        ("M-Pesa", Direction.PAID, 7_500, "DFJ7C2KPQ8", "2026-06-19T19:56"),
    ),
    (
        (
            "DFJ7C2KU69 Confirmed. Tsh4,200.00 has been deducted from your M-Pesa account on 19/6/26 "
            "at 10:38 pm as a repayment of M-Pesa Overdraft service."
        ),
        ("M-Pesa", Direction.WITHDRAWN, 4_200, "DFJ7C2KU69", "2026-06-19T19:38"),
    ),
    (
        (
            "DFJ7C2KX2B imethibitishwa. Umepokea Tshs 4,200.00 kutoka BENKI MF, Akaunti ****1234 - "
            "MTEJA tarehe 19/06/2026 saa 22:38:24."
        ),
        ("M-Pesa", Direction.RECEIVED, 4_200, "DFJ7C2KX2B", "2026-06-19T19:38:24"),
    ),
    (
        (
            "DFJ7C2KX2B confirmed. You have received a payment of Tsh4,200.00 from 922756 - TIPS-BENKI "
            "MF on 19/6/26 at 10:38 pm. New M-Pesa balance is Tsh4,200.36"
        ),
        ("M-Pesa", Direction.RECEIVED, 4_200, "DFJ7C2KX2B", "2026-06-19T19:38"),
    ),
    (
        (
            "DFF7C2KPIJ Confirmed. On 15/6/26 at 8:08 pm Withdraw Tsh90,000.00 from 431836 - WAKALA "
            "Total fee Tsh4,357.00 (M-Pesa fee Tsh3,650.00 + Government levy Tsh707.00). Balance is "
            "Tsh0.36."
        ),
        ("M-Pesa", Direction.WITHDRAWN, 90_000, "DFF7C2KPIJ", "2026-06-15T17:08"),
    ),
    (
        (
            "Money sent successfully to  -255742000312. Amount TSh 52,000. Total Charges TSh 1,125, VAT "
            "TSh 172. New balance is TSh 0. TxnID: 26495371000758. Receipt: 503-DFE7C2KABO. 14/06/26 "
            "19:19. Every Transaction is a Winning Goal!"
        ),
        ("Mixx by Yas", Direction.PAID, 52_000, "26495371000758", "2026-06-14T16:19"),
    ),
    (
        (
            "You have sent TSh 52,000 to Vodacom receiver MTEJA - 255742000312. Charges TSh 1,125. VAT "
            "TSh 172. New balance is TSh 0. TxnID: 26495371000758. 14/06/26 19:19 Please wait."
        ),
        ("Mixx by Yas", Direction.PAID, 52_000, "26495371000758", "2026-06-14T16:19"),
    ),
    (
        (
            "Transfer Successful. New balance is TSh 15,500. You have received TSh 15,500 from CRDB; "
            "MTEJA with TxnId: 26452334000211. 003_19ec6e42e888a9a7. 14/06/26 19:08. Every"
        ),
        ("Mixx by Yas", Direction.RECEIVED, 15_500, "26452334000211", "2026-06-14T16:08"),
    ),
    (
        (
            "Txn Amt TSh 150,000 sent to Yas PostPaid (100100). Wait for confirmation. Ref: 0676000929. "
            "New Bal: TSh 0. Total Charges TSh 0.(Fees TSh 0, Levy TSh 0), VAT TSh 0. TxnID: "
            "26952325000986. 13/06/26 19:41"
        ),
        ("Mixx by Yas", Direction.PAID, 150_000, "26952325000986", "2026-06-13T16:41"),
    ),
    (
        (
            "0426JXCX Confirmed. You have received TZS 175,000.00 from MTEJA - NMB (201100XXXXX) on "
            "2025-04-26 11:50. Updated balance is TZS 175,000.00. Help 0800 714 888"
        ),
        ("Selcom Pesa", Direction.RECEIVED, 175_000, "0426JXCX", "2025-04-26T08:50"),
    ),
    (
        (
            "0426JXGC Accepted. You have sent TZS 50,000.00 to MTEJA - Mixx by Yas (Tigo Pesa) "
            "(25571XXXXXXX) on 2025-04-26 11:56. Total charges TZS 550.00 (Fee 424, VAT 84, Ex Duty 42)."
        ),
        ("Selcom Pesa", Direction.PAID, 50_000, "0426JXGC", "2025-04-26T08:56"),
    ),
    (
        (
            "10234C2WQ Confirmed. You have withdrawn TZS 200,000.00 at ATM - TEMEKE using your card "
            "ending with 8318 on 2025-10-23 18:00. Total charges TZS 2,500.00 (Fee 1,926, VAT 381)."
        ),
        ("Selcom Pesa", Direction.WITHDRAWN, 200_000, "10234C2WQ", "2025-10-23T15:00"),
    ),
    (
        (
            "0428KRRY Confirmed. You have paid TZS 8,900.00 to APPSTORE using your card ending 1915 on "
            "2025-04-28 11:36. Updated balance is TZS 1,650.00."
        ),
        ("Selcom Pesa", Direction.PAID, 8_900, "0428KRRY", "2025-04-28T08:36"),
    ),
    (
        (
            "0426JXSG Accepted. You have sent TZS 80,000.00 to MTEJA - Airtel Money (255694XXXXXX) for "
            "Taka on 2025-04-26 12:10. Total charges TZS 0.00."
        ),
        ("Selcom Pesa", Direction.PAID, 80_000, "0426JXSG", "2025-04-26T09:10"),
    ),
    (
        (
            "KUMB:19ec6ebe82c12b00 Muamala umefanikiwa TZS35000 SELCOM BANK kwenda MTEJA 06XXXXXXXX "
            "Risiti:003-19ec6ebe82c12b00 2026-06-14 19:16:49  CRDB SIMBANKING APP"
        ),
        ("CRDB", Direction.PAID, 35_000, "19ec6ebe82c12b00", "2026-06-14T16:16:49"),
    ),
    (
        (
            "KUMB:19ec660b8a1c1b00 Muamala umefanikiwa TZS30000 VODACOM kwenda LIPA DUKA 51469658 "
            "Risiti:003-19ec660b8a1c1b00 2026-06-14 16:44:48  CRDB SIMBANKING APP"
        ),
        ("CRDB", Direction.PAID, 30_000, "19ec660b8a1c1b00", "2026-06-14T13:44:48"),
    ),
    (
        (
            "Umetuma TZS 39,600.0 kutoka AC:01522***6100 kwenda MTEJA AC: 11375680 REF: "
            "19ec69444b7bba00 2026-06-14 17:41:9. Kwa msaada piga 0755197700"
        ),
        ("CRDB", Direction.PAID, 39_600, "19ec69444b7bba00", "2026-06-14T14:41:09"),
    ),
    (
        (
            "Malipo yamekamilika.19ec9775f6823900 9007261660708258420 TOKEN 6642 0488 4500 7039 0706 "
            "12.2KWH Cost 1229.51 VAT 18% 221.31 EWURA 1% 12.30 Debt Collected 1500.00 TOTAL TZS "
            "3000.00 2026-06-15 07:08"
        ),
        ("CRDB", Direction.PAID, 3_000, "19ec9775f6823900", "2026-06-15T04:08"),
    ),
    (
        (
            "Dear MTEJA, TZS 50000.00 has been withdrawn using a Card 4232***0581 On 19.01.25 11:53 "
            "Balance is TZS 550070.90"
        ),
        ("CRDB", Direction.WITHDRAWN, 50_000, None, "2025-01-19T08:53"),
    ),
    (
        (
            "Kumb: GWX102237382900 Imethibitishwa. Kiasi cha TSH8,000 kimetumwa kutoka katika akaunti "
            "inayoishia na XXXX kwenda MTEJA 07XXXXXXXX. Tarehe:05-06-2026 19:46:00. Teleza"
        ),
        ("NMB", Direction.PAID, 8_000, "GWX102237382900", "2026-06-05T16:46"),
    ),
    (
        (
            "You have paid TZS 85000 with account ending XXXX to DUKA KUU 01 15293743 on 31-05-2026 "
            "19:28:03. NMB Karibu Yako"
        ),
        ("NMB", Direction.PAID, 85_000, None, "2026-05-31T16:28:03"),
    ),
    (
        (
            "GWX_1780199859000.Umepokea Tsh 50,000 kupitia NMB Pesa Fasta 31/05/2026 06:57:39. Tumia "
            "namba ya siri XXXXX kutoa pesa NMB ATM"
        ),
        ("NMB", Direction.RECEIVED, 50_000, "GWX_1780199859000", "2026-05-31T03:57:39"),
    ),
    (
        (
            "201NDGL261360500. Kiasi cha TZS TZS 263.36 kimetolewa kwenye akaunti yako inayoishia na "
            "XXXXX kurejesha Mshiko Fasta, Salio la mkopo ni 335,556.64 15-06-2026 03:45 Rejesha"
        ),
        ("NMB", Direction.WITHDRAWN, None, "201NDGL261360500", "2026-06-15T00:45"),
    ),
    (
        (
            "201NDGL261500600. Umepokea kiasi cha TZS 209,236.55 kupitia Mshiko Fasta Kulipwa hadi "
            "28-AUG-26. Gharama 33,059.45 30-MAY-26, Kopa na lipa kwa wakati"
        ),
        ("NMB", Direction.RECEIVED, None, "201NDGL261500600", None),
    ),
    (
        "DFJ7C2KPQ8 Confirmed.Tsh7,500.00 paid to M-KOBA on 19/6/26 at 10:56 AM.",
        ("M-Pesa", Direction.PAID, 7_500, "DFJ7C2KPQ8", "2026-06-19T07:56"),
    ),
]


@pytest.mark.parametrize(("text", "expected"), PUBLISHED)
def test_shapes_that_customers_published_are_read(
    text: str, expected: tuple[str, Direction, int | None, str | None, str | None]
) -> None:
    (said,) = read(text).confirmations
    issuer, direction, amount, receipt, at = expected
    assert (said.issuer, said.direction) == (issuer, direction)
    assert (said.amount, said.receipt) == (amount, receipt)
    assert said.at == (None if at is None else datetime.fromisoformat(at).replace(tzinfo=UTC))
    assert said.doubts == ()


def test_two_messages_of_one_payment_are_one_confirmation() -> None:
    sent, confirmed = PUBLISHED[6][0], PUBLISHED[5][0]
    (said,) = read(f"{sent}\n\n{confirmed}").confirmations
    assert said.receipt == "26495371000758"


def test_two_payments_at_once_are_two_in_the_order_of_the_text() -> None:
    both = read(f"{PUBLISHED[0][0]} {PUBLISHED[12][0]}").confirmations
    assert [said.issuer for said in both] == ["M-Pesa", "Selcom Pesa"]


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        (
            "DFK7C2KPQ8 Confirmed. Tsh7,500.00 sent to business DUKA on 19/6/26 at 10:56 pm.",
            "its receipt DFK7C2KPQ8 was made on 20/06, not on the day that it says",
        ),
        (
            "DZ07C2KPQ8 Confirmed. Tsh7,500.00 sent to business DUKA on 19/6/26 at 10:56 pm.",
            "no receipt of M-Pesa is written like DZ07C2KPQ8",
        ),
        (
            "DFJ7C2KPQ8 Confirmed. Tsh7,500.00 sent to business DUKA on 31/6/26 at 10:56 pm.",
            "no calendar has its date 31/6/26",
        ),
        (
            "0427JXGC Accepted. You have sent TZS 50,000.00 to DUKA on 2025-04-26 11:56.",
            "its number 0427JXGC was made on 27/04, not when it says",
        ),
        (
            "Txn ID: MP260619.2256.A12B45. You have paid TZS 5,000 to DUKA on 20/06/2026 22:56:01.",
            "its number MP260619.2256.A12B45 was made at 19/06/26 22:56, not when it says",
        ),
    ],
)
def test_what_no_genuine_message_says_is_named(text: str, doubt: str) -> None:
    (said,) = read(text).confirmations
    assert said.doubts == (doubt,)


def test_a_receipt_made_just_before_midnight_is_not_doubted() -> None:
    text = "DFJ7C2KPQ8 Confirmed. Tsh7,500.00 sent to business DUKA on 20/6/26 at 0:04 am."
    # No clock of twelve hours has a zeroth: the time is read as missing and nothing is claimed.
    assert read(text.replace("0:04 am", "12:04 am")).confirmations[0].doubts == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Muamala wako wa TZS 5,000 umeshindwa. Salio halitoshi.", "nothing was paid"),
        (
            "DFL6H7T3GA Confirmed. Reversal of transaction DFK1234567 has been successful. Tsh5,000.00 has been reversed to your M-Pesa account on 21/6/26 at 9:00 AM. Balance Tsh9,000",
            "was taken back",
        ),
        (
            "Muamala DFK1234567 umerudishwa. TZS 5,000 imerejeshwa kwenye akaunti yako 21/06/2026 09:00. Salio TZS 9",
            "was taken back",
        ),
        ("Payment of TZS 5,000 to DUKA failed. Your balance is TZS 12.", "nothing was paid"),
        ("TJK6H7T3GA Confirmed. Ksh70.00 paid to DUKA on 20/10/25 at 4:21 PM.", "another country"),
        (
            "AB Confirmed!! You sent Tsh 9,000 to us. Balance Tsh 3. Receipt QQ",
            "a form that we do not know",
        ),
        (
            "You have paid TSh 5,000 to DUKA. New balance is TSh 0. TxnID: 26S9141777631. 14/06/26 19:19",
            "could not be read",
        ),
        (
            "DFJ7C2KPQ8 Confirmed. Tsh7,500 s3nt to DUKA on 19/6/26 at 10:56 pm.",
            "could not be read",
        ),
    ],
)
def test_a_text_that_confirms_nothing_says_why(text: str, reason: str) -> None:
    reading = read(text)
    assert reading.confirmations == ()
    assert reading.is_message
    assert reason in reading.reason


@pytest.mark.parametrize(
    "text",
    [
        "Habari, nimelipa jana jioni lakini sijapata bidhaa zangu, " * 3,
        "I have made a payment of TZS 5,000 for INV-000100, please confirm",
        "Nimelipa Tsh 5,000 kwa INV-000100, salio langu limekatwa",
    ],
)
def test_what_a_customer_writes_is_no_message_of_an_operator(text: str) -> None:
    assert not read(text).is_message


MIXX = (
    "You have paid {} to DUKA. Charges TSh 1,125. New balance is TSh 0. TxnID: {}. 14/06/26 19:19"
)


@pytest.mark.parametrize(
    ("amount", "receipt"),
    [
        ("TSh 150,800", "2629141777631O"),
        ("TSh 150,800", "26291417776310"),
        ("TSh150.800", "262914l7776310"),
        ("TSh 150.800.00", "26291417776310"),
        ("TSH 15O.800", "262914L7776310"),
    ],
)
def test_letters_in_a_receipt_of_digits_and_a_full_stop_at_the_thousands_are_read(
    amount: str, receipt: str
) -> None:
    (said,) = read(MIXX.format(amount, receipt)).confirmations
    assert (said.amount, said.receipt, said.doubts) == (150_800, "26291417776310", ())


def test_cents_stay_cents_and_a_receipt_of_letters_stays_as_it_is() -> None:
    (said,) = read(MIXX.format("TSh 150.80", "26291417776310")).confirmations
    assert said.amount is None
    (said,) = read(PUBLISHED[0][0].replace("DFJ7C2KPQ8", "DFJ7COKPQ8")).confirmations
    assert said.receipt == "DFJ7COKPQ8"


@pytest.mark.parametrize("amount", ["Tsh7,5l0.00", "TSH7,5L0.00", "Tsh7,5i0.00", "Tsh7,5I0.00"])
def test_letters_that_look_like_a_one_are_read_in_both_cases(amount: str) -> None:
    (said,) = read(PUBLISHED[0][0].replace("Tsh7,500.00", amount)).confirmations
    assert said.amount == 7_510


@pytest.mark.parametrize("text", ["INV-482917", "85000 15:20", "0754 000 412", "col_7Qm4xT2f", ""])
def test_what_is_looked_up_as_it_is_is_no_message(text: str) -> None:
    assert not read(text).is_message


def test_a_whole_phone_number_in_a_message_is_never_shown() -> None:
    for text, _ in PUBLISHED:
        for said in read(text).confirmations:
            assert "742000312" not in repr(said)


def test_escapes_and_invisible_letters_do_not_reach_the_payee() -> None:
    text = PUBLISHED[0][0].replace("CITY-WATER", "CITY\x1b[31m\u202e=HYPERLINK()")
    (said,) = read(text).confirmations
    assert "\x1b" not in said.payee
    assert "\u202e" not in said.payee


@given(st.text(max_size=600))
def test_any_text_gives_an_answer(text: str) -> None:
    reading = read(text)
    assert reading.confirmations or reading.reason


@given(st.lists(st.sampled_from([piece for text, _ in PUBLISHED for piece in text.split()])))
def test_any_mixture_of_words_of_messages_gives_an_answer(words: list[str]) -> None:
    reading = read(" ".join(words))
    assert reading.confirmations or reading.reason


def test_a_text_of_any_length_is_read_up_to_a_bound() -> None:
    assert len(plain("x" * 1_000_000)) == TEXT_MAX
    assert read(PUBLISHED[0][0] + " x" * 1_000_000).confirmations


def test_no_form_is_made_ready_for_a_text_that_names_no_money(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    monkeypatch.setattr(grammar, "_compiled", made.append)
    assert not read("INV-482917").confirmations
    assert made == []


def test_every_form_has_an_amount() -> None:
    forms = [form for issuer in GRAMMARS for form in issuer.forms]
    assert all("(?P<amount>" in form.expression for form in forms)
