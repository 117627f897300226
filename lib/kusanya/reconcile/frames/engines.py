"""Which engine runs over a source: DuckDB in this process, or the Spark that a dataset names."""

from kusanya.errors import ConfigurationError
from kusanya.reconcile.frames.duckdb_engine import MEMORY, SMALL, SMALL_FILES, DuckDbEngine
from kusanya.reconcile.frames.engine import Dataset, Engine, Source


def open_engine(*sources: Source | None) -> Engine:
    """Return an engine that reads these sources; it is closed by the caller.

    Frames lie in this process and go to whichever engine the datasets name. Raises ValueError for
    datasets of two engines, ConfigurationError where Spark or its client is not there.
    """
    datasets = [source for source in sources if isinstance(source, Dataset)]
    addresses = {dataset.engine for dataset in datasets}
    if len(addresses) > 1:
        raise ValueError(f"one engine reads all datasets, not {' and '.join(sorted(addresses))}")
    address = "".join(addresses)
    if address:
        try:
            from kusanya.reconcile.frames.spark_engine import SparkEngine
        except ModuleNotFoundError as error:
            needs = "Spark needs more packages: pip install 'kusanya[spark]'"
            raise ConfigurationError(needs) from error
        return SparkEngine(address)
    return DuckDbEngine(
        folders=[folder for dataset in datasets for folder in dataset.folders],
        memory=_memory(datasets) if datasets else MEMORY,
    )


def _memory(datasets: list[Dataset]) -> str:
    """Return what is enough: an engine fills what it may have, and the program needs room too."""
    size = sum(path.stat().st_size for dataset in datasets for path in dataset.paths)
    return SMALL if size <= SMALL_FILES else MEMORY
