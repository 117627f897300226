"""The fixture for merchants' tests: its documented example runs by itself."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import kusanya_service.testing as merchants
from kusanya.webhooks import verify
from kusanya_service.errors import BadOption
from kusanya_service.testing import PaymentService


def example() -> str:
    """Return the example as the module's documentation shows it."""
    assert merchants.__doc__ is not None
    body = merchants.__doc__.split("\n\n", 1)[1]
    body = body[: body.index("The fixture gives")]
    return textwrap.dedent(body)


def test_the_documented_example_passes_in_an_empty_folder(tmp_path: Path) -> None:
    text = example()
    assert text.startswith("from kusanya_service.testing import")
    assert len([line for line in text.splitlines() if line]) <= 10
    (tmp_path / "test_order.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_order.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout


def test_the_fixture_needs_nothing_else_of_the_project() -> None:
    program = (
        "import sys, kusanya_service.testing; "
        "print([name for name in sys.modules if name.startswith(('kusanya.', 'kusanya_console'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = set(done.stdout.decode().strip("[]\n").replace("'", "").split(", "))
    shared = {
        "assumptions",
        "clock",
        "errors",
        "limits",
        "privacy",
        "secret",
        "webhooks",
        "webhooks.schedule",
        "webhooks.signature",
        "wire",
    }
    assert loaded == {f"kusanya.{name}" for name in shared}


def test_what_is_captured_verifies_with_the_endpoints_secret(
    payment_service: PaymentService,
) -> None:
    payment_service.create({"amount": 1, "phone": "255754000001", "reference": "r"})
    payment_service.advance(20)
    [delivery] = payment_service.deliveries
    header = delivery.headers["service-signature"]
    verify(delivery.body, header, payment_service.signing_secret, tolerance=None)


def test_an_unknown_outcome_is_refused_with_the_known_ones(payment_service: PaymentService) -> None:
    with pytest.raises(BadOption, match="'lost' is no outcome; known are succeeded, expired"):
        payment_service.script("255754000001", "lost")
