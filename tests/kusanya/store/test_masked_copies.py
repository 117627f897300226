"""A masked copy may be handed on: no phone and no words of a customer are in it."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis.strategies import text
from msgspec.structs import replace
from tests.kusanya.store.customer import PHONE as CUSTOMER
from tests.kusanya.store.customer import SPELLINGS, begin, end, fill, kept

from kusanya.clock import ManualClock
from kusanya.privacy import PhoneError, mask_phone, normalise_phone
from kusanya.state.observation import Source
from kusanya.store import Store
from kusanya.store.maintenance.masks import Masks
from kusanya.store.records import BreakSubject
from kusanya.store.tables.payload import pack_headers
from kusanya.store.tables.schema import (
    acknowledgement,
    audit,
    break_fact,
    delivery,
    event,
    intent,
    note,
)
from kusanya.wire import Mode

PHONE = "255754123987"


def normalised(phone: str) -> str | None:
    try:
        return normalise_phone(phone)
    except PhoneError:
        return None


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


def masked_copy(store: Store, path: Path) -> Store:
    long_after = datetime.now(UTC) + timedelta(days=900)
    store.maintenance.copy(path, as_of=long_after, masked=True)
    return Store.open(path, read_only=True)


def test_nothing_that_a_customer_said_or_is_called_is_in_a_masked_copy(
    store: Store, make: Any, tmp_path: Path
) -> None:
    fill(store, make)
    end(store, make, begin(store, make, "R", key="k"), "col_8", sentence=f"{CUSTOMER} is asked")
    store.record(make.observation(70, new={"seen by": "Juma"}, metadata={"name": "Juma"}))
    with masked_copy(store, tmp_path / "masked.db") as copy:
        left = (tmp_path / "masked.db").read_bytes()
        assert not SPELLINGS.search(left)
        for word in (b"Neema", b"Juma", b"called", b"asked 0"):
            assert word not in left
        assert {row["body"] for row in kept(copy, delivery)} == {None}
        assert {row["headers"] for row in kept(copy, delivery)} == {pack_headers(())}
        assert {row["body"] for row in kept(copy, intent)} == {b""}
        [said_of] = [row["outcome"] for row in kept(copy, intent) if row["reference"] == "R"]
        assert re.fullmatch(r"2550[0-9]{5}001 is asked", said_of)
        row = copy.collections.get("col_70", Mode.TEST)
        assert row is not None
        [fact] = copy.collections.observations("col_70", Mode.TEST)
        said = json.loads(fact.collection.raw)
        hidden = re.compile(r"\(hidden [0-9a-f]{8}\)")
        assert set(said["metadata"]) == {"hidden"}
        assert hidden.fullmatch(said["metadata"]["hidden"])
        assert hidden.fullmatch(said["new"])
        for table, column in (
            (note, "text"),
            (audit, "detail"),
            (acknowledgement, "reason"),
            (break_fact, "note"),
        ):
            words = [one[column] for one in kept(copy, table) if one[column] is not None]
            assert all(map(hidden.fullmatch, words)), table.name
            before = [one[column] for one in kept(store, table) if one[column] is not None]
            assert len(words) == len(before) > 0
            assert len(set(words)) == len(set(before))


def test_digests_and_ids_that_follow_from_a_phone_are_others_in_a_masked_copy(
    store: Store, make: Any, tmp_path: Path
) -> None:
    fill(store, make)
    plain = BreakSubject(
        break_id="fedcba9876543210", leg="books", code="missing_in_ledger", reference="INV-9"
    )
    store.breaks.record(plain, Mode.TEST, actor="asha", note="seen")
    with masked_copy(store, tmp_path / "masked.db") as copy:
        digests = [row["digest"] for row in kept(store, event)]
        hidden = [row["digest"] for row in kept(copy, event)]
        assert set(map(len, hidden)) == set(map(len, digests))
        assert not set(hidden) & set(digests)
        assert len(set(hidden)) == len(set(digests))
        of_phone, of_none = kept(copy, break_fact)
        assert of_phone["break_id"] != "0123456789abcdef"
        assert len(of_phone["break_id"]) == 16
        assert CUSTOMER not in of_phone["reference"]
        assert of_phone["reference"].startswith("SHOP-2550")
        assert (of_none["break_id"], of_none["reference"]) == ("fedcba9876543210", "INV-9")


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
    if len(digits) >= 8:
        assert len(masked) == len(normalised(phone) or digits)
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
