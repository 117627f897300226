"""Copying, exporting, asking about and acting on the record under the cursor."""

from typing import Final

from kusanya.domain.assumptions import REPLAY_HOURS
from kusanya.say import Said
from kusanya_console.commands.command import Command, CommandKind
from kusanya_console.commands.screens import (
    DELIVERIES,
    HEALTH,
    INTENTS,
    LISTS,
    LOOKUP,
    PAYMENTS,
    TABLES,
)

COMMANDS: Final = (
    Command(
        id="copy.sentence", keys=("s",), shown="s", label="copy sentence",
        action="copy_sentence", bar=12, screens=PAYMENTS,
        sentence="Copy what to say to the customer, in English and in Swahili.",
    ),
    Command(
        id="copy.card", keys=("Y",), shown="Y", label="copy card", action="copy_card", bar=13,
        sentence="Copy the evidence card as text and save it to a file, the phone masked.",
        screens=PAYMENTS | {HEALTH},
    ),
    Command(
        id="copy.json", keys=("J",), shown="J", label="copy JSON", action="copy_json",
        sentence="Copy the JSON as it was received, the phone masked.", screens=PAYMENTS,
    ),
    Command(
        id="copy.id", keys=("y",), shown="y", label="copy", action="copy_id", bar=8,
        sentence="Copy the reference; on Deliveries the event's id, on Health the report.",
    ),
    Command(
        id="copy.notice", keys=(), shown="", label="copy outage notice", action="copy_notice",
        sentence="Copy what customers are told of the network under the cursor, in both languages.",
        screens=frozenset({HEALTH}),
    ),
    Command(
        id="list.export", keys=("ctrl+s",), shown="^s", label="export", action="export",
        sentence="Write the rows that pass the filter, or those marked, to a CSV, phones masked.",
        screens=TABLES,
    ),
    Command(
        id="list.export_raw", keys=(), shown="", label="export raw CSV", action="export('RAW')",
        sentence="Write the rows that pass the filter with exact values, for programs.",
        screens=TABLES,
    ),
    Command(
        id="list.export_lines", keys=(), shown="", label="export JSON Lines",
        action="export('LINES')", screens=TABLES,
        sentence="Write the rows that pass the filter as one JSON object a line.",
    ),
    Command(
        id="ask.service", keys=("c",), shown="c", label="ask the service", action="ask_service",
        kind=CommandKind.ASK, screens=LISTS | PAYMENTS,
        sentence="Ask the service about the record under the cursor and keep its answer.",
    ),
    Command(
        id="ask.catch_up", keys=("c",), shown="c", label="catch up", action="catch_up",
        kind=CommandKind.ASK, screens=frozenset({HEALTH}), bar=4,
        sentence="Ask the service for everything open and every event not yet checked.",
    ),
    Command(
        id="act.note", keys=("A",), shown="A", label="note…", action="note", kind=CommandKind.ACT,
        sentence="Keep a note on the payment; Lookup finds payments by what was noted.",
        screens=LISTS | PAYMENTS,
    ),
    Command(
        id="act.keep_receipt", keys=("K",), shown="K", label="keep receipt",
        action="keep_receipt", kind=CommandKind.ACT, screens=frozenset({LOOKUP}),
        sentence="Keep the receipt of a pasted message with its payment; Lookup then finds it.",
    ),
    Command(
        id="act.rule", keys=(), shown="", label="rule by the service…", action="rule",
        kind=CommandKind.ACT, screens=LISTS | PAYMENTS,
        sentence="Let the service's answer choose among final states that contradict each other.",
    ),
    Command(
        id="act.retry_outcome", keys=(), shown="", label="retry outcomes", action="retry_outcomes",
        kind=CommandKind.ACT, screens=LISTS | PAYMENTS,
        sentence="Let the shop's consumers try at once what they parked or put off of this order.",
    ),
    Command(
        id="act.skip_outcome", keys=(), shown="", label="skip outcomes…", action="skip_outcomes",
        kind=CommandKind.ACT, screens=LISTS | PAYMENTS,
        sentence="Give up what the shop's consumers parked of this order, with a reason; audited.",
    ),
    Command(
        id="act.reveal", keys=("v",), shown="v", label="reveal phone", action="reveal",
        kind=CommandKind.ACT, screens=PAYMENTS,
        sentence="Show the whole phone number for 30 s; audited, never in a copy.",
    ),
    Command(
        id="act.replay", keys=("R",), shown="R", label="replay…", action="replay",
        kind=CommandKind.ACT, screens=frozenset({INTENTS}), bar=1,
        sentence=Said(
            "Send the same key and bytes again, within {hours} h of the first time."
        ).of(hours=REPLAY_HOURS),
    ),
    Command(
        id="act.decide", keys=("D",), shown="D", label="decide…", action="decide",
        kind=CommandKind.ACT, screens=frozenset({INTENTS}), bar=2,
        sentence="Record what became of a creation whose window is over, and how you know.",
    ),
    Command(
        id="act.acknowledge", keys=("A",), shown="A", label="acknowledge…", action="acknowledge",
        kind=CommandKind.ACT, screens=frozenset({HEALTH}),
        sentence="Say that you look after the alarm or oddity under the cursor; audited.",
    ),
    Command(
        id="act.mute", keys=("M",), shown="M", label="mute…", action="mute",
        kind=CommandKind.ACT, screens=frozenset({HEALTH}),
        sentence="Send nothing about the alarm under the cursor for a while; audited.",
    ),
    Command(
        id="act.resend", keys=("R",), shown="R", label="resend…", action="resend",
        kind=CommandKind.ACT, screens=frozenset({DELIVERIES}),
        sentence="Let the sender deliver this event again, one that never came too.",
    ),
)  # fmt: skip
