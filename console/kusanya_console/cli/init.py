"""`kusanya init`: ask what a profile needs, and keep it where nobody else can read it."""

import getpass
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import typer

from kusanya.platform.private_file import write_private
from kusanya.privacy.secret import Secret, bearer_secret, signing_secret
from kusanya.privacy.secret_url import SecretUrl
from kusanya.wire import Mode, mode_of_key
from kusanya_console.output import FAILED, USAGE, Refused, complain, say

if TYPE_CHECKING:
    from kusanya.profiles import Profile

Answer = TypeVar("Answer")
_NAME_HINT: Final = "letters, digits, - and _, 40 at most"


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog="Example: kusanya init")(init)


def init(
    *,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Name of the new profile; asked otherwise.")
    ] = None,
) -> None:
    """Ask for service, key and signing secret, and write a profile into config.toml.

    Secrets are not shown while they are typed. They go into the system's keyring, or without one
    into files beside config.toml that only you can read; that file itself holds none. A profile
    that is there already is not touched. Answers may also come line by line on standard input.
    """
    from kusanya.domain.assumptions import DEFAULT_PROFILE
    from kusanya.profiles import config_path, default_store, profile_names

    path = config_path()
    known = profile_names() if path.exists() else ()
    free = _free(known, path)
    try:
        name = free(profile) if profile else _ask("Name of the profile", free, DEFAULT_PROFILE)
    except ValueError as error:
        raise Refused(f"--profile: {error}", code=USAGE) from None
    mode = _ask("Mode, test or live", Mode, Mode.TEST.value)
    base_url = _ask("Address of the service, https://...", _address)
    key = _ask("API key", lambda text: _key(text, mode), hidden=True)
    endpoint = _ask("Name of your endpoint", _name, "shop")
    signing = _ask("Its signing secret, whsec_...", signing_secret, hidden=True)
    store = _ask("Store, a file or postgresql://...", _store, default_store(name))
    section = {"mode": mode.value, "base_url": base_url, "store": store}
    kept = _keep(name, key, endpoint, signing, path.parent)
    lines = [f"[profiles.{name}]"]
    lines += [f"{field} = {_toml(value)}" for field, value in {**section, **kept}.items()]
    lines.append(f"endpoints = [{_toml(endpoint)}]")
    before = path.read_text(encoding="utf-8").rstrip() if path.exists() else ""
    above = [before, ""] if before else [f"default_profile = {_toml(name)}", ""]
    _write(path, "\n".join([*above, *lines]) + "\n")
    _check(name)
    where = "in the files that it names" if kept else "in the system's keyring"
    say(f"profile {name} is written to {path}, its secrets {where}")
    say(f"now run: kusanya doctor --profile {name}")


def _ask(
    question: str,
    read: Callable[[str], Answer],
    default: str | None = None,
    *,
    hidden: bool = False,
) -> Answer:
    """Ask until the answer can be used; a hidden one is not echoed, nor ever repeated."""
    offered = "" if default is None else f" [{default}]"
    while True:
        text = _line(f"{question}{offered}: ", hidden=hidden).strip() or default or ""
        try:
            if not hidden and not text.isprintable():
                raise ValueError("there is a character in it that nobody can see")  # noqa: TRY301
            return read(text)
        except ValueError as error:
            complain(str(error) if text else "an answer is needed")


def _line(prompt: str, *, hidden: bool) -> str:
    if hidden and sys.stdin.isatty():
        return getpass.getpass(prompt, stream=sys.stderr)
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise Refused("the answers ended: nothing was written", code=USAGE)
    if not sys.stdin.isatty():
        sys.stderr.write("\n")
    return line


def _free(known: tuple[str, ...], path: Path) -> Callable[[str], str]:
    def read(text: str) -> str:
        if _name(text) in known:
            raise Refused(
                f"profile {text} is in {path} already: choose another name, or change that file",
                code=USAGE,
            )
        return text

    return read


def _name(text: str) -> str:
    if not text.isascii() or not text.replace("-", "").replace("_", "").isalnum() or len(text) > 40:  # noqa: PLR2004 - as profiles are read
        raise ValueError(f"a name is {_NAME_HINT}")
    return text


def _address(text: str) -> str:
    address = SecretUrl(text)
    if not text.startswith(("https://", "http://")) or address.has_credentials or "@" in text:
        raise ValueError("an address is as https://pay.example, without a name and a password")
    return text


def _store(text: str) -> str:
    if SecretUrl(text).has_credentials:
        raise ValueError(
            "no password belongs into config.toml: leave it out here, and put the whole address "
            "into a file that KUSANYA_STORE_FILE names"
        )
    return text


def _key(text: str, mode: Mode) -> Secret:
    key = bearer_secret(text)
    said = mode_of_key(text)
    if said not in {None, mode}:
        raise ValueError(f"that is a key of {said} mode, and the profile is of {mode} mode")
    return key


def _keep(name: str, key: Secret, endpoint: str, signing: Secret, folder: Path) -> dict[str, str]:
    """Keep both secrets in the keyring, or in files; return what config.toml says of the files."""
    from kusanya.profiles import APPLICATION

    try:
        import keyring
        from keyring.errors import KeyringError

        keyring.set_password(APPLICATION, f"{name}:api_key", key.reveal())
        keyring.set_password(APPLICATION, f"{name}:endpoint:{endpoint}", signing.reveal())
    except ImportError:
        pass
    except KeyringError as error:
        complain(f"the keyring takes nothing ({type(error).__name__}): files are used")
    else:
        return {}
    files = {"api_key_file": key.reveal(), "secrets_file": f"{endpoint}={signing.reveal()}"}
    paths = {field: folder / f"{name}.{field.removesuffix('_file')}" for field in files}
    for field, path in paths.items():
        _write(path, f"{files[field]}\n")
    return {field: str(path) for field, path in paths.items()}


def _write(path: Path, text: str) -> None:
    try:
        write_private(path, text)
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}") from error


def _check(name: str) -> "Profile":
    from kusanya.errors import ConfigurationError
    from kusanya.profiles import load

    try:
        return load(name)
    except ConfigurationError as error:
        raise Refused(f"written, and not usable yet: {error}", code=FAILED) from error


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a string of TOML too
