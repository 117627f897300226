"""Faults in the dashboard: the rules in force, and the log of what was injected."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from kusanya_service.dashboard.web import answer, listing, read
from kusanya_service.simulation.faults import Faults, Scenario


class FaultRoutes:
    """The routes under /dashboard/faults."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    async def show(self, _request: Request) -> Response:
        """Show the rules in force, each with how often it has struck."""
        return answer(
            {
                "rules": [
                    msgspec.to_builtins(rule) | {"struck": struck}
                    for rule, struck in self._faults.rules
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
        return listing(list(self._faults.log))
