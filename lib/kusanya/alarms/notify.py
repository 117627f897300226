"""Sending a few lines to people: to a plain address as JSON, elsewhere by way of apprise.

An address usually is a secret: a bot's token, a password, the path of a webhook. It stands in no
log, error or result; those name only its scheme and, of a plain address, its host.
"""

import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

import msgspec

from kusanya.errors import ConfigurationError, NoAnswer, NotificationError
from kusanya.privacy import mask_text, quiet_logs, redact
from kusanya.say import Said
from kusanya.text import safe

if TYPE_CHECKING:
    from types import ModuleType

    import apprise

EXTRA: Final = "notify"
"""The extra of this distribution that brings apprise."""
_PLAIN: Final = frozenset({"http", "https"})
_TITLE_MAX: Final = 200
_LINE_MAX: Final = 1_000
_TIMEOUT_S: Final = 10.0
"""Longer is not waited for one address, however it answers."""
_APPRISE_S: Final = 30.0
"""The same of one that apprise brings: it speaks to a mail server in several answers."""
_TAKEN: Final = range(200, 300)
_JSON: Final = [(b"Content-Type", b"application/json")]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent: no phone number and no secret is in its texts."""

    title: str
    """One line."""
    body: str
    """Lines of plain text."""
    data: Mapping[str, Any] | None = None
    """The same for a program; sent to plain addresses."""


class SendFailure(msgspec.Struct, frozen=True, kw_only=True):
    """An address that did not take the message."""

    target: str
    """The address as far as it may be shown."""
    reason: str


Transport: TypeAlias = Callable[[str, Message], None]
"""Brings a message to one address; raises NotificationError."""


def send(
    urls: Sequence[str],
    title: str,
    body: str,
    *,
    data: Mapping[str, Any] | None = None,
    transport: Transport | None = None,
) -> list[SendFailure]:
    """Send a title and a body to every address, and return those that did not take it.

    An `http://` or `https://` address gets one JSON POST of `title`, `body`, `text` (both, as chat
    programs expect it) and, where given, `data`; any other answer than a 2xx is a failure.
    Everything else is an apprise address and needs the extra `notify`. Phone numbers in the texts
    are masked and secrets removed; `data` is sent as it is. Each address is tried once.
    """
    quiet_logs()  # httpx logs whole addresses
    message = Message(title=_line(title, _TITLE_MAX), body=_lines(body), data=data)
    bring = send_one if transport is None else transport
    failures: list[SendFailure] = []
    for url in urls:
        try:
            bring(url, message)
        except NotificationError as error:
            failures.append(SendFailure(target=shown(url), reason=str(error)))
    return failures


def check(urls: Sequence[str]) -> None:
    """Raise ConfigurationError for the first address to which nothing can be sent.

    Sends nothing. The message says what to install or which address cannot be read, by its place.
    """
    for place, url in enumerate(urls, start=1):
        if _is_plain(url):
            if not _host(url):
                raise ConfigurationError(f"notification address {place} has no host")
            continue
        if _target(url) is None:
            raise ConfigurationError(
                f"notification address {place} ({shown(url)}) is not one that apprise knows"
            )


def shown(url: str) -> str:
    """Return an address without what could be a secret: `https://host/…`, `slack://…`."""
    scheme, separator, _ = url.partition("://")
    if not separator:
        return "(no address)"
    host = _host(url) if _is_plain(url) else ""
    return f"{safe(scheme, 20)}://{safe(host, 80)}{'/' if host else ''}…"


def send_one(url: str, message: Message) -> None:
    """Send a message to one address; raises NotificationError."""
    if _is_plain(url):
        _post(url, message)
    else:
        _by_apprise(url, message)


def _post(url: str, message: Message) -> None:
    # Late: httpx brings a command line of its own with it.
    from kusanya.platform.posting import Poster

    content: dict[str, Any] = {
        "title": message.title,
        "body": message.body,
        "text": f"{message.title}\n{message.body}".strip(),
    }
    if message.data is not None:
        content["data"] = message.data
    try:
        with Poster(url, within_s=_TIMEOUT_S) as poster:
            # No body is read: the answer may drip or never end.
            answer = poster.post(msgspec.json.encode(content), headers=_JSON)
    except (TimeoutError, ConnectionError, NoAnswer, ConfigurationError) as error:
        raise NotificationError(str(error)) from None
    if answer.status not in _TAKEN:
        raise NotificationError(Said("answered {status}").of(status=answer.status))


def _by_apprise(url: str, message: Message) -> None:
    try:
        target = _target(url)
    except ConfigurationError as error:
        raise NotificationError(str(error)) from None
    if target is None:
        raise NotificationError("apprise does not know this address")
    try:
        sent = _in_time(target, message)
    except TimeoutError:
        raise NotificationError(f"no answer within {_APPRISE_S:.0f} s") from None
    except Exception as error:  # noqa: BLE001 - a hundred services' code; the others go on
        raise NotificationError(f"failed ({type(error).__name__})") from None
    if not sent:
        raise NotificationError("the service did not take it")


def _in_time(target: "apprise.Apprise", message: Message) -> bool:
    """Return whether the service took it. Raises TimeoutError, and whatever its code raises.

    That code bounds each read and not all of them: it has a thread of its own, which is left
    behind where a server goes on answering.
    """
    answer: Future[bool] = Future()

    def bring() -> None:
        try:
            said = target.notify(title=message.title, body=message.body, body_format="text")
        except Exception as error:  # noqa: BLE001 - raised where the answer is awaited
            answer.set_exception(error)
        else:
            answer.set_result(bool(said))

    Thread(target=bring, name="apprise", daemon=True).start()
    return answer.result(timeout=_APPRISE_S)


def _target(url: str) -> "apprise.Apprise | None":
    """Return what sends to an address, or None where apprise does not know it.

    Raises ConfigurationError where apprise is not installed.
    """
    try:
        with warnings.catch_warnings():
            # Its parts import a module that the standard library is about to drop.
            warnings.simplefilter("ignore", DeprecationWarning)
            import apprise

            # What it logs quotes addresses and answers; its verdict is enough.
            logging.getLogger("apprise").setLevel(logging.CRITICAL + 10)
            target = apprise.Apprise(asset=_asset(apprise))
            return target if target.add(url) else None
    except ImportError:
        raise ConfigurationError(
            f"{shown(url)} needs apprise: pip install 'kusanya[{EXTRA}]'"
        ) from None


def _asset(module: "ModuleType") -> "apprise.AppriseAsset":
    """Return who sends, without the pictures that apprise would name in a message."""
    asset: apprise.AppriseAsset = module.AppriseAsset(
        app_id="Kusanya",
        app_desc="Kusanya",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        async_mode=False,
    )
    return asset


def _is_plain(url: str) -> bool:
    return url.partition("://")[0].lower() in _PLAIN and "://" in url


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return ""
    return f"{parts.hostname or ''}{port if parts.hostname else ''}"


def _line(text: str, limit: int) -> str:
    return safe(redact(mask_text(text)), limit)


def _lines(text: str) -> str:
    return "\n".join(_line(line, _LINE_MAX) for line in text.splitlines())
