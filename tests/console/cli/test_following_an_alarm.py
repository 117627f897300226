"""What an alarm advises is done as it is written, and the alarm ends."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kusanya.client import Client
from kusanya.client.effects import Failure
from kusanya.errors import KusanyaError
from kusanya.intents import create_safely
from kusanya.store import Store
from kusanya_service.testing import PaymentService

Kusanya = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("left", "said"), [(True, "unknown: 1 creation has no answer"), (False, "no alarm stands")]
)
def test_a_creation_without_an_answer_is_an_alarm_until_it_is_resumed(
    kusanya: Kusanya,
    payment_service: PaymentService,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    left: bool,
    said: str,
) -> None:
    key, path = payment_service.test_key, tmp_path / "store.sqlite"
    monkeypatch.setenv("KUSANYA_STORE", str(path))
    monkeypatch.setenv("KUSANYA_API_KEY", key)
    monkeypatch.setenv("KUSANYA_BASE_URL", payment_service.base_url)
    lost = Failure(left=left, why="no answer")
    with (
        Store.open(path) as store,
        Client(
            key,
            base_url=payment_service.base_url,
            max_attempts=1,
            transport=lambda _request, _within: lost,
        ) as client,
        pytest.raises(KusanyaError),
    ):
        create_safely(store, client, amount=5000, phone="0754000001", reference="INV-1")
    assert said in kusanya("health")[1]
    advised = re.findall(r"kusanya (intents resume)", kusanya("health")[1])
    assert advised == (["intents resume"] if left else [])
    code, out, err = kusanya("intents", "resume")
    assert (code, err) == (0, ""), err
    assert re.search(r"INV-1  col_\S+  created", out)
    code, out, _ = kusanya("health")
    assert (code, out) == (0, "test mode: no alarm stands\n")
