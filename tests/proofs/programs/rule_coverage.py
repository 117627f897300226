"""Measure the branches of the rooms that carry the rules; exit code 1 below 100 %.

    uv run --with coverage python tests/proofs/programs/rule_coverage.py

Runs the rooms' own tests and one simulated week in this process.
"""

import importlib
import sys
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[3]
ROOMS: Final = (
    "kusanya/webhooks/*",
    "kusanya/state/*",
    "kusanya/intents/*",
    "kusanya/privacy/__init__.py",
    "kusanya/privacy/secret.py",
    "kusanya_service/http/idempotency.py",
    "kusanya_service/http/creation.py",
    "kusanya_service/delivery/address_policy.py",
    "kusanya_service/delivery/urls.py",
)
TESTS: Final = (
    "kusanya/webhooks",
    "kusanya/state",
    "kusanya/intents",
    "kusanya/privacy/test_privacy.py",
    "kusanya/privacy/test_privacy_logs.py",
    "kusanya/privacy/test_secret.py",
    "kusanya_service/test_service_addresses.py",
    "kusanya_service/test_service_urls.py",
    "kusanya_service/test_service_connecting.py",
    "kusanya_service/test_service_bad_input.py",
    "kusanya_service/test_service_hostile_endpoints.py",
    "kusanya_service/test_service_idempotency.py",
    "kusanya_service/test_service_keys.py",
    "kusanya_service/test_service_refusals_before_the_wire.py",
    "simulation/test_simulation.py::test_seeds_that_found_something_stay_green",
)


def main(more: list[str]) -> int:
    """Run the tests with any further arguments of pytest, print the table."""
    coverage: Any = importlib.import_module("coverage")
    measured = coverage.Coverage(
        branch=True,
        data_file=None,
        include=[str(ROOT / "lib" / room) for room in ROOMS],
    )
    measured.start()
    tests = [str(ROOT / "tests" / test) for test in TESTS]
    ended = pytest.main(["-n", "0", "-q", "-p", "no:cacheprovider", *more, *tests])
    measured.stop()
    reached: float = measured.report(show_missing=True, skip_covered=True)
    return 0 if ended == 0 and reached >= 100 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
