"""The command palette's contents: the commands of the screen under it, and pasted references."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from kusanya.privacy import is_phone_like
from kusanya_console.actions.messages import TimelineRequested
from kusanya_console.commands import Command, commands_of
from kusanya_console.lookup.words import echoed

_FIRST: Final = 100.0
"""Above the score of any command: nobody pastes a number to find a key."""
_REFERENCE: Final = re.compile(r"\+?\w[\w ./#+\-]{3,199}")
"""What customers and logs call a payment by; one with a digit is taken for a reference."""


class CommandProvider(Provider):
    """Offers what the present screen can do, each with its sentence."""

    async def discover(self) -> Hits:
        """List everything before anything is typed."""
        for command in self._commands():
            yield DiscoveryHit(self._title(command), self._run(command), help=self._help(command))

    async def search(self, query: str) -> Hits:
        """List what fits the words typed."""
        asked = query.strip()
        if _REFERENCE.fullmatch(asked) and any(letter.isdigit() for letter in asked):
            said = echoed(asked)
            title = f"Look up {said}" if is_phone_like(asked) else f"Look up “{said}”"
            help_ = "Open Lookup on this reference, id or phone."
            yield Hit(_FIRST, Content(title), self._lookup(asked), text=title, help=help_)
        matcher = self.matcher(query)
        for command in self._commands():
            said = f"{self._title(command)} {command.sentence}"
            score = matcher.match(said)
            if score > 0:
                yield Hit(
                    score,
                    Content(self._title(command)),
                    self._run(command),
                    text=self._title(command),
                    help=self._help(command),
                )

    def _commands(self) -> list[Command]:
        name = getattr(self.screen, "NAME", "")
        return [command for command in commands_of(name) if command.id != "view.palette"]

    def _lookup(self, text: str) -> Callable[[], None]:
        def run() -> None:
            self.screen.post_message(TimelineRequested(text))

        return run

    def _help(self, command: Command) -> str:
        context = getattr(self.screen, "context", None)
        return (context.disabled_reason(command) if context is not None else "") or command.sentence

    def _title(self, command: Command) -> str:
        context = getattr(self.screen, "context", None)
        keys = command.shown if context is None else context.shown(command)
        return f"{command.label}  ({keys})" if keys else command.label

    def _run(self, command: Command) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.screen.run_action(command.action)

        return run
