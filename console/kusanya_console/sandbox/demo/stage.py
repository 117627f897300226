"""Set the stage: service, receiver and traffic as children, started in order and all stopped.

The stage holds what a console or a headless run then looks at: the store's URL, the addresses, and
the key and tokens, which go to the children through their environment alone.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

import msgspec

from kusanya.privacy.secret import Secret
from kusanya.profiles import Profile, load
from kusanya.store import Store
from kusanya_console.sandbox.dashboard.client import DashboardClient
from kusanya_console.sandbox.demo.folder import DemoFolder, DemoSettings
from kusanya_console.sandbox.demo.processes import Child, ChildFailed, child_environment

_LOOPBACK: Final = "127.0.0.1"
_STOP_ORDER: Final = ("traffic", "service", "receiver")
ENDPOINT: Final = "shop"
"""The name that the demo's one endpoint has in the console."""


class Addresses(msgspec.Struct, frozen=True, kw_only=True):
    """What the embedded service says of itself in its first line."""

    base_url: str
    dashboard_url: str
    dashboard_token: str
    test_key: str
    live_key: str

    def __repr__(self) -> str:
        return f"Addresses({self.base_url!r})"


class Stage:
    """Use as a context manager: everything that was started is stopped on the way out."""

    def __init__(
        self, folder: DemoFolder, *, seed: int, speed: float, traffic: Sequence[str]
    ) -> None:
        self.folder = folder
        self.speed = speed
        self._settings = folder.settings(seed=seed)
        self._traffic_options = traffic
        self._children: list[Child] = []
        self.addresses: Addresses

    @property
    def clock_url(self) -> str:
        """Return what `--clock` takes to follow the service's time."""
        if self.speed == 1:
            return "real"
        return f"{self.addresses.dashboard_url.rstrip('/')}/clock"

    @property
    def profile(self) -> Profile:
        """Return the profile with which the demo's children work."""
        environ = {f"KUSANYA_{name.upper()}": value for name, value in self._environment().items()}
        return load(environ=environ)

    @property
    def dashboard_token(self) -> Secret:
        """Return the dashboard's token."""
        return Secret(self.addresses.dashboard_token)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def check(self) -> None:
        """Raise ChildFailed when a child has ended although it is needed."""
        ended = [child for child in self._children if not child.is_running()]
        if ended:
            said = "; ".join(f"the demo's {one.name} ended: {one.last_words()}" for one in ended)
            raise ChildFailed(f"{said}. Nothing is lost: leave and start kusanya demo again")

    def stop(self) -> None:
        """Stop all children, one after the other; what does not stop in time is killed.

        The receiver goes last: a delivery that found nobody would be tried again a minute into the
        next demo.
        """
        for child in sorted(self._children, key=lambda child: _STOP_ORDER.index(child.name)):
            child.ask_to_stop()
            child.ensure_stopped()
        self._children.clear()

    def _start(self) -> None:
        self.folder.keep(self._settings)
        # The demo's store is nobody else's: an older demo's comes up to date without a question.
        Store.open(self.folder.store_url, migrate=True).close()
        # What earlier demos left due is delivered as soon as the service runs, so the receiver is
        # there first wherever it can be: it needs the signing secret, and the time it follows.
        early = bool(self._settings.signing_secret) and self.speed == 1
        if early:
            self._start_receiver()
        self._start_service()
        self._register()
        if not early:
            self._start_receiver()
        self._child("traffic", "demo-traffic", *self._traffic_options).first_line()

    def _start_service(self) -> None:
        service = self._child(
            "service",
            "service",
            f"--port={self._settings.service_port}",
            f"--data={self.folder.path / 'service'}",
            f"--clock={'real' if self.speed == 1 else f'{self.speed:g}x'}",
            f"--seed={self._settings.seed}",
            f"--allow-local={_LOOPBACK}:{self._settings.receiver_port}",
            "--json",
        )
        self.addresses = msgspec.json.decode(service.first_line(), type=Addresses)

    def _start_receiver(self) -> None:
        receiver = self._child(
            "receiver",
            "receive",
            f"--port={self._settings.receiver_port}",
            f"--clock={self.clock_url}",
            "--json",
        )
        receiver.first_line()

    def _child(self, name: str, *arguments: str) -> Child:
        child = Child(
            name,
            [*arguments, "--until-stdin-closes"],
            environ=child_environment(**self._environment()),
            log=self.folder.log(name),
        )
        self._children.append(child)
        return child

    def _environment(self) -> dict[str, str]:
        settings = {"store": self.folder.store_url, "mode": "test", "config": "/dev/null"}
        if self._settings.signing_secret:
            settings["secrets"] = f"{ENDPOINT}={self._settings.signing_secret}"
        if hasattr(self, "addresses"):
            settings |= {
                "base_url": self.addresses.base_url,
                "api_key": self.addresses.test_key,
                "dashboard_url": self.addresses.dashboard_url,
                "dashboard_token": self.addresses.dashboard_token,
            }
        return settings

    def _register(self) -> None:
        """Make sure that the service delivers to our receiver, and that we know its secret."""
        url = f"http://{_LOOPBACK}:{self._settings.receiver_port}/webhooks"
        with DashboardClient(self.addresses.dashboard_url, self.dashboard_token) as dashboard:
            for endpoint in dashboard.get("endpoints")["data"]:
                if endpoint["id"] == self._settings.endpoint_id:
                    return
                if endpoint["url"] == url:
                    # Registered by a start that ended before it could keep the secret.
                    dashboard.delete(f"endpoints/{endpoint['id']}")
            made = dashboard.post("endpoints", {"url": url, "mode": "test"})
        self._settings = msgspec.structs.replace(
            self._settings, endpoint_id=made["id"], signing_secret=made["secret"]
        )
        self.folder.keep(self._settings)


__all__ = ["ENDPOINT", "Addresses", "DemoSettings", "Stage"]
