"""Hold a simulated week against the rules, from what crossed the wires and the service's ledger.

Expected values are worked out here by brute force and with numbers written out; nothing but the
wire's own vocabulary is shared with the product. Each message begins with its invariant.
"""

import hashlib
import hmac
from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise
from random import Random
from typing import Any, Final

import msgspec
from tests.simulation.course import NEVER_FINISHES, OURS
from tests.simulation.records import Attempt
from tests.simulation.world import START, World

from kusanya.state import fold
from kusanya.store.records import IntentState, Verdict
from kusanya.wire import Mode

_DAY_MS: Final = 86_400_000
_GAPS_MS: Final = (60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000)
_FINAL: Final = {"succeeded", "failed", "expired"}
_ALL_TIME: Final = datetime.fromisoformat("2026-12-31T00:00:00+00:00")


class Violation(AssertionError):  # noqa: N818 - says what it is
    """A rule was broken."""


def _hold(condition: object, sentence: str) -> None:
    if not condition:
        raise Violation(sentence)


class Ledger(msgspec.Struct, kw_only=True):
    """What the service itself holds at the end."""

    collections: dict[str, dict[str, Any]]
    events: dict[str, bytes]


async def check(world: World) -> Ledger:
    """Raise Violation for the first rule that the week broke; returns the service's ledger."""
    ledger = await ledger_of(world)
    check_service(world, ledger)
    _sending(world)
    _hold(_disabled(world)["dead.example"], "S14: three days of failure disabled nothing")
    _receiving(world, ledger)
    _store(world, ledger)
    _ends(world, ledger)
    return ledger


def check_service(world: World, ledger: Ledger) -> None:
    """Raise Violation for the first rule that the service broke."""
    _creating(world, ledger)
    _delivering(world)
    _events(world, ledger)


async def ledger_of(world: World) -> Ledger:
    """Return what the service holds now, also events that a disabled endpoint never saw."""
    collections: dict[str, dict[str, Any]] = {}
    sent = {(said["id"], said["mode"]) for said in _sent(world)}
    for mode in Mode:
        collections |= {one["id"]: one for one in await _listed(world, "collections", mode)}
        held = await _listed(world, "deliveries", mode)
        sent |= {(one["event_id"], mode.value) for one in held}
    events = {}
    for event_id, mode_name in sorted(sent):
        answered = await world.v1(Mode(mode_name), "GET", f"/v1/events/{event_id}")
        _hold(answered is not None and answered[0] == 200, "S8: an event that was sent is unknown")
        if answered is not None:
            events[event_id] = answered[2]
    return Ledger(collections=collections, events=events)


def _sent(world: World) -> list[dict[str, Any]]:
    return [msgspec.json.decode(b) for b in {attempt.body for attempt in world.record.attempts}]


async def _listed(world: World, what: str, mode: Mode) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = []
    after = ""
    while True:
        path = f"{what}?mode={mode.value}&limit=100{after}"
        found = (await world.dashboard("GET", path))["data"]
        listed += found
        if len(found) < 100:
            return listed
        after = f"&after={found[-1]['id']}"


def _creating(world: World, ledger: Ledger) -> None:
    """S1, S2, S3, S9: at most one collection per key, replays byte for byte, reuse refused."""
    made: set[str] = set()
    cut: set[tuple[Mode, str]] = set()
    first: dict[tuple[Mode, str], tuple[int, bytes, bytes]] = {}
    for post in world.record.posts:
        known = first.get((post.mode, post.key))
        if known is not None and post.at_ms - known[0] >= _DAY_MS:
            known = None
        if known is None:
            was_cut = (post.mode, post.key) in cut
            _hold(was_cut or not post.replayed, "S2: a first answer says that it is a replay")
            if post.status is None:
                # Cut after the commit: its answer is first seen when it is replayed.
                cut.add((post.mode, post.key))
            if post.status == 202:
                said = msgspec.json.decode(post.answer)
                _hold(said["id"] not in made, "S1: one collection answered two keys")
                _hold(said["status"] == "created", "S6: a collection does not begin as created")
                made.add(said["id"])
                first[post.mode, post.key] = (post.at_ms, post.body, post.answer)
            continue
        if post.status is None:
            continue  # Cut: what was answered is seen when the key is sent again.
        if msgspec.json.decode(post.body) == msgspec.json.decode(known[1]):
            _hold(post.status == 202 and post.replayed, "S2: the same key was not replayed")
            _hold(post.answer == known[2], "S2: a replay has other bytes than the original")
        else:
            code = msgspec.json.decode(post.answer).get("error", {}).get("code")
            _hold(
                post.status == 409 and code == "idempotency_key_reused",
                "S3: another body under a key was not refused",
            )
    # Answers that the service cut are in its ledger alone: one each at most.
    keys = Counter((left.mode, left.key) for left in world.record.left)
    _hold(made <= set(ledger.collections), "S5: an id was answered that is not kept")
    _hold(len(ledger.collections) <= len(keys), "S1: more collections than keys")
    per_reference = Counter((c["mode"], c["reference"]) for c in ledger.collections.values())
    _hold(set(per_reference.values()) <= {1}, "S1: a customer was charged twice for an order")


def _sending(world: World) -> None:
    """S4, S5: one key and one byte string per intent, durable first, and not after 23 hours."""
    first: dict[tuple[Mode, str], tuple[int, bytes]] = {}
    for left in world.record.left:
        _hold(left.kept_body is not None, "S5: a create left before its intent was kept")
        _hold(left.kept_body == left.body, "S4: other bytes left than were kept")
        at_ms, body = first.setdefault((left.mode, left.key), (left.at_ms, left.body))
        _hold(left.body == body, "S4: two byte strings left under one key")
        # By the merchant's own clock it is 23 hours; one that is off must not make it 24.
        window_ms = (24 if world.record.was_skewed else 23) * 3_600_000
        _hold(left.at_ms - at_ms < window_ms, "S4: a key left after its window")
    rows = world.store.intents.page(limit=10_000).rows
    references = Counter((row.mode, row.reference) for row in rows)
    _hold(set(references.values()) <= {1}, "S4: two intents for one order")


def _delivering(world: World) -> None:
    """S12, S13, S14: the schedule, the signatures, and the fuse of each endpoint."""
    lanes: defaultdict[tuple[str, bytes], list[Attempt]] = defaultdict(list)
    for one in world.record.attempts:
        lanes[one.host, one.body].append(one)
        _signed(world, one)
    disabled = _disabled(world)
    for (host, _), attempts in lanes.items():
        scheduled = [one for one in attempts if not one.manual and one.recorded]
        _hold(len(scheduled) <= 7, "S12: more than seven scheduled attempts")
        for before, after, gap in zip(scheduled, scheduled[1:], _GAPS_MS, strict=False):
            attempts_seen = [(o.at_ms, o.status, o.recorded, o.manual) for o in attempts]
            _hold(
                after.at_ms - before.at_ms >= gap, f"S12: before its time: {host} {attempts_seen}"
            )
            _hold(not before.delivered, "S12: an attempt after a success")
        ended = [one for one in attempts if one.recorded and one.delivered]
        later = [o for o in scheduled if ended and o.at_ms > ended[0].at_ms]
        _hold(not later, "S12: an attempt after a success")
        for since, until in disabled[host]:
            inside = [one for one in attempts if since < one.at_ms < until]
            _hold(not inside, "S14: something was sent to a disabled endpoint")


def _signed(world: World, one: Attempt) -> None:
    fields = [part.split("=", 1) for part in one.header.decode().split(",")]
    t = [value for name, value in fields if name == "t"]
    _hold(len(t) == 1, "S13: a signature without one t")
    _hold(0 <= one.wall_ms / 1000 - int(t[0]) <= 1, "S13: t is not the instant of the attempt")
    known = world.record.secrets[one.host]
    before = [secret for since, secret in known if since < one.at_ms][-1:]
    # A rotation at the same instant may have come just before or just after it.
    newest = before + [secret for since, secret in known if since == one.at_ms]
    signed = t[0].encode() + b"." + one.body
    right = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in newest]
    good = any(["v1", digest] in fields for digest in right)
    _hold(good, "S13: the newest secret did not sign the bytes")


def _disabled(world: World) -> defaultdict[str, list[tuple[int, int]]]:
    """Return from when to when each host was disabled, from its attempts alone."""
    spans: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for host in {one.host for one in world.record.attempts}:
        acts: list[tuple[int, bool | None]] = [
            (one.at_ms, one.delivered)
            for one in world.record.attempts
            if one.host == host and one.recorded
        ]
        acts += [(at, None) for at, which in world.record.enabled if which == host]
        # What is enabled is sent to at the same instant, after it.
        spans[host] = _blown(sorted(acts, key=lambda act: (act[0], act[1] is not None)))
        if spans[host] and spans[host][-1][1] < 0:
            spans[host][-1] = (spans[host][-1][0], world.now_ms)
    return spans


def _blown(acts: list[tuple[int, bool | None]]) -> list[tuple[int, int]]:
    """Return the spans of one host; an end of -1 is not reached. None stands for enabling."""
    spans: list[tuple[int, int]] = []
    lit: int | None = None
    for at, delivered in acts:
        blown = bool(spans) and spans[-1][1] < 0
        if delivered is None:
            if blown:
                spans[-1] = (spans[-1][0], at)
            lit = None
        elif blown:
            continue
        elif delivered:
            lit = None
        elif lit is None:
            lit = at
        elif at - lit >= 3 * _DAY_MS:
            spans.append((at, -1))
    return spans


def _events(world: World, ledger: Ledger) -> None:
    """S8: one event per final collection, the same bytes everywhere, data as it was then."""
    bodies: defaultdict[str, set[bytes]] = defaultdict(set)
    by_collection: defaultdict[str, set[str]] = defaultdict(set)
    for body in ledger.events.values():
        said = msgspec.json.decode(body)
        by_collection[said["data"]["id"]].add(said["id"])
    for one in world.record.attempts:
        said = msgspec.json.decode(one.body)
        bodies[said["id"]].add(one.body)
        now = ledger.collections[said["data"]["id"]]
        _hold(said["data"] == now, "S8: an event's data is not the collection at its end")
        _hold(said["type"] == f"collection.{now['status']}", "S8: an event of another state")
        _hold(said["mode"] == now["mode"], "S14: an event of the other mode")
        live = one.host == "live.example"
        _hold(live == (said["mode"] == "live"), "S14: an event went to the other mode's endpoint")
    _hold(all(len(found) == 1 for found in bodies.values()), "S8: attempts differ in their bytes")
    _hold(all(len(i) == 1 for i in by_collection.values()), "S8: two events for a collection")
    for event_id, [body] in bodies.items():
        _hold(ledger.events[event_id] == body, "S8: GET /v1/events says something else")
    final = {i for i, one in ledger.collections.items() if one["status"] in _FINAL}
    _hold(final <= set(by_collection), "S8: a final collection without an event")


def _receiving(world: World, ledger: Ledger) -> None:
    """S10, S11: what was acknowledged is there, and only genuine events had an effect."""
    kept: Counter[bytes] = Counter()
    for mode in Mode:
        page = world.store.deliveries.page(mode, limit=20_000)
        _hold(not page.more, "the checker reads too few deliveries")
        for row in page.rows:
            found = world.store.deliveries.body(row.id)
            if found is not None and found.body is not None and row.answer == 200:
                kept[found.body] += 1
            genuine = row.event_id not in world.record.forged
            believed = row.verdict in {Verdict.VERIFIED, Verdict.REPEAT}
            _hold(genuine or not believed, "S11: a forged event was believed")
    missing = Counter(world.record.acknowledged) - kept
    _hold(not missing, f"S10: {missing.total()} acknowledged deliveries are not kept")
    for event_id, body in ledger.events.items():
        known = world.store.events.get(event_id) is not None
        sent = any(body == one for one in world.record.acknowledged)
        _hold(known == sent, "S11: events kept and events acknowledged differ")
    for event_id in world.record.forged:
        _hold(world.store.events.get(event_id) is None, "S11: a forged event is kept as an event")


def _store(world: World, ledger: Ledger) -> None:
    """S6, S7, S9, S16: the projection is the fold in any order, sums agree, the feed is whole."""
    store, chance = world.store, Random(1)  # noqa: S311 - repeatable
    findings = store.maintenance.check()
    _hold(not findings, f"S16: the store disagrees with itself: {findings[:3]}")
    rebuilt = store.maintenance.rebuild()
    _hold(rebuilt.collections == rebuilt.rollups == 0, "S16: rebuilding changed something")
    sums: Counter[tuple[str, str, str]] = Counter()
    for mode in Mode:
        rows = store.collections.page(mode, limit=10_000).rows
        for row in rows:
            truth = ledger.collections[row.id]
            observed = list(store.collections.observations(row.id, row.mode))
            state = fold(observed)
            chance.shuffle(observed)
            _hold(fold([*observed, observed[0]]) == state, "S6: the order of facts decides")
            _hold(state.status == row.status, "S6: the projection is not the fold")
            _hold(not state.contradictions, f"S7: a contradiction where there is none: {state}")
            _hold(row.status in {truth["status"], "created"}, "S6: a state nobody reported")
            _hold(row.fee == truth["fee"] and row.amount == truth["amount"], "S9: money changed")
            net = row.amount - row.fee if row.status == "succeeded" else None
            _hold(row.net == net, "S9: net is not amount less fee of the succeeded")
            sums[mode.value, row.status, "amount"] += row.amount
            sums[mode.value, row.status, "count"] += 1
        for bucket in store.rollups.collections(mode, since=START, until=_ALL_TIME):
            sums[mode.value, bucket.status, "amount"] -= bucket.amount
            sums[mode.value, bucket.status, "count"] -= bucket.count
    _hold(not any(sums.values()), "S9: dashboards and collections differ")
    seen, after = 0, 0
    while page := store.feed.changes(after, limit=500):
        _hold(all(a.seq < b.seq for a, b in pairwise(page)), "S16: order")
        _hold(page[0].seq > after, "S16: the feed repeats itself")
        seen, after = seen + len(page), page[-1].seq
    _hold(after == store.feed.head(), "S16: the feed ends too early")
    _hold(seen == after, "S16: the feed leaves something out")


def _ends(world: World, ledger: Ledger) -> None:
    """L1 to L4 and L8: after the faults everything has come to its end or is listed."""
    for one in ledger.collections.values():
        never = one["phone"] == NEVER_FINISHES and one["mode"] == "test"
        _hold(never != (one["status"] in _FINAL), "L1: a collection did not become final")
    rows = world.store.intents.page(limit=10_000).rows
    listed = {IntentState.ANSWERED, IntentState.REFUSED, IntentState.UNKNOWN, IntentState.SETTLED}
    _hold({row.state for row in rows} <= listed, "L3: an intent is neither resolved nor listed")
    for row in rows:
        if row.collection_id is None:
            continue
        found = world.store.collections.get(row.collection_id, row.mode)
        truth = ledger.collections[row.collection_id]
        _hold(truth["reference"] == row.reference, "S4: an intent has another order's collection")
        _hold(found is not None, "L4: the store does not know its intent's collection")
        if found is not None:
            _hold(found.status == truth["status"], "L4: a final was never learned")
    lanes: defaultdict[tuple[str, str], list[Attempt]] = defaultdict(list)
    hosts = {attempt.host for attempt in world.record.attempts}
    for attempt in world.record.attempts:
        lanes[attempt.host, msgspec.json.decode(attempt.body)["id"]].append(attempt)
    for host in hosts:
        for event_id, body in ledger.events.items():
            live = msgspec.json.decode(body)["mode"] == "live"
            if live != (host == "live.example"):
                continue
            attempts = lanes[host, event_id]
            tried = sum(one.recorded and not one.manual for one in attempts)
            done = any(one.delivered and one.recorded for one in attempts)
            kind = "L2" if host in OURS else "L8"
            _hold(done or tried == 7, f"{kind}: an event was given up after {tried} attempts")
