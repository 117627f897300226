"""Bugs that would lose or take money, and the tests that catch each.

Every one is a change of a line of the product, made in a running process that a test started. No
branch of the product knows of them.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, NamedTuple

from tests.proofs.planted.patching import replaced


class Catcher(NamedTuple):
    """A test by its file below tests/ and its name."""

    file: str
    name: str


class Bug(NamedTuple):
    """One planted bug."""

    where: str
    old: str
    new: str
    caught_by: tuple[Catcher, ...]
    """Each of these tests fails while the bug is planted, and passes without it."""


BUGS: Final = {
    "acknowledged before COMMIT": Bug(
        "kusanya.receiver.handler:DeliveryHandler.handle",
        "commit = await pending.wait_for(self.store.submit(arrival))",
        "self.store.submit(arrival)\n            "
        'commit = DeliveryCommit(delivery_id="dlv_0", verdict=arrival.verdict, seq=0)',
        (
            Catcher(
                "kusanya/receiver/test_receiver_app.py",
                "test_nothing_is_answered_while_the_commit_is_under_way",
            ),
        ),
    ),
    "synchronous=NORMAL": Bug(
        "kusanya.store.tables.engine:_set_up_writer",
        "synchronous = FULL",
        "synchronous = NORMAL",
        (
            Catcher(
                "proofs/test_kill_receiver.py",
                "test_the_log_is_synced_before_the_first_byte_of_a_2xx_leaves",
            ),
        ),
    ),
    "one bad row fails its batch": Bug(
        "kusanya.store.writer.journal:Journal._write",
        "[self._alone(item) for item, _ in taken]",
        '[WriteFailure(StoreUnavailable("one of them is bad")) for _ in taken]',
        (
            Catcher(
                "kusanya/store/test_store_faults.py",
                "test_a_bad_row_fails_alone_and_its_neighbours_are_kept",
            ),
        ),
    ),
    "intent saved after it was sent": Bug(
        "kusanya.client.core:Core._exchange",
        "yield from attempts.begin()\n",
        "yield from send(request, within_s=left_s)\n        yield from attempts.begin()\n",
        (
            Catcher(
                "kusanya/intents/test_creating_safely.py",
                "test_an_answered_create_leaves_intent_attempt_and_fact",
            ),
        ),
    ),
    "body serialised anew when it is sent": Bug(
        "kusanya.client.requests:creation",
        "body=body",
        "body=msgspec.json.format(body)",
        (
            Catcher(
                "kusanya/intents/test_lost_answers.py",
                "test_a_lost_answer_is_sent_again_with_the_same_key_and_bytes",
            ),
        ),
    ),
    "new key after a lost answer": Bug(
        "kusanya.client.core:Core._exchange",
        "yield from attempts.end(result)\n",
        """yield from attempts.end(result)
        if request.idempotency_key is not None:
            key = requests.new_idempotency_key()
            request = msgspec.structs.replace(request, idempotency_key=key)
""",
        (
            Catcher(
                "kusanya/client/test_client_on_the_wire.py",
                "test_a_passing_trouble_is_retried_with_identical_bytes",
            ),
        ),
    ),
    "every 409 is tried again": Bug(
        "kusanya.client.response_classifier:_refused",
        "again = isinstance(refusal, _TRY_AGAIN)",
        "again = isinstance(refusal, _TRY_AGAIN) or refusal.status == 409",
        (
            Catcher(
                "kusanya/client/test_client_on_the_wire.py",
                "test_a_reused_key_is_final_and_never_retried",
            ),
        ),
    ),
    "replayed after 24 hours": Bug(
        "kusanya.intents.window:replay_left",
        "REPLAY_WINDOW",
        "timedelta(hours=24, seconds=2)",
        (
            Catcher(
                "kusanya/intents/test_windows_and_decisions.py",
                "test_nothing_is_sent_from_23_hours_after_the_first_sending_on",
            ),
        ),
    ),
    "a replay is taken for the present": Bug(
        "kusanya.client.answers:response_info",
        'replayed.strip().lower() == "true"',
        "False",
        (
            Catcher(
                "kusanya/intents/test_lost_answers.py",
                "test_a_replayed_answer_is_followed_by_a_look_at_the_present",
            ),
        ),
    ),
    "a future t is accepted": Bug(
        "kusanya.webhooks.signature:check",
        "-tolerance <= present - timestamp <= tolerance",
        "present - timestamp <= tolerance",
        (
            Catcher(
                "kusanya/webhooks/test_signature_table.py",
                "test_300_seconds_pass_both_ways_in_whole_seconds",
            ),
        ),
    ),
    "the first of two t wins": Bug(
        "kusanya.webhooks.signature:_signature_parts",
        "if len(timestamps) > 1:",
        "if False:",
        (
            Catcher(
                "kusanya/webhooks/test_signature_table.py",
                "test_two_t_are_ambiguous_even_when_they_agree",
            ),
        ),
    ),
    "a live secret signs a test event": Bug(
        "kusanya.receiver.classification:_observation",
        "ours = event.mode == endpoint.mode == event.data.mode",
        "ours = True",
        (
            Catcher(
                "kusanya/receiver/test_classify_delivery.py",
                "test_an_event_of_the_other_mode_is_refused_and_has_no_effect",
            ),
        ),
    ),
    "a test signature decides about a live collection": Bug(
        "kusanya.state.observation:Observation.counts_in",
        "self.observed_in == mode and self.collection.mode == mode",
        "True",
        (
            Catcher(
                "kusanya/store/test_store_disputes.py",
                "test_a_test_signature_never_ends_a_live_collection",
            ),
        ),
    ),
    "the last final wins": Bug(
        "kusanya.state.fold:_status",
        "return next(iter(finals)) if len(finals) == 1 else CONTRADICTION",
        "return [f.collection.status for f in facts if f.collection.status in finals][-1]",
        (
            Catcher(
                "kusanya/state/test_fold.py",
                "test_two_different_finals_are_a_contradiction_that_lists_everything",
            ),
        ),
    ),
    "the order of arrival decides": Bug(
        "kusanya.state.fold:fold",
        "else _ordered(ours)",
        "else ours",
        (
            Catcher(
                "kusanya/state/test_fold_in_any_order.py",
                "test_every_order_of_up_to_seven_facts_gives_one_state",
            ),
        ),
    ),
    "old t on retry": Bug(
        "kusanya_service.delivery.dispatcher:Dispatcher._send",
        "signed_at_ms=started_wall",
        """signed_at_ms=round(
            1000 * __import__("datetime").datetime.fromisoformat(
                __import__("json").loads(pending.body)["created_at"]
            ).timestamp())""",
        (
            Catcher(
                "kusanya_service/test_service_schedule.py",
                "test_every_attempt_is_signed_afresh_at_its_own_instant_over_the_same_bytes",
            ),
        ),
    ),
    "failures are not cleared by a success": Bug(
        "kusanya.webhooks.schedule:Fuse.after",
        """if delivered:
        return Fuse()""",
        """if delivered:
        return self""",
        (Catcher("kusanya_service/test_service_schedule.py", "test_a_success_clears_the_fuse"),),
    ),
}

_now_planted: list[str] = []


@contextmanager
def _plant(name: str) -> Iterator[None]:
    bug = BUGS[name]
    with replaced(bug.where, bug.old, bug.new):
        _now_planted.append(name)
        try:
            yield
        finally:
            _now_planted.remove(name)


def planted(name: str | None) -> AbstractContextManager[None]:
    """Return the context in which the bug `name` is in the product; None plants nothing."""
    return nullcontext() if name is None else _plant(name)


def now_planted() -> str | None:
    """Return the bug that is in this process now, for the programs it starts."""
    return _now_planted[-1] if _now_planted else None


def checkpointing_every(pages: int) -> AbstractContextManager[None]:
    """Checkpoint after so many pages: no bug, but a log that is short enough to be replayed."""
    return replaced(
        "kusanya.store.tables.engine:_set_up",
        "*pragmas):",
        f'*pragmas, "wal_autocheckpoint = {pages}"):',
    )
