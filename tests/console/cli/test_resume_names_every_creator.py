"""`kusanya intents resume` tries what any program of the account left open, and names the rest."""

import json
from pathlib import Path

import pytest
from tests.console.cli.deploying import Kusanya

from kusanya.client import Client
from kusanya.domain.assumptions import DEFAULT_PROFILE
from kusanya.errors import NotSent
from kusanya.intents import create_safely
from kusanya.store import Store

pytestmark = pytest.mark.merge

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a store with a creation of the library's default profile and one of another."""
    monkeypatch.setenv("KUSANYA_API_KEY", "svc_test_sk_aaaa")
    monkeypatch.setenv("KUSANYA_BASE_URL", NOWHERE)
    path = tmp_path / "store.sqlite"
    with (
        Store.open(path) as store,
        Client("svc_test_sk_aaaa", base_url=NOWHERE, mode="test", max_attempts=1) as client,
    ):
        for reference, profile in (("ORD-1", DEFAULT_PROFILE), ("ORD-2", "branch")):
            with pytest.raises(NotSent):
                create_safely(
                    store,
                    client,
                    amount=5000,
                    phone="0754123456",
                    reference=reference,
                    profile=profile,
                )
    return str(path)


def test_the_librarys_own_creations_are_tried_and_other_accounts_are_named(
    kusanya: Kusanya, path: str
) -> None:
    code, out, err = kusanya("intents", "resume", "--store", path)
    assert (code, out) == (1, "")
    assert "ORD-1: " in err
    assert "belongs to profile" not in err
    assert "ORD-2" not in err
    assert "1 more of profile branch wait" in err
    assert "intents resume --profile branch" in err
    said = json.loads(kusanya("intents", "resume", "--store", path, "--json")[1])
    assert said["of_other_profiles"] == {"branch": 1}
    assert [one["reference"] for one in said["left"]] == ["ORD-1"]
