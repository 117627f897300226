"""What every dashboard route shares: the token, reading a body, answering."""

import hmac
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from kusanya.privacy.secret import Secret
from kusanya.wire import Mode
from kusanya_service.asgi import REQUEST_ID
from kusanya_service.errors import ApiError, BadOption, StorageError, broken, envelope, unavailable
from kusanya_service.http.requests import BODY_MAX_BYTES, parse

_log = logging.getLogger("kusanya_service")
Model = TypeVar("Model")
Handler = Callable[[Request], Awaitable[Response]]

PAGE: Final = 100
PAGE_MAX: Final = 1_000


def answer(body: Any, status: int = 200) -> Response:
    """Return a JSON answer; structs and plain values alike."""
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def list_answer(rows: list[Any]) -> Response:
    """Return a list's answer."""
    return answer({"data": rows})


async def read(request: Request, model: type[Model]) -> Model:
    """Return the request's body as `model`; raises ApiError 400, 413 or 422."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_MAX_BYTES:
            raise ApiError(413, "body_too_large", f"a body has at most {BODY_MAX_BYTES} bytes")
    value = parse(body or b"{}").value
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as error:
        # The message names fields and types, never values.
        raise ApiError(422, "invalid_request", str(error)) from None


def mode_of(request: Request) -> str | None:
    """Return the mode that a query asks for, or None; raises ApiError 422."""
    mode = request.query_params.get("mode")
    if mode is not None and mode not in set(Mode):
        raise ApiError(422, "invalid_request", "mode is test or live", param="mode")
    return mode


def limit_of(request: Request) -> int:
    """Return the page length that a query asks for; raises ApiError 422."""
    text = request.query_params.get("limit", str(PAGE))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= PAGE_MAX:
        raise ApiError(422, "invalid_request", f"limit is 1 to {PAGE_MAX}", param="limit")
    return int(text)


def guarded(handler: Handler, *, token: Secret | None, next_id: Callable[[], str]) -> Handler:
    """Return a handler that asks for the token first, and answers every error with the envelope."""

    async def handle(request: Request) -> Response:
        request_id = next_id()
        try:
            if token is not None:
                _require_token(request, token)
            response = await handler(request)
        except ApiError as error:
            response = _refusal(error, request_id)
        except BadOption as error:
            response = _refusal(ApiError(422, "invalid_request", str(error)), request_id)
        except StorageError:
            response = _refusal(unavailable(), request_id)
        except ClientDisconnect:
            response = Response(status_code=HTTPStatus.BAD_REQUEST)
        except Exception as error:  # noqa: BLE001 - the last line: a bug is answered and logged
            _log.error("request %s failed: %s", request_id, type(error).__name__)
            response = _refusal(broken(), request_id)
        response.headers[REQUEST_ID.decode()] = request_id
        return response

    return handle


def _require_token(request: Request, token: Secret) -> None:
    given = request.headers.get("authorization", "")
    scheme, _, value = given.partition(" ")
    expected = token.reveal().encode()
    if scheme.lower() != "bearer" or not hmac.compare_digest(value.strip().encode(), expected):
        raise ApiError(
            401,
            "invalid_dashboard_token",
            "send the dashboard token as Authorization: Bearer <token>",
            param="Authorization",
        )


def _refusal(error: ApiError, request_id: str) -> Response:
    return Response(envelope(error, request_id), error.status, media_type="application/json")
