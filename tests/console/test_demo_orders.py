"""The demo's traffic: seeded, and with every outcome in it."""

from itertools import islice

from kusanya.privacy import normalise_phone
from kusanya_console.sandbox.demo.orders import orders

SCRIPTED = "2557540000"


def test_the_same_seed_and_number_give_the_same_orders() -> None:
    first = list(islice(orders(seed=7, first=1, per_second=2, stuck=True), 50))
    again = list(islice(orders(seed=7, first=1, per_second=2, stuck=True), 50))
    other = list(islice(orders(seed=8, first=1, per_second=2, stuck=True), 50))
    assert first == again != other


def test_references_count_on_from_the_first_number() -> None:
    references = [
        o.reference for o in islice(orders(seed=7, first=42, per_second=2, stuck=True), 3)
    ]
    assert references == ["INV-000042", "INV-000043", "INV-000044"]


def test_every_scripted_outcome_appears_and_most_payments_are_ordinary() -> None:
    sample = list(islice(orders(seed=7, first=1, per_second=2, stuck=True), 3000))
    endings = {o.phone.removeprefix(SCRIPTED) for o in sample if o.phone.startswith(SCRIPTED)}
    assert endings == {f"{n:02}" for n in range(2, 16)}
    ordinary = sum(not o.phone.startswith(SCRIPTED) for o in sample)
    assert 1800 < ordinary < 2200


def test_without_stuck_prompts_every_order_can_become_final() -> None:
    sample = islice(orders(seed=7, first=1, per_second=2, stuck=False), 3000)
    assert all(o.phone != SCRIPTED + "10" for o in sample)


def test_every_phone_is_a_tanzanian_mobile_number() -> None:
    sample = islice(orders(seed=7, first=1, per_second=2, stuck=True), 500)
    assert all(normalise_phone(o.phone) == o.phone for o in sample)
