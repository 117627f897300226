"""What a console gets where a dashboard is known: the embedded service's own side.

`kusanya console` finds address and token in its profile, `kusanya demo` hands over its own.
"""

from contextlib import ExitStack
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from kusanya.client import Client
    from kusanya.profiles import Profile
    from kusanya.store import Store
    from kusanya_console.actions.forensics import Forensics
    from kusanya_console.sandbox.dashboard.reader import ServiceReader
    from kusanya_console.sandbox.service_admin import ServiceAdmin


class EmbeddedSources(TypedDict):
    """The console's options about the service, as far as the profile allows them."""

    service: "ServiceReader | None"
    service_admin: "ServiceAdmin | None"
    forensics: "Forensics | None"


def service_for(profile: "Profile", stack: ExitStack) -> "ServiceReader | None":
    """Return what looks at the service, where the profile knows its dashboard."""
    if profile.dashboard_url is None or profile.dashboard_token is None:
        return None
    from kusanya_console.sandbox.dashboard.client import DashboardClient
    from kusanya_console.sandbox.dashboard.reader import ServiceReader

    return ServiceReader(
        stack.enter_context(DashboardClient(profile.dashboard_url, profile.dashboard_token))
    )


def embedded_for(
    profile: "Profile",
    store: "Store",
    client: "Client | None",
    stack: ExitStack,
    *,
    allow_writes: bool,
) -> EmbeddedSources:
    """Return what looks at the service, what acts on it, and what explains rejected deliveries."""
    forensics = None
    if profile.endpoints:
        from kusanya_console.actions.forensics import Forensics

        forensics = Forensics(profile.endpoints, signature_header=profile.signature_header)
    if profile.dashboard_url is None or profile.dashboard_token is None:
        return EmbeddedSources(service=None, service_admin=None, forensics=forensics)
    from kusanya_console.sandbox.dashboard.client import DashboardClient
    from kusanya_console.sandbox.dashboard.reader import ServiceReader
    from kusanya_console.sandbox.service_admin import ServiceAdmin

    dashboard = stack.enter_context(DashboardClient(profile.dashboard_url, profile.dashboard_token))
    service_admin = None
    if allow_writes:
        service_admin = ServiceAdmin(
            store, dashboard, actor=store.audit.actor, profile=profile.name, client=client
        )
    return EmbeddedSources(
        service=ServiceReader(dashboard), service_admin=service_admin, forensics=forensics
    )
