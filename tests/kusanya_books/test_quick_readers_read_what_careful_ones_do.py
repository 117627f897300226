"""The quick ways in read exactly what the careful ones do: files, phones, lines of a store."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kusanya.errors import InputRefused
from kusanya.privacy import mask_phone
from kusanya_books import columns
from kusanya_books.read import spreadsheets
from kusanya_books.read.mapping import Layout
from kusanya_books.read.store.normalisation import RAW, normalise

QUICK, CAREFUL = Layout(encoding="utf-8-sig"), Layout(encoding="utf_8_sig")
cells = st.sampled_from(
    ["x", "12", "", " z", "é", '"x"', '"x,y"', '"x\ny"', '""', 'a"b', '"a""b"', '"a"b', '"']
)
rows = st.lists(cells, min_size=1, max_size=4).map(",".join)
orderly = st.lists(st.lists(cells, min_size=3, max_size=3).map(",".join), max_size=5)
bodies = st.one_of(
    st.lists(rows, max_size=5), orderly, orderly.map(lambda lines: ["h1,h2,h3", *lines])
)
ends = st.sampled_from(["\n", "\r\n", "\r"])


def read(path: Path, layout: Layout) -> pd.DataFrame | str:
    try:
        return spreadsheets.read(path, layout).frame
    except InputRefused as refused:
        return str(refused)


@pytest.mark.scale(150, 1_500, 10_000)
def test_a_csv_file_is_read_the_same_both_ways(tmp_path: Path, rounds: int) -> None:
    path = tmp_path / "books.csv"

    @settings(max_examples=rounds, deadline=None, database=None)
    @given(bodies, ends, st.booleans(), st.booleans())
    @example(['a,"b"', "c,d"], "\n", True, True)
    @example(['"a"b,c', 'd,"e"'], "\n", False, True)
    @example(['a,"b"', "", "c,d"], "\n", False, False)
    def same(lines: list[str], end: str, mark: bool, last: bool) -> None:
        text = ("\ufeff" if mark else "") + end.join(lines) + (end if last else "")
        path.write_bytes(text.encode())
        quick, careful = read(path, QUICK), read(path, CAREFUL)
        if isinstance(quick, str) or isinstance(careful, str):
            assert isinstance(quick, str)
            assert quick == careful
        else:
            pd.testing.assert_frame_equal(quick, careful)

    same()


@pytest.mark.merge
@settings(deadline=None, database=None)
@given(
    st.lists(
        st.one_of(
            st.from_regex(r"\+?[0-9]{5,16}", fullmatch=True),
            st.text(max_size=14),
            st.sampled_from(["255754000001", "25575400000", "0754 000 001", "255754000001\n"]),
        ),
        max_size=8,
    )
)
def test_every_phone_is_masked_as_everywhere_and_one_phone_is_one_key(phones: list[str]) -> None:
    at = [datetime(2026, 3, 5, 9, tzinfo=UTC)] * len(phones)
    data = {
        name: pd.Series([None] * len(phones), dtype=kind.pandas)
        for name, kind in RAW.columns.items()
    }
    text = [str(place) for place in range(len(phones))]
    raw = columns.frame(RAW, pd.DataFrame({**data, "id": text, "phone": phones, "created_at": at}))
    one, other = (normalise(raw, key=key).set_index("id").loc[text] for key in ("one", "other"))
    assert one["phone_masked"].tolist() == [mask_phone(phone) for phone in phones]
    keyed = dict(zip(phones, one["phone_key"], strict=True))
    assert [keyed[phone] for phone in phones] == one["phone_key"].tolist()
    assert len(set(keyed.values())) == len(keyed)
    assert not set(keyed.values()) & set(other["phone_key"])


def test_rows_come_by_creation_and_then_by_id_whatever_the_order_they_were_read_in() -> None:
    hours = [10, 9, 9, 11, 9]
    at = [datetime(2026, 3, 5, hour, tzinfo=UTC) for hour in hours]
    ids = ["d", "c", "a", "e", "b"]
    data = {name: pd.Series([None] * 5, dtype=kind.pandas) for name, kind in RAW.columns.items()}
    raw = columns.frame(
        RAW, pd.DataFrame({**data, "id": ids, "created_at": at, "phone": "255754000001"})
    )
    assert normalise(raw, key="k")["id"].tolist() == ["a", "b", "c", "d", "e"]
