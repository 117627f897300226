"""Reconciliation costs nothing until it is used."""

import subprocess
import sys


def test_importing_the_package_loads_neither_pandas_nor_duckdb() -> None:
    program = (
        "import sys, kusanya, kusanya_books;"
        "print(sorted({'pandas', 'duckdb', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_reconciliation_knows_no_notebook() -> None:
    program = (
        "import sys;"
        "from kusanya_books import chart, failures, fees, load, views;"
        "print(sorted({'IPython', 'ipywidgets', 'textual', 'rich'} & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
