"""`kusanya forward`: what a person who runs it is told, and what stays hidden."""

import base64
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.kit.payments import by_event
from tests.kusanya.outcomes.http_shop import HttpShop, http_shop

from kusanya.store import Store

Kusanya = Callable[..., tuple[int, str, str]]


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = str(tmp_path / "store.sqlite")
    Store.open(path).close()
    monkeypatch.setenv("KUSANYA_STORE", path)
    monkeypatch.setenv("KUSANYA_MODE", "live")
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "here" / "config.toml"))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "config.toml").write_text("")
    return path


def pay(url: str, number: int) -> None:
    with Store.open(url) as store:
        store.submit(by_event(number, datetime.now(UTC) - timedelta(minutes=5))).result()


def test_the_first_start_makes_a_secret_for_its_owner_alone_and_prints_it_only_when_asked(
    kusanya: Kusanya, url: str, tmp_path: Path
) -> None:
    code, secret, err = kusanya("forward", "--print-secret")
    assert (code, err) == (0, "")
    assert len(base64.b64decode(secret.strip().removeprefix("whsec_"))) == 32
    kept = tmp_path / "here" / "main.forward_secret"
    assert kept.read_text() == secret
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kusanya("forward", "--print-secret")[1] == secret
    with http_shop(secret.strip()) as shop:
        code, out, err = kusanya("forward", "--to", shop.url, "--drain")
    assert (code, err) == (0, "")
    assert secret.strip() not in out


def test_what_comes_from_the_first_start_on_is_posted_once_and_what_was_lost_again_when_asked(
    kusanya: Kusanya, url: str
) -> None:
    secret = kusanya("forward", "--print-secret")[1].strip()
    pay(url, 1)
    with http_shop(secret) as shop:
        forward = ("forward", "--to", shop.url, "--drain")
        assert kusanya(*forward)[1] == f"0 outcomes were taken by {shown(shop)}\n"
        pay(url, 2)
        assert kusanya(*forward)[1] == f"1 outcomes were taken by {shown(shop)}\n"
        assert kusanya(*forward)[1] == f"0 outcomes were taken by {shown(shop)}\n"
        said, taken = kusanya(*forward, "--since", "1h")[1].splitlines()
        assert said.startswith("1 outcomes are handed out again; what became known before ")
        assert "was never for forward: a new consumer can begin earlier" in said
        assert taken == f"1 outcomes were taken by {shown(shop)}"
        new = kusanya(*forward, "--consumer", "other", "--since", "1h")[1]
        assert new == f"2 outcomes were taken by {shown(shop)}\n"
        again = kusanya(*forward, "--consumer", "other", "--since", "10min")[1].splitlines()
        assert again[0] == "2 outcomes are handed out again"
    subjects = [event["subject"] for event in shop.events]
    assert len(set(subjects)) == 2
    assert len({headers["webhook-id"] for headers in shop.headers}) == 2


def shown(shop: HttpShop) -> str:
    return f"http://127.0.0.1:{shop.server_address[1]}/…"


def test_an_address_comes_from_a_file_and_none_is_wrong_usage(
    kusanya: Kusanya, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kusanya("forward")[0] == 2
    code, _, err = kusanya("forward", "--to", "http://127.0.0.1:1/", "--consumer", "a/b", "--drain")
    assert (code, "a/b is no name for a consumer" in err) == (2, True)
    secret = kusanya("forward", "--print-secret")[1].strip()
    with http_shop(secret) as shop:
        kept = tmp_path / "where"
        kept.write_text(shop.url)
        kept.chmod(0o600)
        monkeypatch.setenv("KUSANYA_FORWARD_TO_FILE", str(kept))
        assert kusanya("forward", "--drain")[0] == 0


def test_a_secret_that_cannot_be_used_names_where_it_stands_and_not_itself(
    kusanya: Kusanya, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUSANYA_FORWARD_SECRET", "whsec_short")
    code, out, err = kusanya("forward", "--print-secret")
    assert (code, out) == (2, "")
    assert "KUSANYA_FORWARD_SECRET: " in err
    assert "whsec_short" not in err
