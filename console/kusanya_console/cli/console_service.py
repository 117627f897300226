"""What a console gets where a dashboard is known: the embedded service's own side.

`kusanya console` finds address and token in its profile, `kusanya demo` hands over its own.
"""

from contextlib import ExitStack
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from kusanya.client import Client
    from kusanya.profiles import Profile
    from kusanya.store import Store
    from kusanya_console.dashboard.reader import ServiceReader
    from kusanya_console.deliveries.forensics import Forensics
    from kusanya_console.service.operator import ServiceActs


class Embedded(TypedDict):
    """The console's options about the service, as far as the profile allows them."""

    service: "ServiceReader | None"
    serving: "ServiceActs | None"
    explaining: "Forensics | None"


def embedded_for(
    profile: "Profile",
    store: "Store",
    client: "Client | None",
    stack: ExitStack,
    *,
    allow_writes: bool,
) -> Embedded:
    """Return what looks at the service, what acts on it, and what explains rejected deliveries."""
    explaining = None
    if profile.endpoints:
        from kusanya_console.deliveries.forensics import Forensics

        explaining = Forensics(profile.endpoints, signature_header=profile.signature_header)
    if profile.dashboard_url is None or profile.dashboard_token is None:
        return Embedded(service=None, serving=None, explaining=explaining)
    from kusanya_console.dashboard.client import DashboardClient
    from kusanya_console.dashboard.reader import ServiceReader
    from kusanya_console.service.operator import ServiceActs

    dashboard = stack.enter_context(DashboardClient(profile.dashboard_url, profile.dashboard_token))
    serving = None
    if allow_writes:
        serving = ServiceActs(
            store, dashboard, actor=store.audit.actor, profile=profile.name, client=client
        )
    return Embedded(service=ServiceReader(dashboard), serving=serving, explaining=explaining)
