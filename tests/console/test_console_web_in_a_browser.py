"""The console as a visitor sees it: a real browser, our page, the screen on its canvas."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.kit.naming_proxy import naming_proxy

from kusanya.clock import ManualClock
from kusanya.store import Store

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.ci,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.timeout(300),
]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WAIT_MS = 90_000


@contextmanager
def served(folder: Path, seed: Any, clock: ManualClock, *words: str) -> Iterator[str]:
    """Run the command on a store with a working hour that ends now; yield what it printed."""
    clock.step(datetime.now(UTC) - clock.now())
    seed.busy(40, until=clock.now())
    server = subprocess.Popen(
        [
            sys.executable, "-m", "kusanya_console.cli", "console", "--web",
            f"--store={folder / 'kusanya.db'}", *words,
        ],
        stdout=subprocess.PIPE, text=True, env=os.environ | {"KUSANYA_MODE": "live"},
    )  # fmt: skip
    try:
        assert server.stdout is not None
        server.stdout.readline()
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.communicate(timeout=60)


@pytest.fixture
def address(tmp_path: Path, store: Store, seed: Any, clock: ManualClock) -> Iterator[str]:
    """Return the address of a console for one browser on this machine."""
    with served(tmp_path, seed, clock) as address:
        yield address


@pytest.fixture
def shared(
    tmp_path: Path, store: Store, seed: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[int]:
    """Return the port of a console for people whom a proxy names; asha may decide."""
    config = tmp_path / "config.toml"
    config.write_text('[profiles.main.roles]\nasha = "decide"\n')
    monkeypatch.setenv("KUSANYA_CONFIG", str(config))
    words = "--listen=127.0.0.1:0", "--trust-header=X-User", "--trusted-proxy=127.0.0.1/32"
    with served(tmp_path, seed, clock, *words) as address:
        yield int(address.rpartition(":")[2])


def test_a_person_behind_a_proxy_notes_in_their_own_name_and_another_only_looks(
    shared: int, store: Store
) -> None:
    playwright: Any = import_module("playwright.sync_api")
    wrong: list[str] = []

    def visit(browser: Any, port: int) -> tuple[Any, bytearray]:
        written = bytearray()
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            lambda said: wrong.append(said.text) if "Content Security" in said.text else None,
        )
        page.on(
            "websocket",
            lambda socket: socket.on("framereceived", lambda frame: written.extend(_bytes(frame))),
        )
        page.goto(f"http://127.0.0.1:{port}/")
        _until(page, lambda: b"INV-482900" in written)
        page.locator(".xterm-helper-textarea").focus()
        page.wait_for_timeout(1_000)
        return page, written

    with (
        playwright.sync_playwright() as started,
        naming_proxy(shared, X_User="asha") as hers,
        naming_proxy(shared, X_User="visitor") as anybodys,
    ):
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page, written = visit(browser, hers)
        assert b"asha@main" in written
        _picture(page, "web_shared")
        page.keyboard.press("A")
        _until(page, lambda: b"note" in bytes(written).lower())
        page.wait_for_timeout(500)
        page.keyboard.type("called back")
        page.keyboard.press("Enter")
        _until(page, lambda: b"by asha" in written)
        page.wait_for_timeout(500)
        _picture(page, "web_shared_noted")
        page, written = visit(browser, anybodys)
        page.keyboard.press("A")
        _until(page, lambda: b"you have no role here" in written)
        page.wait_for_timeout(500)
        _picture(page, "web_shared_reader")
        refused = browser.new_page()
        answer = refused.goto(f"http://127.0.0.1:{shared}/")
        assert (answer.status, "The proxy named nobody" in answer.text()) == (403, True)
        browser.close()
    [row] = [row for row in store.audit.page().rows if row.act == "note"]
    assert (row.actor, row.outcome) == ("asha", "done")
    assert wrong == []


def test_a_browser_shows_the_console_obeys_keys_and_asks_nobody_else(address: str) -> None:
    playwright: Any = import_module("playwright.sync_api")
    written = bytearray()
    outside: list[str] = []
    wrong: list[str] = []
    origin = address.partition("/?")[0]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(
            viewport={"width": 1280, "height": 800},
            permissions=["clipboard-read", "clipboard-write"],
        ).new_page()
        page.on("request", lambda request: outside.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "console",
            lambda said: wrong.append(said.text) if "Content Security" in said.text else None,
        )

        def listen(socket: Any) -> None:
            socket.on("framereceived", lambda frame: written.extend(_bytes(frame)))

        page.on("websocket", listen)
        page.goto(address)
        _until(page, lambda: b"INV-482900" in written)
        assert page.url == f"{origin}/", "the spent token left the address bar"
        page.wait_for_timeout(1_000)
        first = _picture(page, "web_live")
        # No click and no focus of ours: the page is ready for keys as soon as it shows something.
        page.keyboard.press("4")
        _until(page, lambda: b"endpoints" in bytes(written).lower())
        page.wait_for_timeout(500)
        second = _picture(page, "web_health")
        assert first != second, "the canvas shows another screen"
        page.evaluate("navigator.clipboard.writeText('INV-NOT-THERE')")
        page.keyboard.press("3")
        _until(page, lambda: b"reference" in bytes(written[-20_000:]).lower())
        page.keyboard.press("Control+v")
        _until(page, lambda: b"INV-NOT-THERE" in written)
        cookies = page.evaluate("document.cookie")
        assert cookies == "", "no script sees the cookie"
        page.reload()
        before = len(written)
        _until(page, lambda: b"INV-482900" in written[before:])
        browser.close()
    assert [url for url in outside if not url.startswith((origin, "data:", "blob:"))] == []
    assert wrong == []


def _bytes(frame: Any) -> bytes:
    return frame if isinstance(frame, bytes) else json.dumps(frame).encode()


def _until(page: Any, true: Any) -> None:
    give_up = time.monotonic() + WAIT_MS / 1000
    while not true():
        assert time.monotonic() < give_up, "it did not come"
        page.wait_for_timeout(100)


def _picture(page: Any, name: str) -> bytes:
    """Return a screenshot; it is kept where KUSANYA_PICTURES says, for a person to look at."""
    drawn: bytes = page.screenshot()
    folder = os.environ.get("KUSANYA_PICTURES")
    if folder:
        (Path(folder) / f"{name}.png").write_bytes(drawn)
    return drawn
