"""The README tells the truth: its commands exist, its examples run, its links lead somewhere."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kusanya.profiles import load
from kusanya_console.cli.line import main
from kusanya_service.testing import PaymentService, payment_service

__all__ = ["payment_service"]

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
PROSE = re.sub(r"```python\n.*?```", "", TEXT, flags=re.DOTALL)
GROUPS = {"keys", "endpoints", "clock", "faults", "store", "intents"}


def commands() -> list[str]:
    """Return every command that the README names, with its subcommand where it has one."""
    found = re.findall(r"kusanya ([a-z][a-z-]*)(?: ([a-z-]+))?", PROSE)
    return sorted({f"{name} {sub}".strip() if name in GROUPS else name for name, sub in found})


@pytest.mark.parametrize("command", commands())
def test_every_command_of_the_readme_exists(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kusanya", *command.split(), "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (0, "")


def test_every_link_of_the_readme_leads_to_a_file() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_the_example_of_creating_safely_creates_one_collection(
    payment_service: PaymentService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = (block for block in BLOCKS if "create_safely" in block)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        exec(example, {"api_key": payment_service.test_key, "base_url": payment_service.base_url})  # noqa: S102 - our own text
    finally:
        os.chdir(before)
    status, fee = capsys.readouterr().out.split()
    assert status == "created"
    assert int(fee) > 0


def test_the_example_of_a_merchants_test_passes(tmp_path: Path) -> None:
    (example,) = (block for block in BLOCKS if "payment_service.script" in block)
    (tmp_path / "test_order.py").write_text(example, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_order.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout


def test_the_example_of_a_configuration_is_one(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert tomllib.loads(example)["default_profile"] == "main"
    config = tmp_path / "config.toml"
    config.write_text(example, encoding="utf-8")
    assert load(environ={"KUSANYA_CONFIG": str(config)}).mode == "live"
