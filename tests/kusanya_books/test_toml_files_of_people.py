"""What is wrong in a TOML file is said by its place and by what is to stand there."""

from pathlib import Path

import pytest

from kusanya.errors import InputRefused
from kusanya_books.pack.journals import account_map
from kusanya_books.read import mapping, tariff_file, tolerance_file

READERS = {
    "mapping": mapping.read_mapping,
    "tolerance": lambda path: tolerance_file.read(str(path)),
    "accounts": account_map.read,
    "tariff": tariff_file.read,
}
WRONG = [
    ("mapping", '[ledger.kinds]\npaid = "payment"', '[ledger.kinds] it is a list, as ["a", "b"]'),
    ("mapping", '[ledger]\nheader_row = "one"', "[ledger.header_row] it is a whole number"),
    ("mapping", "[ledger]\ncolumns = 1", "[ledger.columns] it is a table of its own"),
    ("mapping", "[ledger]\nthousand = ','", "[ledger] there is no thousand there"),
    ("mapping", "ledger = 1", "[ledger] it is a table of its own"),
    ("mapping", "[ledger.columns]\nprice = 'Price'", "no such column of ours: price"),
    ("tolerance", 'amount = "1"', "[amount] it is a whole number"),
    ("tolerance", "amount = -1", "the tolerance amount is not negative"),
    ("tolerance", "amounts = 1", "there is no amounts there"),
    ("tolerance", "[settle_days_of]\nTIGO_TZ = 'x'", "[settle_days_of] it is a whole number"),
    ("accounts", "[accounts]\nbank = 1", '[accounts.bank] it is a text, as "a"'),
    ("accounts", "currency = 'shilling'\n[accounts]", "currency is three letters as TZS"),
    ("accounts", "[channels]\nMPESA_TZ = 'x'", "[channels] it is a table of its own"),
    ("tariff", "[price]\nx = 1", '[price] it is a list, as ["a", "b"]'),
    ("tariff", "[[price]]\nchannel = 1", '[price 1.channel] it is a text, as "a"'),
    ("tariff", "[[price]]\nchannels = 'x'", "[price 1] there is no channels there"),
    ("tariff", "price = [1]", "[price 1] it is a table of its own"),
]


@pytest.mark.parametrize(("file", "text", "said"), WRONG)
def test_what_is_wrong_in_a_file_of_ours_is_said_by_place_and_by_what_it_is(
    tmp_path: Path, file: str, text: str, said: str
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputRefused) as refused:
        READERS[file](path)
    assert said in str(refused.value)
    assert "mine.toml" in str(refused.value)
    assert str(refused.value).count("cannot be used") == 1
    assert not {"`", "$", "Object", "got"} & set(str(refused.value).split())
    assert "`" not in str(refused.value)
