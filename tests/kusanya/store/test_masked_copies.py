"""A masked copy may be handed on: no phone and no words of a customer are in it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis.strategies import text
from msgspec.structs import replace

from kusanya.clock import ManualClock
from kusanya.privacy import mask_phone
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.maintenance.masks import Masks
from kusanya.wire import Mode

PHONE = "255754123987"


def test_two_customers_stay_two_and_one_stays_one_in_a_masked_copy(
    store: Store, make: Any, clock: ManualClock, tmp_path: Path
) -> None:
    for number, phone in ((1, "255754111000"), (2, "255754222000"), (3, "255754111000")):
        store.record(make.observation(number, source=Source.ANSWER, phone=phone))
    # Facts of one collection that differ only in what is hidden stay two facts that disagree.
    store.record(make.observation(1, source=Source.POLL, phone="255754222000", description="x"))
    path = tmp_path / "masked.db"
    store.maintenance.copy(path, as_of=datetime.now(UTC) + timedelta(days=900), masked=True)
    with Store.open(path, read_only=True) as copy:
        phones = {row.id: row.phone for row in copy.collections.page(Mode.TEST).rows}
        assert phones["col_1"] == phones["col_3"] != phones["col_2"]
        assert len(copy.collections.observations("col_1", Mode.TEST)) == 2
        found = copy.collections.get("col_1", Mode.TEST)
        before = store.collections.get("col_1", Mode.TEST)
        assert found is not None
        assert before is not None
        assert found.contradictions == before.contradictions > 0
        assert copy.collections.by_phone(Mode.TEST, phones["col_1"])


@given(text("0123456789+ -255", max_size=20))
@example("255754000412")
@example("0754000412")
@example("254712345678")
@example("2557540")
@example("")
def test_a_masked_phone_is_no_phone_and_shown_as_the_phone_was(phone: str) -> None:
    masked = Masks().phone(phone)
    digits = "".join(character for character in phone if character.isdigit())
    assert mask_phone(masked)[-3:] == mask_phone(phone)[-3:]
    assert masked.removeprefix("255").startswith("0")
    assert len(digits) < 8 or digits not in masked or set(digits[:-3]) == {"0"}


def test_what_a_forged_delivery_claims_is_searched_for_phones(
    store: Store, make: Any, tmp_path: Path
) -> None:
    forged = replace(
        make.rejected(1), event_id=f"evt_{PHONE}", event_type=f"pay {PHONE}", reference=PHONE,
        collection_id=f"col_{PHONE}", currency="0754123987", event_mode=f"0{PHONE[3:]}",
    )  # fmt: skip
    store.record(forged)
    store.maintenance.copy(
        tmp_path / "masked.db", as_of=make.noon + timedelta(hours=1), masked=True
    )
    assert b"754123987" not in (tmp_path / "masked.db").read_bytes()
