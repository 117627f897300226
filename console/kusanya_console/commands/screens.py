"""Going to a screen."""

from typing import Final

from kusanya_console.commands.command import Command

COMMANDS: Final = (
    Command(
        id="go.live", keys=("1",), shown="1", label="Live", action="app.go('live')",
        sentence="Watch what is moving: counts, and the newest collections.",
    ),
    Command(
        id="go.deliveries", keys=("2",), shown="2", label="Deliveries",
        action="app.go('deliveries')",
        sentence="See what arrived, what we answered, and what comes next.",
    ),
    Command(
        id="go.lookup", keys=("3",), shown="3", label="Lookup", action="app.go('lookup')",
        sentence="Find a collection by reference, id or phone, and learn what to say.",
    ),
    Command(
        id="go.health", keys=("4",), shown="4", label="Health", action="app.go('health')",
        sentence="See where it is going wrong: endpoints, failures, stuck prompts.",
    ),
    Command(
        id="go.intents", keys=("5",), shown="5", label="Intents", action="app.go('intents')",
        sentence="See which creations have no answer, and how long they may be replayed.",
    ),
    Command(
        id="go.service", keys=("6",), shown="6", label="Service", action="service",
        sentence="See the embedded service from its own side, and change it.",
    ),
    Command(
        id="go.audit", keys=("7",), shown="7", label="Audit", action="app.go('audit')",
        aside=True,
        sentence="See who did what, when, and to which collection.",
    ),
    Command(
        id="go.handover", keys=("8",), shown="8", label="Hand-over", action="app.go('handover')",
        aside=True,
        sentence="See what happened in this shift, who did what, and what is open.",
    ),
)  # fmt: skip
