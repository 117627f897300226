"""Verifying and decoding one delivery of 600 bytes, beside the raw hash and two peers."""

import hmac
import timeit
from typing import Any, Final

import standardwebhooks
import stripe
from harness import Measure, Row, interleaved

from kusanya.webhooks import check, sign, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOW = 1_772_450_000
TIMES = 20_000
BODY = (
    b'{"id":"evt_4xN2cVq81mRtY6Ks","type":"collection.succeeded","created_at":'
    b'"2026-03-02T11:13:20.000Z","mode":"test","data":{"id":"col_7Qm4xT2fWc9Lr0Zb","object":'
    b'"collection","status":"succeeded","amount":85000,"fee":1275,"currency":"TZS","channel":'
    b'"AIRTEL_TZ","phone":"255684000412","reference":"INV-482917","description":"School fees, '
    b'second term of the year","metadata":{"student":"4417","term":"2"},"mode":"test",'
    b'"created_at":"2026-03-02T11:13:02.000Z","completed_at":"2026-03-02T11:13:19.000Z"}}'
)
HEADER = sign(BODY, SECRET, NOW)


def microseconds(call: Any) -> Measure:
    return lambda: timeit.timeit(call, number=TIMES) / TIMES * 1e6


def measure() -> list[Row]:
    """Return the rows of this room."""
    key, text = SECRET.encode(), BODY.decode()
    peer = standardwebhooks.Webhook(SECRET)
    import datetime as dt

    stamp = dt.datetime.now(dt.UTC)
    headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(int(stamp.timestamp())),
        "webhook-signature": peer.sign("evt_1", stamp, text),
    }
    found = interleaved(
        {
            "raw": microseconds(lambda: hmac.digest(key, BODY, "sha256")),
            "check": microseconds(lambda: check(BODY, HEADER, SECRET, now=NOW)),
            "verify": microseconds(lambda: verify(BODY, HEADER, SECRET, now=NOW)),
            "stripe": microseconds(
                lambda: stripe.WebhookSignature.verify_header(text, HEADER, SECRET, None)
            ),
            "stripe event": lambda: (
                timeit.timeit(
                    lambda: stripe.Webhook.construct_event(BODY, HEADER, SECRET, 10**10), number=500
                )
                / 500
                * 1e6
            ),
            "standardwebhooks": lambda: (
                timeit.timeit(lambda: peer.verify(BODY, headers), number=2000) / 2000 * 1e6
            ),
        }
    )
    lower: Final = "lower"
    return [
        Row(
            what="verify a signature",
            unit="µs",
            ours=found["check"],
            against="raw hmac.digest (the limit)",
            theirs=found["raw"],
            goal=1 / 1.5,
            better=lower,
        ),
        Row(
            what="verify a signature",
            unit="µs",
            ours=found["check"],
            against="stripe verify_header",
            theirs=found["stripe"],
            goal=2,
            better=lower,
        ),
        Row(
            what="verify a signature",
            unit="µs",
            ours=found["check"],
            against="standardwebhooks verify",
            theirs=found["standardwebhooks"],
            goal=4,
            better=lower,
        ),
        Row(
            what="verify and type an event",
            unit="µs",
            ours=found["verify"],
            against="stripe construct_event",
            theirs=found["stripe event"],
            goal=25,
            better=lower,
        ),
    ]
