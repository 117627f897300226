"""A store's file on a mount of its own, and on one that nobody may write."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kusanya.errors import StoreUnavailable
from kusanya.store import Store


@pytest.fixture
def mounted(path: Path) -> Iterator[Path]:
    """Mount the store's file alone somewhere else, as a container does that is given one file."""
    Store.open(path).close()
    place = path.with_name("in a container") / "store.db"
    place.parent.mkdir()
    place.touch()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount")
    command = [mount, "--bind", str(path), str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run([umount, "-l", str(place)], check=True)


@pytest.mark.root
def test_a_file_that_is_mounted_alone_is_refused(mounted: Path, path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="mount the folder"):
        Store.open(mounted)
    with pytest.raises(StoreUnavailable, match="mount the folder"):
        Store.open(mounted, read_only=True)
    Store.open(path).close()


@pytest.fixture
def read_only_mount(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system that holds a store, and forbid to write on it."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount")
    command = [mount, "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    Store.open(folder / "store.db").close()
    subprocess.run([mount, "-o", "remount,ro", str(folder)], check=True)
    yield folder
    subprocess.run([umount, "-l", str(folder)], check=True)


@pytest.mark.root
@pytest.mark.parametrize("read_only", [True, False])
def test_a_read_only_mount_is_named_as_the_reason(read_only_mount: Path, read_only: bool) -> None:
    with pytest.raises(StoreUnavailable, match="is not writable, and SQLite writes beside"):
        Store.open(read_only_mount / "store.db", read_only=read_only)
