"""What the body of an authentic delivery must be to be an event; no body makes judging raise."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kusanya.receiver.judging import BOTH, OTHER, classified
from tests.kusanya.receiver.peers import SignHeaders

from kusanya.store.records import Verdict

Body = Callable[..., bytes]
DEEP = b"[" * 100_000
UNREADABLE = {
    "empty": (b"", "not_json"),
    "no JSON": (b"hello", "not_json"),
    "cut short": (b'{"id":"evt_1"', "not_json"),
    "a list": (b"[]", "not_an_event"),
    "null": (b"null", "not_an_event"),
    "NaN": (b'{"id":NaN}', "not_json"),
    "byte order mark": (b'\xef\xbb\xbf{"id":"evt_1"}', "not_json"),
    "UTF-16": ("{}".encode("utf-16"), "not_json"),
    "not UTF-8": (b'{"id":"evt_\xff"}', "not_utf8"),
    "deep": (DEEP, "too_deep"),
    "lone surrogate": (b'{"id":"evt_\\ud800"}', "not_json"),
    "an event without data": (b'{"id":"evt_1","type":"x","mode":"test"}', "not_an_event"),
}


@pytest.mark.parametrize(("payload", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_authentic_body_that_is_no_event_is_kept_and_acknowledged(
    sign_headers: SignHeaders, payload: bytes, reason: str
) -> None:
    arrival = classified(payload, sign_headers(payload))
    assert (arrival.verdict, arrival.reason) == (Verdict.UNPARSEABLE, reason)
    assert (arrival.answer, arrival.observation) == (200, None)
    assert arrival.body == payload


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("amount", 5000.0, id="amount is a float"),
        pytest.param("amount", True, id="amount is a boolean"),
        pytest.param("amount", "5000", id="amount is text"),
        pytest.param("fee", 2**63, id="fee is too large for both engines"),
        pytest.param("mode", "prod", id="a mode that does not exist"),
        pytest.param("created_at", "2026-03-02T12:00:00", id="an instant without its offset"),
        pytest.param("created_at", "9999-12-31T23:59:59-05:00", id="an instant beyond time"),
        pytest.param("id", "col/../x", id="an id that is no id"),
    ],
)
def test_a_collection_with_an_impossible_field_is_unparseable_and_shows_what_it_says(
    body: Body, sign_headers: SignHeaders, field: str, value: Any
) -> None:
    payload = body(data={field: value})
    arrival = classified(payload, sign_headers(payload))
    assert (arrival.verdict, arrival.reason) == (Verdict.UNPARSEABLE, "not_an_event")
    assert (arrival.event_id, arrival.reference) == ("evt_1", "order-1")


@pytest.mark.parametrize(
    "twice",
    [
        pytest.param(lambda b: b.replace(b'"amount":', b'"amount":1,"amount":'), id="the amount"),
        *(
            pytest.param(lambda b, s=s: b.replace(b'"fee":', b'"fee"%s:1,"fee":' % s), id=repr(s))
            for s in (b" ", b"\n", b"\t", b"\r")
        ),
        pytest.param(lambda b: b.replace(b'"id":"evt', b'"id":"evt_9","id":"evt'), id="the id"),
        pytest.param(lambda b: b.replace(b'"fee":', b'"fe\\u0065":1,"fee":'), id="escaped"),
        pytest.param(lambda b: b[:-1] + b',"new":[{"a":1,"a":2}]}', id="in a list we do not know"),
        pytest.param(lambda b: b.replace(b'"data":', b'"data" : {} , "data" :'), id="the data"),
    ],
)
def test_a_key_that_comes_twice_makes_a_body_unparseable(
    body: Body, sign_headers: SignHeaders, twice: Callable[[bytes], bytes]
) -> None:
    payload = twice(body())
    arrival = classified(payload, sign_headers(payload))
    assert (arrival.verdict, arrival.reason) == (Verdict.UNPARSEABLE, "duplicate_keys")
    assert arrival.observation is None


OPTIONAL = {
    "object": '"collection"',
    "description": '"School \\": fees"',
    "failure_code": "null",
    "failure_message": '"no : money"',
    "metadata": '{"object":"1","a":"2"}',
    "new": '{"object":1,"b":{"c":2}}',
}


def _has_a_key_twice(payload: bytes) -> bool:
    found = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        found.append(len(names) != len(set(names)))
        return dict(pairs)

    json.loads(payload, object_pairs_hook=look)
    return any(found)


@given(st.data())
def test_every_repetition_of_a_key_is_found_and_nothing_else_is_one(
    body: Body, sign_headers: SignHeaders, data: st.DataObject
) -> None:
    event = json.loads(body())
    inner = [(name, json.dumps(value)) for name, value in event["data"].items()]
    inner = [pair for pair in inner if pair[0] != "object"]
    inner += data.draw(st.lists(st.sampled_from(list(OPTIONAL.items())), max_size=5))
    if data.draw(st.booleans()):
        inner.append(data.draw(st.sampled_from(inner)))
    metadata = data.draw(st.sampled_from(["", ',"a":"3"', ',"object":"2"']))
    inner = [(n, v.replace('"2"', f'"2"{metadata}') if n == "metadata" else v) for n, v in inner]
    colon = data.draw(st.sampled_from([":", ": ", " :", "\t:", "\n:"]))
    outer = [(name, json.dumps(value)) for name, value in event.items() if name != "data"]
    outer.append(("data", "{" + ",".join(f'"{n}"{colon}{v}' for n, v in inner) + "}"))
    outer += data.draw(st.lists(st.sampled_from([("object", '"event"'), outer[0]]), max_size=1))
    payload = ("{" + ", ".join(f'"{n}":{v}' for n, v in outer) + "}").encode()
    reason = classified(payload, sign_headers(payload)).reason
    assert (reason == "duplicate_keys") == _has_a_key_twice(payload)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.merge
@given(st.dictionaries(st.text(max_size=6), json_values, max_size=6))
def test_colons_quotes_and_backslashes_in_text_are_no_repeated_keys(
    body: Body, sign_headers: SignHeaders, metadata: dict[str, Any]
) -> None:
    plain = body(data={"metadata": metadata})
    pretty = json.dumps(json.loads(plain), indent=1, ensure_ascii=False).encode()
    for payload in (plain, pretty):
        assert classified(payload, sign_headers(payload)).verdict is Verdict.VERIFIED


@given(
    st.binary(max_size=200)
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries(
        dict.fromkeys(("id", "type", "created_at", "mode"), json_values)
        | {
            "data": json_values
            | st.dictionaries(
                st.sampled_from(["id", "reference", "amount", "currency"]), json_values
            )
        }
    ).map(lambda value: json.dumps(value).encode())
)
def test_no_body_makes_judging_raise(sign_headers: SignHeaders, payload: bytes) -> None:
    assert classified(payload, sign_headers(payload)).answer == 200
    forged = classified(payload, sign_headers(payload, secret=OTHER), BOTH)
    assert forged.verdict in {Verdict.REJECTED, Verdict.UNPARSEABLE, Verdict.WRONG_MODE}
    assert classified(payload, []).reason == "missing"


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        pytest.param({"amount": True}, {"amount": None}, id="a boolean is no amount"),
        pytest.param({"amount": 2**63}, {"amount": None}, id="too large"),
        pytest.param({"amount": 2**63 - 1}, {"amount": 2**63 - 1}, id="the largest"),
        pytest.param({"amount": 5.5}, {"amount": None}, id="no integer"),
        pytest.param({"reference": "r" * 9000}, {"reference": "r" * 255}, id="a long reference"),
        pytest.param({"reference": 5}, {"reference": None}, id="no text"),
        pytest.param({"id": "nonsense"}, {"collection_id": None}, id="no id"),
    ],
)
def test_claims_are_bounded(
    body: Body, sign_headers: SignHeaders, data: dict[str, Any], seen: dict[str, Any]
) -> None:
    payload = body(data=data)
    arrival = classified(payload, sign_headers(payload, secret=OTHER))
    assert {name: getattr(arrival, name) for name in seen} == seen
