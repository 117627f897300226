"""What a person names, MAPPING:FILE or a file alone, on any system."""

from pathlib import Path

import pytest

from kusanya.errors import InputRefused
from kusanya_books import columns
from kusanya_books.columns import MOVEMENTS
from kusanya_books.read import mapped_files
from kusanya_books.request.close_request import CloseRequest

LINES = "at,amount,currency,channel,kind\n2026-03-01,{},TZS,MPESA_TZ,other\n"


@pytest.mark.parametrize(
    ("named", "mapping", "file"),
    [
        ("march.csv", "", "march.csv"),
        ("mpesa", "", "mpesa"),
        ("mpesa:march.csv", "mpesa", "march.csv"),
        ("mpesa:own.toml:march.csv", "mpesa", "own.toml:march.csv"),
        ("own.toml:march.csv", "own.toml", "march.csv"),
        ("in/Own.TOML:a:b.csv", "in/Own.TOML", "a:b.csv"),
        (".toml:march.csv", ".toml", "march.csv"),
        (r"C:\books\march.csv", "", r"C:\books\march.csv"),
        (":march.csv", "", ":march.csv"),
    ],
)
def test_a_mapping_stands_before_its_file(named: str, mapping: str, file: str) -> None:
    assert mapped_files.split(named) == (mapping, file)


def test_a_mapping_that_is_none_is_refused_unless_a_file_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for named in ("kcb:march.csv", "kc:march.csv"):
        with pytest.raises(InputRefused, match=r"there is no mapping kcb?; there are mpesa, "):
            mapped_files.split(named)
        Path(named).touch()
        assert mapped_files.split(named) == ("", named)


def test_files_of_a_leg_are_read_by_name(tmp_path: Path) -> None:
    files = []
    for folder, name, amount in (("a", "2.csv", 20), ("b", "1.csv", 10), ("c", "0.csv", 30)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(LINES.format(amount))
        files.append(str(tmp_path / folder / name))
    found = mapped_files.read(CloseRequest(operator=files[:2], bank=files[2]))
    moved = columns.check(found["movements"], MOVEMENTS)
    assert moved.index.tolist() == [0, 1, 2]
    assert found["basis"] == "gross"
    assert list(zip(moved["leg"], moved["input"], moved["amount"], strict=True)) == [
        ("operator", "1.csv", 10), ("operator", "2.csv", 20), ("bank", "0.csv", 30)
    ]  # fmt: skip
    assert [account.source for account in found["quality"]] == [
        "operator 1.csv", "operator 2.csv", "bank 0.csv"
    ]  # fmt: skip


def test_one_file_for_two_legs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(LINES.format(10))
    one = str(tmp_path / "a.csv")
    with pytest.raises(InputRefused, match=r"a\.csv was given twice, perhaps under two names"):
        mapped_files.read(CloseRequest(operator=one, bank=one))
