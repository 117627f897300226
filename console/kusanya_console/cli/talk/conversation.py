"""One conversation with `kusanya talk`: lines in, lines out, and no terminal between them.

A number names a line of the last list. What the commands are stands in `verbs`.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from kusanya import lookup
from kusanya.alarms.alarm import Alarm
from kusanya.domain.business_day import day_start
from kusanya.errors import KusanyaError
from kusanya.filters import FilterError
from kusanya.say import Said
from kusanya.store.records import CollectionRow, DeliveryRow, IntentRow, MissingEventRow
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.results import ActionResult, why_off
from kusanya_console.cli.talk import lines
from kusanya_console.cli.talk.announcer import Announcer, Follow
from kusanya_console.ui.format import format_text
from kusanya_console.ui.language import translate

Item: TypeAlias = CollectionRow | IntentRow | DeliveryRow | MissingEventRow | Alarm
"""What a number of the last list names."""
_LINES_MAX: Final = 2
"""A number of more digits is a reference, an amount or a phone, and no line of a list."""


class PendingAct(msgspec.Struct, frozen=True):
    """An act that waits for a person's yes."""

    sentence: str
    run: Callable[[], ActionResult]


class Unanswerable(KusanyaError):  # noqa: N818 - an answer to a person, not a fault
    """A line that names nothing that could be meant."""


class Verb(msgspec.Struct, frozen=True):
    """One command: what runs it, what it takes, and what it does in a sentence."""

    run: "Callable[[Conversation, str], Iterator[str]]"
    takes: str
    sentence: str


class Conversation:
    """Follows one mode of a store and answers lines; the context's sources stay the caller's.

    `otherwise` answers a line that begins with no verb; `show` answers a number of the last list.
    """

    def __init__(
        self,
        context: AppContext,
        verbs: Mapping[str, Verb],
        *,
        otherwise: str = "find",
        show: str = "show",
        follow: Follow = Follow.PROBLEMS,
    ) -> None:
        self.context = context
        self.verbs = verbs
        self.items: tuple[Item, ...] = ()
        self.more: Callable[[], Iterator[str]] | None = None
        """Goes on with the last list."""
        self.question: PendingAct | None = None
        self.messages: tuple[lookup.MessageMatch, ...] = ()
        """What was read of the message that was looked up last."""
        self.pasted: list[str] | None = None
        """The lines of a message so far, while one is being pasted."""
        self.is_over = False
        self._otherwise = verbs[otherwise]
        self._show = verbs[show]
        self.follow_mode(context.mode, follow)

    def follow_mode(self, mode: Mode, follow: Follow) -> None:
        """Follow a mode from now on, as if it had never been read."""
        self.context.mode = mode
        self.items, self.more = (), None
        self.announcer = Announcer(
            self.context.store, mode=mode, clock=self.context.clock, follow=follow
        )

    @property
    def now(self) -> datetime:
        """Return the present instant."""
        return self.context.clock.now()

    def greet(self) -> Iterator[str]:
        """Yield what is said first."""
        said = "kusanya, {mode} mode. Say help, or quit."
        if self.context.actions is None:
            said = "kusanya, {mode} mode, read-only. Say help, or quit."
        yield translate(said, mode=self.context.mode.value)
        yield from self.tick()

    def tick(self) -> Iterator[str]:
        """Read the store once; yield what is new."""
        yield from map(lines.spoken, self.announcer.tick())

    def answer(self, line: str) -> Iterator[str]:
        """Do what a line asks for; yield what there is to say. Raises nothing of the library."""
        try:
            yield from map(lines.spoken, self._answer(line.strip()))
        except FilterError as error:
            yield f"{translate('filter')}: {safe(translate(str(error)), 300)}"
        except KusanyaError as error:
            why = safe(translate(why_off(str(error))), 400)
            yield translate("not done: {why}", why=why)

    def _answer(self, text: str) -> Iterator[str]:
        if self.pasted is not None:
            yield from self._paste_on(self.pasted, text)
            return
        question, self.question = self.question, None
        if question is not None and text.casefold() == "yes":
            yield from result_lines(question.run())
            return
        if question is not None:
            yield "left as it was"
        word, _, rest = text.partition(" ")
        verb = self.verbs.get(word.casefold())
        if verb is not None and (verb.takes or not rest):
            yield from verb.run(self, rest.strip())
        elif text.isdecimal() and 1 <= int(text) <= len(self.items):
            yield from self._show.run(self, text)
        elif text:
            yield from self._otherwise.run(self, text)

    def _paste_on(self, pasted: list[str], text: str) -> Iterator[str]:
        if text:
            pasted.append(text)
            return
        self.pasted = None
        yield from self._otherwise.run(self, "\n".join(pasted))

    def item(self, text: str) -> Item:
        """Return what a number, a reference or an id names; raises for none and for several."""
        word = text.strip()
        if not word:
            raise Unanswerable("which one? give a number of the last list, or a reference")
        if word.isdecimal() and len(word) <= _LINES_MAX:
            if not 1 <= int(word) <= len(self.items):
                raise Unanswerable(Said("the last list has no line {word}").of(word=word))
            return self.items[int(word) - 1]
        found = lookup.find(
            self.context.store, word, mode=self.context.mode, now=self.now, day=day_start
        )
        named = [match.intent for match in found.creations] + [one.row for one in found.matches]
        if len(named) != 1:
            raise Unanswerable(
                Said("{count} are known by this: find it, then give its number").of(
                    count=len(named)
                )
            )
        return named[0]


def result_lines(result: ActionResult) -> Iterator[str]:
    """Yield how an act ended; what a person has to look at says so first."""
    said = format_text(translate(result.sentence), 600)
    yield said if result.is_good else f"{translate('look')}: {said}"
