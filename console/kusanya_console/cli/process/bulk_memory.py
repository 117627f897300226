"""How a process that reads a month in bulk holds its memory."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def memory_for_bulk() -> Iterator[None]:
    """Let this process read millions of rows meanwhile.

    What the imports made lives as long as the process. To look through it at every collection of
    garbage costs a sixth of all seconds that a month of a million rows takes. And Arrow's own
    allocator keeps what was given back, a hundred megabytes of it, from what comes next.
    """
    import pyarrow as pa

    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    gc.freeze()
    try:
        yield
    finally:
        # What is never collected some libraries call leaked, at the end, on the terminal.
        gc.unfreeze()
        pa.set_memory_pool(before)
