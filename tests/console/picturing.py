"""What the tests of pictures share: the sizes of terminals and the languages they are drawn in."""

from collections.abc import Callable
from typing import Final

import pytest

from kusanya.say import Language

SIZES: Final = [(80, 24), (120, 36), (160, 50)]
MEDIUM: Final = SIZES[1]


def _name(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"


on_every_size = pytest.mark.parametrize("size", SIZES, ids=_name)
medium_every_day = pytest.mark.parametrize(
    "size",
    [size if size == MEDIUM else pytest.param(size, marks=pytest.mark.ci) for size in SIZES],
    ids=_name,
)
"""The other sizes with the longer tiers: what is drawn is the sandbox's, and of little change."""
on_two_sizes = pytest.mark.parametrize("size", SIZES[:2], ids=_name)
_spoken = pytest.mark.parametrize(
    "spoken",
    [
        # Unnamed: most pictures are in English alone, and bear no language.
        pytest.param(Language.ENGLISH, id=pytest.HIDDEN_PARAM),
        pytest.param(Language.SWAHILI, id="sw"),
    ],
    indirect=True,
)


def in_both_languages(test: Callable[..., None]) -> Callable[..., None]:
    """Draw a test's picture in English and in Swahili."""
    drawn: Callable[..., None] = _spoken(pytest.mark.usefixtures("spoken")(test))
    return drawn
