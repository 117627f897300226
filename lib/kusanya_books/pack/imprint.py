"""What stands on every sheet and every printed page: whose it is, which run, and how it ended."""

from typing import Any, Final

import msgspec

from kusanya.text import safe
from kusanya_books.judge.report import Report, ReportVerdict
from kusanya_books.pack.summary import sentence

_ENTITY: Final = 60
_LINE: Final = 200


class Imprint(msgspec.Struct, frozen=True, kw_only=True):
    """The line of a pack's every page."""

    entity: str
    """Whose books these are; empty where nobody said."""
    period: str
    mode: str
    run_id: str
    verdict: ReportVerdict
    sentence: str
    """What the verdict means."""
    hashes: tuple[tuple[str, str], ...] = ()
    """SHA-256 of what went in and of the facts that were closed, each with its name."""

    @property
    def banner(self) -> str:
        """Return what stands on top of every page of a period that is not reconciled, else ''."""
        return self.verdict.banner

    @property
    def status(self) -> str:
        """Return the verdict as every sheet begins with it."""
        verdict = self.verdict.value.capitalize()
        return safe(self.banner or f"{verdict}.", _LINE)

    @property
    def explained(self) -> str:
        """Return the verdict and what it means; a sentence that begins with it says it once."""
        word = self.verdict.value
        return (
            self.sentence if self.sentence.lower().startswith(word) else f"{word}: {self.sentence}"
        )

    @property
    def line(self) -> str:
        """Return whose books these are, the days, the mode and the run, for a page's foot."""
        whose = [safe(self.entity, _ENTITY)] if self.entity else []
        return " · ".join([*whose, self.period, f"{self.mode} mode", f"run {self.run_id}"])


def imprint(
    made: Report, *, run_id: str, verdict: ReportVerdict, made_from: dict[str, Any]
) -> Imprint:
    """Return the imprint of a report's pack; `made_from` is the identity that the run id names."""
    return Imprint(
        entity=made_from["entity"],
        period=str(made.inputs.period),
        mode=made.inputs.mode.value,
        run_id=run_id,
        verdict=verdict,
        sentence=sentence(made, verdict),
        hashes=tuple(made_from["inputs"].items()),
    )
