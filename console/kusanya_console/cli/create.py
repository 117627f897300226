"""`kusanya whoami`, `collect`, `intents`, `catch-up`: commands that talk to the service."""

from typing import TYPE_CHECKING

import typer

from kusanya.text import safe
from kusanya_console.cli.options import AsJson, ProfileName, profile_of
from kusanya_console.cli.output import say, say_json

if TYPE_CHECKING:
    from kusanya.client import Client
    from kusanya.profiles import Profile


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command(epilog="Example: KUSANYA_API_KEY=... kusanya whoami")(whoami)


def whoami(*, profile: ProfileName = None, as_json: AsJson = False) -> None:
    """Check the API key: whose it is and in which mode."""
    chosen = profile_of(profile)
    with client_of(chosen) as client:
        principal = client.whoami()
    if as_json:
        say_json(
            {
                "key_id": principal.key_id,
                "merchant_id": principal.merchant_id,
                "mode": principal.mode.value,
            }
        )
    else:
        say(f"{safe(principal.merchant_id)}  {safe(principal.key_id)}  {principal.mode.value} mode")


def client_of(profile: "Profile") -> "Client":
    """Return a client for the profile's service; raises ConfigurationError for what is missing."""
    from kusanya.client import Client

    return Client(profile.need_api_key(), base_url=profile.need_base_url(), mode=profile.mode)
