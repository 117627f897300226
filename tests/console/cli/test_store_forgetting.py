"""What is typed to let personal data go."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kusanya_service.testing import PaymentService, payment_service

__all__ = ["payment_service"]

Kusanya = Callable[..., tuple[int, str, str]]


def test_a_customer_is_erased_once_the_payment_is_over(
    kusanya: Kusanya,
    payment_service: PaymentService,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("KUSANYA_BASE_URL", payment_service.base_url)
    monkeypatch.setenv("KUSANYA_API_KEY", payment_service.test_key)
    folder = tmp_path / "store"
    store, clock = (
        f"--store={folder / 's.sqlite'}",
        f"--clock={payment_service.dashboard_url}/clock",
    )
    order = ("collect", "5000", "0754000001", "INV-1", store, clock)
    assert kusanya(*order)[0] == 0
    erase = ("store", "erase", "--phone=+255 754-000-001", store)
    code, _, err = kusanya(*erase)
    assert (code, "0 creations and 1 payments of this customer are open" in err) == (1, True)
    payment_service.advance(30)
    assert kusanya("catch-up", store)[0] == 0
    code, out, _ = kusanya(*erase)
    assert (code, out) == (
        0,
        "erased what is personal in 1 collections, 1 creations, 0 deliveries and 0 notes\n",
    )
    left = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"754000001" not in left
    assert kusanya("store", "check", store)[0] == 0
    code, _, err = kusanya(*order)
    assert (code, "this reference was used before" in err) == (1, True)
    assert len(payment_service.dashboard("GET", "collections?mode=test")["data"]) == 1
    code, out, _ = kusanya("store", "purge", "--bodies-after=30d", "--personal-after=400d", store)
    assert (code, out.splitlines()[0]) == (0, "removed the bodies of 0 deliveries")
    code, out, _ = kusanya("store", "purge", "--deliveries-after=400d", store)
    assert (code, out) == (0, "removed 0 deliveries of months that are over; their events stay\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["purge"],
            "say one or more of --bodies-after, --personal-after, --deliveries-after",
        ),
        (["purge", "--deliveries-after=30d"], "--deliveries-after is at least 31d"),
        (["purge", "--bodies-after=30"], "--bodies-after is a number of days as 30d, not 30"),
        (["erase", "--phone=12"], "--phone: after 255 or the leading 0 come 9 digits, not 2"),
    ],
)
def test_wrong_ages_and_phones_are_refused_in_a_line(
    kusanya: Kusanya, tmp_path: Path, words: list[str], said: str
) -> None:
    store = f"--store={tmp_path / 's.sqlite'}"
    assert kusanya("store", "migrate", store)[0] == 0
    code, out, err = kusanya("store", *words, store)
    assert (code, out, err) == (2, "", f"kusanya: {said}\n")
