"""`kusanya health`: what it prints, how it exits, and what it writes for Prometheus."""

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from tests.console.cli.deploying import Kusanya
from tests.console.dashboards import USUAL, answering
from tests.kit.payments import by_event, polled

from kusanya.alarms.rules import RULES
from kusanya.store import Store
from kusanya_console.cli.command_line import main


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUSANYA_MODE", "live")
    path = tmp_path / "store.db"
    with Store.open(path):
        return path


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[object, str, str]:
    monkeypatch.setattr(sys, "argv", ["kusanya", "health", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def dispute(path: Path) -> None:
    made = datetime.now(UTC) - timedelta(hours=1)
    with Store.open(path) as store:
        store.record(by_event("a", made))
        store.record(polled("a", made, status="expired"))


def test_a_quiet_store_is_well(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, capsys, "--store", path) == (0, "live mode: no alarm stands\n", "")
    code, said, _ = run(monkeypatch, capsys, "--store", path, "--json")
    assert (code, json.loads(said)["well"], json.loads(said)["alarms"]) == (0, True, [])


def test_the_sender_is_asked_where_a_dashboard_is_named_and_its_silence_is_said(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(USUAL) as dashboard:
        monkeypatch.setenv("KUSANYA_DASHBOARD_URL", str(dashboard._http.base_url))
        monkeypatch.setenv("KUSANYA_DASHBOARD_TOKEN", "dash_1")
        code, said, error = run(monkeypatch, capsys, "--store", path)
    assert (code, error) == (1, "")
    assert said.startswith("urgent: ✕ failing: the sender has had no success at https://billing.")
    code, said, error = run(monkeypatch, capsys, "--store", path)
    assert (code, said) == (0, "live mode: no alarm stands\n")
    assert error.startswith(
        "kusanya: the sender cannot be asked about our endpoints: the dashboard"
    )


def test_an_alarm_is_printed_with_its_runbook_and_exits_with_1(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dispute(path)
    code, said, error = run(monkeypatch, capsys, "--store", path)
    assert (code, error) == (1, "")
    first, second = said.splitlines()
    assert first.startswith("urgent: ≠ contradiction: 1 payment has facts that cannot all be true")
    assert second == "  console/README.md#alarm-contradictions"


def test_json_names_who_looks_after_an_alarm(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(path) as store:
        for number in range(3):
            store.record(polled(number, datetime.now(UTC) - timedelta(hours=1)))
        _, said, _ = run(monkeypatch, capsys, "--store", path, "--json")
        [alarm] = json.loads(said)["alarms"]
        assert (alarm["code"], alarm["looked_after_by"]) == ("silent", None)
        row = store.acknowledgements.record(alarm["id"], actor="asha", reason="mine")
        code, said, _ = run(monkeypatch, capsys, "--store", path, "--json")
    [alarm] = json.loads(said)["alarms"]
    assert (code, alarm["looked_after_by"]) == (1, row.actor)


def test_a_muted_alarm_stands_and_says_until_when(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kusanya: Kusanya,
) -> None:
    dispute(path)
    muted = kusanya("mute", "contradictions", "--for", "2h", "--why", "asked", "--store", str(path))
    assert muted[0] == 0, muted
    assert "contradictions:live: muted by" in muted[1]
    code, said, _ = run(monkeypatch, capsys, "--store", path)
    assert code == 1
    assert re.search(r"#alarm-contradictions; muted by \S+ until ", said)
    _, said, _ = run(monkeypatch, capsys, "--store", path, "--json")
    [alarm] = json.loads(said)["alarms"]
    assert alarm["muted_until"] > datetime.now(UTC).isoformat()
    wrong = kusanya("mute", "nothing", "--for", "2h", "--why", "asked", "--store", str(path))
    assert wrong[0] == 2
    assert "no alarm is called nothing: they are" in wrong[2]


def test_a_store_that_is_not_there_is_one_line_and_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said, error = run(monkeypatch, capsys, "--store", tmp_path / "none.db")
    assert (code, said, error.count("\n")) == (1, "", 1)


def test_the_rules_for_prometheus_hold_one_alert_for_each_rule(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said, _ = run(monkeypatch, capsys, "--alerts-yml")
    assert code == 0
    [group] = yaml.safe_load(said)["groups"]
    named = {one["alert"]: one for one in group["rules"]}
    assert len(named) == len(group["rules"]) == len(RULES) + 5
    for rule in RULES:
        [alert] = [one for one in named.values() if f'code="{rule.code}"' in one["expr"]]
        assert alert["annotations"] == {"summary": rule.condition, "runbook": rule.runbook}
        assert alert["for"] == "1m"
    assert named["KusanyaStoreUnreadable"]["expr"].endswith("== 0")
