"""An explore notebook and a report as people see them: JupyterLab in a real browser."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
FOLDER = Path(__file__).parents[2] / "notebooks"
WAIT_S = 120
pytestmark = [
    pytest.mark.browser,
    pytest.mark.ci,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.timeout(400),
]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Lab:
    """A JupyterLab on loopback with folders of its own."""

    def __init__(self, port: int, token: str) -> None:
        self.base, self.token = f"http://127.0.0.1:{port}", token

    def post(self, path: str, body: dict[str, Any]) -> None:
        """Ask the server's interface for something."""
        request = urllib.request.Request(  # noqa: S310 - our own server on loopback
            f"{self.base}{path}",
            data=json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30):  # noqa: S310 - as above
            pass

    def answers(self) -> bool:
        """Return whether the server is up."""
        try:
            with urllib.request.urlopen(f"{self.base}/api?token={self.token}", timeout=5):  # noqa: S310
                return True
        except OSError:
            return False


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(FOLDER, home / "notebooks")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    kept = {
        name: v for name, v in os.environ.items() if not name.startswith(("KUSANYA", "JUPYTER"))
    }
    folders = {
        name: str(home / name)
        for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={token}",
            f"--notebook-dir={home / 'notebooks'}",
            f"--LabApp.app_settings_dir={home / 'notebooks' / 'labconfig'}",
            "--LabApp.expose_app_in_browser=True",
            *(["--allow-root"] if os.geteuid() == 0 else []),
        ],
        env={**kept, **folders, "IPYTHONDIR": str(home / "ipython"), "NO_PROXY": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        started = Lab(port, token)
        deadline = time.monotonic() + WAIT_S
        while not started.answers():
            assert process.poll() is None, "JupyterLab ended"
            assert time.monotonic() < deadline, "JupyterLab does not answer"
            time.sleep(0.2)
        yield started
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright: Any = import_module("playwright.sync_api")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


def open_and_run(lab: Lab, browser: Any, name: str) -> tuple[Any, list[str]]:
    """Open a notebook, run all its cells, and return the page and what it asked from elsewhere."""
    # A session first: else two kernels race for the page and Run All is lost.
    session = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "python3"}}
    lab.post("/api/sessions", session)
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    outside: list[str] = []

    def stop(route: Any) -> None:
        outside.append(route.request.url)
        route.abort()

    page.route(lambda url: not url.startswith((lab.base, "data:", "blob:")), stop)
    page.goto(f"{lab.base}/doc/tree/{name}?token={lab.token}")
    page.wait_for_selector(".jp-Notebook", timeout=WAIT_S * 1000)
    page.wait_for_function(
        """() => {
          const panel = window.jupyterapp?.shell?.currentWidget;
          const kernel = panel?.sessionContext?.session?.kernel;
          return kernel?.connectionStatus === 'connected' && kernel?.status === 'idle';
        }""",
        timeout=WAIT_S * 1000,
    )
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    return page, outside


def picture(page: Any, name: str) -> None:
    """Keep a screenshot where KUSANYA_PICTURES says, for a person to look at."""
    folder = os.environ.get("KUSANYA_PICTURES")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png")


def test_the_explorer_is_driven_with_the_mouse(lab: Lab, browser: Any) -> None:
    page, outside = open_and_run(lab, browser, "10_explorer.ipynb")
    page.wait_for_selector("table tbody tr td:has-text('INV-')", timeout=WAIT_S * 1000)
    assert page.get_by_text("sample data").first.is_visible()
    picture(page, "explorer")
    status = page.locator(".widget-dropdown", has=page.get_by_text("Status", exact=True))
    status.locator("select").select_option("failed")
    page.wait_for_selector("td:has-text('insufficient_funds')", timeout=WAIT_S * 1000)
    page.locator("table tbody tr").first.click()
    page.wait_for_selector("text=What happened to col_", timeout=WAIT_S * 1000)
    page.wait_for_selector("td:has-text('completed')", timeout=WAIT_S * 1000)
    picture(page, "explorer_story")
    assert outside == []
    page.close()


def cut_lists(page: Any) -> list[tuple[str, int, int]]:
    """Return the tables that are wider than the place they stand in: caption, width, place."""
    found = page.evaluate(
        """() => [...document.querySelectorAll('.jp-OutputArea-output table')]
          .filter(table => table.offsetParent)
          .map(table => [
            table.caption?.innerText ?? table.tHead?.innerText.slice(0, 60) ?? '',
            table.scrollWidth,
            table.closest('.jp-OutputArea-output').clientWidth,
          ])"""
    )
    return [(said, wide, room) for said, wide, room in found if wide > room]


def test_the_daily_report_is_read_in_jupyterlab(lab: Lab, browser: Any) -> None:
    page, outside = open_and_run(lab, browser, "20_daily_reconciliation.ipynb")
    page.wait_for_selector("caption:has-text('How the period stands')", timeout=WAIT_S * 1000)
    assert page.locator("caption:has-text('From the ledger to the service')").count() == 1
    assert page.locator(".jp-RenderedImage img").count() >= 2
    page.locator("caption:has-text('Fees by business day')").scroll_into_view_if_needed()
    picture(page, "daily")
    page.locator("caption:has-text('From the ledger to the service')").scroll_into_view_if_needed()
    picture(page, "bridge")
    assert cut_lists(page) == []
    listed = page.locator("table.dataTable").first
    heads = listed.locator("thead th")
    place = heads.all_inner_texts().index("amount of the service")
    listed.scroll_into_view_if_needed()
    heads.nth(place).click()
    cells = listed.locator(f"tbody tr td:nth-child({place + 1})")
    page.wait_for_function("cell => cell.innerText === '174,400'", arg=cells.first.element_handle())
    amounts = [int(text.replace(",", "")) for text in cells.all_inner_texts() if text]
    assert amounts == sorted(amounts, reverse=True)
    picture(page, "breaks")
    story = listed.locator("a[href^='#story-']").first
    name = str(story.get_attribute("href"))
    assert page.locator(name).count() == 1
    story.click()
    page.wait_for_function(
        "name => Math.abs(document.querySelector(name).getBoundingClientRect().top) < innerHeight",
        arg=name,
    )
    picture(page, "story")
    assert outside == []
    page.close()
