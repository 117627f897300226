"""Let a child process end with its parent, however the parent ends.

The parent keeps the child's standard input open and never writes to it. When the parent is gone,
also by `kill -9`, the pipe closes and the child stops as if it had been asked to.
"""

import os
import signal
import sys
import threading


def stop_when_stdin_closes() -> None:
    """Ask this process to stop, by SIGTERM, as soon as standard input ends."""
    standard_input = sys.stdin.fileno()

    def wait() -> None:
        # Not through the buffered object: a process that ends while a thread waits in it aborts,
        # which would hide what it ended with.
        while os.read(standard_input, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()
