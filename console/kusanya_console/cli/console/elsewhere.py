"""`kusanya console --web`: the console in a browser on this machine."""

from typing import TYPE_CHECKING

from kusanya_console.output import USAGE, Refused, say

if TYPE_CHECKING:
    from kusanya.profiles import Profile

_PORT_MAX = 65_535


def in_a_browser(
    profile: "Profile", *, clock: str, port: int, ascii_only: bool, allow_writes: bool
) -> None:
    """Serve the console to a browser on this machine until Ctrl-C; raises Refused."""
    import asyncio
    import os

    from kusanya.clock import SystemClock
    from kusanya.service_clock import parse_clock
    from kusanya.store import Store

    if allow_writes:
        raise Refused("--web only looks: leave out --allow-writes", code=USAGE)
    if not 0 <= port <= _PORT_MAX:
        raise Refused(f"--port is 0 to {_PORT_MAX}; 0 takes a free one", code=USAGE)
    try:
        from kusanya_console.web.server import serve
    except ImportError:
        raise Refused("--web needs more packages: pip install 'kusanya[web]'") from None
    from kusanya_console.web.child import Settings

    parse_clock(clock, max_age_s=0.25)  # tells now what a browser could not
    Store.open(profile.store, clock=SystemClock(), read_only=True).close()
    settings = Settings(
        store=profile.store,
        mode=profile.mode,
        profile=profile.name,
        clock=clock,
        ascii_only=ascii_only,
    )

    def tell(address: str) -> None:
        say("The console, read-only, for one browser on this machine (Ctrl-C ends it):")
        say(f"  {address}")

    try:
        asyncio.run(serve(settings, port=port, say=tell, environ=os.environ))
    except OSError as error:
        raise Refused(f"cannot listen on port {port}: {error.strerror}") from error
