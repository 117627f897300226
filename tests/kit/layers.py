"""The picture of the layers, drawn from the import contracts: it cannot show another house.

`uv run python -m tests.kit.layers` draws it anew.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PICTURE: Final = ROOT / "lib" / "docs" / "layers.svg"
_WIDTH, _ROW, _GAP, _EDGE = 860, 28, 5, 16
_COLOURS: Final = {
    "kusanya_console": "#dbe7f6",
    "kusanya_books": "#f7e6c9",
    "kusanya_service": "#e4dcf1",
    "kusanya": "#d9eedd",
}


def floors() -> Iterator[list[tuple[str, list[str]]]]:
    """Yield the packages of each floor, the highest first, each with its own floors of rooms."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layers = {
        container: contract["layers"]
        for contract in contracts["contracts"]
        if contract["type"] == "layers"
        for container in contract.get("containers", ["everything"])
    }
    for floor in layers["everything"]:
        packages = re.findall(r"\w+", floor)
        yield [
            (package, layers.get(package, ["every screen, every command"])) for package in packages
        ]


def box(x: float, y: float, width: float, text: str) -> str:
    """Draw one room."""
    return (
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW}" rx="4" class="room"/>'
        f'<text x="{x + width / 2:.1f}" y="{y + 19}" class="name">{text}</text>'
    )


def drawn() -> str:
    """Return the picture."""
    parts: list[str] = []
    y = _EDGE
    for floor in floors():
        height = max(len(rooms) for _, rooms in floor) * (_ROW + _GAP) + 30
        width = (_WIDTH - _EDGE * (len(floor) + 1)) / len(floor)
        for column, (package, rooms) in enumerate(floor):
            x = _EDGE + column * (width + _EDGE)
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="6" '
                f'fill="{_COLOURS[package]}"/>'
                f'<text x="{x + 10:.1f}" y="{y + 18}" class="package">{package}</text>'
            )
            for row, beside in enumerate(rooms):
                names = [name.strip(" ()") for name in beside.split("|")]
                wide = (width - 20 - _GAP * (len(names) - 1)) / len(names)
                top = y + 26 + row * (_ROW + _GAP)
                parts += [
                    box(x + 10 + place * (wide + _GAP), top, wide, name)
                    for place, name in enumerate(names)
                ]
        y += height + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 6}" role="img">\n'
        "<title>What imports what: each box those below it, none those above or beside it</title>\n"
        "<style>.package{font:bold 13px sans-serif}.name{font:13px sans-serif;text-anchor:middle}"
        "text{fill:#222}.room{fill:#fff;stroke:#8a8a8a}</style>\n"
        f'<rect width="{_WIDTH}" height="{y + 6}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
