"""Three themes of our own, and the colours of the roles that `vocabulary` names."""

from typing import Final

from rich.style import Style
from rich.theme import Theme as RichTheme
from textual.theme import BUILTIN_THEMES, Theme

DARK: Final = Theme(
    name="kusanya",
    dark=True,
    primary="#7fb4ca",
    secondary="#7fb4ca",
    accent="#7fb4ca",
    foreground="#d5d8da",
    background="#111518",
    surface="#111518",
    panel="#1c2226",
    success="#d5d8da",
    warning="#e0af68",
    error="#f0727b",
    variables={
        "k-muted": "#8f999f",
        "k-rule": "#323a40",
        "k-cursor": "#24303a",
        "k-expired": "#b294bb",
    },
)
LIGHT: Final = Theme(
    name="kusanya-light",
    dark=False,
    primary="#1b6a88",
    secondary="#1b6a88",
    accent="#1b6a88",
    foreground="#20262a",
    background="#fbfaf7",
    surface="#fbfaf7",
    panel="#efede7",
    success="#20262a",
    warning="#8f5700",
    error="#b3202c",
    variables={
        "k-muted": "#5f686d",
        "k-rule": "#cfccc4",
        "k-cursor": "#e2e9ec",
        "k-expired": "#6f4a8e",
    },
)
TERMINAL: Final = Theme(
    name="kusanya-terminal",
    dark=True,
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_cyan",
    accent="ansi_cyan",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    success="ansi_default",
    warning="ansi_yellow",
    error="ansi_red",
    variables=BUILTIN_THEMES["ansi-dark"].variables
    | {
        "k-muted": "ansi_bright_black",
        "k-rule": "ansi_bright_black",
        "k-cursor": "ansi_default",
        "k-expired": "ansi_magenta",
    },
)
"""The terminal's own colours, whatever they are."""
THEMES: Final = (DARK, LIGHT, TERMINAL)
_ANSI: Final = "ansi_"


def _rich(colour: str) -> str:
    return colour.removeprefix(_ANSI)


def roles(variables: dict[str, str]) -> RichTheme:
    """Return what each role looks like under a Textual theme, from its CSS variables."""
    muted, rule = _rich(variables["k-muted"]), _rich(variables["k-rule"])
    error, warning, accent = (_rich(variables[name]) for name in ("error", "warning", "accent"))
    background = variables["background"]
    background = "black" if background.startswith(_ANSI) else background
    return RichTheme(
        {
            "k.muted": Style(color=muted),
            "k.rule": Style(color=rule),
            "k.failed": Style(color=error),
            "k.warn": Style(color=warning),
            "k.accent": Style(color=accent),
            "k.expired": Style(color=_rich(variables["k-expired"])),
            "k.strong": Style(bold=True),
            "k.match": Style(underline=True, bold=True),
            "k.live": Style(color=background, bgcolor=error, bold=True),
            "k.test": Style(color=background, bgcolor=accent, bold=True),
        },
        inherit=False,
    )
