"""How the console looks, help, and leaving."""

from typing import Final

from kusanya_console.commands.command import Command

COMMANDS: Final = (
    Command(
        id="view.times", keys=("t",), shown="t", label="times", action="app.times",
        sentence="Write times in EAT, in UTC or as ages.",
    ),
    Command(
        id="view.theme", keys=(), shown="", label="colours", action="app.next_theme",
        sentence="Go from dark to light to the terminal's own colours, and round again.",
    ),
    Command(
        id="view.language", keys=(), shown="", label="language", action="app.next_language",
        sentence="Go from English to Kiswahili, and back.",
    ),
    Command(
        id="view.mode", keys=(), shown="", label="the other mode", action="app.other_mode",
        sentence="Go from LIVE MODE to TEST MODE or back; every window is emptied first.",
    ),
    Command(
        id="view.back", keys=("escape",), shown="esc", label="back", action="step_back",
        sentence="Go one step back.",
    ),
    Command(
        id="view.help", keys=("question_mark",), shown="?", label="help", action="app.help",
        sentence="Show the keys of this screen.", bar=90,
    ),
    Command(
        id="view.palette", keys=("ctrl+p", "colon"), shown="^p", label="commands",
        action="app.command_palette", sentence="Find a command by its name.", bar=91,
    ),
    Command(
        id="app.leave", keys=("q", "ctrl+c"), shown="q", label="leave", action="app.leave",
        sentence="Leave the console: press it twice.",
    ),
    Command(
        id="app.quit", keys=("ctrl+q",), shown="^q", label="quit", action="app.quit",
        sentence="Leave the console at once.",
    ),
)  # fmt: skip
