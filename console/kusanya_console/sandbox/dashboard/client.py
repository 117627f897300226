"""Talk to the dashboard of the embedded service.

The real service has no such thing: commands and screens that need it exist only where a profile
names a dashboard and its token.
"""

import http
import time
from collections.abc import Iterator
from typing import Any, Final, Self

import httpx
import msgspec

from kusanya.privacy.secret import Secret
from kusanya.say import Said
from kusanya.text import safe
from kusanya_console.sandbox.dashboard.errors import DashboardError

__all__ = ["DashboardClient", "DashboardError"]
_TIMEOUT_S: Final = 10.0
_LARGEST_BYTES: Final = 16 * 1024 * 1024
"""Of an answer: its log of faults, the longest there is, has some two."""


class DashboardClient:
    """One connection to `/dashboard` with its bearer token.

    Advancing a virtual clock returns only when everything due has happened, so that call alone
    waits without a bound of its own.
    """

    def __init__(self, url: str, token: Secret, *, transport: httpx.BaseTransport | None = None):
        self._http = httpx.Client(
            base_url=url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {token.reveal()}"},
            timeout=_TIMEOUT_S,
            trust_env=False,
            transport=transport,
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str, **query: str | int) -> Any:
        """Return the decoded answer to a GET below /dashboard/."""
        return self._call("GET", path, params={name: str(value) for name, value in query.items()})

    def every(self, path: str, *, page: int = 500, **query: str) -> Iterator[dict[str, Any]]:
        """Yield each object of a list below /dashboard/, however many pages of it there are."""
        after: dict[str, str] = {}
        while found := self.get(path, limit=page, **query, **after)["data"]:
            yield from found
            after = {"after": found[-1]["id"]}

    def post(self, path: str, body: object = None, *, patient: bool = False) -> Any:
        """Return the decoded answer to a POST; `patient` waits without a bound."""
        return self._call("POST", path, body=body, timeout=None if patient else _TIMEOUT_S)

    def put(self, path: str, body: object) -> Any:
        """Return the decoded answer to a PUT."""
        return self._call("PUT", path, body=body)

    def delete(self, path: str) -> Any:
        """Return the decoded answer to a DELETE, or None for an empty one."""
        return self._call("DELETE", path)

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: object = None,
        timeout: float | None = _TIMEOUT_S,
    ) -> Any:
        try:
            with self._http.stream(
                method,
                path.lstrip("/"),
                params=params,
                content=None if body is None else msgspec.json.encode(body),
                headers={} if body is None else {"Content-Type": "application/json"},
                timeout=timeout,
            ) as answer:
                content = _read(answer)
        except httpx.HTTPError as error:
            raise DashboardError(
                Said("the dashboard does not answer ({kind}): is the service running?").of(
                    kind=type(error).__name__
                )
            ) from error
        if answer.status_code == http.HTTPStatus.UNAUTHORIZED:
            raise DashboardError(
                "the dashboard refuses the token: check KUSANYA_DASHBOARD_TOKEN",
                status=answer.status_code,
            )
        if answer.is_error:
            raise DashboardError(_complaint(answer, content), status=answer.status_code)
        return msgspec.json.decode(content) if content else None


def _read(answer: httpx.Response) -> bytes:
    """Return the body of an answer that is neither endless nor dripping."""
    until, body = time.monotonic() + _TIMEOUT_S, bytearray()
    for chunk in answer.iter_bytes():
        body += chunk
        if len(body) > _LARGEST_BYTES or time.monotonic() > until:
            raise DashboardError("the dashboard's answer does not end: is this its address?")
    return bytes(body)


def _complaint(answer: httpx.Response, content: bytes) -> str:
    try:
        message = msgspec.json.decode(content)["error"]["message"]
    except (msgspec.DecodeError, KeyError, TypeError):
        message = "no reason given"
    return Said("the dashboard refused with {code}: {why}").of(
        code=answer.status_code, why=safe(str(message), 300)
    )
