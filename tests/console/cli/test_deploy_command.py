"""`kusanya deploy`: what it writes can be read, and names what exists."""

import json
import re
import shlex
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
        "kusanya-console.service",
        "kusanya-reconcile.service",
        "kusanya-reconcile.timer",
        "kusanya-backup.service",
        "kusanya-backup.timer",
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
    assert set(found["services"]) == {"migrate", "receive", "watch", "reconcile", "backup"}
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
    assert docker.count("FROM python:3.12-slim") == 2
    assert docker.index("USER 10001:10001") > docker.index("COPY --from=build")


def test_manifests_are_confined_and_run_commands_that_there_are(
    kusanya: Kusanya, tmp_path: Path
) -> None:
    made = deployed(kusanya, tmp_path / "new", "kubernetes")
    documents = list(yaml.safe_load_all(made["kusanya.yaml"]))
    kinds = [one["kind"] for one in documents]
    assert kinds == [
        *("ConfigMap", "Job", "Deployment", "Deployment", "Service"),
        *("PodDisruptionBudget", "CronJob", "CronJob"),
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
