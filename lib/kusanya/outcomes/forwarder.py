"""Outcomes for a shop in any language: each is a signed POST, and the answer says what came of it.

The body is a CloudEvents 1.0 event in JSON, the headers are those of Standard Webhooks: a shop
verifies them with a library that exists for its language, and keeps `webhook-id` in its own
database in the transaction of the effect, because an answer can be lost. Outcomes of one reference
come one after the other, those of others beside them.
"""

import base64
import binascii
import hmac
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from random import Random
from typing import Any, Final

import msgspec

from kusanya.client.answers import retry_after_s
from kusanya.client.effects import Response
from kusanya.clock import Clock
from kusanya.errors import ConfigurationError, NoAnswer
from kusanya.outcomes.work_loop import Endings, WorkLoop
from kusanya.platform.closing import Closing
from kusanya.platform.posting import Headers, Posted, Poster
from kusanya.privacy.secret import SIGNING_PREFIX, Secret, signing_secret
from kusanya.store import Store
from kusanya.store.records.outcomes import Ending, Outcome, Work
from kusanya.wire import Mode

_WITHIN_S: Final = 10.0
_PARALLEL: Final = 8
_READ_BYTES: Final = 512
"""Of an answer's body: as much as tells a web page from the answer of a program."""
_KEY_BYTES: Final = range(24, 65)
"""Source: Standard Webhooks, signature scheme."""
_DONE: Final = frozenset({*range(200, 300), 409})
_PARKED: Final = frozenset({410, 422})
_PROXYS: Final = frozenset({502, 503, 504})
"""What a proxy answers while the shop behind it is started anew."""
_PAUSE_S: Final = (5.0, 900.0)
"""The shortest and longest time between two tries while a proxy says that the shop is away."""


class Forwarder(Closing):
    """A consumer of outcomes whose handler is a POST to a shop.

    2xx and 409 say that it is done, 410 and 422 that a person has to look; everything else is
    tried again with growing pauses, ten times, then parked. No connection is no try, nor is what a
    proxy says while the shop behind it is away; Retry-After is kept, up to a minute.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        mode: Mode,
        url: str,
        secrets: Sequence[Secret],
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        """Name a consumer that is there, and where its outcomes go.

        With several `secrets` each POST is signed by all of them, for a rotation. Raises
        ConfigurationError for an address or a secret that cannot be used.
        """
        self._loop = WorkLoop(store, name, Mode(mode), clock, random)
        self._keys = [forward_key(one) for one in secrets]
        if not self._keys:
            raise ConfigurationError("no secret to sign with")
        self._poster = Poster(url, within_s=_WITHIN_S)
        self._threads = ThreadPoolExecutor(_PARALLEL, thread_name_prefix="forward")

    def run(self) -> None:
        """Forward what is due, and what comes, until SIGTERM, SIGINT or `stop`.

        Raises StoreChanged after a restore, StoreError for an unknown consumer and where the store
        cannot be read or written.
        """
        self._loop.run(self.run_once)

    def drain(self) -> int:
        """Forward all that is due now, and return how many outcomes the shop took."""
        return self._loop.drain(self.run_once)

    def run_once(self) -> Endings:
        """Forward what is due now, of each order one outcome; return what the tries came to."""
        taken, may_begin = self._loop.take()
        away: list[Ending] = []

        def forward(work: Work) -> Ending | None:
            if away or not may_begin():
                return None
            ending = self._forward(work)
            if ending.is_away:
                away.append(ending)
            return ending

        endings = [one for one in self._threads.map(forward, taken) if one is not None]
        return self._loop.keep(taken, endings)

    def stop(self) -> None:
        """Let `run` end after the outcomes under way; from any thread."""
        self._loop.stop()

    def close(self) -> None:
        """Close what is open towards the shop."""
        self._threads.shutdown()
        self._poster.close()

    def _forward(self, work: Work) -> Ending:
        body = msgspec.json.encode(cloud_event(work.outcome))
        headers = _headers(self._keys, work.outcome.id, body, at=self._loop.clock.now())
        try:
            answer = self._poster.post(body, headers=headers, read=_READ_BYTES)
        except ConnectionError as error:
            return self._loop.away(work, str(error))
        except (TimeoutError, NoAnswer) as error:
            return self._loop.failed(work, str(error))
        return self._ending(work, answer)

    def _ending(self, work: Work, answer: Posted) -> Ending:
        """Return what an answer means. Source: Standard Webhooks, and the class's own words."""
        why = _refusal(answer)
        if why is None:
            return Ending(seq=work.outcome.seq)
        if answer.status in _PARKED:
            return self._loop.parked(work, why)
        asked_s = self._asked_to_wait(work, answer)
        if asked_s is None:
            return self._loop.failed(work, why)
        return self._loop.later(work, asked_s, why)

    def _asked_to_wait(self, work: Work, answer: Posted) -> float | None:
        """Return for how many seconds an answer asks us to wait, None where it does not."""
        now = self._loop.clock.now()
        named = Response(status=answer.status, headers=answer.headers, body=b"", complete=True)
        asked_s = retry_after_s(named, now=now)
        if asked_s is not None or answer.status not in _PROXYS:
            return asked_s
        # Longer and longer, by how long it waits: it may be a minute's work or a night's.
        waited_s = (now - work.outcome.at).total_seconds()
        return min(max(waited_s / 4, _PAUSE_S[0]), _PAUSE_S[1])


def _refusal(answer: Posted) -> str | None:
    """Return why an answer does not say that the outcome is done; None where it does."""
    status = answer.status
    if status in range(300, 400):
        return f"answered {status}: give the address that it redirects to"
    if status not in _DONE:
        return f"answered {status}"
    if answer.beginning.lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return f"answered {status} with a web page, as a login does: not the shop's code"
    return None


def cloud_event(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a CloudEvents 1.0 event in JSON; amounts are in whole units."""
    told = {
        field: getattr(outcome, field)
        for field in Outcome.__struct_fields__
        if field not in {"id", "seq", "at"}
    }
    return {
        "specversion": "1.0",
        "id": outcome.id,
        "source": f"urn:kusanya:{outcome.mode.value}",
        "type": f"kusanya.order.{outcome.kind.value}",
        "subject": outcome.reference,
        "time": outcome.at,
        "datacontenttype": "application/json",
        "data": told,
    }


def forward_key(secret: Secret) -> bytes:
    """Return the key of a secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64.

    Raises ConfigurationError, which never repeats the secret.
    """
    try:
        text = signing_secret(secret).reveal().removeprefix(SIGNING_PREFIX)
        key = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) not in _KEY_BYTES:
        raise ConfigurationError(
            "a secret for forwarding is whsec_ and 24 to 64 bytes in base64: let "
            "kusanya forward make one"
        )
    return key


def _headers(keys: Sequence[bytes], outcome_id: str, body: bytes, *, at: datetime) -> Headers:
    """Return the headers of Standard Webhooks: the same id in every try, signed by each key."""
    moment = str(int(at.timestamp()))
    signed = f"{outcome_id}.{moment}.".encode() + body
    signatures = [
        "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys
    ]
    return [
        (b"Content-Type", b"application/cloudevents+json; charset=utf-8"),
        (b"User-Agent", b"kusanya-forward"),
        (b"webhook-id", outcome_id.encode()),
        (b"webhook-timestamp", moment.encode()),
        (b"webhook-signature", " ".join(signatures).encode()),
    ]
