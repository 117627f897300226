"""Whether support may send a new request, and what it says then, held against a list of rules."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.intents import prepare_intent
from tests.kit.payments import polled

from kusanya.clock import ManualClock
from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya.lookup import (
    CreationTimeline,
    Reason,
    Timeline,
    advice,
    load_creation_timeline,
    load_timeline,
    new_request,
)
from kusanya.lookup.new_request import creation_advice
from kusanya.state.observation import Contradiction, Source
from kusanya.store import Store
from kusanya.store.records import IntentState
from kusanya.store.records.order import OrderJudgement, OrderReason, OrderStatus
from kusanya.wire import Mode
from kusanya.wording import advise

NOW = datetime(2026, 6, 21, 12, 0, tzinfo=UTC)
AT = NOW - timedelta(minutes=10)
replace = msgspec.structs.replace
_CODES = ("payment_in_progress", "duplicate", "insufficient_funds", "system_error", "unheard_of")
_FATES = (
    ("created", None), ("on_hold", None), ("succeeded", None), ("expired", None),
    *(("failed", code) for code in _CODES),
)  # fmt: skip
_PLACES = list(Reason)


class World:
    """One payment and one creation, and what can stand around them."""

    def __init__(self, folder: Path, empty: Path) -> None:
        path = copy(empty, folder / "desk.db")
        with Store.open(path, clock=ManualClock(NOW)) as store:
            for key in ("mine", "other"):
                store.record(polled(key, AT, phone="255754000101"))
            prepare_intent(
                store, idempotency_key="key-1", body=b"{}", mode=Mode.LIVE, profile="main",
                reference="R-mine", amount=1_000, phone="+255754000101", prepared_at=AT,
                intent_id="int_00000001",
            )  # fmt: skip
            timeline = load_timeline(store, "col_mine", Mode.LIVE, now=NOW)
            creation = load_creation_timeline(store, "int_00000001", now=NOW)
            other = store.collections.get("col_other", Mode.LIVE)
        assert timeline is not None
        assert creation is not None
        assert other is not None
        self.timeline, self.creation, self.other = timeline, creation, other
        self.quiet = replace(
            timeline.around,
            also=(), same_reference=(), creations=(), attempts=(), claimed=None,
            order=OrderJudgement(status=OrderStatus.UNPAID, reason=OrderReason.NO_MONEY),
        )  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> World:
    return World(tmp_path_factory.mktemp("desk"), empty_store)


_STATES = (IntentState.PREPARED, IntentState.SENT, IntentState.UNKNOWN)
_AROUND = st.fixed_dictionaries(
    {},
    optional={
        "creations": st.lists(
            st.tuples(
                st.sampled_from(_STATES),
                st.sampled_from(["R-mine", "R-else"]),
                st.sampled_from(["255754000101", "255754000999"]),
                st.sampled_from([1_000, 2_000]),
            ),
            max_size=2,
        ),
        "claimed": st.just(value=True),
        "needs_person": st.just(value=True),
        "also": st.sampled_from(["created", "succeeded", "failed"]),
        "same_reference": st.sampled_from(["created", "succeeded", "failed"]),
    },
)


def _fate(row: Any, status: str, code: str | None, ended: datetime | None) -> Any:
    final = status not in {"created", "on_hold"}
    return replace(
        row, status=status, failure_code=code,
        completed_at=ended if final else None, final_seen_at=NOW if final else None,
    )  # fmt: skip


def _around(world: World, drawn: dict[str, Any]) -> tuple[Any, list[Reason]]:
    """Return the neighbours that were drawn, and why they forbid a new request."""
    found, reasons = world.quiet, []
    creations = [
        replace(world.creation.intent, id=f"int_{place}", state=state, reference=reference,
                phone=phone, amount=amount)
        for place, (state, reference, phone, amount) in enumerate(drawn.get("creations", ()))
    ]  # fmt: skip
    related = [
        one for one in creations
        if one.reference == "R-mine" or (one.phone, one.amount) == ("255754000101", 1_000)
    ]  # fmt: skip
    if creations:
        reasons.append(Reason.EARLIER_REQUEST if related else Reason.UNKNOWN_ON_PHONE)
    rows = {
        name: (_fate(world.other, drawn[name], None, AT),)
        for name in ("also", "same_reference")
        if name in drawn
    }
    if "created" in (drawn.get("also"), drawn.get("same_reference")):
        reasons.append(Reason.PROMPT_ON_PHONE)
    if drawn.get("same_reference") == "succeeded":
        reasons.append(Reason.PAID_UNDER_REFERENCE)
    if "claimed" in drawn:
        reasons.append(Reason.CLAIMED_UNDER_REFERENCE)
    order = found.order
    if "needs_person" in drawn:
        reasons.append(Reason.ORDER_UNCLEAR)
        order = replace(order, status=OrderStatus.NEEDS_PERSON)
    claimed = world.other if "claimed" in drawn else None
    return replace(found, creations=tuple(creations), claimed=claimed, order=order, **rows), reasons


def _first(reasons: list[Reason]) -> Reason:
    return min(reasons, key=_PLACES.index, default=Reason.NOTHING_OPEN)


QUIETLY = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUIETLY
@given(
    fate=st.sampled_from(_FATES),
    ended=st.sampled_from([0, 119, 120, 600]),
    knows_end=st.booleans(),
    doubted=st.sampled_from([None, "status", "fee"]),
    is_claimed=st.booleans(),
    drawn=_AROUND,
)
def test_a_new_request_for_a_payment_is_judged_as_the_rules_say(
    world: World, fate: Any, ended: int, *, knows_end: bool, doubted: str | None,
    is_claimed: bool, drawn: dict[str, Any],
) -> None:  # fmt: skip
    status, code = fate
    neighbours, reasons = _around(world, drawn)
    over_s = ended if knows_end else 0
    at = NOW - timedelta(seconds=ended)
    row = _fate(world.timeline.row, status, code, at if knows_end else None)
    told = Contradiction(field=doubted or "", values=("a", "b"), sources=(Source.POLL,) * 2)
    state = replace(world.timeline.state, contradictions=(told,) if doubted else ())
    timeline = replace(
        world.timeline, row=row, state=state, around=neighbours, is_claimed=is_claimed
    )
    is_open, is_paid = status in {"created", "on_hold"}, status == "succeeded"
    reasons += [Reason.CONTRADICTION] if doubted else []
    reasons += [Reason.CLAIMED] if is_claimed and not is_paid else []
    reasons += [Reason.NOT_FINAL] if is_open else [Reason.PAID] if is_paid else []
    reasons += [Reason.NETWORK_BUSY] if code == "payment_in_progress" and over_s < 120 else []
    reasons += [Reason.NETWORK_DUPLICATE] if code == "duplicate" else []
    verdict = new_request(timeline)
    assert (verdict.reason, verdict.safe) == (_first(reasons), not reasons)
    _says_what_fits(timeline, verdict, doubted)


def _says_what_fits(timeline: Timeline, verdict: Any, doubted: str | None) -> None:
    """Hold what is said to the customer and done by support against the judgement."""
    said, row = advice(timeline), timeline.row
    unpaid = row.status in {"failed", "expired"}
    if doubted == "status":
        topic = "contradiction"
    elif verdict.reason is Reason.CLAIMED or (
        unpaid
        and verdict.reason
        in {Reason.EARLIER_REQUEST, Reason.CLAIMED_UNDER_REFERENCE, Reason.ORDER_UNCLEAR}
    ):
        topic = "unknown_outcome"
    elif unpaid and verdict.reason is Reason.PAID_UNDER_REFERENCE:
        topic = "succeeded"
    elif row.status == "failed":
        topic = row.failure_code if row.failure_code in FAILURE_CODES else "other"
    elif row.status in {"created", "on_hold"}:
        topic = "created_late"
    else:
        topic = row.status
    assert said.topic == topic
    own = advise(
        "failed" if topic in {*FAILURE_CODES, "other"} else topic.removesuffix("_late"),
        failure_code=topic, amount=row.amount, late=topic == "created_late",
    )  # fmt: skip
    assert said.english.sentence == own.english.sentence
    if verdict.safe:
        assert said.may_prompt == own.may_prompt
        two_minutes = topic == "payment_in_progress"
        assert said.support_step.startswith("The two minutes are over") == two_minutes
        return
    assert not said.may_prompt
    assert said.english.next_step == ("" if own.may_prompt else own.english.next_step)
    assert said.swahili.next_step == ("" if own.may_prompt else own.swahili.next_step)
    keeps = verdict.reason in {Reason.NOT_FINAL, Reason.PAID, Reason.CONTRADICTION}
    keeps = keeps and not own.may_prompt and topic not in {"other", "unknown_outcome"}
    assert said.support_step == (own.support_step if keeps else verdict.next_step)


@QUIETLY
@given(
    state=st.sampled_from(IntentState),
    is_replayable=st.booleans(),
    has_collection=st.booleans(),
    drawn=_AROUND,
)
def test_a_new_request_beside_a_creation_is_judged_as_the_rules_say(
    world: World, state: IntentState, *, is_replayable: bool, has_collection: bool,
    drawn: dict[str, Any],
) -> None:  # fmt: skip
    neighbours, reasons = _around(world, drawn)
    named = "col_unseen" if has_collection else None
    timeline: CreationTimeline = replace(
        world.creation,
        intent=replace(world.creation.intent, state=state, collection_id=named),
        around=neighbours,
        replay_until=NOW if is_replayable else None,
    )
    if state in _STATES:
        reasons.insert(0, Reason.EARLIER_REQUEST)
    elif has_collection:
        reasons.append(Reason.UNSEEN)
    verdict, said = new_request(timeline), creation_advice(timeline)
    assert (verdict.reason, verdict.safe) == (_first(reasons), not reasons)
    if verdict.safe:
        assert said.support_step == (
            "Nothing was created: correct the cause, then send a new request."
        )
        return
    assert not said.may_prompt
    if state in _STATES:
        asked = "Resume this one with its own key; never create another."
        if not is_replayable:
            asked = (
                "Its replay window is over: kusanya intents resume closes it."
                if state is IntentState.PREPARED
                else "Its replay window is over: compare statements, then decide it."
            )
        assert said.support_step == asked
        assert said.topic == "unknown_outcome"
    elif verdict.reason is Reason.PAID_UNDER_REFERENCE:
        assert said.topic == "succeeded"
