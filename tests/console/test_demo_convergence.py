"""The demo's verdict: all three tell the same, or it says where they do not."""

import pytest

from kusanya_console.sandbox.demo.convergence import StoredState, compare

TRUTH = {"id": "col_1", "status": "succeeded", "amount": 5000, "fee": 75}
KEPT = StoredState(status="succeeded", amount=5000, fee=75, event_id="evt_1", contradictions=0)


def verdict(
    truth: dict[str, object] = TRUTH,
    kept: StoredState | None = KEPT,
    announced: tuple[str, str] = ("col_1", "succeeded"),
) -> list[str]:
    found = compare([truth], kept=lambda _: kept, announced=lambda _: announced)
    return [mismatch.what for mismatch in found]


def test_three_equal_accounts_converge() -> None:
    assert verdict() == []


@pytest.mark.parametrize(
    ("truth", "kept", "announced", "what"),
    [
        (TRUTH | {"status": "created"}, KEPT, ("col_1", "succeeded"), "still created"),
        (TRUTH, None, ("col_1", "succeeded"), "does not know"),
        (TRUTH | {"status": "failed"}, KEPT, ("col_1", "failed"), "failed at the service"),
        (TRUTH | {"fee": 76}, KEPT, ("col_1", "succeeded"), "other money"),
        (
            TRUTH,
            StoredState(status="succeeded", amount=5000, fee=75, event_id=None, contradictions=0),
            ("col_1", "succeeded"),
            "has not arrived",
        ),
        (
            TRUTH,
            StoredState(
                status="succeeded", amount=5000, fee=75, event_id="evt_1", contradictions=1
            ),
            ("col_1", "succeeded"),
            "contradictory",
        ),
        (TRUTH, KEPT, ("col_2", "succeeded"), "its event says"),
        (TRUTH, KEPT, ("col_1", "failed"), "its event says failed"),
    ],
    ids=[
        "open",
        "lost",
        "status",
        "fee",
        "no event",
        "contradiction",
        "other's event",
        "other event",
    ],
)
def test_every_disagreement_is_reported(
    truth: dict[str, object], kept: StoredState | None, announced: tuple[str, str], what: str
) -> None:
    (mismatch,) = verdict(truth, kept, announced)
    assert what in mismatch
