"""The `kusanya` command: it begins here and is put together in `command_line`."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit with 0, 1 or 2."""
    import gc
    import sys

    from kusanya_console.cli.extras import COMMAND_LINE, answer_bare, lacks

    if lacks(COMMAND_LINE) or sys.argv[1:] == ["--version"]:
        sys.exit(answer_bare(sys.argv[1:]))
    # Imports allocate 500,000 objects and free almost none: look for garbage less often.
    gc.set_threshold(100_000, 20, 20)
    from kusanya_console.cli.command_line import main as run

    run()
