"""What a delivery is judged to be: its signature, its endpoint, its mode, and what is kept."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.kusanya.receiver.judging import BOTH, NOON, OTHER, classified
from tests.kusanya.receiver.peers import SECRET, SignHeaders

from kusanya.receiver import EndpointSecrets
from kusanya.receiver.classification import answer_text, classify
from kusanya.receiver.endpoints import Endpoints
from kusanya.state import Dispute, Source
from kusanya.store.records import Verdict
from kusanya.wire import Mode

Body = Callable[..., bytes]


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
    room = 8 * 1024 - sum(len(name) + len(value) for name, value in own) - len(b"user-agent")
    for length, fits in ((room, True), (room + 1, False)):
        wide = (b"user-agent", b"x" * length)
        assert (wide in classified(payload, [*own, wide]).headers) is fits
    renamed = Endpoints.of(SECRET, mode="test", signature_header="X-Shop-Signature")
    its = [(b"x-shop-signature", own[-1][1]), (b"service-signature", b"t=1,v1=00")]
    assert classify(payload, its, arrived_at=NOON, endpoints=renamed).headers == tuple(its[:1])
    forged = classified(payload, [*added, *sign_headers(payload, secret=OTHER)])
    assert (forged.verdict, len(forged.headers)) == (Verdict.REJECTED, 4)
