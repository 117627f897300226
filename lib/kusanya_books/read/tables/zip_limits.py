"""A packed spreadsheet is looked at before it is opened: a few kilobytes can unpack to a full disk.

Declared sizes can be trusted afterwards: Python's reader stops at them, and a part whose size or
checksum is another is refused when it is read.
"""

import zipfile
from typing import BinaryIO, Final

from kusanya.errors import InputRefused

UNPACKED_MAX: Final = 1_000_000_000
"""Largest workbook we unpack, in bytes; its sheets are read row by row and never kept whole."""
PARTS_MAX: Final = 2_000
TEXTS_MAX: Final = 200_000_000
"""Largest table of a workbook's texts, which is kept whole while its sheets are read."""
PART_MAX: Final = 50_000_000
"""Largest other part."""
STYLES_MAX: Final = 10_000_000
"""Largest table of styles, in bytes."""
STYLES_TAGS_MAX: Final = 100_000
"""Most tags in it: each becomes an object, before a cell is read."""
_STYLES: Final = "xl/styles.xml"
_SHEETS: Final = ("xl/worksheets/", "xl/chartsheets/")
_TEXTS: Final = "xl/sharedstrings.xml"


def check(name: str, file: BinaryIO, *, unpacked_max: int = UNPACKED_MAX) -> None:
    """Raise InputRefused for a workbook that is too large, and BadZipFile for what is no zip."""
    with zipfile.ZipFile(file) as packed:
        parts = packed.infolist()
        styles = [part for part in parts if part.filename.casefold().lstrip("/") == _STYLES]
        for part in (one for one in styles if not one.flag_bits & 1):
            if part.file_size > STYLES_MAX or packed.read(part).count(b"<") > STYLES_TAGS_MAX:
                raise InputRefused(f"{name} has more styles than a workbook; save it as CSV")
    if len(parts) > PARTS_MAX:
        raise InputRefused(f"{name} has {len(parts):,} parts; a workbook has at most {PARTS_MAX:,}")
    if len({part.filename.casefold() for part in parts}) < len(parts):
        raise InputRefused(f"{name} has two parts of one name; save it again")
    if any(part.flag_bits & 1 for part in parts):
        raise InputRefused(f"{name} is protected by a password; save it without one")
    if sum(part.file_size for part in parts) > unpacked_max:
        raise InputRefused(f"{name} unpacks to more than {unpacked_max:,} bytes")
    for part in parts:
        path = part.filename.casefold().lstrip("/")
        limit = TEXTS_MAX if path == _TEXTS else PART_MAX
        if not path.startswith(_SHEETS) and part.file_size > limit:
            raise InputRefused(f"{name} has a part of more than {limit:,} bytes; save it as CSV")
