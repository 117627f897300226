"""Reading what the service sends: strict about types, open about what is new."""

import copy
import json
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.domain.status import EVENT_TYPES, FINAL, Status
from kusanya.errors import WireError
from kusanya.wire import (
    Collection,
    Mode,
    decode_collection,
    decode_event,
    decode_principal,
    is_collection_id,
    is_event_id,
    is_idempotency_key,
    mode_of_key,
)

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
COLLECTION: dict[str, Any] = {
    "id": "col_1",
    "object": "collection",
    "status": "created",
    "amount": 5000,
    "fee": 50,
    "currency": "TZS",
    "channel": "MPESA_TZ",
    "phone": "255754000001",
    "reference": "order-1",
    "mode": "test",
    "created_at": "2026-03-02T12:00:00Z",
}
EVENT: dict[str, Any] = {
    "id": "evt_1",
    "type": "collection.succeeded",
    "created_at": "2026-03-02T12:00:12Z",
    "mode": "test",
    "data": COLLECTION | {"status": "succeeded", "completed_at": "2026-03-02T12:00:12Z"},
}
PRINCIPAL = {"key_id": "key_1", "merchant_id": "mer_1", "mode": "live", "object": "principal"}


def raw(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.spec("fields-collection")
def test_a_collection_is_read_into_types() -> None:
    full = COLLECTION | {
        "description": "Shoes",
        "metadata": {"till": "7"},
        "failure_code": "declined",
        "failure_message": "No",
        "completed_at": "2026-03-02T15:00:00+03:00",
    }
    found = decode_collection(raw(full))
    assert (found.id, found.status, found.amount, found.fee) == ("col_1", "created", 5000, 50)
    assert (found.mode, found.created_at, found.completed_at) == (Mode.TEST, NOON, NOON)
    assert (found.description, found.metadata) == ("Shoes", {"till": "7"})
    assert (found.failure_code, found.failure_message) == ("declined", "No")
    assert found.raw == raw(full)
    assert found.extra == {}


@pytest.mark.spec("fields-collection")
def test_absent_and_null_are_the_same() -> None:
    later = ("description", "metadata", "failure_code", "failure_message", "completed_at")
    nulls = decode_collection(raw(COLLECTION | dict.fromkeys(later)))
    assert nulls == decode_collection(raw(COLLECTION))
    assert all(getattr(nulls, name) is None for name in later)


@pytest.mark.spec("versioning")
def test_what_a_newer_service_adds_is_kept_and_what_it_renames_is_shown() -> None:
    newer = COLLECTION | {"status": "held", "channel": "NEW_TZ", "settlement": {"net": [1]}}
    found = decode_collection(raw(newer))
    assert (found.status, found.channel) == ("held", "NEW_TZ")
    assert found.extra == {"settlement": {"net": [1]}}
    assert not found.is_final


@pytest.mark.spec("fields-event")
def test_a_status_that_the_service_added_is_its_own_word_and_none_of_ours() -> None:
    found = decode_collection(raw(COLLECTION | {"status": "refunded"}))
    sent = pickle.loads(pickle.dumps(found.status))  # noqa: S301 - our own bytes
    for status in (found.status, sent, copy.deepcopy(found).status):
        assert isinstance(status, Status)
        assert (status, f"{status}", status.value) == ("refunded", "refunded", "refunded")
        assert status not in set(Status)
    assert not found.is_final
    assert not found.is_paid
    assert "status='refunded'" in repr(found)
    assert json.loads(msgspec.json.encode(found))["status"] == "refunded"
    with pytest.raises(ValueError, match="7 is not a valid Status"):
        Status(7)  # type: ignore[arg-type] # that is the test


def test_an_event_keeps_its_own_bytes_and_its_collections() -> None:
    spaced = json.dumps(EVENT, indent=2).encode()
    event = decode_event(spaced)
    assert (event.id, event.type, event.mode) == ("evt_1", "collection.succeeded", Mode.TEST)
    assert event.raw == spaced
    assert event.data.raw in spaced
    assert decode_collection(event.data.raw) == event.data
    assert decode_event(raw(EVENT | {"api": 2})).extra == {"api": 2}


@pytest.mark.spec("fields-principal")
def test_a_principal_is_read() -> None:
    found = decode_principal(raw(PRINCIPAL))
    assert (found.key_id, found.merchant_id, found.mode) == ("key_1", "mer_1", Mode.LIVE)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", 5000.0),
        ("amount", "5000"),
        ("amount", True),
        ("amount", None),
        ("amount", 2**63),
        ("amount", -(2**63) - 1),
        ("fee", 1e400),
        ("status", 1),
        ("mode", "prod"),
        ("mode", None),
        ("phone", 255754000001),
        ("created_at", "yesterday"),
        ("created_at", "2026-03-02T12:00:00"),
        ("created_at", 1772452800),
        ("created_at", "9999-12-31T23:59:59-05:00"),
        ("created_at", "0001-01-01T00:00:00+05:00"),
        ("completed_at", "9999-12-31T23:59:59-05:00"),
        ("completed_at", "0001-01-01T00:00:00Z"),
        ("created_at", "9999-12-31T23:59:59Z"),
        ("metadata", []),
        ("id", "evt_1"),
        ("id", "col_"),
        ("id", "col_a/b"),
        ("id", "col_1\n"),
        ("id", "col_" + "a" * 121),
    ],
    ids=repr,
)
def test_a_field_of_another_type_is_refused_without_quoting_it(field: str, value: Any) -> None:
    with pytest.raises(WireError) as caught:
        decode_collection(raw(COLLECTION | {field: value}))
    if isinstance(value, str) and value != "col_":
        assert value not in str(caught.value)


@pytest.mark.parametrize(
    "at",
    [
        *("2026-03-02T12:00:12", "9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+05:00"),
        *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"),
    ],
)
def test_an_event_of_no_instant_is_refused(at: str) -> None:
    with pytest.raises(WireError):
        decode_event(raw(EVENT | {"created_at": at}))
    there = decode_event(raw(EVENT | {"created_at": "2026-03-02T15:00:12+03:00"}))
    assert there.created_at == NOON.replace(second=12)


@pytest.mark.parametrize("field", sorted(COLLECTION.keys() - {"object"}))
def test_a_field_that_is_always_there_may_not_be_missing(field: str) -> None:
    with pytest.raises(WireError):
        decode_collection(raw({k: v for k, v in COLLECTION.items() if k != field}))


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{", id="cut"),
        pytest.param(b"\xef\xbb\xbf{}", id="byte order mark"),
        pytest.param(b'{"id":"\xff"}', id="not UTF-8"),
        pytest.param(b'{"id":"\\ud800"}', id="a lone surrogate"),
        pytest.param(b"[" * 200_000, id="deep"),
        pytest.param(b'{"x":' + b"[" * 200_000, id="deep in a new field"),
        pytest.param(b'{"amount":' + b"9" * 5000 + b"}", id="5,000 digits"),
        pytest.param(b'{"amount":NaN}', id="NaN"),
        pytest.param(b"{} {}", id="two values"),
    ],
)
@pytest.mark.parametrize("decode", [decode_collection, decode_event, decode_principal])
def test_bytes_that_are_no_resource_raise_one_error(
    decode: Callable[[bytes], object], payload: bytes
) -> None:
    with pytest.raises(WireError):
        decode(payload)


@given(st.binary(max_size=100) | st.text(max_size=60).map(str.encode))
def test_no_bytes_raise_anything_else(payload: bytes) -> None:
    for decode in (decode_collection, decode_event, decode_principal):
        with pytest.raises(WireError):
            decode(payload)


def test_two_readings_of_the_same_facts_are_equal_and_no_repr_shows_a_phone() -> None:
    one, other = decode_event(raw(EVENT)), decode_event(json.dumps(EVENT, indent=3).encode())
    assert one == other
    assert one.raw != other.raw
    for shown in (repr(one), repr(one.data), str(one)):
        assert "255754000001" not in shown
        assert "+255•••••001" in shown


def test_a_value_built_in_memory_has_no_bytes() -> None:
    fields = {k: v for k, v in COLLECTION.items() if k != "created_at"}
    built = Collection(**(fields | {"mode": Mode.TEST, "created_at": NOON}))
    assert (built.raw, built.extra) == (b"", {})
    assert built == decode_collection(raw(COLLECTION))


@pytest.mark.spec("states")
def test_three_states_are_final_and_each_has_its_event() -> None:
    assert frozenset({"succeeded", "failed", "expired"}) == FINAL
    assert set(EVENT_TYPES.values()) == FINAL
    assert EVENT_TYPES["collection.expired"] is Status.EXPIRED
    assert Status.CREATED not in FINAL


@pytest.mark.parametrize("status", [*Status, "refunded"])
def test_a_success_alone_is_paid_and_three_states_are_final(status: str) -> None:
    found = decode_collection(raw(COLLECTION | {"status": status}))
    assert found.is_paid is (status == "succeeded")
    assert found.is_final is (status in {"succeeded", "failed", "expired"})


@pytest.mark.spec("limits-key-length")
@pytest.mark.parametrize(
    ("key", "good"),
    [
        ("a", True),
        ("a" * 255, True),
        ("a b", True),
        ('"abc"', True),
        ("~!", True),
        ("", False),
        ("a" * 256, False),
        (" a", False),
        ("a ", False),
        ("a\tb", False),
        ("a\x7f", False),
        ("é", False),
        ("a\n", False),
    ],
    ids=repr,
)
def test_a_key_is_1_to_255_printable_ascii_without_outer_space(key: str, good: bool) -> None:
    assert is_idempotency_key(key) is good


def test_identifiers_are_recognised_by_their_form() -> None:
    assert is_collection_id("col_aZ0-9_x")
    assert is_event_id("evt_1")
    for text in ("", "col_", "evt_1", "col_a b", "col_1\n", "COL_1", "col_é"):
        assert not is_collection_id(text)
    assert not is_event_id("col_1")


@pytest.mark.spec("authentication-2")
def test_the_prefix_of_a_key_selects_its_mode() -> None:
    assert mode_of_key("svc_test_sk_abc") is Mode.TEST
    assert mode_of_key("svc_live_sk_abc", prefix="svc") is Mode.LIVE
    for key in ("svc_live_sk_abc", "nonsense", "", "svc_demo_sk_abc", "svc_test_pk_abc"):
        assert mode_of_key(key, prefix="pay") is None
