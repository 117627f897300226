"""Settings that a receiver refuses at once: secrets, endpoints, callbacks, and what is no store."""

from typing import Any

import pytest

from kusanya.errors import ConfigurationError
from kusanya.privacy.secret import Secret
from kusanya.receiver import EndpointSecrets, app
from kusanya.receiver.endpoints import AnySecrets, Endpoints
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit
from kusanya.wire import Mode

SECRET = "whsec_" + "a" * 32


def test_the_mode_of_bare_secrets_is_never_guessed(store: Store) -> None:
    with pytest.raises(ConfigurationError, match="mode='test' or mode='live'"):
        app(store, [SECRET])
    with pytest.raises(ConfigurationError, match="'live' or 'test', not 'prod'"):
        app(store, [SECRET], mode="prod")
    with pytest.raises(ConfigurationError, match="'till' is for test events and mode says live"):
        app(store, EndpointSecrets("till", Mode.TEST, SECRET), mode="live")


@pytest.mark.parametrize(
    "secrets",
    [None, "", [], [None], "whsec_", " whsec_aaaa", "abc", b"whsec_aaaa", ["whsec_aaaa", ""]],
)
def test_what_cannot_be_a_signing_secret_is_refused_without_repeating_it(
    store: Store, secrets: Any
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        app(store, secrets, mode="test")
    assert "abc" not in str(caught.value)
    assert "whsec_aaaa" not in str(caught.value)


async def _later(arrival: Arrival, commit: DeliveryCommit) -> None:
    """Never called."""


class _Later:
    async def __call__(self, arrival: Arrival, commit: DeliveryCommit) -> None:
        """Never called."""


@pytest.mark.parametrize("callback", [_later, _Later()])
def test_a_callback_that_nobody_would_await_is_refused(store: Store, callback: Any) -> None:
    with pytest.raises(TypeError, match="on_receipt is a plain function"):
        app(store, SECRET, mode="test", on_receipt=callback)


def test_a_path_in_place_of_a_store_is_refused() -> None:
    path: Any = "kusanya.sqlite"
    with pytest.raises(TypeError, match=r"kusanya\.Store\.open"):
        app(path, SECRET, mode="test")


@pytest.mark.parametrize(
    "secrets",
    [
        pytest.param([], id="none"),
        pytest.param([EndpointSecrets("a", Mode.TEST, "whsec_xxxx"), "whsec_yyyy"], id="a mixture"),
        pytest.param(
            [
                EndpointSecrets("a", Mode.TEST, "whsec_xxxx"),
                EndpointSecrets("a", Mode.LIVE, "whsec_yyyy"),
            ],
            id="one name twice",
        ),
        pytest.param(
            [
                EndpointSecrets("a", Mode.TEST, "whsec_xxxx"),
                EndpointSecrets("b", Mode.LIVE, "whsec_xxxx"),
            ],
            id="one secret for two modes",
        ),
    ],
)
def test_secrets_that_cannot_be_used_are_refused_at_once(secrets: AnySecrets) -> None:
    with pytest.raises(ConfigurationError):
        Endpoints.of(secrets)


def test_an_endpoint_needs_a_name_a_mode_and_a_real_secret() -> None:
    for name, secrets in (("", ["whsec_xxxx"]), ("a", [])):
        with pytest.raises(ConfigurationError):
            EndpointSecrets(name, Mode.TEST, secrets)
    for bad in ("", " whsec_xxxx", "whsec_", "x"):
        with pytest.raises(ConfigurationError, match="endpoint 'a'"):
            EndpointSecrets("a", Mode.TEST, bad)
    with pytest.raises(ConfigurationError, match="prod"):
        EndpointSecrets("a", "prod", "whsec_xxxx")  # type: ignore[arg-type] # what a profile may hold
    held = EndpointSecrets("a", Mode.TEST, ["whsec_xxxx", Secret("whsec_yyyy")])
    assert "'x'" not in repr(held)
    assert held.every_secret == (Secret("whsec_xxxx"), Secret("whsec_yyyy"))
