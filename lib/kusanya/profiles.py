"""Profiles: which service, which store and which secrets a command works with.

`config.toml` lies in the platform's configuration folder (or where KUSANYA_CONFIG says: then it
must be there) and holds no secrets. Environment variables KUSANYA_* win over it. API keys and
signing secrets come from the environment or from files that it names, else from the system's
keyring where one is installed.

    default_profile = "main"
    language = "en"                       # of the console: en, or sw for Kiswahili
    bell = true                           # of the console, for urgent alarms while it has no focus

    [profiles.main]
    mode = "live"
    base_url = "https://..."
    store = "postgresql://..."            # or a file; by default one in the data folder
    signature_header = "Service-Signature"
    key_prefix = "svc"
    endpoints = ["shop", "billing"]       # names; their secrets stand in KUSANYA_SECRETS

    [profiles.main.roles]                 # of people who come through a proxy; beside a file alone
    asha = "act"
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from kusanya.assumptions import KEY_PREFIX, SIGNATURE_HEADER
from kusanya.errors import ConfigurationError
from kusanya.roles import Role
from kusanya.secret import Secret, signing_secret
from kusanya.secret_files import SecretText, find_secret
from kusanya.wire import Mode
from kusanya.wording import Language

APPLICATION: Final = "kusanya"
DEFAULT_PROFILE: Final = "main"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-]{0,39}")


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
    store: str
    signature_header: str
    key_prefix: str
    api_key: Secret | None
    endpoints: tuple[EndpointSecret, ...]
    dashboard_url: str | None
    dashboard_token: Secret | None
    payees: tuple[str, ...] = ()
    """Our names as customers' confirmation messages show them."""
    roles: Mapping[str, Role] = {}
    """What people may do who come through a proxy, beside a store in a file."""
    secrets_from_files: bool = False
    """Whether API key or signing secrets were read from files, which may change."""

    def __repr__(self) -> str:
        # The address of a store may hold a password; Store.url_shown is for people.
        return f"Profile(name={self.name!r}, mode={self.mode.value!r}, base_url={self.base_url!r})"

    def need_mode(self) -> Mode:
        """Return the mode that was given; raises ConfigurationError where it would be a guess."""
        if not self.mode_given:
            raise ConfigurationError(
                "no mode: give --mode test or --mode live, set KUSANYA_MODE, or write mode in "
                f"profile {self.name!r}"
            )
        return self.mode

    def need_base_url(self) -> str:
        """Return the service's address; raises ConfigurationError where none is known."""
        if self.base_url is None:
            raise ConfigurationError(
                f"no service address: set KUSANYA_BASE_URL, or base_url in profile {self.name!r}"
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


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    mode: Mode | None = None
    base_url: str | None = None
    store: str | None = None
    signature_header: str = SIGNATURE_HEADER
    key_prefix: str = KEY_PREFIX
    endpoints: tuple[str, ...] = ()
    dashboard_url: str | None = None
    payees: tuple[str, ...] = ()
    roles: dict[str, Role] = {}


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    default_profile: str = DEFAULT_PROFILE
    profiles: dict[str, _Section] = {}
    keys: dict[str, str] = {}
    """The console's key map: command id to key."""
    theme: str = "kusanya"
    """The console's theme."""
    language: Language = Language.ENGLISH
    """The language of the console."""
    bell: bool = True
    """Whether the console rings for an urgent alarm while it has no focus."""


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where config.toml is looked for."""
    chosen = environ.get("KUSANYA_CONFIG")
    return Path(chosen) if chosen else platformdirs.user_config_path(APPLICATION) / "config.toml"


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for stores that no profile places elsewhere."""
    chosen = environ.get("KUSANYA_DATA")
    return Path(chosen) if chosen else platformdirs.user_data_path(APPLICATION)


def default_store(profile: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """Return the address of the store of a profile that names none: a file in the data folder."""
    return f"sqlite:///{data_folder(environ) / f'{profile}.sqlite'}"


def load(name: str | None = None, *, environ: Mapping[str, str] = os.environ) -> Profile:
    """Return the profile `name`, or the one that KUSANYA_PROFILE or the file chooses.

    The chosen profile must exist; where no file or no profile at all is there, the defaults serve
    under the name DEFAULT_PROFILE. A file that KUSANYA_CONFIG names must exist.
    Raises ConfigurationError for a file or variable that cannot be used; the message names it.
    """
    file = _read_config(environ)
    chosen = name or environ.get("KUSANYA_PROFILE") or file.default_profile
    if chosen not in file.profiles and (file.profiles or chosen != DEFAULT_PROFILE):
        known = ", ".join(sorted(file.profiles)) or "none"
        raise ConfigurationError(
            f"no profile {chosen!r} in {config_path(environ)}; there: {known}. Choose one with "
            "--profile, KUSANYA_PROFILE or default_profile in that file"
        )
    section = file.profiles.get(chosen, _Section())
    mode = _mode(environ.get("KUSANYA_MODE"), section.mode)
    api_key, signing = find_secret("API_KEY", environ), find_secret("SECRETS", environ)
    return Profile(
        name=chosen,
        mode=mode or Mode.TEST,
        mode_given=mode is not None,
        base_url=environ.get("KUSANYA_BASE_URL") or section.base_url,
        store=environ.get("KUSANYA_STORE")
        or section.store
        or default_store(chosen, environ=environ),
        signature_header=environ.get("KUSANYA_SIGNATURE_HEADER") or section.signature_header,
        key_prefix=environ.get("KUSANYA_KEY_PREFIX") or section.key_prefix,
        api_key=_secret(api_key) or _keyring(f"{chosen}:api_key"),
        endpoints=_endpoints(signing, chosen, section.endpoints),
        dashboard_url=environ.get("KUSANYA_DASHBOARD_URL") or section.dashboard_url,
        dashboard_token=_secret(find_secret("DASHBOARD_TOKEN", environ)),
        payees=section.payees,
        roles=section.roles,
        secrets_from_files=api_key.is_from_file or signing.is_from_file,
    )


def profile_names(*, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the names of config.toml's profiles, sorted; raises ConfigurationError."""
    return tuple(sorted(_read_config(environ).profiles))


def key_map(*, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the console's remapped keys from the file's [keys] table: command id to key."""
    return dict(_read_config(environ).keys)


def theme_name(*, environ: Mapping[str, str] = os.environ) -> str:
    """Return the console's theme from the file: kusanya, light, terminal, or one of Textual's."""
    return _read_config(environ).theme


def interface_language(*, environ: Mapping[str, str] = os.environ) -> Language:
    """Return the console's language: KUSANYA_LANG, else the file's, else English.

    Raises ConfigurationError for a language that it does not speak.
    """
    asked = environ.get("KUSANYA_LANG", "").partition("_")[0].partition(".")[0].casefold()
    if not asked:
        return _read_config(environ).language
    try:
        return Language(asked)
    except ValueError:
        raise ConfigurationError(f"KUSANYA_LANG is en or sw, not {asked!r}") from None


def has_bell(*, environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether the console may ring the terminal's bell; True where the file says nothing."""
    return _read_config(environ).bell


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


def _read_config(environ: Mapping[str, str]) -> _File:
    path = config_path(environ)
    try:
        return msgspec.toml.decode(path.read_bytes(), type=_File)
    except FileNotFoundError:
        if environ.get("KUSANYA_CONFIG"):
            # A slip in a unit file must not become the defaults.
            raise ConfigurationError(f"KUSANYA_CONFIG names {path}, which is not there") from None
        return _File()
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{path} is not a usable configuration: {error}") from error


def _mode(text: str | None, fallback: Mode | None) -> Mode | None:
    if not text:
        return fallback
    try:
        return Mode(text)
    except ValueError:
        raise ConfigurationError(f"KUSANYA_MODE is 'live' or 'test', not {text[:20]!r}") from None


def _secret(found: SecretText) -> Secret | None:
    if not found.text:
        return None
    try:
        return Secret(found.text)
    except ValueError:
        raise ConfigurationError(f"{found.source} has white space around it") from None


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
    kept = ((name, _keyring(f"{profile}:endpoint:{name}")) for name in names)
    return tuple(
        EndpointSecret(name=name, secrets=(secret,)) for name, secret in kept if secret is not None
    )


def _keyring(name: str) -> Secret | None:
    try:
        import keyring  # optional: a machine without one uses the environment
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        value = keyring.get_password(APPLICATION, name)
    except KeyringError as error:
        raise ConfigurationError(f"the system's keyring cannot be read: {error}") from error
    return Secret(value) if value else None
