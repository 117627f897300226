"""The `kusanya` command: it begins here and is put together in `command_line`."""

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit with 0, 1 or 2."""
    import sys

    from kusanya_console.cli.extras import COMMAND_LINE, answer_bare, lacks
    from kusanya_console.cli.startup import begin

    if lacks(COMMAND_LINE) or sys.argv[1:] == ["--version"]:
        sys.exit(answer_bare(sys.argv[1:]))
    begin()
    # After the beginning of the start, which this is the first part of.
    from kusanya_console.cli.command_line import main as run

    run()
