"""What `config.toml` says: profiles, and how the console looks.

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
    api_key_file = "..."                  # or in files of mode 600, which kusanya init writes
    secrets_file = "..."
    expect = ["books", "operator:mpesa"]  # what kusanya reconcile must compare to be signed

    [profiles.main.roles]                 # of people who come through a proxy; beside a file alone
    asha = "act"
"""

import logging
import os
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from kusanya.domain.assumptions import DEFAULT_PROFILE, KEY_PREFIX, SIGNATURE_HEADER
from kusanya.domain.roles import Role
from kusanya.errors import ConfigurationError
from kusanya.profiles.profile import APPLICATION
from kusanya.say import Language, Said
from kusanya.wire import Mode

_log: Final = logging.getLogger("kusanya.profiles")
_LARGEST_BYTES: Final = 1024 * 1024


class ProfileSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the file says of one profile."""

    mode: Mode | None = None
    base_url: str | None = None
    store: str | None = None
    signature_header: str = SIGNATURE_HEADER
    key_prefix: str = KEY_PREFIX
    endpoints: tuple[str, ...] = ()
    api_key_file: str | None = None
    secrets_file: str | None = None
    dashboard_url: str | None = None
    payees: tuple[str, ...] = ()
    expect: tuple[str, ...] = ()
    roles: dict[str, Role] = {}
    rule_by_service: bool = False

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, str) and not value.strip():
                raise ValueError(f"{name} is empty: give it a value, or leave the line out")


class ConfigFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `config.toml`."""

    default_profile: str = DEFAULT_PROFILE
    profiles: dict[str, ProfileSection] = {}
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


def read_config(environ: Mapping[str, str]) -> ConfigFile:
    """Return the file, or the defaults where there is none. Raises ConfigurationError."""
    path = config_path(environ)
    try:
        return msgspec.toml.decode(_bytes_of(path).decode("utf-8-sig"), type=ConfigFile)
    except FileNotFoundError:
        if environ.get("KUSANYA_CONFIG"):
            # A slip in a unit file must not become the defaults.
            raise ConfigurationError(
                Said("KUSANYA_CONFIG names {path}, which is not there").of(path=path)
            ) from None
        return ConfigFile()
    except OSError as error:
        raise ConfigurationError(
            Said("cannot read {path}: {why}").of(path=path, why=error.strerror)
        ) from error
    except RecursionError:
        raise ConfigurationError(f"{path} is nested too deep to be read") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is no text in UTF-8: save it as such") from None
    except msgspec.MsgspecError as error:
        raise ConfigurationError(f"{path} is not a usable configuration: {error}") from error


def _bytes_of(path: Path) -> bytes:
    """Return a file's bytes, never waiting; refuse what any user of this machine may change."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:  # noqa: PTH123 - what is checked is what is read
        found = os.fstat(descriptor)
        if str(path) == os.devnull:
            return b""
        if not stat.S_ISREG(found.st_mode):
            raise ConfigurationError(f"{path} is no file")
        if os.name == "posix" and found.st_mode & stat.S_IWOTH:
            raise ConfigurationError(
                f"every user of this machine may change {path}, and with it where requests and "
                f"secrets go: chmod go-w {path}"
            )
        if os.name == "posix" and found.st_mode & stat.S_IWGRP and found.st_gid != os.getgid():
            _warn_of_group(path)
        raw = file.read(_LARGEST_BYTES + 1)
    if len(raw) > _LARGEST_BYTES:
        raise ConfigurationError(f"{path} is too large to be a configuration")
    return raw


@lru_cache
def _warn_of_group(path: Path) -> None:
    _log.warning("a group that is not this user's may change %s: chmod go-w %s", path, path)


def profile_names(*, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the names of config.toml's profiles, sorted; raises ConfigurationError."""
    return tuple(sorted(read_config(environ).profiles))


def key_map(*, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the console's remapped keys from the file's [keys] table: command id to key."""
    return dict(read_config(environ).keys)


def theme_name(*, environ: Mapping[str, str] = os.environ) -> str:
    """Return the console's theme from the file: kusanya, light, terminal, or one of Textual's."""
    return read_config(environ).theme


def interface_language(*, environ: Mapping[str, str] = os.environ) -> Language:
    """Return the console's language: KUSANYA_LANG, else the file's, else English.

    Raises ConfigurationError for a language that it does not speak.
    """
    asked = environ.get("KUSANYA_LANG", "").partition("_")[0].partition(".")[0].casefold()
    if not asked:
        return read_config(environ).language
    try:
        return Language(asked)
    except ValueError:
        raise ConfigurationError(f"KUSANYA_LANG is en or sw, not {asked!r}") from None


def has_bell(*, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the console may ring the terminal's bell; True where the file says nothing."""
    return read_config(environ).bell
