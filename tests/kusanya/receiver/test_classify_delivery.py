"""What a delivery is judged to be, from its bytes alone."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kusanya.receiver.peers import Headers, SignHeaders

from kusanya.errors import ConfigurationError
from kusanya.receiver import EndpointSecrets
from kusanya.receiver.classification import answer_text, classify
from kusanya.receiver.endpoints import AnySecrets, Endpoints
from kusanya.secret import Secret
from kusanya.state import Dispute, Source
from kusanya.store.records import Arrival, Verdict
from kusanya.wire import Mode

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32
OTHER = "whsec_" + "b" * 32
BOTH = [EndpointSecrets("till", Mode.TEST, SECRET), EndpointSecrets("shop", Mode.LIVE, OTHER)]

Body = Callable[..., bytes]


def classified(
    payload: bytes,
    headers: Headers,
    secrets: AnySecrets = EndpointSecrets("webhooks", Mode.TEST, SECRET),  # noqa: B008 - frozen
    path: str = "/",
) -> Arrival:
    return classify(
        payload,
        headers,
        arrived_at=NOON,
        endpoints=Endpoints.of(secrets),
        path=path,
        took_us=7,
    )


@pytest.mark.spec("signature-2")
def test_an_authentic_delivery_is_verified_and_carries_its_fact(
    body: Body, sign_headers: SignHeaders
) -> None:
    payload = body()
    arrival = classified(payload, sign_headers(payload))
    assert arrival.verdict is Verdict.VERIFIED
    assert (arrival.answer, arrival.reason, arrival.took_us) == (200, None, 7)
    assert (arrival.endpoint, arrival.observed_in) == ("webhooks", Mode.TEST)
    assert arrival.body == payload
    assert arrival.headers == tuple(sign_headers(payload))
    assert (arrival.signed_at, arrival.arrived_at) == (NOON, NOON)
    assert (arrival.event_id, arrival.event_type) == ("evt_1", "collection.succeeded")
    assert (arrival.collection_id, arrival.reference) == ("col_1", "order-1")
    assert (arrival.amount, arrival.currency) == (5000, "TZS")
    fact = arrival.observation
    assert fact is not None
    assert (fact.source, fact.source_id, fact.event_id) == (Source.EVENT, "evt_1", "evt_1")
    assert (fact.observed_in, fact.observed_at, fact.replayed) == (Mode.TEST, NOON, False)
    assert fact.collection.raw == payload[payload.index(b'{"id":"col_1"') : -1]


@pytest.mark.spec("signature-4")
@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(-300, None), (300, None), (-301, "too_old"), (301, "too_new")],
)
def test_a_signature_is_judged_against_the_time_of_arrival(
    body: Body, sign_headers: SignHeaders, seconds: int, reason: str | None
) -> None:
    payload = body()
    arrival = classified(payload, sign_headers(payload, at=NOON + timedelta(seconds=seconds)))
    assert arrival.reason == reason
    assert arrival.answer == (200 if reason is None else 400)


def test_a_rejected_delivery_shows_its_claims_and_no_fact(
    body: Body, sign_headers: SignHeaders
) -> None:
    payload = body()
    arrival = classified(payload, sign_headers(payload, secret=OTHER))
    assert (arrival.verdict, arrival.reason) == (Verdict.REJECTED, "no_match")
    assert (arrival.answer, arrival.observation, arrival.signed_at) == (400, None, None)
    assert (arrival.event_id, arrival.collection_id) == ("evt_1", "col_1")
    assert (arrival.reference, arrival.amount, arrival.currency) == ("order-1", 5000, "TZS")
    assert arrival.event_created_at == NOON
    assert arrival.body == payload


@pytest.mark.spec("signature-4")
def test_a_missing_and_a_doubled_signature_header_are_rejected(
    body: Body, sign_headers: SignHeaders
) -> None:
    payload = body()
    headers = sign_headers(payload)
    bare = [pair for pair in headers if pair[0] != b"service-signature"]
    assert classified(payload, bare).reason == "missing"
    assert classified(payload, [*headers, headers[-1]]).reason == "duplicate_header"
    joined = [*bare, (b"service-signature", headers[-1][1] + b", " + headers[-1][1])]
    assert classified(payload, joined).reason == "duplicate_header"


def test_the_signature_header_has_the_name_it_was_configured_with(
    body: Body, sign_headers: SignHeaders
) -> None:
    payload = body()
    renamed = [(b"x-shop-signature", sign_headers(payload)[-1][1])]
    endpoints = Endpoints.of(SECRET, mode="test", signature_header="X-Shop-Signature")
    arrival = classify(payload, renamed, arrived_at=NOON, endpoints=endpoints)
    assert arrival.verdict is Verdict.VERIFIED


@pytest.mark.spec("authentication-4")
def test_the_secret_that_matches_decides_the_endpoint(
    body: Body, sign_headers: SignHeaders
) -> None:
    live = body(mode="live", data={"mode": "live"})
    arrival = classified(live, sign_headers(live, secret=OTHER), BOTH, path="/till")
    assert (arrival.endpoint, arrival.observed_in) == ("shop", Mode.LIVE)
    assert (arrival.verdict, arrival.secrets_tried) == (Verdict.VERIFIED, 2)
    test = body()
    assert classified(test, sign_headers(test), BOTH).endpoint == "till"


def test_a_rotated_endpoint_accepts_either_of_its_secrets(
    body: Body, sign_headers: SignHeaders
) -> None:
    payload = body()
    rotating = [EndpointSecrets("till", Mode.TEST, [OTHER, SECRET])]
    for secret in (SECRET, OTHER):
        assert (
            classified(payload, sign_headers(payload, secret=secret), rotating).endpoint == "till"
        )
    bare = Endpoints.of([OTHER, SECRET], mode="test")
    found = classify(payload, sign_headers(payload), arrived_at=NOON, endpoints=bare)
    assert (found.verdict, found.observed_in) == (Verdict.VERIFIED, Mode.TEST)


@pytest.mark.parametrize(
    ("path", "endpoint", "mode"),
    [
        pytest.param("/hooks/shop", "shop", Mode.LIVE, id="named"),
        pytest.param("/hooks/shop/", "shop", Mode.LIVE, id="named, trailing slash"),
        pytest.param("/", "unknown", Mode.TEST, id="unnamed: filed where it claims to belong"),
    ],
)
def test_a_rejected_delivery_belongs_to_the_endpoint_its_path_names(
    body: Body, sign_headers: SignHeaders, path: str, endpoint: str, mode: Mode
) -> None:
    payload = body()
    arrival = classified(payload, sign_headers(payload, secret="whsec_forged"), BOTH, path=path)
    assert (arrival.endpoint, arrival.observed_in) == (endpoint, mode)
    claims_live = body(mode="live")
    forged = classified(claims_live, sign_headers(claims_live, secret="whsec_forged"), BOTH)
    assert (forged.endpoint, forged.observed_in) == ("unknown", Mode.LIVE)


@pytest.mark.spec("authentication-4")
@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"mode": "live", "data": {"mode": "live"}}, id="all of it"),
        pytest.param({"mode": "live"}, id="the event"),
        pytest.param({"data": {"mode": "live"}}, id="the collection"),
    ],
)
def test_an_event_of_the_other_mode_is_refused_and_has_no_effect(
    body: Body, sign_headers: SignHeaders, changes: dict[str, Any]
) -> None:
    payload = body(**changes)
    arrival = classified(payload, sign_headers(payload))
    assert (arrival.verdict, arrival.reason) == (Verdict.WRONG_MODE, "wrong_mode")
    assert (arrival.answer, arrival.observed_in) == (400, Mode.TEST)
    assert arrival.observation is not None
    assert arrival.observation.disputed is Dispute.OTHER_MODE
    assert not any(arrival.observation.counts_in(mode) for mode in Mode)
    assert answer_text(arrival).startswith("wrong_mode: this endpoint and its signing secret")
    assert arrival.event_mode == json.loads(payload)["mode"]


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


def test_type_and_status_may_disagree_and_unknown_ones_are_kept(
    body: Body, sign_headers: SignHeaders
) -> None:
    for said in (
        {"type": "collection.failed"},
        {"type": "collection.refunded", "data": {"status": "refunded"}},
    ):
        payload = body(**said)
        arrival = classified(payload, sign_headers(payload))
        assert arrival.verdict is Verdict.VERIFIED
        assert arrival.event_type == said["type"]
        assert arrival.observation is not None


@pytest.mark.parametrize(
    "secrets",
    [
        pytest.param([], id="none"),
        pytest.param([EndpointSecrets("a", Mode.TEST, "whsec_x"), "whsec_y"], id="a mixture"),
        pytest.param(
            [
                EndpointSecrets("a", Mode.TEST, "whsec_x"),
                EndpointSecrets("a", Mode.LIVE, "whsec_y"),
            ],
            id="one name twice",
        ),
        pytest.param(
            [
                EndpointSecrets("a", Mode.TEST, "whsec_x"),
                EndpointSecrets("b", Mode.LIVE, "whsec_x"),
            ],
            id="one secret for two modes",
        ),
    ],
)
def test_secrets_that_cannot_be_used_are_refused_at_once(secrets: AnySecrets) -> None:
    with pytest.raises(ConfigurationError):
        Endpoints.of(secrets)


def test_an_endpoint_needs_a_name_a_mode_and_a_real_secret() -> None:
    for name, secrets in (("", ["whsec_x"]), ("a", [])):
        with pytest.raises(ConfigurationError):
            EndpointSecrets(name, Mode.TEST, secrets)
    for bad in ("", " whsec_x", "whsec_", "x"):
        with pytest.raises(ConfigurationError, match="endpoint 'a'"):
            EndpointSecrets("a", Mode.TEST, bad)
    with pytest.raises(ConfigurationError, match="prod"):
        EndpointSecrets("a", "prod", "whsec_x")  # type: ignore[arg-type] # what a profile may hold
    held = EndpointSecrets("a", Mode.TEST, ["whsec_x", Secret("whsec_y")])
    assert "'x'" not in repr(held)
    assert held.every_secret == (Secret("whsec_x"), Secret("whsec_y"))


def test_of_the_headers_only_those_that_are_evidence_are_kept_within_a_bound(
    body: Body, sign_headers: SignHeaders
) -> None:
    payload = body()
    own = sign_headers(payload)
    added = [(b"x-filler-%d" % n, b"x" * 240) for n in range(50)]
    sender = [(b"user-agent", b"sender/1"), (b"x-forwarded-for", b"198.51.100.7")]
    assert classified(payload, [*added, *own, *sender]).headers == (*own, *sender)
    flood = [(b"x-forwarded-for", b"198.51.100.7 " * 75)] * 50
    kept = classified(payload, [*own, *flood]).headers
    assert kept[:4] == tuple(own)
    assert sum(len(name) + len(value) for name, value in kept) <= 8 * 1024
    renamed = Endpoints.of(SECRET, mode="test", signature_header="X-Shop-Signature")
    its = [(b"x-shop-signature", own[-1][1]), (b"service-signature", b"t=1,v1=00")]
    assert classify(payload, its, arrived_at=NOON, endpoints=renamed).headers == tuple(its[:1])
    forged = classified(payload, [*added, *sign_headers(payload, secret=OTHER)])
    assert (forged.verdict, len(forged.headers)) == (Verdict.REJECTED, 4)
