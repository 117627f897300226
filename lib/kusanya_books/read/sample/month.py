"""A seeded month without a store: the same seed gives the same month, byte for byte.

Amounts, channels, hours, failures and retries look like a merchant's; fees follow the embedded
service's tariff, with one price change in the middle of the month.
"""

from datetime import timedelta
from typing import Any, Final

import msgspec
import numpy as np
import pandas as pd

from kusanya.domain.channels import CHANNELS
from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya.domain.status import Status
from kusanya.wire import Mode
from kusanya_books.columns import DType
from kusanya_books.read.store.normalisation import normalise
from kusanya_books.request.days import Period, period

ROWS: Final = 50_000
SEED: Final = 7
STORE_ID: Final = "sample"
MONTH: Final = "2026-03"
SOURCE: Final = "sample data: a made-up month, no store was read"

CHANGED_CHANNEL: Final = "AIRTEL_TZ"
CHANGED_BPS: Final = 190
CHANGED_AFTER: Final = timedelta(days=15)
"""The planted price change: this channel costs more from the sixteenth day on."""
_CODES: Final = {
    code: known.sample_share for code, known in FAILURE_CODES.items() if known.sample_share
}
_SUCCESS, _FAIL = 0.82, 0.12
"""The rest expires."""
_RETRY: Final = (0.6, 0.35)
"""How often the first and the second unsuccessful attempt is followed by another."""
_HOURS: Final = np.array(
    [1, 1, 0.5, 0.5, 0.5, 1, 3, 6, 9, 11, 11, 10, 10, 9, 8, 8, 9, 11, 12, 11, 8, 5, 3, 2]
)
"""How busy each hour of the day is, East Africa Time."""
_EXPIRY_MS: Final = 120_000
_DAY_MS: Final = 86_400_000


class SampleCollections(msgspec.Struct, frozen=True):
    """Raw collections of a month, one row each, in the order of their references."""

    raw: pd.DataFrame
    period: Period


class _Buyers(msgspec.Struct, frozen=True, kw_only=True):
    """What each reference keeps through all its attempts, one array each."""

    channel: Any
    amount: Any
    phone: Any
    """The digits after the prefix of the channel."""
    start_ms: Any
    """When the first attempt is created, in milliseconds of the month."""


def collections(
    *,
    seed: int = SEED,
    rows: int = ROWS,
    month: str = MONTH,
    mode: Mode = Mode.LIVE,
    cutoff: timedelta = timedelta(0),
) -> pd.DataFrame:
    """Return the collections frame of a seeded month."""
    made = raw_collections(seed=seed, rows=rows, month=month, mode=mode)
    return normalise(made.raw, key=STORE_ID, cutoff=cutoff)


def raw_collections(
    *, seed: int = SEED, rows: int = ROWS, month: str = MONTH, mode: Mode = Mode.LIVE
) -> SampleCollections:
    """Return `rows` raw collections created within the month; some references try again."""
    span = period(month)
    rng = np.random.default_rng([seed, 1 if mode is Mode.LIVE else 2])
    reference, number = _tries(rng, rows)
    days = (span.last - span.first).days + 1
    buyers = _buyers(rng, int(reference[-1]) + 1 if rows else 0, days=days)
    channel = pd.Series(buyers.channel[reference], dtype="object")
    amount = buyers.amount[reference]
    status, code = _outcomes(rng, reference)
    created_ms = _attempts(rng, buyers.start_ms[reference], number, days=days)
    took = np.where(status == Status.EXPIRED, _EXPIRY_MS, rng.integers(4_000, 90_000, rows))
    created = pd.Timestamp(span.begins) + pd.to_timedelta(pd.Series(created_ms), unit="ms")
    done = created + pd.to_timedelta(pd.Series(took), unit="ms")
    is_late = created_ms >= CHANGED_AFTER // timedelta(milliseconds=1)
    fee = fees(channel, amount, changed=(channel == CHANGED_CHANNEL).to_numpy() & is_late)
    token = rng.bytes(8 * rows).hex()
    raw = pd.DataFrame(
        {
            "id": [f"col_{token[16 * at : 16 * at + 16]}" for at in range(rows)],
            "mode": mode.value,
            "currency": "TZS",
            "channel": channel,
            "reference": [f"INV-{span.first:%y%m}-{buyer:06d}" for buyer in reference],
            "amount": amount,
            "fee": fee,
            "status": status,
            "failure_code": code,
            "created_at": created,
            "completed_at": done,
            "fee_202": fee,
            "fee_event": fee,
            "fee_get": pd.array([None] * rows, dtype=DType.WHOLE.pandas),
            "contradictions": 0,
            "seq": np.argsort(np.argsort(done.to_numpy(), kind="stable"), kind="stable") + 1,
            "phone": [
                f"{CHANNELS[name].sample_prefix}{phone:07d}"
                for name, phone in zip(channel, buyers.phone[reference], strict=True)
            ],
            "event_at": done,
            "final_seen_at": done,
        }
    )
    return SampleCollections(raw=raw, period=span)


def fees(channel: Any, amount: Any, *, changed: Any) -> Any:
    """Return the fee of every amount on its channel, rounded up, never above the amount."""
    bps = np.array([CHANNELS[name].basis_points for name in channel], dtype="int64")
    least = np.array([CHANNELS[name].least_fee for name in channel], dtype="int64")
    bps = np.where(changed, CHANGED_BPS, bps)
    return np.minimum(amount, np.maximum(-(-amount * bps // 10_000), least))


def _tries(rng: np.random.Generator, rows: int) -> tuple[Any, Any]:
    # How many attempts a reference may make; which of them happen is decided by the outcomes, which
    # are drawn per row: a reference stops at its first success.
    succeed = rng.random((rows, 2)) < _SUCCESS
    again = rng.random((rows, 2)) < np.array(_RETRY)
    second = ~succeed[:, 0] & again[:, 0]
    third = second & ~succeed[:, 1] & again[:, 1]
    counts = 1 + second.astype("int64") + third.astype("int64")
    reference = np.repeat(np.arange(rows), counts)[:rows]
    first: Any = np.concatenate([[True], reference[1:] != reference[:-1]]) if rows else []
    begin = np.maximum.accumulate(np.where(first, np.arange(rows), 0)) if rows else np.arange(0)
    return reference, np.arange(rows) - begin


def _outcomes(rng: np.random.Generator, reference: Any) -> tuple[Any, Any]:
    rows = len(reference)
    retried = np.zeros(rows, dtype=bool)
    retried[:-1] = reference[1:] == reference[:-1]
    chance = rng.random(rows)
    # A retried attempt did not succeed; a lone one seldom failed, so that the whole comes out near
    # the shares above.
    lost = np.where(retried, True, chance >= _SUCCESS + (1 - _SUCCESS) * _RETRY[0])
    failed = rng.random(rows) < _FAIL / (1 - _SUCCESS)
    status = np.where(lost, np.where(failed, Status.FAILED, Status.EXPIRED), Status.SUCCEEDED)
    codes = rng.choice(list(_CODES), size=rows, p=list(_CODES.values()))
    code = pd.Series(codes, dtype=DType.TEXT.pandas).where(status == Status.FAILED)
    return status.astype("object"), code


def _buyers(rng: np.random.Generator, buyers: int, *, days: int) -> _Buyers:
    shares = [known.sample_share for known in CHANNELS.values()]
    drawn = rng.choice(len(CHANNELS), size=buyers, p=shares)
    amount = np.clip(np.exp(rng.normal(9.4, 1.1, buyers)) // 100 * 100, 500, 3_000_000)
    return _Buyers(
        channel=np.array(list(CHANNELS), dtype="object")[drawn],
        amount=amount.astype("int64"),
        phone=rng.integers(0, 10_000_000, buyers),
        start_ms=_starts(rng, buyers, days=days),
    )


def _attempts(rng: np.random.Generator, start_ms: Any, number: Any, *, days: int) -> Any:
    """Return when each attempt is created; `number` says how many of its reference came before."""
    wait = rng.integers(120_000, 4 * 3_600_000, len(number)) * number
    # Near the end of the month customers come back sooner, so that every attempt lies within it.
    left = _DAY_MS * days - 1 - start_ms
    return start_ms + np.minimum(wait, left * number // (number + 1))


def _starts(rng: np.random.Generator, buyers: int, *, days: int) -> Any:
    day = rng.integers(0, days, buyers)
    hour = rng.choice(24, size=buyers, p=_HOURS / _HOURS.sum())
    return day * _DAY_MS + hour * 3_600_000 + rng.integers(0, 3_600_000, buyers)
