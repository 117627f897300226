"""Secrets that this program makes itself at its first start, for the shop beside it."""

import base64
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from kusanya_console.output import Refused

if TYPE_CHECKING:
    from kusanya.privacy.secret import Secret
    from kusanya.profiles import Profile


def own_secrets(
    profile: "Profile", name: str, *, prefix: str, check: "Callable[[Secret], object]"
) -> "list[Secret]":
    """Return the secrets of a profile, such as FORWARD_SECRET; the first time one is made.

    It stands beside config.toml for its owner alone, unless KUSANYA_NAME or KUSANYA_NAME_FILE says
    otherwise; several, in lines of their own, while it is changed.
    Raises ConfigurationError for what `check` refuses, Refused where it cannot be kept.
    """
    from kusanya.errors import ConfigurationError
    from kusanya.platform.private_file import write_private
    from kusanya.privacy.secret import Secret
    from kusanya.profiles import config_path, find_secret

    kept = config_path().parent / f"{profile.name}.{name.lower()}"
    found = find_secret(name, named=str(kept) if kept.exists() else None)
    if not found.text:
        made = prefix + base64.b64encode(secrets.token_bytes(32)).decode()
        try:
            write_private(kept, f"{made}\n")
        except OSError as error:
            raise Refused(
                f"cannot write {kept} ({error.strerror}): name a file of your own by "
                f"KUSANYA_{name}_FILE"
            ) from error
        return [Secret(made)]
    try:
        given = [Secret(one) for one in found.text.replace(",", " ").split()]
        for one in given:
            check(one)
    except (ConfigurationError, ValueError) as error:
        raise ConfigurationError(f"{found.source}: {error}") from None
    return given
