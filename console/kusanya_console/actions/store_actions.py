"""Everything that changes something: notes, reveals, replays, resends. Each leaves an audit row.

Built only where writing is allowed. A refusal and a failure are audited too, so that the audit
tells what was tried.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final, NoReturn

from kusanya.alarms.muting import mute
from kusanya.client import Client
from kusanya.clock import Clock
from kusanya.domain.assumptions import DEFAULT_PROFILE, REPLAY_HOURS
from kusanya.domain.roles import Role
from kusanya.errors import IntentError, IntentReason, KusanyaError
from kusanya.intents import Candidate, decide, examine, replay_left, resume
from kusanya.intents.ruling import ruling
from kusanya.lookup import MessageMatch
from kusanya.say import Said, joined, plural
from kusanya.store import Store
from kusanya.store.records import DeliveryRow, IntentRow, IntentState, MissingEventRow, Note
from kusanya.store.records.outcomes import Work
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya.wording import status_word
from kusanya_console.actions.audit import Auditor
from kusanya_console.actions.results import (
    NO_KEY,
    ActionOutcome,
    ActionResult,
    RevealedPhone,
    off,
    why_off,
)
from kusanya_console.actions.saved_views import delete_view, save_view
from kusanya_console.sandbox.dashboard.client import DashboardClient, DashboardError
from kusanya_console.sandbox.dashboard.reader import ServiceReader, path_part
from kusanya_console.sandbox.dashboard.records import SentDelivery, parse_answer
from kusanya_console.ui.format import format_duration, format_text

_OPEN: Final = frozenset({IntentState.PREPARED, IntentState.SENT, IntentState.UNKNOWN})
_LASTING: Final = re.compile(r"(?P<count>[1-9][0-9]{0,2})(?P<unit>min|h|d) (?P<why>\S.*)")
_UNITS: Final = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
NO_RESEND: Final = off(
    "the service has no resend for merchants; it tries again by itself, see the attempts"
)


class StoreActions:
    """Acts of one person on one store; store, client and dashboard stay the caller's.

    `actor` is what the person is called here; the audit names whom the store knows. Without
    `client` nothing is replayed, without `dashboard`
    nothing is resent. `profile` is the console's own: intents of another are not replayed. What
    `role` does not allow is refused, and the refusal is audited.
    """

    def __init__(
        self,
        store: Store,
        *,
        actor: str,
        clock: Clock,
        profile: str,
        client: Client | None = None,
        dashboard: DashboardClient | None = None,
        role: Role = Role.ADMIN,
    ) -> None:
        self._store = store
        self._audit = Auditor(store, actor=actor, role=role)
        self._actor = actor
        self._clock = clock
        self._profile = profile
        self._client = client
        self._dashboard = dashboard

    def role_disabled_reason(self, command_id: str) -> str:
        """Return why the person's role does not allow a command, or nothing."""
        return self._audit.disabled_reason(command_id)

    def replay_disabled_reason(self, intent: IntentRow) -> str:
        """Return why an intent may not be replayed now, or nothing; reads no store."""
        if intent.state not in _OPEN:
            return off(Said("this intent is {our_state} already").of(our_state=intent.state.value))
        if self._client is None:
            return NO_KEY
        if intent.profile not in {self._profile, DEFAULT_PROFILE}:
            # Another profile is another account: its service never saw this key and would charge.
            return off(
                Said("made under profile {profile}; start the console with it").of(
                    profile=safe(intent.profile, 40)
                )
            )
        if self._client.mode not in {None, intent.mode}:
            return off(
                Said("this intent is of {mode} mode, the profile's key is not").of(
                    mode=intent.mode.value
                )
            )
        if not replay_left(intent, now=self._clock.now()):
            return off(
                Said(
                    "the window of {hours} h is over and the service may charge again; decide it"
                ).of(hours=REPLAY_HOURS)
            )
        return ""

    def resend_disabled_reason(self) -> str:
        """Return why deliveries cannot be sent again, or nothing."""
        return "" if self._dashboard is not None else NO_RESEND

    def decision_disabled_reason(self, intent: IntentRow) -> str:
        """Return why a person may not decide an intent now, or nothing; reads no store."""
        if intent.state not in _OPEN:
            return off(Said("this intent is {our_state} already").of(our_state=intent.state.value))
        left = replay_left(intent, now=self._clock.now())
        return (
            off(
                Said("its window is open for {left} more; R replays it").of(
                    left=format_duration(left)
                )
            )
            if left
            else ""
        )

    def add_note(self, subject: str, note: Note, *, mode: Mode) -> ActionResult:
        """Keep a note on a collection or an intent, where a search finds it."""
        row = self._store.collections.get(subject, mode) or self._store.intents.get(subject)
        if row is None:
            raise KusanyaError("there is no such collection or intent: no note was kept")

        def write() -> ActionResult:
            self._store.notes.add(row.id, note, author=self._actor, mode=row.mode)
            return ActionResult(
                Said("noted on {reference}, by {who}").of(
                    reference=format_text(row.reference, 60), who=safe(self._actor, 60)
                )
            )

        return self._audit.run("note", row.id, note.outline, write)

    def keep_receipts(self, messages: Sequence[MessageMatch], mode: Mode) -> ActionResult:
        """Keep the receipts of customers' messages with the one payment that each fits."""
        kept = []
        for message in messages:
            row, receipt = message.row, message.confirmation.receipt
            if row is None or receipt is None:
                raise KusanyaError("the message fits no payment alone: no receipt was kept")
            self._audit.refuse_unfit("keep receipt", row.id)
            source = f"message of {message.confirmation.issuer}"
            # The store audits it in the same transaction.
            self._store.receipts.record(row.id, mode, receipt, source=source, actor=self._actor)
            kept.append(
                Said("{receipt} with {name}").of(
                    receipt=safe(receipt, 40), name=format_text(row.reference, 60)
                )
            )
        return ActionResult(
            Said("kept receipt {our_list}; Lookup finds it from now on").of(
                our_list=joined(", ", kept)
            )
        )

    def examine(self, intent: IntentRow, collection_id: str) -> Candidate:
        """Compare the collection that a person names with the intent, at the service if it can be.

        Raises IntentError for what is no id of a collection, StoreError.
        """
        return examine(
            self._store, intent, collection_id, now=self._clock.now(), client=self._client
        )

    def decide(
        self, intent: IntentRow, *, collection_id: str | None, why: str, unseen: bool = False
    ) -> ActionResult:
        """Record what a person found out about a creation that nothing else can resolve."""
        self._audit.refuse_unfit("decide intent", intent.id)
        try:
            made = decide(
                self._store,
                intent.id,
                actor=self._actor,
                why=why,
                collection_id=collection_id,
                now=self._clock.now(),
                client=self._client,
                unseen=unseen,
            )
        except KusanyaError as error:
            return self._audit.run("decide intent", intent.id, why, partial(_refuse, error))
        became = safe(made.collection_id or "nothing was created", 60)
        return ActionResult(
            Said("decided {reference}: {our_became}, by {who}").of(
                reference=format_text(intent.reference, 60),
                our_became=became,
                who=safe(self._actor, 60),
            )
        )

    def rule(self, collection_id: str, note: Note, *, mode: Mode, name: str) -> ActionResult:
        """Let the service's answer choose among final states; the store audits a ruling."""
        self._audit.refuse_unfit("rule payment", collection_id)
        client = self._client
        if client is None:
            raise KusanyaError(why_off(NO_KEY))
        steps = ruling(
            self._store, client.core, collection_id, mode=mode, why=note.words, actor=self._actor
        )
        try:
            found = client.run(steps)
        except KusanyaError as error:
            refuse = partial(_refuse, error)
            return self._audit.run("rule payment", collection_id, note.words, refuse)
        return ActionResult(
            Said("ruled {reference}: it is {status}, as the service says").of(
                reference=name, status=status_word(found.status)
            )
        )

    def retry_outcomes(self, collection_id: str, *, mode: Mode, name: str) -> ActionResult:
        """Let consumers try at once what they have not done of an order; the store audits each."""
        self._audit.refuse_unfit("retry outcome", collection_id)
        work = self._work_of(collection_id, mode)
        for one in work:
            self._store.outcomes.retry(one.consumer, one.outcome.id, actor=self._actor)
        once = "1 outcome of {reference} is tried again at once"
        many = "{count} outcomes of {reference} are tried again at once"
        return ActionResult(plural(len(work), once, many, reference=name))

    def skip_outcomes(
        self, collection_id: str, note: Note, *, mode: Mode, name: str
    ) -> ActionResult:
        """Give up what consumers parked of an order; the store audits each with the reason."""
        self._audit.refuse_unfit("skip outcome", collection_id)
        work = [one for one in self._work_of(collection_id, mode) if one.parked]
        for one in work:
            self._store.outcomes.skip(
                one.consumer, one.outcome.id, actor=self._actor, why=note.words
            )
        once = "1 parked outcome of {reference} is skipped: nothing is done for it"
        many = "{count} parked outcomes of {reference} are skipped: nothing is done for them"
        return ActionResult(plural(len(work), once, many, reference=name))

    def _work_of(self, collection_id: str, mode: Mode) -> tuple[Work, ...]:
        """Return what consumers have not done of the order of a collection."""
        row = self._store.collections.by_id([collection_id], mode).get(collection_id)
        if row is None or row.reference is None:
            raise KusanyaError("no order is known of this payment")
        outcomes = self._store.outcomes
        return outcomes.left_of(outcomes.of(mode, row.reference))

    def save_view(self, of: str, name: str, text: str) -> ActionResult:
        """Save a filter of a list under a name; the store audits it."""
        self._audit.refuse_unfit("save view", f"{of}:@{name}")
        try:
            view = save_view(self._store, of=of, name=name.removeprefix("@"), text=text)
        except ValueError as error:
            raise KusanyaError(str(error)) from error
        said = format_text(view.text, 200)
        return ActionResult(
            Said("saved as @{name}: {text}; it is in the palette too").of(name=view.name, text=said)
        )

    def delete_view(self, of: str, name: str) -> ActionResult:
        """Delete a saved filter; the store audits it."""
        self._audit.refuse_unfit("delete view", f"{of}:@{name}")
        delete_view(self._store, of=of, name=name)
        return ActionResult(Said("deleted the view @{name}").of(name=name))

    def acknowledge(self, alarm: str, note: Note, *, name: str, before: str = "") -> ActionResult:
        """Record that a person looks after an alarm; it stays on the screen, named with them.

        The store audits it. `before` looked after it until now: the answer says so, and so does
        the reason that is kept.
        """
        self._audit.refuse_unfit("acknowledge", alarm)
        taken = f"{note.words} (taken over from {before})" if before else note.words
        held = self._store.acknowledgements.record(alarm, actor=self._actor, reason=taken)
        after = Said(" in place of {who}").of(who=safe(before, 60)) if before else ""
        said = Said("acknowledged{our_after}, by {who}: {our_what}").of(
            our_after=after, who=safe(held.actor, 60), our_what=name
        )
        return ActionResult(said, ActionOutcome.ACKNOWLEDGED)

    def mute(self, key: str, note: Note, *, mode: Mode, name: str) -> ActionResult:
        """Send nothing about an alarm for as long as the note begins with; the store audits it."""
        self._audit.refuse_unfit("mute", key)
        said = _LASTING.fullmatch(note.words.strip())
        if said is None:
            raise KusanyaError("begin with how long, as in: 2h the network is at work")
        length = int(said["count"]) * _UNITS[said["unit"]]
        now = self._clock.now()
        try:
            held = mute(
                self._store, key, mode, until=now + length, reason=said["why"],
                actor=self._actor, now=now,
            )  # fmt: skip
        except ValueError as error:
            raise KusanyaError(str(error)) from error
        done = Said("muted for {length}, by {who}: {our_what}").of(
            length=format_duration(length), who=safe(held.actor, 60), our_what=name
        )
        return ActionResult(done, ActionOutcome.ACKNOWLEDGED)

    def reveal_phone(self, collection_id: str, mode: Mode, *, name: str) -> RevealedPhone:
        """Return a whole phone number once the store has audited the reveal."""
        self._audit.refuse_unfit("reveal_phone", collection_id)
        why = "shown in the console for 30 s"
        phone = self._store.audit.reveal_phone(collection_id, mode, actor=self._actor, why=why)
        return RevealedPhone(name, phone)

    def replay(self, intent: IntentRow) -> ActionResult:
        """Send an intent again: the one that the dialog named, with its key and its bytes.

        Raises IntentError where it moved on meanwhile, and what `kusanya.intents.resume` does.
        """

        def send() -> ActionResult:
            now = self._store.intents.get(intent.id)
            if now is None or (now.idempotency_key, now.body) != (
                intent.idempotency_key,
                intent.body,
            ):
                raise IntentError(
                    "this is not the intent of the dialog: nothing was sent",
                    reason=IntentReason.CHANGED,
                    intent_id=intent.id,
                )
            why = self.replay_disabled_reason(now)
            if why or self._client is None:
                raise IntentError(
                    Said("{our_why}: nothing was sent").of(our_why=why_off(why)),
                    reason=IntentReason.CHANGED,
                    intent_id=intent.id,
                )
            # Made by a program that named no profile: it goes only where it was sent first.
            named = None if now.profile == DEFAULT_PROFILE != self._profile else self._profile
            made = resume(self._store, self._client, now, profile=named).collection
            return ActionResult(
                Said("replayed {reference}, same key and bytes: {id} is {status}").of(
                    reference=format_text(intent.reference, 60),
                    id=safe(made.id, 40),
                    status=status_word(made.status),
                )
            )

        detail = f"{intent.reference}, {intent.amount:,}, {intent.mode.value} mode"
        return self._audit.run("replay", intent.id, detail, send)

    def resend(self, row: DeliveryRow | MissingEventRow) -> ActionResult:
        """Let the sender's dashboard make one attempt more for every endpoint of the event.

        An event that never came is asked for by its collection. Raises DashboardError.
        """
        missing = row.collection_id if isinstance(row, MissingEventRow) else None
        subject = row.event_id or missing
        if self._dashboard is None or subject is None:
            raise DashboardError("this arrival names no event that could be sent again")
        dashboard = self._dashboard

        def send() -> ActionResult:
            reader = ServiceReader(dashboard)
            found = reader.sent(subject) if missing is None else reader.sent_about(missing)
            done = [
                parse_answer(dashboard.post(f"deliveries/{path_part(one.id)}/resend"), SentDelivery)
                for one in found
            ]
            named = safe(done[0].event_id if done else subject, 60)
            if not done:
                none = Said("nothing was resent for {what}: the sender has no delivery of it").of(
                    what=named
                )
                return ActionResult(none, ActionOutcome.NOTHING_TO_DO)
            return ActionResult(
                Said("resent {what}: {our_list}").of(
                    what=named, our_list=joined(", ", map(_last, done))
                )
            )

        return self._audit.run("resend", subject, f"{row.mode.value} mode", send)


def _last(delivery: SentDelivery) -> str:
    if not delivery.attempts:
        return "no attempt was made"
    latest = delivery.attempts[-1]
    answer = latest.status_code or latest.error or "not yet"
    return Said("attempt {number} answered {code}").of(
        number=latest.number, code=safe(str(answer), 40)
    )


def _refuse(error: KusanyaError) -> NoReturn:
    raise error
