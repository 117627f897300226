"""A success after an expiry is no riddle for ever: the service is asked, and its answer rules."""

from datetime import timedelta

import pytest
from tests.kusanya.intents.orders import NewClient
from tests.kusanya.outcomes.shop import Facts, ShopDatabase

from kusanya import orders
from kusanya.client.observations import poll_observation
from kusanya.errors import NotFound, RulingRefused
from kusanya.intents.ruling import ruling
from kusanya.outcomes import Kind
from kusanya.state.observation import CollectionState
from kusanya.store import Store
from kusanya.watch.contradicted import Contradictions
from kusanya.wire import Mode

pytestmark = pytest.mark.role("decide")

MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def told(store: Store) -> None:
    store.outcomes.add("shipping", mode=Mode.TEST, begin=None, all_=True, actor="asha")


def rule(facts: Facts, number: int = 1, why: str = "seen with the service") -> CollectionState:
    client = facts.new_client()
    steps = ruling(facts.store, client.core, f"col_{number}", mode=Mode.TEST, why=why, actor="asha")
    found: CollectionState = client.run(steps)
    return found


class Watch:
    """A watch that asks about contradictions, by the minute."""

    def __init__(self, facts: Facts, *, rules: bool = False) -> None:
        self.service, self.client = facts.service, facts.new_client()
        self.asks = Contradictions(facts.store, self.client.core, Mode.TEST, rules=rules)

    def pass_by(self, length: timedelta) -> int:
        """Let time pass, and return how many payments were ruled then."""
        self.service.clock.pass_by(length)
        found: int = self.client.run(self.asks.ask())
        return found


def kinds(facts: Facts) -> list[str]:
    facts.store.outcomes.tell()
    return [one.kind.value for one in facts.store.outcomes.of(Mode.TEST, "order-1")]


def test_a_success_after_an_expiry_is_ruled_and_the_shop_ships(
    facts: Facts, shop: ShopDatabase
) -> None:
    facts.run("pay", "expired 1", "succeeded 1")
    assert kinds(facts) == ["disputed"]
    state = rule(facts)
    assert (state.status, state.is_ruled) == ("succeeded", True)
    assert kinds(facts) == ["disputed", "corrected"]
    [last] = facts.store.outcomes.of(Mode.TEST, "order-1")[1:]
    assert (last.kind, last.is_paid, last.amount) == (Kind.CORRECTED, True, 5000)
    order = orders.get(facts.store, "order-1", mode=Mode.TEST)
    assert order.status is orders.OrderStatus.PAID
    [row] = [one for one in facts.store.audit.page().rows if one.act == "rule payment"]
    assert "succeeded, 1 facts overruled: seen with the service" in row.detail
    facts.run("expired 1")
    assert kinds(facts)[-1] == "disputed", "what the ruling had not seen denies it"


def test_an_expiry_that_the_service_upholds_is_ruled_unpaid(facts: Facts) -> None:
    facts.run("pay", "succeeded 1", "expired 1")
    assert kinds(facts) == ["disputed"]
    assert rule(facts).status == "expired"
    assert kinds(facts) == ["disputed", "corrected"]
    assert orders.get(facts.store, "order-1", mode=Mode.TEST).status is orders.OrderStatus.UNPAID


def test_there_is_nothing_to_rule_where_nothing_contradicts(facts: Facts) -> None:
    facts.run("pay", "succeeded 1")
    with pytest.raises(RulingRefused, match="no two final states of col_1 contradict"):
        rule(facts)
    with pytest.raises(RulingRefused, match="no two final states of col_9 contradict"):
        rule(facts, 9)
    facts.run("expired 1")
    with pytest.raises(ValueError, match="give the reason"):
        rule(facts, why=" ")


def test_where_the_service_says_something_else_nothing_is_ruled_and_its_answer_is_kept(
    facts: Facts,
) -> None:
    facts.run("pay", "succeeded 1", "expired 1")
    facts.service.collections["col_1"] |= {"status": "failed", "failure_code": "declined"}
    with pytest.raises(RulingRefused, match="the service says failed"):
        rule(facts)
    state = facts.store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert {"expired", "failed", "succeeded"} <= set(state.statuses)


def test_where_the_service_does_not_know_it_nothing_is_ruled(facts: Facts) -> None:
    facts.run("pay", "succeeded 1", "expired 1")
    del facts.service.collections["col_1"]
    with pytest.raises(NotFound):
        rule(facts)


def test_a_rebuilt_store_rules_the_same(facts: Facts) -> None:
    facts.run("pay", "expired 1", "succeeded 1")
    rule(facts)
    before = facts.store.collections.get("col_1", Mode.TEST)
    assert facts.store.maintenance.check() == ()
    facts.store.maintenance.rebuild()
    assert facts.store.collections.get("col_1", Mode.TEST) == before


@pytest.mark.parametrize("named", [False, True])
def test_a_watch_asks_each_minute_then_each_hour_and_rules_only_where_told(
    facts: Facts, *, named: bool
) -> None:
    facts.run("pay", "expired 1", "succeeded 1")
    facts.service.names_answers = named
    watch, before = Watch(facts), facts.service.looks
    asked = []
    for _ in range(60):
        assert watch.pass_by(MINUTE / 2) == 0
        asked.append(facts.service.looks - before)
    assert asked[0] == 1, "at once"
    assert asked[19] == 10, "each minute for ten minutes"
    assert asked[59] == 10, "then each hour"
    for _ in range(60):
        watch.pass_by(MINUTE)
    assert facts.service.looks - before == 11
    assert orders.get(facts.store, "order-1", mode=Mode.TEST).status == "needs_person"


@pytest.mark.parametrize("named", [False, True])
def test_two_answers_a_minute_apart_rule_where_the_profile_wants_it_so(
    facts: Facts, *, named: bool
) -> None:
    facts.run("pay", "expired 1", "succeeded 1")
    facts.service.names_answers = named
    watch = Watch(facts, rules=True)
    assert [watch.pass_by(MINUTE) for _ in range(4)].count(1) == 1
    assert orders.get(facts.store, "order-1", mode=Mode.TEST).status is orders.OrderStatus.PAID
    [row] = [one for one in facts.store.audit.page().rows if one.act == "rule payment"]
    assert "two answers of the service a minute apart agree" in row.detail
    looks = facts.service.looks
    watch.pass_by(MINUTE)
    assert facts.service.looks == looks, "what is ruled is not asked about"


def test_a_service_that_changes_its_mind_within_the_minute_rules_nothing(facts: Facts) -> None:
    facts.run("pay", "expired 1", "succeeded 1")
    facts.service.names_answers = True
    watch = Watch(facts, rules=True)
    for status in ("expired", "succeeded", "expired", "succeeded"):
        facts.service.collections["col_1"]["status"] = status
        assert watch.pass_by(MINUTE) == 0
    assert watch.pass_by(MINUTE) == 1, "it said so a minute ago"


def test_an_answer_from_before_the_contradiction_is_none_about_it(facts: Facts) -> None:
    facts.run("pay", "succeeded 1")
    facts.service.names_answers = True
    facts.service.clock.pass_by(5 * MINUTE)
    facts.run("expired 1")
    facts.service.collections["col_1"]["status"] = "succeeded"
    watch, before = Watch(facts, rules=True), facts.service.looks
    assert watch.pass_by(MINUTE / 60) == 0
    assert facts.service.looks == before + 1, "at once"
    assert watch.pass_by(MINUTE / 2) == 0
    assert facts.service.looks == before + 1
    assert watch.pass_by(MINUTE / 2) == 1


def test_an_answer_that_another_program_had_some_seconds_ago_is_no_minute_ago(
    facts: Facts,
) -> None:
    facts.run("pay", "expired 1", "succeeded 1")
    facts.service.names_answers = True
    watch = Watch(facts, rules=True)
    assert watch.pass_by(MINUTE / 60) == 0
    facts.service.clock.pass_by(MINUTE / 2)
    facts.service.looks += 1
    client = facts.new_client()
    answer = client.get_collection("col_1")
    at = facts.service.clock.now()
    facts.store.record(poll_observation(answer, at=at, observed_in=Mode.TEST))
    assert watch.pass_by(2 * MINUTE / 3) == 0, "the newest answer is 40 s old"
    assert watch.pass_by(MINUTE) == 1


def test_where_the_service_says_a_third_thing_twice_nothing_is_ruled(facts: Facts) -> None:
    facts.run("pay", "succeeded 1", "expired 1")
    facts.service.names_answers = True
    facts.service.collections["col_1"]["status"] = "in_review"
    watch = Watch(facts, rules=True)
    assert [watch.pass_by(MINUTE) for _ in range(4)] == [0, 0, 0, 0]


def contradict(facts: Facts, *numbers: int) -> None:
    for number in numbers:
        facts.pay(f"order-{number}")
        facts.ends(number, "expired")
        facts.ends(number, "succeeded")


def test_one_payment_that_is_not_due_or_not_known_holds_up_no_other(facts: Facts) -> None:
    facts.service.names_answers = True
    contradict(facts, 1, 2)
    watch, before = Watch(facts), facts.service.looks
    gone = facts.service.collections.pop("col_2")
    watch.pass_by(MINUTE / 60)
    assert facts.service.looks == before + 2, "the newest comes first, and is not known"
    facts.service.collections["col_2"] = gone
    facts.service.clock.pass_by(MINUTE / 2)
    contradict(facts, 3)
    before = facts.service.looks
    watch.pass_by(MINUTE / 60)
    assert facts.service.looks == before + 1, "the others were asked about half a minute ago"
    watch.pass_by(MINUTE / 2)
    assert facts.service.looks == before + 3, "the newest is not due"


def test_twenty_are_asked_about_at_a_time_and_none_waits_for_ever(facts: Facts) -> None:
    contradict(facts, *range(1, 26))
    watch, before = Watch(facts), facts.service.looks
    watch.pass_by(MINUTE / 60)
    assert facts.service.looks == before + 20
    watch.pass_by(MINUTE / 2)
    assert facts.service.looks == before + 25, "the others were asked about half a minute ago"
    watch.pass_by(MINUTE)
    watch.pass_by(MINUTE / 60)
    assert facts.service.looks == before + 50


def test_a_service_that_does_not_answer_ends_the_round(facts: Facts) -> None:
    facts.run("pay", "expired 1", "succeeded 1")
    watch = Watch(facts, rules=True)
    facts.service.is_away = True
    assert watch.pass_by(MINUTE) == 0
    facts.service.is_away = False
    assert [watch.pass_by(MINUTE) for _ in range(3)].count(1) == 1


def test_a_service_that_is_away_is_asked_again_in_the_next_round(facts: Facts) -> None:
    facts.run("pay", "expired 1", "succeeded 1")
    watch, kept = Watch(facts, rules=True), facts.service.collections.pop("col_1")
    assert watch.pass_by(MINUTE) == 0
    facts.service.collections["col_1"] = kept
    assert [watch.pass_by(MINUTE) for _ in range(3)].count(1) == 1


def test_a_ruling_needs_the_role_that_decides(
    facts: Facts, new_client: NewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kusanya.domain.roles import Role

    facts.run("pay", "expired 1", "succeeded 1")
    monkeypatch.setattr(facts.store.roles, "of", lambda _name: Role.ACT)
    with pytest.raises(RulingRefused, match="kusanya_decide"):
        rule(facts)
    monkeypatch.setattr(facts.store.roles, "of", lambda _name: Role.DECIDE)
    assert rule(facts).is_ruled
