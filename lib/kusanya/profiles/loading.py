"""From `config.toml`, the environment, files of secrets and the keyring to one profile."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Final

from kusanya.domain.assumptions import DEFAULT_PROFILE
from kusanya.errors import ConfigurationError
from kusanya.privacy.secret import Secret, bearer_secret, signing_secret
from kusanya.privacy.secret_url import SecretUrl
from kusanya.profiles.config_file import ProfileSection, config_path, default_store, read_config
from kusanya.profiles.profile import APPLICATION, EndpointSecret, Profile
from kusanya.profiles.secret_files import SecretText, find_secret
from kusanya.say import Said
from kusanya.wire import Mode

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-]{0,39}")


def load(name: str | None = None, *, environ: Mapping[str, str] = os.environ) -> Profile:
    """Return the profile `name`, or the one that KUSANYA_PROFILE or the file chooses.

    The chosen profile must exist; where no file or no profile at all is there, the defaults serve
    under the name DEFAULT_PROFILE. A file that KUSANYA_CONFIG names must exist.
    Raises ConfigurationError for a file or variable that cannot be used; the message names it.
    """
    file = read_config(environ)
    chosen = name or environ.get("KUSANYA_PROFILE") or file.default_profile
    if chosen not in file.profiles and (file.profiles or chosen != DEFAULT_PROFILE):
        known = ", ".join(sorted(file.profiles)) or "none"
        raise ConfigurationError(
            Said(
                "no profile {name} in {path}; there: {names}. Choose one with --profile, "
                "KUSANYA_PROFILE or default_profile in that file"
            ).of(name=f"{chosen!r}", path=config_path(environ), names=known)
        )
    section = file.profiles.get(chosen, ProfileSection())
    mode = _mode(environ.get("KUSANYA_MODE"), section.mode)
    api_key = find_secret("API_KEY", environ, named=section.api_key_file)
    signing = find_secret("SECRETS", environ, named=section.secrets_file)
    kept = find_secret("STORE", environ)
    return Profile(
        name=chosen,
        mode=mode or Mode.TEST,
        mode_given=mode is not None,
        base_url=_service(environ, "base_url", section.base_url),
        store=SecretUrl(kept.text or section.store or default_store(chosen, environ=environ)),
        signature_header=environ.get("KUSANYA_SIGNATURE_HEADER") or section.signature_header,
        key_prefix=environ.get("KUSANYA_KEY_PREFIX") or section.key_prefix,
        api_key=_secret(api_key) or _keyring(f"{chosen}:api_key"),
        endpoints=_endpoints(signing, chosen, section.endpoints),
        dashboard_url=_service(environ, "dashboard_url", section.dashboard_url),
        dashboard_token=_secret(find_secret("DASHBOARD_TOKEN", environ)),
        payees=section.payees,
        expect=section.expect,
        roles=section.roles,
        rule_by_service=section.rule_by_service,
        secrets_from_files=api_key.is_from_file or signing.is_from_file,
    )


def parse_endpoint_secrets(text: str) -> tuple[EndpointSecret, ...]:
    """Read `shop=whsec_...,billing=whsec_...`; a bare secret is `default`.

    A name may repeat with another secret, for a rotation; the same secret twice is a mistake.

    Raises ConfigurationError; its message never repeats a secret.
    """
    found: dict[str, list[Secret]] = {}
    for position, part in enumerate(text.split(","), start=1):
        name, separator, value = part.strip().partition("=")
        if not separator or name.startswith("whsec_"):
            name, value = "default", part.strip()
        if not _NAME.fullmatch(name):
            raise ConfigurationError(f"endpoint {position} of the signing secrets has no fit name")
        if not value:
            raise ConfigurationError(f"the signing secret of endpoint {name!r} is empty")
        try:
            secret = signing_secret(value)
        except ValueError as error:
            raise ConfigurationError(f"the signing secret of endpoint {name!r}: {error}") from None
        if any(secret in held for held in found.values()):
            raise ConfigurationError(
                f"the signing secret of endpoint {name!r} is given twice: each endpoint has its own"
            )
        found.setdefault(name, []).append(secret)
    return tuple(EndpointSecret(name=name, secrets=tuple(keys)) for name, keys in found.items())


def _mode(text: str | None, fallback: Mode | None) -> Mode | None:
    if not text:
        return fallback
    try:
        return Mode(text)
    except ValueError as error:
        raise ConfigurationError(f"KUSANYA_MODE: {error}") from None


def _service(environ: Mapping[str, str], name: str, fallback: str | None) -> str | None:
    """Return a service's address, which holds no credentials and so may be shown."""
    variable = f"KUSANYA_{name.upper()}"
    given = environ.get(variable)
    found = given or fallback
    if found is None:
        return None
    address = SecretUrl(found)
    if address.has_credentials or "@" in found:
        raise ConfigurationError(
            f"{variable if given else name} holds credentials ({address}): an address has none; "
            "the key stands in KUSANYA_API_KEY or in a file"
        )
    return found


def _secret(found: SecretText) -> Secret | None:
    if not found.text:
        return None
    try:
        return bearer_secret(found.text)
    except ValueError as error:
        raise ConfigurationError(f"{found.source}: {error}") from None


def _endpoints(
    found: SecretText, profile: str, names: tuple[str, ...]
) -> tuple[EndpointSecret, ...]:
    if found.is_from_file:
        lines = [line.strip().rstrip(",") for line in found.text.splitlines()]
        listed = ",".join(line for line in lines if line and not line.startswith("#"))
        try:
            return parse_endpoint_secrets(listed)
        except ConfigurationError as error:
            raise ConfigurationError(f"{found.source}: {error}") from None
    if found.text:
        return parse_endpoint_secrets(found.text)
    kept = ((name, _keyring(f"{profile}:endpoint:{name}", signing_secret)) for name in names)
    return tuple(
        EndpointSecret(name=name, secrets=(secret,)) for name, secret in kept if secret is not None
    )


def _keyring(name: str, form: Callable[[str], Secret] = bearer_secret) -> Secret | None:
    try:
        import keyring  # optional: a machine without one uses the environment
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        value = keyring.get_password(APPLICATION, name)
    except KeyringError as error:
        raise ConfigurationError(f"the system's keyring cannot be read: {error}") from error
    if not value:
        return None
    try:
        return form(value)
    except ValueError as error:
        raise ConfigurationError(f"{name} in the system's keyring: {error}") from None
