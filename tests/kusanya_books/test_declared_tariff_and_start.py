"""A declared tariff is exact and never prices a collection twice; the first page finds out."""

import tomllib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd
import pytest

from kusanya.domain.prices import ROUNDINGS, PriceList
from kusanya.errors import InputRefused
from kusanya.store import Store
from kusanya_books import columns
from kusanya_books.columns import TARIFF
from kusanya_books.judge import fees
from kusanya_books.judge.amount_bands import bands
from kusanya_books.judge.report import report
from kusanya_books.present import environment_check
from kusanya_books.read import load, tariff_file
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

Make = Callable[..., pd.DataFrame]
pytestmark = pytest.mark.usefixtures("no_settings")
RATE = '[[price]]\nchannel = "MPESA_TZ"\ncurrency = "TZS"\nbasis_points = "180"\n'


def read(tmp_path: Path, text: str) -> pd.DataFrame:
    path = tmp_path / "tariff.toml"
    path.write_text(text, encoding="utf-8")
    return tariff_file.read(path)


def test_a_rate_holds_in_both_modes_and_is_exact(tmp_path: Path, collections_of: Make) -> None:
    prices = read(tmp_path, RATE.replace("180", "12.5") + 'rounding = "up"\nfloor = 9\ncap = 40\n')
    columns.check(prices, TARIFF)
    assert prices["mode"].tolist() == ["live", "test"]
    rows = collections_of({"amount": 10_001}, {"amount": 100}, {"amount": 10**9})
    audited = fees.exceptions(rows, period=period("2026-03"), tariff=prices)
    assert sorted(audited["expected"]) == [9, 13, 40]


def test_bands_and_spans_price_each_amount_and_day_once(
    tmp_path: Path, collections_of: Make
) -> None:
    text = (
        '[[price]]\nchannel = "MPESA_TZ"\ncurrency = "TZS"\nto = 2026-03-04\nfee = 5\n'
        '[[price]]\nchannel = "MPESA_TZ"\ncurrency = "TZS"\nfrom = 2026-03-05\n'
        "bands = [{ upto = 1000, fee = 10 }, { upto = 5000, fee = 20 }, { fee = 30 }]\n"
    )
    rows = collections_of(*({"amount": amount} for amount in (1, 1_000, 1_001, 5_000, 5_001)))
    priced = fees.audit(
        load.inputs(CloseRequest(period="2020-01", tariff=str(_written(tmp_path, text))))
    ).tariff
    found = fees.expected(rows, period=period("2026-03"), tariff=priced)
    assert found["expected"].sum() == 1 + 10 + 20 + 20 + 30
    assert found["unpriced"].sum() == 0
    assert found["rows"].sum() == 5


def test_a_rate_and_a_sum_tiers_and_taxes_on_top_are_priced(
    tmp_path: Path, collections_of: Make
) -> None:
    text = (
        '[[price]]\nchannel = "MPESA_TZ"\ncurrency = "TZS"\nbands = [\n'
        '{ upto = 10000, basis_points = "150", plus = 50 },\n'
        '{ basis_points = "100", plus = 50, cap = 900 }]\n'
        'excise = 1000\nvat = 1800\ntaxes = "on_top"\n'
    )
    rows = collections_of(*({"amount": amount} for amount in (10_000, 10_001, 10**6)))
    priced = read(tmp_path, text)
    found = fees.exceptions(rows, period=period("2026-03"), tariff=priced)
    # 200: excise 20, VAT on 220 is 39.6; 150: 15 and 29.7; 900: 90 and 178.2.
    assert sorted(found["expected"]) == [195, 260, 1168]
    inside = read(tmp_path, text.replace("on_top", "inside"))
    found = fees.exceptions(rows, period=period("2026-03"), tariff=inside)
    assert sorted(found["expected"]) == [150, 200, 900]


def _written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "agreed.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("taxes", ["", 'excise = 1000\nvat = 1800\ntaxes = "on_top"\n'])
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(
    "asks",
    [
        'basis_points = "12.5"\nplus = 3\nfloor = 9\ncap = 40',
        "fee = 700",
        'bands = [{ upto = 999, fee = 5 }, { upto = 5000, basis_points = "333" }, { fee = 7 }]',
    ],
)
def test_a_price_list_says_of_one_collection_what_the_queries_say(
    asks: str, rounding: str, taxes: str, tmp_path: Path, collections_of: Make
) -> None:
    text = RATE.replace('basis_points = "180"', asks) + f'rounding = "{rounding}"\n{taxes}'
    listed = msgspec.convert(tomllib.loads(text), PriceList)
    amounts = [1, 2, 333, 999, 1_000, 4_999, 5_000, 5_001, 24_680, 10**9]
    of: dict[str, Any] = {"mode": "live", "currency": "TZS", "day": date(2026, 3, 2)}
    said = [listed.fee(amount, channel="MPESA_TZ", **of) for amount in amounts]
    rows = collections_of(*({"amount": amount, "fee": 10**12} for amount in amounts))
    found = fees.exceptions(rows, period=period("2026-03"), tariff=read(tmp_path, text))
    assert sorted(found["expected"]) == sorted(fee for fee in said if fee is not None)
    assert listed.fee(1, channel="TIGO_TZ", **of) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (RATE + RATE, "two prices"),
        (RATE + "to = 2026-03-05\n" + RATE + "from = 2026-03-05\n", "two prices"),
        (RATE + "fee = 5\n", "one of basis_points"),
        (RATE.replace('"180"', '"much"'), "cannot be used"),
        (RATE + 'rounding = "sideways"\n', "rounding is one of"),
        (RATE + "from = 2026-03-05\nto = 2026-03-04\n", "ends before it begins"),
        (RATE.replace('basis_points = "180"', "bands = [{ fee = 1 }, { fee = 2 }]"), "upto"),
        (
            RATE.replace(
                'basis_points = "180"', "bands = [{ fee = 1, upto = 9 }, { fee = 2, upto = 8 }]"
            ),
            "upto",
        ),
        (RATE + "colour = 1\n", "cannot be used"),
        ("price", "is not TOML"),
        (RATE.replace('basis_points = "180"', "fee = -5"), "fee is not negative"),
        (RATE + "plus = -5\n", "plus is not negative"),
        (RATE + "floor = 9\ncap = 8\n", "cap is not below floor"),
        (RATE.replace("180", "-1"), "basis_points is not negative"),
        (RATE.replace('basis_points = "180"', "fee = 5\nplus = 5"), "go with basis_points"),
        (
            RATE.replace('basis_points = "180"', 'bands = [{ fee = 1, basis_points = "2" }]'),
            "either",
        ),
        (RATE + "vat = 1800\n", "goes with taxes"),
        (RATE + 'vat = 18000\ntaxes = "inside"\n', "from 0 to 10000"),
        (RATE + 'vat = 1800\ntaxes = "beside"\n', "inside"),
    ],
)
def test_a_tariff_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(InputRefused, match=why):
        read(tmp_path, text)


def test_prices_that_only_touch_do_not_overlap(tmp_path: Path) -> None:
    text = RATE + "to = 2026-03-04\n" + RATE + "from = 2026-03-05\n"
    assert len(read(tmp_path, text)) == 4


@pytest.mark.parametrize("edges", [(0, 5), (5, 5), (9, 3), (-1,)])
def test_band_edges_rise(edges: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rising"):
        bands(edges)
    assert bands(())["band"].tolist() == ["all"]


def test_the_first_page_says_which_store_is_there(tmp_path: Path) -> None:
    with Store.open(tmp_path / "store.db"):
        pass
    found = environment_check.check(str(tmp_path / "store.db"), mode="live")
    assert found["good"].all()
    shown = dict(zip(found["what"], found["found"], strict=True))
    assert shown["mode"] == "live"
    assert shown["newest live collection"] == "none yet"
    assert shown["journal position"] == "0"


def test_the_first_page_says_what_is_wrong_and_does_not_fail(tmp_path: Path) -> None:
    found = environment_check.check(str(tmp_path / "none.db"))
    wrong = found[~found["good"]]
    assert wrong["what"].tolist() == ["store"]
    assert "none.db" in wrong["found"].iloc[0]
    assert environment_check.check()["good"].all()


@pytest.mark.parametrize(("allowed", "left"), [(0, 2), (1, 2), (2, 1), (3, 0)])
def test_a_fee_within_the_tolerance_is_no_exception(
    tmp_path: Path, collections_of: Make, allowed: int, left: int
) -> None:
    rows = collections_of(
        {"amount": 10_000, "fee": 180 + 2}, {"amount": 10_000, "fee": 180 - 3}, {"fee": 18}
    )
    prices = read(tmp_path, RATE)
    tolerance = Tolerance(fee=allowed)
    march = period("2026-03")
    found = fees.exceptions(rows, period=march, tariff=prices, tolerance=tolerance)
    priced = fees.priced(rows, period=march, tariff=prices, tolerance=tolerance)
    assert len(found) == len(priced.exceptions) == left


@pytest.mark.merge
def test_the_whole_audit_keeps_to_the_tolerance_that_was_given(tmp_path: Path) -> None:
    tariff = str(_written(tmp_path, RATE.replace("180", "181")))
    plain = load.inputs(CloseRequest(period="2026-03", tariff=tariff))
    assert len(fees.audit(plain).exceptions) > 0
    generous = load.inputs(
        CloseRequest(period="2026-03", tariff=tariff, tolerance=Tolerance(fee=1_000))
    )
    assert fees.audit(generous).exceptions.empty
    made = report(generous)
    assert made.page("fee_exceptions").frame.empty
