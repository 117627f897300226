"""The folder of an export that a test made by hand."""

from pathlib import Path

import msgspec

from kusanya.platform.digest import digest_of
from kusanya.store.records.export_layout import Contents, ExportFolder, Part, contents_file
from kusanya.wire import Mode


def note(folder: Path, mode: Mode = Mode.LIVE) -> Path:
    """Note what lies in the folder as one whole export of a mode, and return the folder."""
    paths = folder.glob(f"*/{mode.value}.parquet")
    files = {str(path.relative_to(folder)): digest_of(path) for path in paths}
    noted = ExportFolder("made by hand", {mode: Contents((Part(None, None, 0),), files)})
    contents_file(folder).write_bytes(msgspec.json.encode(noted))
    return folder
