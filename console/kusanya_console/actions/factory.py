"""What asks the service and what acts, built from a profile, for every kind of console."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loaded where there is somebody to ask
    from kusanya.client import Client
    from kusanya.clock import Clock
    from kusanya.domain.roles import Role
    from kusanya.profiles import Profile
    from kusanya.store import Store
    from kusanya_console.actions.queries import ServiceQueries
    from kusanya_console.actions.store_actions import StoreActions


def client_for(profile: "Profile", clock: "Clock", stack: ExitStack) -> "Client | None":
    """Return a client where the profile has a key and an address, on the console's clock."""
    if profile.api_key is None or profile.base_url is None:
        return None
    # Late: where nobody can be asked the client is not needed.
    from kusanya.client import Client

    return stack.enter_context(
        Client(profile.api_key, base_url=profile.base_url, mode=profile.mode, clock=clock)
    )


def open_store(
    profile: "Profile",
    clock: "Clock",
    client: "Client | None",
    stack: ExitStack,
    *,
    allow_writes: bool,
) -> "Store":
    """Return the profile's store: to be read alone where nobody can ask or act."""
    from kusanya.store import Store

    # Looking never creates or migrates: an empty new store would look like a quiet day.
    read_only = client is None and not allow_writes
    return stack.enter_context(
        Store.open(profile.store, clock=clock, read_only=read_only, create=False)
    )


def queries_for(store: "Store", client: "Client", clock: "Clock") -> "ServiceQueries":
    """Return what asks the service; its room is loaded only where there is somebody to ask."""
    from kusanya_console.actions.queries import ServiceQueries

    return ServiceQueries(store, client, clock=clock)


def actions_for(
    profile: "Profile",
    store: "Store",
    clock: "Clock",
    client: "Client | None",
    stack: ExitStack,
    *,
    role: "Role | None" = None,
) -> "StoreActions":
    """Return everything that changes something, in the name by which the store knows the person.

    As far as `role` allows, where one is given.
    """
    from kusanya.domain.roles import Role
    from kusanya_console.actions.store_actions import StoreActions
    from kusanya_console.sandbox.dashboard.client import DashboardClient

    dashboard = None
    if profile.dashboard_url is not None and profile.dashboard_token is not None:
        dashboard = stack.enter_context(
            DashboardClient(profile.dashboard_url, profile.dashboard_token)
        )
    return StoreActions(
        store,
        actor=store.audit.actor,
        clock=clock,
        profile=profile.name,
        client=client,
        dashboard=dashboard,
        role=role or Role.ADMIN,
    )
