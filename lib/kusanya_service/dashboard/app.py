"""The dashboard's routes, put together."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from kusanya.privacy.secret import Secret
from kusanya_service.asgi import App
from kusanya_service.dashboard.controls import ClockRoutes, FaultRoutes
from kusanya_service.dashboard.deliveries import DeliveryRoutes
from kusanya_service.dashboard.endpoints import EndpointRoutes
from kusanya_service.dashboard.keys import KeyRoutes
from kusanya_service.dashboard.web import Handler, guarded
from kusanya_service.errors import method_not_allowed, no_such_path

_METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]


def make_dashboard(
    *,
    token: Secret,
    next_id: Callable[[], str],
    keys: KeyRoutes,
    endpoints: EndpointRoutes,
    deliveries: DeliveryRoutes,
    clock: ClockRoutes,
    faults: FaultRoutes,
) -> App:
    """Return the application under /dashboard."""

    def route(path: str, handlers: dict[str, Handler]) -> Route:
        async def by_method(request: Request) -> Response:
            if request.method not in handlers:
                raise method_not_allowed()
            return await handlers[request.method](request)

        # The clock may be read without a token: a receiver that follows it holds none.
        locked = guarded(by_method, token=token, next_id=next_id)
        unlocked = guarded(by_method, token=None, next_id=next_id)
        is_open = path == "/dashboard/clock"

        async def handle(request: Request) -> Response:
            chosen = unlocked if is_open and request.method == "GET" else locked
            return await chosen(request)

        return Route(path, handle, methods=_METHODS)

    async def nowhere(_request: Request) -> Response:
        raise no_such_path()

    fallback = guarded(nowhere, token=token, next_id=next_id)
    return Router(
        routes=[
            route("/dashboard/keys", {"POST": keys.make, "GET": keys.list}),
            route("/dashboard/keys/{id}", {"DELETE": keys.revoke}),
            route("/dashboard/endpoints", {"POST": endpoints.register, "GET": endpoints.list}),
            route("/dashboard/endpoints/{id}", {"DELETE": endpoints.delete}),
            route("/dashboard/endpoints/{id}/enable", {"POST": endpoints.enable}),
            route("/dashboard/endpoints/{id}/rotate-secret", {"POST": endpoints.rotate}),
            route("/dashboard/events/{id}/deliveries", {"GET": deliveries.of_event}),
            route("/dashboard/collections/{id}/deliveries", {"GET": deliveries.of_collection}),
            route("/dashboard/deliveries", {"GET": deliveries.list}),
            route("/dashboard/deliveries/{id}/resend", {"POST": deliveries.resend}),
            route("/dashboard/collections", {"GET": deliveries.collections}),
            route("/dashboard/clock", {"GET": clock.show}),
            route("/dashboard/clock/advance", {"POST": clock.advance}),
            route("/dashboard/faults", {"GET": faults.show, "PUT": faults.replace}),
            route("/dashboard/faults/log", {"GET": faults.log}),
            Route("/dashboard{rest:path}", fallback, methods=_METHODS),
        ],
        redirect_slashes=False,
    )
