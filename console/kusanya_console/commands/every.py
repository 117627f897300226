"""Every command, in the order in which help and palette list them."""

from typing import Final

from kusanya_console.commands import lists, records, screens, service, views
from kusanya_console.commands.command import Command

COMMANDS: Final = (
    *screens.GOING,
    *lists.COMMANDS,
    *screens.OWN,
    *records.COMMANDS,
    *service.COMMANDS,
    *views.COMMANDS,
)


def commands_of(screen: str) -> tuple[Command, ...]:
    """Return the commands that exist on a screen, in the order in which they are declared."""
    return tuple(command for command in COMMANDS if command.on(screen))


OPENS_A_BOX: Final = frozenset(command.action for command in COMMANDS if command.types)
"""Actions whose keys are typed like any other while a box has the focus."""
