"""Our webhook endpoints: their names, modes and signing secrets.

The service keeps separate endpoints for test and live, each with its own secret; a rotation gives
one endpoint two secrets for a while. Which endpoint a delivery belongs to is decided by the secret
that signed it, never by what its body claims. Source: Authentication 4.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from kusanya.domain.assumptions import SIGNATURE_HEADER
from kusanya.errors import ConfigurationError
from kusanya.platform.arguments import plain_text
from kusanya.privacy.secret import Secret, signing_secret
from kusanya.wire import Mode

DEFAULT_NAME: Final = "webhooks"
"""What an endpoint is called whose secrets came without a name."""
UNKNOWN: Final = "unknown"
"""The endpoint of a rejected delivery that could have been meant for several."""
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9_\-]{1,100}")


class EndpointSecrets(msgspec.Struct, frozen=True):
    """One endpoint: the name that screens show, its mode, and every secret it may sign with.

    `secrets` takes one str or Secret, or a sequence of them, and holds a tuple of Secret. Raises
    ConfigurationError for an empty name, a mode that is neither test nor live, no secret, and for
    one that cannot be a signing secret; no message repeats a secret. Source: Authentication 4.
    """

    name: str
    mode: Mode
    secrets: str | Secret | Sequence[str | Secret]

    def __post_init__(self) -> None:
        secrets = (self.secrets,) if isinstance(self.secrets, str | Secret) else self.secrets
        if not plain_text("the name of an endpoint", self.name) or not secrets:
            raise ConfigurationError("an endpoint has a name and at least one signing secret")
        _check_several(secrets)
        try:
            secrets = tuple(signing_secret(one) for one in secrets)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"endpoint {self.name!r}: {error}") from None
        msgspec.structs.force_setattr(self, "mode", mode_of(self.mode))
        msgspec.structs.force_setattr(self, "secrets", secrets)

    @property
    def every_secret(self) -> tuple[Secret, ...]:
        """Return the secrets, each as a Secret."""
        held = (self.secrets,) if isinstance(self.secrets, str | Secret) else self.secrets
        return tuple(Secret(one) for one in held)


def mode_of(mode: Mode | str) -> Mode:
    """Return `mode` as a Mode; raises ConfigurationError for anything but test and live."""
    try:
        return Mode(mode)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def _check_several(secrets: object) -> None:
    if isinstance(secrets, bytes) or not isinstance(secrets, Iterable):
        raise ConfigurationError(f"a signing secret is a str, not {type(secrets).__name__}")


AnySecrets = str | Secret | EndpointSecrets | Sequence[str | Secret | EndpointSecrets]


class Endpoints:
    """All endpoints of one receiver, their secrets in one row so that one check tries them all."""

    __slots__ = ("every", "header", "owners", "secrets")

    def __init__(
        self,
        every: Sequence[EndpointSecrets],
        *,
        signature_header: str = SIGNATURE_HEADER,
    ) -> None:
        if len({endpoint.name for endpoint in every}) != len(every):
            raise ConfigurationError("two endpoints have the same name")
        self.every: Final = tuple(every)
        if _HEADER_NAME.fullmatch(plain_text("signature_header", signature_header)) is None:
            raise ConfigurationError(
                "signature_header is the name of the header that signatures come in"
            )
        self.header: Final = signature_header.lower().encode("ascii")
        pairs = [(secret, endpoint) for endpoint in every for secret in endpoint.every_secret]
        self.secrets: Final = tuple(secret for secret, _ in pairs)
        self.owners: Final = tuple(endpoint for _, endpoint in pairs)
        if not self.secrets:
            raise ConfigurationError("a receiver needs at least one signing secret")
        if len({(secret, owner.mode) for secret, owner in pairs}) != len(set(self.secrets)):
            raise ConfigurationError(
                "one signing secret is given for test and for live: a delivery signed with it "
                "would belong to both"
            )

    @classmethod
    def of(
        cls,
        secrets: AnySecrets,
        *,
        mode: Mode | str | None = None,
        signature_header: str = SIGNATURE_HEADER,
    ) -> "Endpoints":
        """Read every form in which secrets may be given.

        Bare secrets are those of one endpoint, whose `mode` must be said; with several endpoints
        each is an EndpointSecrets, which carries its own. Raises ConfigurationError for none, for a
        mixture, for bare secrets without a mode, for an endpoint of another mode than `mode`, and
        for a secret that two modes share.
        """
        if isinstance(secrets, str | Secret | EndpointSecrets):
            secrets = (secrets,)
        # What os.environ.get gives for a variable that is not set.
        secrets = secrets or ()
        _check_several(secrets)
        named = [one for one in secrets if isinstance(one, EndpointSecrets)]
        bare = [one for one in secrets if not isinstance(one, EndpointSecrets)]
        if named and bare:
            raise ConfigurationError("give either named endpoints or bare secrets, not both")
        if bare and mode is None:
            raise ConfigurationError(
                "the mode of these signing secrets is not said, and it is never guessed: give "
                "mode='test' or mode='live', or an EndpointSecrets(name, mode, secrets) for each "
                "endpoint"
            )
        known = None if mode is None else mode_of(mode)
        if known is not None and bare:
            named = [EndpointSecrets(DEFAULT_NAME, known, bare)]
        for endpoint in named:
            if known not in {None, endpoint.mode}:
                raise ConfigurationError(
                    f"endpoint {endpoint.name!r} is for {endpoint.mode} events and mode says "
                    f"{known}: leave mode out where each endpoint has its own"
                )
        return cls(named, signature_header=signature_header)

    def named_by(self, path: str) -> EndpointSecrets | None:
        """Return the endpoint whose name is the last part of `path`, or the only one there is."""
        last = path.rstrip("/").rpartition("/")[2]
        for endpoint in self.every:
            if endpoint.name == last:
                return endpoint
        return self.every[0] if len(self.every) == 1 else None
