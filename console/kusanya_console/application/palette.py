"""The command palette's contents: the commands of the screen under it, and pasted references."""

import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Final

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from kusanya.privacy import is_phone_like
from kusanya_console.actions.messages import ProfileRequested, TimelineRequested
from kusanya_console.commands import Command, commands_of
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.lookup.words import echoed
from kusanya_console.ui.format import format_instant, format_text
from kusanya_console.ui.language import translate

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
        for title, run, help_ in (*self._views(), *self._profiles()):
            yield DiscoveryHit(Content(title), run, text=title, help=help_)

    async def search(self, query: str) -> Hits:
        """List what fits the words typed."""
        asked = query.strip()
        if _REFERENCE.fullmatch(asked) and any(letter.isdigit() for letter in asked):
            said = echoed(asked)
            title = translate(
                "Look up {asked}" if is_phone_like(asked) else "Look up “{asked}”", asked=said
            )
            help_ = translate("Open Lookup on this reference, id or phone.")
            yield Hit(_FIRST, Content(title), self._lookup(asked), text=title, help=help_)
        matcher = self.matcher(query)
        for command in self._commands():
            said = f"{self._title(command)} {translate(command.sentence)} {command.label}"
            score = matcher.match(said)
            if score > 0:
                yield Hit(
                    score,
                    Content(self._title(command)),
                    self._run(command),
                    text=self._title(command),
                    help=self._help(command),
                )

        for title, run, help_ in (*self._views(), *self._profiles()):
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, Content(title), run, text=title, help=help_)

    def _views(self) -> Iterator[tuple[str, Callable[[], None], str]]:
        """Yield what can be done with the saved views of the screen's list."""
        screen = self.screen
        if not isinstance(screen, ListScreen):
            return
        for view in screen.context.views:
            if view.of == screen.NAME:
                at = format_instant(view.at, screen.context.look)
                by = translate(
                    "{filter}, by {who} {at}",
                    filter=format_text(view.text, 120),
                    who=format_text(view.by, 40),
                    at=at,
                )
                # The palette reads a help as markup, in which an escaped bracket opens nothing.
                by = by.replace("[", "\\[")
                yield (
                    translate("View @{name}", name=view.name),
                    partial(screen.apply_view, view),
                    by,
                )
                gone = translate("Delete view @{name}", name=view.name)
                yield gone, partial(screen.delete_view, view), by

    def _profiles(self) -> Iterator[tuple[str, Callable[[], object], str]]:
        """Yield the other profiles of config.toml."""
        context = getattr(self.screen, "context", None)
        if context is None:
            return
        said = translate("Leave this profile; the console opens on the store of that one.")
        for name in context.profiles:
            if name != context.profile:
                request = ProfileRequested(name)
                run = partial(self.screen.post_message, request)
                yield translate("Profile: {name}", name=format_text(name, 40)), run, said

    def _commands(self) -> list[Command]:
        name = getattr(self.screen, "NAME", "")
        return [command for command in commands_of(name) if command.id != "view.palette"]

    def _lookup(self, text: str) -> Callable[[], None]:
        def run() -> None:
            self.screen.post_message(TimelineRequested(text))

        return run

    def _help(self, command: Command) -> str:
        context = getattr(self.screen, "context", None)
        return (context.disabled_reason(command) if context is not None else "") or translate(
            command.sentence
        )

    def _title(self, command: Command) -> str:
        context = getattr(self.screen, "context", None)
        keys = command.shown if context is None else context.shown(command)
        label = translate(command.label)
        return f"{label}  ({keys})" if keys else label

    def _run(self, command: Command) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.screen.run_action(command.action)

        return run
