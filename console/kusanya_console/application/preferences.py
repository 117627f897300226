"""What a person chooses: colours, language, times, keys, and how lists are laid out."""

from pathlib import Path

from textual.binding import Keymap

from kusanya.errors import ConfigurationError
from kusanya.say import Language, Said
from kusanya.text import safe
from kusanya_console.actions.results import ActionOutcome, ActionResult
from kusanya_console.application.feed_runner import FeedRunner
from kusanya_console.commands import wrong_keys
from kusanya_console.ui import language
from kusanya_console.ui.arrangement import Arrangements
from kusanya_console.ui.ascii import AsciiFilter
from kusanya_console.ui.language import translate
from kusanya_console.ui.stylesheet import ParsedOnce
from kusanya_console.ui.theme import THEMES, roles


class Preferences(FeedRunner):
    """The part of the application that shows what config.toml or the palette says of its look."""

    def _dress(self, *, ascii_only: bool) -> None:
        if ascii_only:
            self._filters.append(AsciiFilter())
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name
        self.stylesheet = ParsedOnce(variables=self.get_css_variables())

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return what a theme of somebody else's leaves out."""
        return dict(THEMES[0].variables)

    def action_next_theme(self) -> None:
        """Go from dark to light to the terminal's own colours."""
        names = [theme.name for theme in THEMES]
        place = names.index(self.theme) if self.theme in names else -1
        self.theme = name = names[(place + 1) % len(names)]
        kept = translate(
            'theme = "{name}" in config.toml keeps these colours',
            name=name.removeprefix("kusanya-"),
        )
        self.notify(kept, markup=False, timeout=4)

    def action_next_language(self) -> None:
        """Go from English to Swahili, and back."""
        language.use(
            Language.SWAHILI if language.chosen() is Language.ENGLISH else Language.ENGLISH
        )
        if self.console_screen is not None:
            self.console_screen.speak()
        self._show_status()
        kept = translate(
            'language = "{code}" in config.toml keeps it', code=language.chosen().value
        )
        self.notify(f"{language.NAMES[language.chosen()]}: {kept}", markup=False, timeout=4)

    def _roles(self) -> None:
        self.console.push_theme(roles(self.get_css_variables()))

    def begin_with(self, notice: str) -> None:
        """Say from the first paint on what a person must know."""
        self.context.show(ActionResult(notice, ActionOutcome.FAILED))

    def use_theme(self, name: str) -> None:
        """Show one of the themes; raises ConfigurationError for what is none."""
        named = {theme.name.removeprefix("kusanya-"): theme.name for theme in THEMES}
        named |= {theme: theme for theme in self.available_themes}
        if name not in named:
            known = ", ".join(theme.name.removeprefix("kusanya-") for theme in THEMES)
            raise ConfigurationError(
                Said("theme of config.toml: {name} is none of {known}").of(
                    name=f"{name!r}", known=known
                )
            )
        self.theme = named[name]

    def use_arrangements(self, path: Path) -> None:
        """Show the lists as a person arranged them last, and keep in `path` how they do now."""
        lists = Arrangements(path)
        self.context.lists = lists
        try:
            lists.read()
        except ConfigurationError as error:
            self.begin_with(safe(str(error), 300))

    def action_times(self) -> None:
        """Write instants in the next format, on every screen."""
        self.context.times = self.context.times.after
        screen = self.console_screen
        if screen is not None:
            screen.restyle()
        self._show_status()
        said = translate("times in {format}", format=translate(self.context.times.value))
        self.notify(said, markup=False, timeout=2)

    def set_keymap(self, keymap: Keymap) -> None:
        """Put a person's keys in place of the commands' own; raises ConfigurationError."""
        wrong = wrong_keys(keymap)
        if wrong:
            raise ConfigurationError(Said("[keys] of config.toml: {our_why}").of(our_why=wrong))
        self.context.keys = dict(keymap)
        super().set_keymap(keymap)
