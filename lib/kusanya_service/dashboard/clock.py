"""The clock in the dashboard: shown to whoever follows it, and moved where it is virtual."""

from typing import Annotated, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from kusanya_service.dashboard.web import answer, read
from kusanya_service.engine import Engine
from kusanya_service.errors import ApiError
from kusanya_service.simulation.timeline import Timeline

_FARTHEST_S: Final = 10 * 366 * 24 * 60 * 60


class _Advance(msgspec.Struct, forbid_unknown_fields=True):
    seconds: Annotated[float, msgspec.Meta(ge=0, le=_FARTHEST_S)]


class ClockRoutes:
    """The routes under /dashboard/clock."""

    def __init__(self, *, timeline: Timeline, engine: Engine) -> None:
        self._timeline = timeline
        self._engine = engine

    async def show(self, _request: Request) -> Response:
        """Tell the time and how to follow it; needs no token, for time is no secret."""
        return answer(self._timeline.shown())

    async def advance(self, request: Request) -> Response:
        """Move virtual time and answer when everything due up to the new time has happened."""
        wanted = await read(request, _Advance)
        if not await self._engine.advance(wanted.seconds):
            raise ApiError(409, "clock_not_virtual", "only a virtual clock can be advanced")
        return answer(self._timeline.shown())
