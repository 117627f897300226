"""The one table of statuses: what each means for money, for the customer, and on a screen.

A status is one entry of `Status`; everything that treats statuses apart asks the sets below or the
entry itself. The set is open: a status that is not here is neither final nor paid, and appears as
itself. The embedded service keeps its own list, as an independent check; a test compares the two.
Source: specification, States and transitions; assumption OPEN_SETS.
"""

from collections.abc import Container
from enum import StrEnum
from typing import Final, Self

import msgspec


class CodeClass(StrEnum):
    """Who can do something about money that did not come."""

    LATER = "retry_later"
    CUSTOMER = "customer"
    DATA = "data"
    UNKNOWN = "unknown"


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What is said and done about one outcome."""

    english: str
    """For the customer: what happened. `{money}` is the amount."""
    swahili: str
    step_english: str = ""
    """For the customer: what comes next; empty where there is nothing to do."""
    step_swahili: str = ""
    support_step: str
    """What support itself does next."""
    may_prompt: bool = False
    """Whether the customer may be asked again for the same order."""


class StatusFacts(Words, frozen=True, kw_only=True):
    """What is known of one status."""

    final: bool
    """Whether it never changes any more; each final state is announced by one event."""
    paid: bool = False
    """Whether the customer has paid, and the money is ours."""
    coded: bool = False
    """Whether a failure code says why; the sentences are then the code's, and these stand for a
    code that we do not know."""
    glyph: str
    colour: str = ""
    """The role of the console's theme that it is shown in; empty is plain text."""
    figure: str
    """Under which name figures count it."""
    group: CodeClass = CodeClass.UNKNOWN
    """Who can do something where no money came and no code says why."""
    advice: str = ""
    """For an analyst: what helps then."""


_NOT_KNOWN: Final = StatusFacts(
    final=False,
    glyph="?",
    figure="other",
    english="We are checking what became of your payment.",
    swahili="Tunaangalia malipo yako yamefikia wapi.",
    support_step="Fetch the present state; send no second prompt.",
)
"""Of a status that the service added: nothing is concluded from it."""


class Status(StrEnum):
    """The states the specification names.

    Another word of the service is kept as it stands: it equals that word and none of these.
    """

    _value_: str
    facts: StatusFacts

    def __new__(cls, word: str, facts: StatusFacts = _NOT_KNOWN) -> Self:
        """Return the member of a word, which knows its facts."""
        status = str.__new__(cls, word)
        status._value_ = word
        status.facts = facts
        return status

    @classmethod
    def _missing_(cls, value: object) -> "Status | None":
        if not isinstance(value, str):
            return None
        said = str.__new__(cls, value)
        said._name_, said._value_, said.facts = "NOT_KNOWN", value, _NOT_KNOWN
        return said

    CREATED = (
        "created",
        StatusFacts(
            final=False,
            glyph="○",
            colour="muted",
            figure="open",
            english="We sent a payment request to your phone. Enter your PIN to approve it.",
            swahili=(
                "Tumetuma ombi la malipo kwenye simu yako. "
                "Weka namba yako ya siri (PIN) kulithibitisha."
            ),
            step_english="Tell nobody your PIN.",
            step_swahili="Usimwambie mtu yeyote namba yako ya siri.",
            support_step="Wait; send no second prompt.",
        ),
    )
    SUCCEEDED = (
        "succeeded",
        StatusFacts(
            final=True,
            paid=True,
            glyph="●",
            figure="succeeded",
            english="We have received your payment of {money}. Thank you.",
            swahili="Tumepokea malipo yako ya {money}. Asante.",
            support_step="Nothing to do.",
        ),
    )
    FAILED = (
        "failed",
        StatusFacts(
            final=True,
            coded=True,
            glyph="✕",
            colour="failed",
            figure="failed",
            english="The payment did not go through. We are checking why.",
            swahili="Malipo hayakufanikiwa. Tunafuatilia sababu.",
            support_step="Fetch the present state; give the raw code to the network's operator.",
            advice="The service gave no code; look at its message.",
        ),
    )
    EXPIRED = (
        "expired",
        StatusFacts(
            final=True,
            glyph="⊘",
            colour="expired",
            figure="expired",
            english="The time to enter your PIN ran out and the request was cancelled.",
            swahili="Muda wa kuweka namba ya siri umeisha na ombi limefutwa.",
            step_english="Shall we send a new request?",
            step_swahili="Tukutumie ombi jipya?",
            support_step="Fetch the present state once more, then offer a new request.",
            may_prompt=True,
            group=CodeClass.CUSTOMER,
            advice="Look the collection up once more, then a new attempt.",
        ),
    )

    @property
    def cause(self) -> str:
        """Return what a collection in it counts as among the causes, where no code says why."""
        return NO_CODE if self.facts.coded else f"({self.value})"


NO_CODE: Final = "(no code)"
CONTRADICTION: Final = "contradiction"
"""The status shown for a collection with two different final states."""

FINAL: Final = frozenset(status for status in Status if status.facts.final)
"""The final states. Source: States and transitions."""
OPEN: Final = frozenset(Status) - FINAL
PAID: Final = frozenset(status for status in Status if status.facts.paid)
UNPAID: Final = FINAL - PAID
"""What is over, and brought no money."""
CODED: Final = frozenset(status for status in Status if status.facts.coded)
"""What carries a failure code."""

EVENT_TYPES: Final[dict[str, Status]] = {
    f"collection.{status}": status for status in Status if status.facts.final
}
"""The event that announces each final state. Source: Events."""
MONEY_FIRST: Final = tuple(
    status for group in (PAID, OPEN, UNPAID) for status in Status if status in group
)
"""All statuses as figures list them: paid, open, then what brought no money."""
FIGURES: Final = tuple(
    dict.fromkeys(status.facts.figure for status in sorted(Status, key=lambda one: one in OPEN))
)
"""The names under which figures count collections, what is open last."""
CAUSES: Final[dict[str, Status]] = {status.cause: status for status in Status if status in UNPAID}
"""What counts as a cause although it is no failure code, with the status that it is counted of."""
_CAUSE_OF: Final[dict[str, str]] = {status: cause for cause, status in CAUSES.items()}


def cause_of(status: str, failure_code: str | None) -> str | None:
    """Return why a collection brought no money: its code, or its status in brackets; None else."""
    return (failure_code if status in CODED else None) or _CAUSE_OF.get(status)


def _listed(statuses: Container[str]) -> str:
    return ", ".join(f"'{status}'" for status in Status if status in statuses)


_FIGURE: Final = "coalesce(sum(rows) FILTER (status IN ({statuses})), 0)::BIGINT AS {figure}"
SQL: Final[dict[str, str]] = {
    **{
        name: f"({_listed(statuses)})"
        for name, statuses in (
            *(("named", frozenset(Status)), ("open", OPEN), ("final", FINAL)),
            *(("paid", PAID), ("unpaid", UNPAID)),
        )
    },
    # Why a row of collections brought no money, as `cause_of` says it.
    "cause": (
        f"CASE WHEN status IN ({_listed(CODED)}) THEN coalesce(failure_code, '{NO_CODE}')"
        f" WHEN status IN ({_listed(UNPAID - CODED)}) THEN '(' || status || ')' END"
    ),
    "figures": ", ".join(FIGURES),
    # The rows of each figure, summed up.
    "summed_figures": ", ".join(
        _FIGURE.format(
            statuses=_listed([one for one in Status if one.facts.figure == figure]), figure=figure
        )
        for figure in FIGURES
    ),
}
"""What `{name}` stands for in a query of ours: the sets as lists for IN, and what follows."""
