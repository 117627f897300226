"""What may be shown of a crash: its kind and our own frames. No message, no locals, no data."""

import traceback

from rich.text import Text


def failure_place(error: BaseException) -> str:
    """Return the kind of an error and where in our own code it came up: no message, no data."""
    ours = [one for one in traceback.extract_tb(error.__traceback__) if "kusanya" in one.filename]
    if not ours:
        return type(error).__name__
    name = ours[-1].filename.rpartition("kusanya")[2].lstrip("/_")
    return f"{type(error).__name__} at {name}:{ours[-1].lineno}"


def crash_report(error: BaseException | None, *, read_only: bool = True) -> Text:
    """Return what may be shown of a crash: where, and of which kind."""
    kind = type(error).__name__ if error is not None else "unknown error"
    lines = [f"kusanya console: internal error, {kind}"]
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    lines += [
        f"  {frame.filename.rpartition('kusanya')[2].lstrip('/_')}:{frame.lineno} {frame.name}"
        for frame in frames
        if "kusanya" in frame.filename
    ]
    if read_only:
        lines.append("Nothing was changed: this console was read-only.")
    else:
        lines.append("Writes were on: run kusanya intents to see what has no answer.")
    return Text("\n".join(lines))
