"""A profile: which service, which store and which secrets a command works with."""

from collections.abc import Mapping
from typing import Final

import msgspec

from kusanya.domain.roles import Role
from kusanya.errors import ConfigurationError
from kusanya.privacy.secret import Secret
from kusanya.privacy.secret_url import SecretUrl
from kusanya.say import Said
from kusanya.wire import Mode

APPLICATION: Final = "kusanya"


class EndpointSecret(msgspec.Struct, frozen=True, kw_only=True):
    """The signing secrets of one endpoint; two while a rotation lasts."""

    name: str
    secrets: tuple[Secret, ...]

    def __repr__(self) -> str:
        return f"EndpointSecret({self.name!r}, {len(self.secrets)} secrets)"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a command needs to know about where it works."""

    name: str
    mode: Mode
    """TEST where nothing says it; `need_mode` for what must not be guessed."""
    mode_given: bool = True
    """Whether the file or the environment says the mode."""
    base_url: str | None
    store: SecretUrl
    """Its str is masked; `Store.open` takes it as it is."""
    signature_header: str
    key_prefix: str
    api_key: Secret | None
    endpoints: tuple[EndpointSecret, ...]
    dashboard_url: str | None
    dashboard_token: Secret | None
    payees: tuple[str, ...] = ()
    """Our names as customers' confirmation messages show them."""
    expect: tuple[str, ...] = ()
    """What `kusanya reconcile` must compare before anybody signs."""
    roles: Mapping[str, Role] = {}
    """What people may do who come through a proxy, beside a store in a file."""
    rule_by_service: bool = False
    """Whether `kusanya watch` rules on payments whose facts contradict each other, by two answers
    of the service a minute apart."""
    secrets_from_files: bool = False
    """Whether API key or signing secrets were read from files, which may change."""

    def __repr__(self) -> str:
        return f"Profile(name={self.name!r}, mode={self.mode.value!r}, base_url={self.base_url!r})"

    def need_mode(self, *, has_option: bool = False) -> Mode:
        """Return the mode that was given; raises ConfigurationError where it would be a guess.

        `has_option` says whether who asks for it takes --mode.
        """
        if self.mode_given:
            return self.mode
        said = Said("no mode: set KUSANYA_MODE to test or live, or write mode in profile {name}")
        if has_option:
            said = Said(
                "no mode: give --mode test or --mode live, set KUSANYA_MODE, or write mode in "
                "profile {name}"
            )
        raise ConfigurationError(said.of(name=f"{self.name!r}"))

    def need_base_url(self) -> str:
        """Return the service's address; raises ConfigurationError where none is known."""
        if self.base_url is None:
            raise ConfigurationError(
                Said("no service address: set KUSANYA_BASE_URL, or base_url in profile {name}").of(
                    name=f"{self.name!r}"
                )
            )
        return self.base_url

    def need_api_key(self) -> Secret:
        """Return the API key; raises ConfigurationError where none is known."""
        if self.api_key is None:
            raise ConfigurationError(
                "no API key: set KUSANYA_API_KEY or KUSANYA_API_KEY_FILE, or save one in the "
                f"system's keyring under service {APPLICATION!r} and name {self.name}:api_key"
            )
        return self.api_key

    def need_dashboard(self) -> tuple[str, Secret]:
        """Return address and token of the embedded service's dashboard, or say what is missing."""
        if self.dashboard_url is None or self.dashboard_token is None:
            raise ConfigurationError(
                "no dashboard: set KUSANYA_DASHBOARD_URL and KUSANYA_DASHBOARD_TOKEN to what "
                "'kusanya service --json' printed (the real service has no such dashboard)"
            )
        return self.dashboard_url, self.dashboard_token
