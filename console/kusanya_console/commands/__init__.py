"""Every command of the console, declared once: its keys, its label, its sentence.

Bindings, key bar, palette and help are made from this list. A command's `action` is a Textual
action of the screen or, with the prefix `app.`, of the application.
"""

from kusanya_console.commands.command import Command, CommandKind
from kusanya_console.commands.every import COMMANDS, OPENS_A_BOX, commands_of
from kusanya_console.commands.keys import bindings_of, keys_shown, wrong_keys
from kusanya_console.commands.screens import DELIVERIES, INTENTS, LIVE, SCREENS, ScreenEntry

__all__ = [
    "COMMANDS",
    "DELIVERIES",
    "INTENTS",
    "LIVE",
    "OPENS_A_BOX",
    "SCREENS",
    "Command",
    "CommandKind",
    "ScreenEntry",
    "bindings_of",
    "commands_of",
    "keys_shown",
    "wrong_keys",
]
