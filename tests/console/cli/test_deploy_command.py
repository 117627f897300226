"""`kusanya deploy`: what it writes can be read, and names what exists."""

import json
import re
import shlex
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from tests.console.cli.deploying import GIVEN, Kusanya, deployed, unit

from kusanya.alarms import gauges
from kusanya.errors import ConfigurationError
from kusanya.receiver import metrics as receiver_metrics
from kusanya.telemetry.metrics import Metric
from kusanya.wire import Mode
from kusanya_console.cli.command_line import command_line
from kusanya_console.deploy import Kind
from kusanya_console.deploy.files import INSTALLED, DeploySettings, program_for, render
from kusanya_console.deploy.grafana import PANELS


def test_every_unit_is_readable_and_leads_to_one_that_is_there(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    made = deployed(kusanya, tmp_path / "new", "systemd")
    units = {name for name in made if name.endswith((".service", ".timer"))}
    assert units == {
        "kusanya-migrate.service",
        "kusanya-receive.service",
        "kusanya-watch.service",
        "kusanya-forward.service",
        "kusanya-console.service",
        "kusanya-reconcile.service",
        "kusanya-reconcile.timer",
        "kusanya-backup.service",
        "kusanya-backup.timer",
        "kusanya-verify.service",
        "kusanya-verify.timer",
    }
    for name in units:
        found = unit(made[name])
        assert found["Unit"]["Description"].startswith("Kusanya: ")
        if name.endswith(".timer"):
            assert name.replace(".timer", ".service") in units
            assert found["Timer"]["OnCalendar"].endswith("Africa/Dar_es_Salaam")
            continue
        service = found["Service"]
        assert (service["User"], service["ProtectSystem"]) == ("kusanya", "strict")
        for key in ("ExecStart", "ExecStartPost"):
            if key in service:
                assert command_exists(shlex.split(service[key])[1:])
        assert set(found["Unit"].get("Requires", "").split()) <= units


def command_exists(words: list[str]) -> bool:
    """Return whether a command line begins with a command of ours and uses options that it has."""
    command: Any = command_line()
    names: list[str] = []
    while hasattr(command, "commands"):
        names.append(words.pop(0))
        command = command.commands[names[-1]]
    known = {option for one in command.params for option in one.opts}
    asked = {word for word in words if word.startswith("--")}
    assert asked <= known, (names, asked - known)
    return True


def test_containers_are_confined_and_run_commands_that_there_are(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    made = deployed(kusanya, tmp_path / "new", "compose")
    found = yaml.safe_load(made["compose.yaml"])
    assert set(found["services"]) == {
        *("migrate", "receive", "watch", "reconcile", "backup", "verify")
    }
    for service in found["services"].values():
        assert command_exists(list(service["command"]))
        assert (service["read_only"], service["user"], service["cap_drop"]) == (
            True,
            "10001:10001",
            ["ALL"],
        )
        assert set(service["secrets"]) == set(found["secrets"])
        for volume in service["volumes"]:
            assert volume.startswith(("kusanya:", "./books:"))
    assert found["services"]["receive"]["depends_on"]["migrate"]["condition"].endswith("fully")
    docker = made["Dockerfile"]
    assert len(re.findall(r"FROM python:3\.12\.[0-9]+-slim-bookworm", docker)) == 2
    assert docker.index("USER 10001:10001") > docker.index("COPY --from=build")


def test_manifests_are_confined_and_run_commands_that_there_are(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    made = deployed(kusanya, tmp_path / "new", "kubernetes")
    documents = list(yaml.safe_load_all(made["kusanya.yaml"]))
    kinds = [one["kind"] for one in documents]
    assert kinds == [
        *("ConfigMap", "Job", "Deployment", "Deployment", "Service"),
        *("PodDisruptionBudget", "PodDisruptionBudget", "NetworkPolicy"),
        *("CronJob", "CronJob", "CronJob"),
    ]
    for document in documents:
        spec = document.get("spec", {})
        template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if template is None:
            continue
        pod = template["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        volumes = {one["name"] for one in pod["volumes"]}
        [container] = pod["containers"]
        all_of_it = (*pod.get("initContainers", ()), container)
        for one in all_of_it:
            assert one["securityContext"]["readOnlyRootFilesystem"] is True
            if one["image"].startswith("kusanya:"):
                assert command_exists(list(one["args"]))
        assert {mount["name"] for one in all_of_it for mount in one["volumeMounts"]} == volumes
        for probe in ("livenessProbe", "readinessProbe"):
            if probe in container:
                ports = {one["name"]: one["containerPort"] for one in container["ports"]}
                assert str(ports[container[probe]["httpGet"]["port"]]) in container["args"]


@pytest.mark.merge
def test_manifests_are_what_kubernetes_knows(kusanya: Kusanya, tmp_path: Path) -> None:
    validator: Any = import_module("kubernetes_validate")
    made = deployed(kusanya, tmp_path / "new", "kubernetes")
    documents = list(yaml.safe_load_all(made["kusanya.yaml"]))
    for version in ("1.31", validator.latest_version()):
        for document in documents:
            validator.validate(document, version, strict=True)
    # A field that there is not is found: the schemas are strict.
    documents[2]["spec"]["template"]["spec"]["securityContxt"] = {}
    with pytest.raises(validator.ValidationError):
        validator.validate(documents[2], "1.31", strict=True)


@pytest.mark.parametrize("kind", ["systemd", "compose", "kubernetes"])
def test_rules_and_dashboard_ask_for_metrics_that_there_are(
    kusanya: Kusanya, tmp_path: Path, kind: str
) -> None:
    metrics: tuple[Metric[Any], ...] = (*receiver_metrics.METRICS, gauges.READABLE, *gauges.METRICS)
    known = {one.shown_name for one in metrics}
    labels = {one.shown_name: {*one.labels, "instance", "le"} for one in metrics}
    made = deployed(kusanya, tmp_path / "new", kind)
    rules = [
        rule["expr"]
        for group in yaml.safe_load(made["alerts.yml"])["groups"]
        for rule in group["rules"]
    ]
    board = json.loads(made["grafana.json"])
    shown = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(shown) == len(PANELS)
    assert len({panel["id"] for panel in board["panels"]}) == len(PANELS)
    # Of Prometheus itself: whether it reached what it asks.
    rules = [rule for rule in rules if not rule.startswith("up{")]
    asked = [board["templating"]["list"][1]["query"], *rules, *shown]
    used = set()
    for expression in asked:
        names = {
            re.sub(r"^(kusanya_ack_seconds)_bucket$", r"\1", name)
            for name in re.findall(r"kusanya_\w+", expression)
        }
        assert names, expression
        assert names <= known, expression
        used |= names
        of_them = set().union(*(labels[name] for name in names))
        for by in re.findall(r"by \(([^)]*)\)", expression):
            assert {label.strip() for label in by.split(",")} <= of_them, expression
        assert set(re.findall(r"(\w+)=~?\"", expression)) <= of_them, expression
    assert used == known, "a metric that no graph and no rule shows"


def test_a_changed_file_is_never_written_over_and_then_nothing_is(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    folder = tmp_path / "new"
    deployed(kusanya, folder, "systemd")
    again = ("deploy", "--to", str(folder), *GIVEN)
    assert "unchanged" in kusanya(*again)[1]
    (folder / "kusanya.env").write_text("KUSANYA_MODE=live\n")
    (folder / "Caddyfile").unlink()
    code, out, err = kusanya(*again)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "kusanya.env in" in err
    assert not (folder / "Caddyfile").exists()
    assert (folder / "kusanya.env").read_text() == "KUSANYA_MODE=live\n"


@pytest.mark.parametrize(
    "more",
    [
        ("--domain", "shop.example; rm -rf /"),
        ("--domain", 'a"b'),
        ("--domain", "a.example;return"),
        ("--base-url", "https://u:secret@pay.example"),
        ("--store", "postgresql://u:p/secret@db/kusanya"),
        ("--store", "postgresql://u@db/kusanya?password=secret@x"),
        ("--domain", "${HOME}"),
        ("--base-url", "https://pay.example\nUser=root"),
        ("--store", "postgresql://kusanya:secret@db/kusanya"),
        ("--store", "@{bin}"),
    ],
)
def test_a_value_that_would_mean_something_else_in_a_file_is_refused(
    kusanya: Kusanya, tmp_path: Path, more: tuple[str, str]
) -> None:
    code, _, err = kusanya("deploy", "--to", str(tmp_path / "new"), *GIVEN, *more)
    assert (code, err.count("\n")) == (2, 1)
    assert "secret@" not in err
    assert not (tmp_path / "new").exists()


_SIGNS = st.text(
    st.sampled_from([*"abz09.-_/:@?=&,;{}()[]<>\"'`$%#\\|!*~^+ \t\n\r\0\u2028\u00a0"]),
    max_size=14,
)


@pytest.mark.merge
@given(
    field=st.sampled_from(["domain", "base_url", "store", "program"]), before=_SIGNS, after=_SIGNS
)
@example(field="domain", before="", after=";return")
@example(field="store", before="", after="?sslmode=x\nKUSANYA_MODE=live")
@example(field="base_url", before="u:p@", after="")
@example(field="program", before="", after=" --store=/x")
def test_no_value_adds_a_line_or_a_directive_to_any_file(
    field: str, before: str, after: str
) -> None:
    fit = {
        "domain": "a.example",
        "base_url": "https://a.example/v1",
        "store": "postgresql://a@b.example/c",
        "program": "/opt/a/kusanya",
    }
    value = before + fit[field] + after
    for kind in Kind:
        plain = render(DeploySettings(kind=kind, mode=Mode.TEST, **_typed(fit)))
        try:
            settings = DeploySettings(kind=kind, mode=Mode.TEST, **_typed(fit | {field: value}))
        except ConfigurationError:
            continue
        made = render(settings)
        assert made.keys() == plain.keys()
        for name, text in made.items():
            assert text.replace(value, fit[field]) == plain[name], (name, value)
            assert not re.search(r"[\s;{}\"'$%#\\\0-\x1f]", value)


def _typed(values: dict[str, str]) -> dict[str, Any]:
    return values | {"program": Path(values["program"])}


def test_a_program_that_no_unit_sees_is_looked_for_where_it_will_lie(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    assert program_for(Path("/home/asha/kusanya/.venv/bin/kusanya")) == INSTALLED
    assert program_for(Path("/srv/kusanya/bin/kusanya")) == Path("/srv/kusanya/bin/kusanya")
    code, _, err = kusanya(
        "deploy", "--to", str(tmp_path / "new"), *GIVEN, "--program", "/root/.venv/bin/kusanya"
    )
    assert (code, "which no unit sees" in err) == (2, True)


def test_everything_that_is_missing_is_said_at_once(kusanya: Kusanya, tmp_path: Path) -> None:
    code, _, err = kusanya("deploy", "--to", str(tmp_path / "new"))
    assert (code, err.count("\n")) == (2, 1)
    assert "give --mode live and --base-url https://…, or have them in profile 'main'" in err


def test_proxies_pass_deliveries_alone_and_name_their_sender(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    made = deployed(kusanya, tmp_path / "new", "systemd")
    nginx, caddy = made["nginx.conf"], made["Caddyfile"]
    for text in (nginx, caddy):
        assert text.count("{") == text.count("}")
        assert "hooks.shop.example" in text
        assert "127.0.0.1:8099" in text
    assert "limit_except POST { deny all; }" in nginx
    assert "X-Forwarded-For $proxy_add_x_forwarded_for" in nginx
    assert "\t@other not method POST\n\trespond @other 405" in caddy
    assert "127.0.0.1/32" in made["kusanya-receive.service"]


def test_the_proxies_of_the_console_name_the_user_that_it_believes(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    made = deployed(kusanya, tmp_path / "new", "systemd")
    words = shlex.split(unit(made["kusanya-console.service"])["Service"]["ExecStart"])
    header, listen = (words[words.index(name) + 1] for name in ("--trust-header", "--listen"))
    nginx, caddy = made["console-nginx.conf"], made["console-Caddyfile"]
    for text in (nginx, caddy):
        assert text.count("{") == text.count("}")
        assert "console.hooks.shop.example" in text
        assert listen in text
    assert f"proxy_set_header {header} $remote_user;" in nginx
    assert "proxy_set_header X-Forwarded-Proto $scheme;" in nginx
    assert f"header_up {header} {{http.auth.user.id}}" in caddy


def test_proxies_pass_no_other_path(kusanya: Kusanya, tmp_path: Path) -> None:
    made = deployed(kusanya, tmp_path / "new", "systemd")
    [pattern] = re.findall(r'location ~ "([^"]+)"', made["nginx.conf"])
    for path in ("/", "/webhooks", "/webhooks/shop"):
        assert re.search(pattern, path), path
    for path in ("/metrics", "/readyz", "/healthz", "/webhooks/a/b", "/webhooks/..", "/x"):
        assert not re.search(pattern, path), path
    assert "location / {\n        return 404;" in made["nginx.conf"]
    assert (
        "@elsewhere not path / /webhooks /webhooks/*\n\trespond @elsewhere 404" in made["Caddyfile"]
    )


POSTGRES = ("--store", "postgresql://kusanya@db.internal:5432/kusanya?sslmode=require")
LOGINS = {
    "migrate": "owner", "backup": "owner", "receive": "receive", "watch": "watch",
    "forward": "watch", "reconcile": "reconcile", "console": "console", "verify": "scratch",
}  # fmt: skip


def test_on_postgresql_each_unit_has_a_login_of_its_own_and_waits_for_the_database(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    made = deployed(kusanya, tmp_path / "new", "systemd", *POSTGRES)
    assert "KUSANYA_STORE=" not in made["kusanya.env"]
    for name, login in LOGINS.items():
        text = made[f"kusanya-{name}.service"]
        as_what = "scratch" if login == "scratch" else "store"
        assert f"LoadCredential=kusanya-{as_what}:/etc/kusanya/store/{login}\n" in text
        assert "postgresql.service" in unit(text)["Unit"]["After"].split()
        assert "Requires=" not in text, "a migration that fails once takes nothing else down"
        assert f"/etc/kusanya/store/{login} " in made["README.md"]
    migrate = unit(made["kusanya-migrate.service"])
    assert (migrate["Service"]["Restart"], migrate["Unit"]["StartLimitIntervalSec"]) == (
        "on-failure",
        "0",
    )
    plain = deployed(kusanya, tmp_path / "file", "systemd")
    assert "KUSANYA_STORE=sqlite:////var/lib/kusanya/store.sqlite" in plain["kusanya.env"]
    assert "LoadCredential" not in plain["kusanya-receive.service"]


def test_on_postgresql_each_container_has_a_login_of_its_own(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    found = yaml.safe_load(
        deployed(kusanya, tmp_path / "new", "compose", *POSTGRES)["compose.yaml"]
    )
    assert "KUSANYA_STORE" not in found["services"]["receive"]["environment"]
    for name, service in found["services"].items():
        [given] = [one for one in service["secrets"] if isinstance(one, dict)]
        as_what = "scratch" if name == "verify" else "store"
        assert given == {"source": f"store-{LOGINS[name]}", "target": as_what}
        assert given["source"] in found["secrets"]
        assert f"KUSANYA_{as_what.upper()}_FILE" in service["environment"]
    documents = deployed(kusanya, tmp_path / "k", "kubernetes", *POSTGRES)["kusanya.yaml"]
    for name, login in LOGINS.items():
        if name != "console":
            variable = "KUSANYA_SCRATCH" if name == "verify" else "KUSANYA_STORE"
            said = f"{variable}, valueFrom: {{secretKeyRef: {{name: kusanya-store, key: {login}}}}}"
            assert said in documents, name


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
@pytest.mark.parametrize("more", [(), POSTGRES], ids=["file", "postgresql"])
def test_systemd_finds_nothing_wrong_with_the_units(
    kusanya: Kusanya, tmp_path: Path, more: tuple[str, ...]
) -> None:
    made = deployed(kusanya, tmp_path / "new", "systemd", *more)
    units = [name for name in made if name.endswith((".service", ".timer"))]
    done = subprocess.run(
        [
            str(shutil.which("systemd-analyze")),
            "verify",
            "--man=no",
            *(f"./{name}" for name in units),
        ],
        cwd=tmp_path / "new",
        capture_output=True,
        text=True,
        check=False,
    )
    about = [line for line in done.stderr.splitlines() if "kusanya-" in line]
    assert about == []
