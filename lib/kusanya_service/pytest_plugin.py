"""The fixture `payment_service` for every pytest run where this package is installed.

pytest loads this module at each start, also of projects that never use the fixture: it imports
nothing of the service until a test asks for it.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kusanya_service.testing import PaymentService


@pytest.fixture
def payment_service() -> Iterator["PaymentService"]:
    """Give a fresh service with a virtual clock and an endpoint that captures its deliveries."""
    from kusanya_service.testing import fresh_service

    with fresh_service() as service:
        yield service
