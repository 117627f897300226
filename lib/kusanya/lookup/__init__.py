"""Support's one box: from whatever a customer reads out to the payment and what happened to it.

`find` ranks what a text may mean and never guesses: every match is returned with the way it was
found, collections and the creations that no collection is known of. `load_timeline` and
`load_creation_timeline` gather the recorded facts about one of them in the order in which
we learned them; `advice` says what to tell the customer, and `new_request` whether another request
is safe. All of it only reads.
Source: specification, Collection, Events.
"""

from kusanya.lookup.around import ALSO_WITHIN, Neighbours, order_sentence
from kusanya.lookup.claims import ReceiptClaim, claims
from kusanya.lookup.creation_timeline import CreationTimeline, load_creation_timeline
from kusanya.lookup.entries import EventKind, TimelineEntry
from kusanya.lookup.new_request import NewRequest, Reason, advice, creation_advice, new_request
from kusanya.lookup.search.by_message import MessageMatch, match_messages
from kusanya.lookup.search.finding import find
from kusanya.lookup.search.matches import CreationMatch, LookupResult, Match, MatchKind
from kusanya.lookup.subjects import Subject, load_subjects
from kusanya.lookup.timeline import Timeline, load_timeline

__all__ = [
    "ALSO_WITHIN",
    "CreationMatch",
    "CreationTimeline",
    "EventKind",
    "LookupResult",
    "Match",
    "MatchKind",
    "MessageMatch",
    "Neighbours",
    "NewRequest",
    "Reason",
    "ReceiptClaim",
    "Subject",
    "Timeline",
    "TimelineEntry",
    "advice",
    "claims",
    "creation_advice",
    "find",
    "load_creation_timeline",
    "load_subjects",
    "load_timeline",
    "match_messages",
    "new_request",
    "order_sentence",
]
