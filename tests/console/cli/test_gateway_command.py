"""`kusanya gateway`: it runs beside a shop, and tells its token only when asked."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from tests.kusanya.outcomes.http_shop import http_shop

from kusanya.store import Store

Kusanya = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Store.open(tmp_path / "store.sqlite").close()
    (tmp_path / "config.toml").write_text("")
    for name, value in {
        "KUSANYA_STORE": str(tmp_path / "store.sqlite"),
        "KUSANYA_MODE": "test",
        "KUSANYA_CONFIG": str(tmp_path / "config.toml"),
        "KUSANYA_API_KEY": "svc_test_sk_aaaa",
        "KUSANYA_BASE_URL": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.mark.merge
def test_the_token_is_made_for_its_owner_alone_and_the_gateway_forwards_beside_it(
    kusanya: Kusanya, home: Path
) -> None:
    token = kusanya("gateway", "--print-token")[1].strip()
    kept = home / "main.gateway_token"
    assert kept.read_text().strip() == token
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    secret = kusanya("forward", "--print-secret")[1].strip()
    with http_shop(secret) as shop:
        command = [sys.executable, "-m", "kusanya_console.cli", "gateway", "--port", "0"]
        with subprocess.Popen(
            [*command, "--forward-to", shop.url], stdout=subprocess.PIPE, text=True, env=os.environ
        ) as running:
            assert running.stdout is not None
            assert running.stdout.readline().startswith("forwarding test mode to http://127.0.0.1:")
            url = running.stdout.readline().split()[-1]
            asked = {"authorization": f"Bearer {token}"}
            body = {"amount": 5000, "phone": "0754 000 001"}
            answer = httpx.get(f"{url}v1/channels", headers=asked, timeout=60)
            assert answer.status_code == 200
            order = httpx.put(f"{url}v1/orders/INV-1", headers=asked, json=body, timeout=60)
            # Nothing answers at that address: the customer was not asked, and it is kept.
            assert order.json()["status"] in {"unknown", "unpaid"}
            running.send_signal(signal.SIGTERM)
            rest, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert token not in rest


def test_without_a_mode_nothing_is_guessed(
    kusanya: Kusanya, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUSANYA_MODE")
    assert kusanya("gateway")[0] == 2
