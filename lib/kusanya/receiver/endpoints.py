"""Our webhook endpoints: their names, modes and signing secrets.

The service keeps separate endpoints for test and live, each with its own secret; a rotation gives
one endpoint two secrets for a while. Which endpoint a delivery belongs to is decided by the secret
that signed it, never by what its body claims. Source: Authentication 4.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from kusanya.assumptions import SIGNATURE_HEADER
from kusanya.errors import ConfigurationError
from kusanya.secret import Secret
from kusanya.wire import Mode

DEFAULT_NAME: Final = "webhooks"
"""What an endpoint is called whose secrets came without a name."""
UNKNOWN: Final = "unknown"
"""The endpoint of a rejected delivery that could have been meant for several."""


class EndpointSecrets(msgspec.Struct, frozen=True):
    """One endpoint: the name that screens show, its mode, and every secret it may sign with.

    `secrets` takes one str or Secret, or a sequence of them, and holds a tuple of Secret. Raises
    ConfigurationError for an empty name or no secret, ValueError for an empty secret.
    """

    name: str
    mode: Mode
    secrets: str | Secret | Sequence[str | Secret]

    def __post_init__(self) -> None:
        given = (self.secrets,) if isinstance(self.secrets, str | Secret) else self.secrets
        if not self.name or not given:
            raise ConfigurationError("an endpoint has a name and at least one signing secret")
        msgspec.structs.force_setattr(self, "mode", Mode(self.mode))
        msgspec.structs.force_setattr(self, "secrets", tuple(Secret(one) for one in given))

    @property
    def every_secret(self) -> tuple[Secret, ...]:
        """Return the secrets, each as a Secret."""
        held = (self.secrets,) if isinstance(self.secrets, str | Secret) else self.secrets
        return tuple(Secret(one) for one in held)


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
        mode: Mode = Mode.TEST,
        signature_header: str = SIGNATURE_HEADER,
    ) -> "Endpoints":
        """Read every form in which secrets may be given.

        Bare secrets are those of one endpoint of `mode`; with several endpoints each is an
        EndpointSecrets. Raises ConfigurationError for none, for a mixture, and for a secret that
        two modes share.
        """
        if isinstance(secrets, str | Secret | EndpointSecrets):
            secrets = (secrets,)
        named = [one for one in secrets if isinstance(one, EndpointSecrets)]
        bare = [one for one in secrets if not isinstance(one, EndpointSecrets)]
        if named and bare:
            raise ConfigurationError("give either named endpoints or bare secrets, not both")
        if bare:
            named = [EndpointSecrets(DEFAULT_NAME, mode, bare)]
        return cls(named, signature_header=signature_header)

    def named_by(self, path: str) -> EndpointSecrets | None:
        """Return the endpoint whose name is the last part of `path`, or the only one there is."""
        last = path.rstrip("/").rpartition("/")[2]
        for endpoint in self.every:
            if endpoint.name == last:
                return endpoint
        return self.every[0] if len(self.every) == 1 else None
