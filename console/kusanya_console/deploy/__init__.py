"""Files with which a team runs Kusanya as a service: units, containers, proxies, monitoring."""

from enum import StrEnum


class Kind(StrEnum):
    """What runs the programs."""

    SYSTEMD = "systemd"
    COMPOSE = "compose"
    KUBERNETES = "kubernetes"
