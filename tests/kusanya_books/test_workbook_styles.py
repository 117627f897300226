"""A table of styles is bounded before a workbook is opened."""

import io
import zipfile

import pytest

from kusanya.errors import InputRefused
from kusanya_books.read.tables import zip_limits


@pytest.mark.parametrize("styles", [b"<xf/>" * 100_001, b" " * 10_000_001])
def test_a_workbook_of_countless_styles_is_refused(styles: bytes) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/styles.xml", styles)
    with pytest.raises(InputRefused, match="more styles than a workbook"):
        zip_limits.check("x.xlsx", packed)


def test_a_workbook_of_many_styles_is_read() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/styles.xml", b"<xf/>" * 100_000)
    zip_limits.check("x.xlsx", packed)
