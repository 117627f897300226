"""Secrets from files: where a supervisor or an orchestrator puts them, away from the environment.

A secret NAME, also the address of a store with its password, stands in KUSANYA_NAME itself, in the
file that KUSANYA_NAME_FILE names, in systemd's folder of credentials under `kusanya-name`, or in a
file that the profile names. Files are read anew each time.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from kusanya.errors import ConfigurationError

_LARGEST_BYTES: Final = 64 * 1024


class SecretText(msgspec.Struct, frozen=True):
    """What was found of a secret, not yet checked for its form."""

    text: str = ""
    """Empty where there is none; without white space at its ends where it is from a file."""
    source: str = ""
    """The variable or the file, for messages."""
    is_from_file: bool = False

    def __repr__(self) -> str:
        return f"SecretText(source={self.source!r})"


def find_secret(
    name: str, environ: Mapping[str, str] = os.environ, *, named: str | None = None
) -> SecretText:
    """Return the secret `name`, such as API_KEY, from the variable, its file or the credentials.

    Else from the file `named` by a profile.
    Raises ConfigurationError where variable and file are both given, and for a file that cannot be
    read, is empty, or may be read by every user of the machine; no message holds its contents.
    """
    variable = f"KUSANYA_{name}"
    value, path = environ.get(variable, ""), environ.get(f"{variable}_FILE", "")
    if value and path:
        raise ConfigurationError(f"{variable} and {variable}_FILE are both set: leave one out")
    if value:
        return SecretText(value, variable)
    if path:
        return SecretText(_read(Path(path), f"{variable}_FILE", is_ours=True), path, True)
    folder = environ.get("CREDENTIALS_DIRECTORY", "")
    credential = Path(folder) / f"kusanya-{name.lower().replace('_', '-')}"
    if folder and credential.exists():
        text = _read(credential, "the systemd credential", is_ours=False)
        return SecretText(text, str(credential), True)
    if named:
        return SecretText(_read(Path(named).expanduser(), "the profile", is_ours=True), named, True)
    return SecretText()


def _read(path: Path, named_by: str, *, is_ours: bool) -> str:
    try:
        # Not waiting where it is a pipe that nobody writes into.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 - what is checked is what is read
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise ConfigurationError(f"{named_by}: {path} is no file")
            if is_ours and os.name == "posix" and found.st_mode & (stat.S_IRWXO | stat.S_IWGRP):
                raise ConfigurationError(
                    f"{named_by}: every user of this machine may use {path}: chmod 600 {path}"
                    if found.st_mode & stat.S_IRWXO
                    else f"{named_by}: its group may write {path}: chmod 600 {path}"
                )
            raw = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{named_by}: cannot read {path}: {error.strerror}") from None
    if len(raw) > _LARGEST_BYTES:
        raise ConfigurationError(f"{named_by}: {path} is too large to hold secrets")
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise ConfigurationError(f"{named_by}: {path} is no text in UTF-8") from None
    if not text:
        raise ConfigurationError(f"{named_by}: {path} is empty")
    return text
