"""The clock and the faults in the dashboard."""

from typing import Annotated, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from kusanya_service.dashboard.web import answer, list_answer, read
from kusanya_service.delivery.event_runner import EventRunner
from kusanya_service.errors import ApiError
from kusanya_service.simulation.clock import ServiceClock
from kusanya_service.simulation.faults import Faults, Scenario

_FARTHEST_S: Final = 10 * 366 * 24 * 60 * 60


class _Advance(msgspec.Struct, forbid_unknown_fields=True):
    seconds: Annotated[float, msgspec.Meta(ge=0, le=_FARTHEST_S)]


class ClockRoutes:
    """The routes under /dashboard/clock."""

    def __init__(self, *, clock: ServiceClock, runner: EventRunner) -> None:
        self._clock = clock
        self._runner = runner

    async def show(self, _request: Request) -> Response:
        """Show the time and how to follow it; needs no token, for time is no secret."""
        return answer(self._clock.state())

    async def advance(self, request: Request) -> Response:
        """Move virtual time and answer when everything due up to the new time has happened."""
        wanted = await read(request, _Advance)
        if not await self._runner.advance(wanted.seconds):
            raise ApiError(409, "clock_not_virtual", "only a virtual clock can be advanced")
        return answer(self._clock.state())


class FaultRoutes:
    """The routes under /dashboard/faults."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    async def show(self, _request: Request) -> Response:
        """Show the rules in force, each with how often it has applied."""
        return answer(
            {
                "rules": [
                    msgspec.to_builtins(rule) | {"struck": hits}
                    for rule, hits in self._faults.rules
                ]
            }
        )

    async def replace(self, request: Request) -> Response:
        """Put other rules in force; an empty list ends all faults."""
        scenario = await read(request, Scenario)
        self._faults.replace(scenario.rules)
        return await self.show(request)

    async def log(self, _request: Request) -> Response:
        """List what was injected, in order."""
        return list_answer(list(self._faults.log))
