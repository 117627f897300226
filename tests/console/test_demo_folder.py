"""The demo's folder: locked, kept from start to start, private."""

import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kusanya.errors import ConfigurationError
from kusanya_console.sandbox.demo.folder import DemoFolder


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DemoFolder]:
    with DemoFolder(tmp_path / "demo") as opened:
        yield opened


def test_a_second_demo_on_the_same_folder_is_refused(folder: DemoFolder) -> None:
    with pytest.raises(ConfigurationError, match="another demo runs"):
        DemoFolder(folder.path)


def test_settings_are_the_same_at_the_next_start(folder: DemoFolder) -> None:
    settings = msgspec.structs.replace(folder.settings(seed=5), signing_secret="whsec_canary")
    folder.keep(settings)
    assert folder.settings(seed=6) == settings
    assert settings.service_port != settings.receiver_port
    assert "canary" not in repr(settings)


def test_only_the_owner_reads_the_kept_secrets(folder: DemoFolder) -> None:
    folder.keep(folder.settings(seed=5))
    assert stat.S_IMODE((folder.path / "demo.json").stat().st_mode) == 0o600


def test_damaged_settings_are_refused_with_the_way_out(folder: DemoFolder) -> None:
    (folder.path / "demo.json").write_text("{", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="--fresh"):
        folder.settings(seed=5)


def test_clearing_forgets_everything_but_keeps_the_lock(folder: DemoFolder) -> None:
    folder.keep(folder.settings(seed=5))
    (folder.path / "service").mkdir()
    (folder.path / "service" / "data").write_text("x", encoding="utf-8")
    folder.clear()
    assert [entry.name for entry in folder.path.iterdir()] == ["lock"]
    with pytest.raises(ConfigurationError, match="another demo runs"):
        DemoFolder(folder.path)


def test_a_closed_folder_can_be_used_again(folder: DemoFolder) -> None:
    folder.close()
    DemoFolder(folder.path).close()


def test_a_folder_that_cannot_be_made_is_refused_in_one_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cannot use the folder"):
        DemoFolder(blocked / "demo")
