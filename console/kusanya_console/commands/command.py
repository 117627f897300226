"""What a command is."""

from enum import StrEnum

import msgspec


class CommandKind(StrEnum):
    """What a command may do."""

    LOOK = "look"
    ASK = "ask"
    ACT = "act"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a person can ask for."""

    id: str
    keys: tuple[str, ...]
    """As Textual spells them; a command without one is found in the palette."""
    shown: str
    """The keys as the key bar and the help write them."""
    label: str
    sentence: str
    action: str
    kind: CommandKind = CommandKind.LOOK
    screens: frozenset[str] = frozenset()
    """Where it exists; empty means everywhere."""
    bar: int = 0
    """Its rank in the key bar, 1 first; 0 keeps it out."""
    bar_of: frozenset[str] = frozenset()
    """The screens whose key bar names it; empty means each on which it exists."""
    aside: bool = False
    """A screen that the key bar names only while it is shown: there is no room for all."""
    types: bool = False
    """Opens a line to type into: at once, so that keys sent right behind it are typed there."""

    def in_bar(self, screen: str) -> bool:
        """Return whether a screen's key bar names it where there is room."""
        return self.bar > 0 and (not self.bar_of or screen in self.bar_of)

    def on(self, screen: str) -> bool:
        """Return whether this command exists on a screen."""
        return not self.screens or screen in self.screens
