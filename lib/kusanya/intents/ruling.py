"""A payment whose facts contradict each other is ruled by what the service says now.

A success that comes after an expiry contradicts it for ever: no event and no poll takes back what
another one said. A ruling is a fact of its own: it names what it had seen and overrules, and what
comes later and denies it is a contradiction again. Source: Delivery rule 5, GET is the current
state; assumption EXPIRED_IS_FINAL.
"""

from collections.abc import Sequence
from datetime import datetime

from kusanya.client.core import Core
from kusanya.client.effects import Effects, call
from kusanya.client.observations import poll_observation
from kusanya.domain.roles import Role
from kusanya.domain.status import CONTRADICTION, FINAL
from kusanya.errors import RulingRefused
from kusanya.say import Said
from kusanya.state.fold import fold
from kusanya.state.observation import CollectionState, Observation, Source
from kusanya.store import Store
from kusanya.text import safe
from kusanya.wire import Collection, Mode


def ruling(
    store: Store, core: Core, collection_id: str, *, mode: Mode, why: str, actor: str = ""
) -> Effects[CollectionState]:
    """Ask the service about a payment whose final states contradict each other, and rule by that.

    Audited in the name that the store knows the person by, who needs the role `decide` where the
    store keeps roles. What the service said is kept whatever comes of it. Durable on return.
    Raises RulingRefused, ValueError without a reason, the errors of a GET, StoreError.
    """
    if not why.strip():
        raise ValueError("give the reason why the service's answer holds")
    role = store.roles.of(store.audit.actor)
    if role is not None and not role.includes(Role.DECIDE):
        raise RulingRefused("only a login of the role kusanya_decide rules on a payment")
    state = store.collections.state(collection_id, mode)
    if state is None or state.status != CONTRADICTION:
        raise RulingRefused(
            Said("no two final states of {id} contradict each other in {mode} mode").of(
                id=safe(collection_id, 60), mode=mode.value
            )
        )
    said = yield from core.collection(collection_id, deadline=core.deadline(None))
    now = core.clock.now()
    before = store.collections.observations(collection_id, mode)
    yield from call(lambda: store.record(poll_observation(said, at=now, observed_in=mode)))
    fact = ruled(said, before, mode=mode, now=now)
    yield from call(lambda: store.collections.rule(fact, why=why, actor=actor))
    found = store.collections.state(collection_id, mode)
    assert found is not None  # noqa: S101 - facts are never removed
    return found


def ruled(
    said: Collection, seen: Sequence[Observation], *, mode: Mode, now: datetime
) -> Observation:
    """Return the ruling by what the service said, over the facts that were seen.

    Raises RulingRefused where it agrees with none of them, and where it could not end the
    contradiction: then somebody has to ask the service's people.
    """
    finals = [fact for fact in seen if fact.counts_in(mode) and fact.collection.status in FINAL]
    if said.status not in {fact.collection.status for fact in finals}:
        raise RulingRefused(
            Said(
                "the service says {status}, as none of the facts does: ask its people; nothing was "
                "ruled"
            ).of(status=safe(said.status, 60))
        )
    denied = sorted({fact.name for fact in finals if fact.collection.status != said.status})
    fact = Observation(
        source=Source.RULING,
        source_id=f"ruling {now.isoformat()}",
        observed_at=now,
        observed_in=mode,
        collection=said,
        overrules=tuple(denied),
    )
    if fold((*seen, fact), mode=mode).status == CONTRADICTION:
        raise RulingRefused(
            "an event arrived with two bodies that name different final states: ask the service's "
            "people; nothing was ruled"
        )
    return fact
