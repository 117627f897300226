"""The keys of commands: bindings, how they are written, and what may not be remapped."""

from collections.abc import Mapping
from typing import Final

from textual.binding import Binding, BindingType

from kusanya.say import Said
from kusanya_console.commands.command import Command
from kusanya_console.commands.every import COMMANDS, commands_of


def bindings_of(screen: str) -> list[BindingType]:
    """Return the key bindings of a screen, each under its command's id so it can be remapped."""
    return [
        Binding(
            ",".join(command.keys),
            command.action,
            command.sentence,
            id=command.id,
            # Another key waits for the widget that has the focus, and those behind it too.
            priority=command.types,
        )
        for command in commands_of(screen)
        if command.keys
    ]


_SPELLED: Final[Mapping[str, str]] = {
    "slash": "/", "question_mark": "?", "exclamation_mark": "!", "greater_than_sign": ">",
    "minus": "-", "plus": "+", "colon": ":", "escape": "esc", "pagedown": "PgDn", "pageup": "PgUp",
    "left_square_bracket": "[", "right_square_bracket": "]", "asterisk": "*",
}  # fmt: skip


def keys_shown(command: Command, remapped: Mapping[str, str]) -> str:
    """Return a command's keys as people read them, a remapped one as it is now."""
    if command.id not in remapped:
        return command.shown
    keys = (key.strip() for key in remapped[command.id].split(","))
    return " ".join(_SPELLED.get(key, key.replace("ctrl+", "^")) for key in keys)


def wrong_keys(remapped: Mapping[str, str]) -> str:
    """Return why a remapping of keys cannot be, or nothing: unknown commands, keys taken twice."""
    known = {command.id for command in COMMANDS}
    unknown = sorted(set(remapped) - known)
    if unknown:
        return Said("no command has the id {name}; they are {known}").of(
            name=unknown[0], known=", ".join(sorted(known))
        )
    for screen in sorted({name for command in COMMANDS for name in command.screens}):
        taken: dict[str, str] = {}
        for command in commands_of(screen):
            held = remapped.get(command.id)
            for key in command.keys if held is None else [one.strip() for one in held.split(",")]:
                other = taken.setdefault(key, command.id)
                if other != command.id:
                    return Said("the key {key} would be both {one} and {other} on {screen}").of(
                        key=key, one=other, other=command.id, screen=screen
                    )
    return ""
