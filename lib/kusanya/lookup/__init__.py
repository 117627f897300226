"""Support's one box: from whatever a customer reads out to the payment and what happened to it.

`find` ranks what a text may mean and never guesses: every match is returned with the way it was
found, collections and the creations that no collection is known of. `story` and `creation_story`
gather the recorded facts about one of them in the order in which we heard them; `advice` says what
to tell the customer, and `new_request` whether another request is safe. All of it only reads.
Source: specification, Collection, Events.
"""

from kusanya.lookup.around import ALSO_WITHIN, Around
from kusanya.lookup.creations import CreationStory, creation_story
from kusanya.lookup.finding import CreationMatch, Found, Match, Way, find
from kusanya.lookup.moments import Moment, What
from kusanya.lookup.requests import NewRequest, Reason, advice, creation_advice, new_request
from kusanya.lookup.story import Story, story

__all__ = [
    "ALSO_WITHIN",
    "Around",
    "CreationMatch",
    "CreationStory",
    "Found",
    "Match",
    "Moment",
    "NewRequest",
    "Reason",
    "Story",
    "Way",
    "What",
    "advice",
    "creation_advice",
    "creation_story",
    "find",
    "new_request",
    "story",
]
