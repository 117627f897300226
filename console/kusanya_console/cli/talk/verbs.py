"""The commands of `kusanya talk`, by their words."""

from collections.abc import Iterator, Mapping
from typing import Final

from kusanya.say import Said
from kusanya.wire import Mode
from kusanya_console.cli.talk import acting, looking
from kusanya_console.cli.talk.announcer import Follow
from kusanya_console.cli.talk.conversation import Conversation, Unanswerable, Verb
from kusanya_console.ui.language import translate


def help_lines(talk: Conversation, _rest: str) -> Iterator[str]:
    """Yield every command with its sentence."""
    for name, verb in talk.verbs.items():
        yield f"{name} {verb.takes}".rstrip() + f": {translate(verb.sentence)}"
    yield "Anything else is looked up. N is a line of the last list, or a reference or an id."


def follow(talk: Conversation, rest: str) -> Iterator[str]:
    """Choose what is said without being asked for."""
    try:
        talk.announcer.follow = Follow(rest.casefold())
    except ValueError:
        raise Unanswerable("follow all, problems or alarms") from None
    yield Said("following {what}").of(what=talk.announcer.follow.value)


def mode(talk: Conversation, rest: str) -> Iterator[str]:
    """Follow the other mode."""
    try:
        chosen = Mode(rest.casefold())
    except ValueError:
        raise Unanswerable("mode live or mode test") from None
    talk.follow_mode(chosen, talk.announcer.follow)
    yield Said("{mode} mode from now on").of(mode=chosen.value)
    yield from talk.tick()


def leave(talk: Conversation, _rest: str) -> Iterator[str]:
    """End the conversation."""
    talk.is_over = True
    yield "goodbye"


VERBS: Final[Mapping[str, Verb]] = {
    "help": Verb(help_lines, "", "say these commands."),
    "status": Verb(looking.status, "", "say the counts of the last 60 minutes and of today."),
    "alarms": Verb(looking.alarms, "", "list the alarms that stand."),
    "list": Verb(looking.collections, "FILTER", "list the newest collections, as in: list failed."),
    "deliveries": Verb(looking.deliveries, "FILTER", "list the newest deliveries."),
    "attempts": Verb(
        looking.attempts, "N", "say the attempts of a delivery, and when the next one is due."
    ),
    "failures": Verb(looking.failures, "[today|week]", "say why payments failed, cause by cause."),
    "handover": Verb(looking.hand_over, "[SINCE]", "say what a shift hands to the next."),
    "intents": Verb(looking.intents, "", "list creations, those without an answer first."),
    "more": Verb(looking.more, "", "go on with the last list."),
    "find": Verb(looking.find, "TEXT", "find a payment and what to say to the customer."),
    "paste": Verb(looking.paste, "", "look up a message of several lines."),
    "show": Verb(looking.show, "N", "say all that is known of one."),
    "ask": Verb(acting.ask, "N", "ask the service about one and keep its answer."),
    "catch-up": Verb(acting.catch_up, "", "ask the service about everything that is open."),
    "note": Verb(acting.note, "N TEXT", "keep a note on one."),
    "replay": Verb(acting.replay, "N", "send a creation again, with its key and bytes."),
    "resend": Verb(acting.resend, "N", "let the sender deliver an event once more."),
    "keep": Verb(acting.keep, "", "keep the receipt of the message looked up last."),
    "decide": Verb(
        acting.decide_on,
        "N COLLECTION|NOTHING WHY",
        "say what became of a creation past its window.",
    ),
    "acknowledge": Verb(acting.acknowledge, "N WHY", "say that you look after an alarm."),
    "follow": Verb(follow, "all|problems|alarms", "choose what is said unasked."),
    "mode": Verb(mode, "live|test", "follow the other mode."),
    "quit": Verb(leave, "", "leave."),
}
