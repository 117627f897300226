"""One simulated week: `python -m tests.simulation.one SEED [COLLECTIONS]` prints its trace."""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.simulation.checker import check
from tests.simulation.course import COLLECTIONS, simulate

_SHM = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
MEMORY = _SHM if _SHM.is_dir() else None


async def main(seed: int, collections: int) -> None:
    """Run, check, print."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        world = await simulate(Path(folder), seed, collections=collections)
        try:
            await check(world)
            sys.stdout.write(f"seed {seed}: {world.record.trace()}\n")
        finally:
            await world.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int([*sys.argv, str(COLLECTIONS)][2])))
