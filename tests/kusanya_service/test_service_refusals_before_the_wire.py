"""What HTTP libraries do not send and resolvers do not answer, refused all the same."""

import pytest

from kusanya_service.delivery.address_policy import AddressPolicy, HostUnresolved
from kusanya_service.errors import ApiError
from kusanya_service.http.idempotency import read_key


@pytest.mark.spec("limits-key-length")
def test_two_idempotency_keys_are_none() -> None:
    with pytest.raises(ApiError, match="once") as refused:
        read_key([b"one", b"two"])
    assert refused.value.status == 400


@pytest.mark.anyio
async def test_a_name_that_leads_nowhere_is_not_resolved() -> None:
    async def resolve(_host: str, _port: int) -> list[str]:
        return []

    with pytest.raises(HostUnresolved):
        await AddressPolicy().resolve_public("shop.example", 443, "live", resolve)
