"""What `kusanya deploy` writes: templates with a few values put in, rules and a Grafana board.

A template is the file itself; `@{name}` stands for a value and `@@` for an at sign.
"""

import re
import string
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from kusanya.alarms.prometheus_alerts import render_alerts
from kusanya.errors import ConfigurationError
from kusanya.privacy.secret_url import SecretUrl
from kusanya.wire import Mode
from kusanya_console.deploy import Kind
from kusanya_console.deploy.grafana import render_grafana
from kusanya_console.deploy.logins import store_values

_SHARED: Final = {
    Kind.SYSTEMD: (
        *("nginx.conf", "Caddyfile", "prometheus.yml"),
        *("console-nginx.conf", "console-Caddyfile"),
    ),
    Kind.COMPOSE: ("nginx.conf", "Caddyfile", "prometheus.yml", "Dockerfile"),
    Kind.KUBERNETES: ("Dockerfile",),
}
"""Of the common templates, those that a kind wants."""
_PARAMETER: Final = (
    r"(?:sslmode|sslrootcert|connect_timeout|target_session_attrs|application_name"
    r"|channel_binding)=[A-Za-z0-9_.,/\-]{1,200}"
)
_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?"
_HOST: Final = rf"{_NAME}(?:\.{_NAME})*"
_PORT: Final = r"(?::[0-9]{1,5})?"
_PLAIN: Final = r"[A-Za-z0-9_.\-]{1,200}"
_GRAMMARS: Final = {
    "--domain": (rf"{_HOST}", "a name as hooks.shop.example"),
    "--base-url": (
        rf"https?://(?:{_HOST}|\[[0-9a-fA-F:]{{2,39}}\]){_PORT}(?:/[A-Za-z0-9._~/\-]*)?",
        "an address as https://pay.example/v1",
    ),
    "--store": (
        (
            rf"(?:sqlite:///)?/[A-Za-z0-9._/\-]{{1,400}}"
            rf"|postgres(?:ql)?://(?:{_PLAIN}@)?{_HOST}{_PORT}(?:,{_HOST}{_PORT}){{0,9}}/{_PLAIN}"
            rf"(?:\?(?:{_PARAMETER}(?:&{_PARAMETER}){{0,19}}))?"
        ),
        "sqlite:////a/file or postgresql://user@host/database, without a password",
    ),
    "--program": (r"/[A-Za-z0-9._+/\-]{1,400}", "the whole path of a program"),
}
"""What a value may be in full, so that none means more than itself in any of the files."""
_HIDDEN: Final = ("/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/")  # noqa: S108 - not to be used
"""Folders that a unit does not see: ProtectHome= and PrivateTmp= of each."""
INSTALLED: Final = Path("/opt/kusanya/bin/kusanya")
"""Where the program lies on the machine that runs it, unless somebody says otherwise."""


class DeploySettings(msgspec.Struct, frozen=True, kw_only=True):
    """The values that are put into the templates.

    Raises ConfigurationError for a value that would mean something else there.
    """

    kind: Kind
    mode: Mode
    base_url: str
    store: str
    domain: str
    program: Path
    """The `kusanya` command that units start."""

    def __post_init__(self) -> None:
        values = {
            "--base-url": self.base_url,
            "--store": self.store,
            "--domain": self.domain,
            "--program": str(self.program),
        }
        for name in ("--base-url", "--store"):
            if SecretUrl(values[name]).has_credentials:
                raise ConfigurationError(
                    f"{name} holds a password, which would stand in the files: leave it out; "
                    "README.md of the files says where it goes"
                )
        for name, value in values.items():
            grammar, form = _GRAMMARS[name]
            if re.fullmatch(grammar, value) is None or ".." in value:
                raise ConfigurationError(
                    f"{name} is {form}; other signs mean something else in the files"
                )
        if self.kind is Kind.SYSTEMD and f"{self.program}".startswith(("/home/", "/root/")):
            raise ConfigurationError(
                "--program lies in a home folder, which no unit sees: install Kusanya as in "
                f"python3 -m venv {INSTALLED.parent.parent}, and name {INSTALLED}"
            )


def program_for(running: Path) -> Path:
    """Return where units find the program: where it runs now, where they can see that."""
    return INSTALLED if f"{running}".startswith(_HIDDEN) else running


class _Template(string.Template):
    delimiter = "@"
    # The base class compiles it.
    pattern: ClassVar[Any] = (
        r"@(?:(?P<escaped>@)|\{(?P<braced>[a-z_]+)\}|(?P<named>(?!))|(?P<invalid>))"
    )


def render(settings: DeploySettings) -> dict[str, str]:
    """Return the text of each file by its name."""
    folder = files("kusanya_console.deploy") / "templates"
    of_kind = folder / settings.kind.value
    values = {
        "mode": settings.mode.value,
        "base_url": settings.base_url,
        "store": settings.store,
        "domain": settings.domain,
        "bin": str(settings.program),
        "version": version("kusanya"),
        "upstream": "127.0.0.1:8099",
        "watcher": "127.0.0.1:9464",
        "console": "127.0.0.1:8600",
    } | store_values(settings.kind, settings.store)
    if settings.kind is Kind.SYSTEMD:
        values["sandbox"] = (of_kind / "sandbox.inc").read_text(encoding="utf-8").strip()
    sources = [one for one in of_kind.iterdir() if not one.name.endswith(".inc")]
    sources += [folder / "common" / name for name in _SHARED[settings.kind]]
    made = {source.name: _filled(source, values) for source in sources}
    made |= {"alerts.yml": render_alerts(), "grafana.json": render_grafana()}
    return dict(sorted(made.items()))


def write(made: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Write files into `folder`, made where there is none; return the names of the new ones.

    Nothing is written, and ConfigurationError raised, where one of them is there with other
    contents: somebody has changed it, or another version wrote it.
    """
    new, changed = [], []
    try:
        for name, text in made.items():
            path = folder / name
            if not path.exists():
                new.append(name)
            elif path.read_bytes() != text.encode():
                changed.append(name)
        if changed:
            raise ConfigurationError(
                f"{', '.join(changed)} in {folder} would be written over: write into an empty "
                "folder and compare"
            )
        folder.mkdir(parents=True, exist_ok=True)
        for name in new:
            with (folder / name).open("x", encoding="utf-8", newline="\n") as file:
                file.write(made[name])
    except OSError as error:
        raise ConfigurationError(f"cannot write into {folder}: {error.strerror}") from None
    return tuple(new)


def _filled(source: Traversable, values: Mapping[str, str]) -> str:
    text = source.read_text(encoding="utf-8")
    for name, value in values.items():
        if not value:
            # Not as an empty line where it stood alone.
            text = re.sub(rf"^ *@\{{{name}\}}\n", "", text, flags=re.MULTILINE)
    return _Template(text).substitute(values)
