"""Two themes of our own, and the colours of the roles that `words` names."""

from typing import Final

from rich.style import Style
from rich.theme import Theme as RichTheme
from textual.theme import Theme

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
    variables={"k-muted": "#7d878e", "k-rule": "#323a40", "k-cursor": "#24303a"},
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
    variables={"k-muted": "#6a7378", "k-rule": "#cfccc4", "k-cursor": "#e2e9ec"},
)
THEMES: Final = (DARK, LIGHT)


def roles(variables: dict[str, str]) -> RichTheme:
    """Return what each role looks like under a Textual theme, from its CSS variables."""
    muted = variables.get("k-muted", variables["text-muted"])
    muted = muted if muted.startswith("#") else "bright_black"
    rule = variables.get("k-rule", muted)
    rule = rule if rule.startswith("#") else muted
    error, warning, accent = variables["error"], variables["warning"], variables["accent"]
    background = variables["background"]
    return RichTheme(
        {
            "k.muted": Style(color=muted),
            "k.rule": Style(color=rule),
            "k.failed": Style(color=error),
            "k.warn": Style(color=warning),
            "k.accent": Style(color=accent),
            "k.strong": Style(bold=True),
            "k.live": Style(color=background, bgcolor=error, bold=True),
            "k.test": Style(color=background, bgcolor=accent, bold=True),
        },
        inherit=False,
    )
