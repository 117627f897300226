"""The READMEs tell the truth: commands exist, examples run, links lead somewhere."""

import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.kit.intents import begin_intent

from kusanya import Client, Store, receiver
from kusanya.domain.status import Status
from kusanya.outcomes import ddl
from kusanya.profiles import load
from kusanya.state.observation import Observation, Source
from kusanya.wire import Collection, Mode
from kusanya_console.cli.command_line import main
from kusanya_service.testing import PaymentService

ROOT = Path(__file__).parents[1]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for folder in (".", "console", "lib", "notebooks", "tests")
    for path in [ROOT / folder / "README.md"]
} | {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [ROOT / "lib" / "CHANGELOG.md", *sorted((ROOT / "lib" / "docs").glob("*.md"))]
}
GROUPS = {
    "breaks",
    "deliveries",
    "keys",
    "endpoints",
    "clock",
    "faults",
    "store",
    "intents",
    "mapping",
    "outcomes",
}


def examples(page: str, kind: str = "python") -> list[str]:
    """Return a page's blocks of code of one kind."""
    return re.findall(rf"```{kind}\n(.*?)```", PAGES[page], re.DOTALL)


def example(holding: str) -> str:
    """Return the library's one example that holds a word."""
    (found,) = (block for block in examples("lib/README.md") if holding in block)
    return found


def commands() -> list[str]:
    """Return every command that the pages name, with its subcommand where it has one."""
    prose = re.sub(r"```python\n.*?```", "", "\n".join(PAGES.values()), flags=re.DOTALL)
    found = re.findall(r"kusanya ([a-z][a-z-]*)(?: ([a-z-]+))?", prose)
    return sorted({f"{name} {sub}".strip() if name in GROUPS else name for name, sub in found})


@pytest.mark.parametrize("command", commands())
def test_every_command_of_the_pages_exists(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["kusanya", *command.split(), "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_to_a_heading(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGES[page]):
        if target.startswith("https://"):
            continue
        path, _, heading = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}


def test_every_extra_of_the_first_page_exists_and_none_is_missing() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    section = PAGES["README.md"].partition("## Install it")[2]
    named = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert named == set(declared["optional-dependencies"])


def test_the_example_of_paying_asks_for_one_order(
    payment_service: PaymentService,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"api_key": payment_service.test_key, "base_url": payment_service.base_url}
    exec(example("import kusanya\n"), given)  # noqa: S102 - our own text
    assert capsys.readouterr().out.startswith("asked We sent a payment request to your phone.")


def test_the_example_of_channels_tells_each_and_asks_for_an_order(
    payment_service: PaymentService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [block] = [one for one in examples("lib/docs/orders.md") if "channels.now" in one]
    given: dict[str, Any] = {
        "api_key": payment_service.test_key,
        "base_url": payment_service.base_url,
    }
    with Store.open(tmp_path / "shop.sqlite") as store, Client(**given) as client:
        names: dict[str, Any] = {"store": store, "client": client, "mode": Mode.TEST}
        exec(block, names)  # noqa: S102 - our own text
        assert names["order"].status == "asked"
    assert "M-Pesa ok None None" in capsys.readouterr().out


@pytest.mark.parametrize("holding", ["receiver.app(Store.open", "def webhook"])
def test_the_examples_of_receiving_make_a_receiver(
    holding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example(holding), names)  # noqa: S102 - our own text
    if "webhook" in names:
        text, status = names["webhook"](b"{}", {})
        assert (status, text) == (400, "missing")
        names["store"].close()
    else:
        assert callable(names["application"])


def test_the_shop_of_the_first_page_ships_its_order_once_however_often_it_is_started(
    payment_service: PaymentService,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUSANYA_API_KEY", payment_service.test_key)
    monkeypatch.setenv("KUSANYA_BASE_URL", payment_service.base_url)
    clock, secrets = payment_service.clock, [payment_service.signing_secret]
    with (
        Store.open("kusanya.sqlite", clock=clock) as store,
        ThreadPoolExecutor(1) as elsewhere,
    ):
        payment_service.deliver_to(receiver.app(store, secrets, mode="test", clock=clock))
        command = "kusanya outcomes add shipping --begin all --store ./kusanya.sqlite"
        assert command in PAGES["lib/README.md"]
        monkeypatch.setattr(sys, "argv", command.split())
        with pytest.raises(SystemExit, match="0"):
            main()
        for _ in range(2):
            shop = elsewhere.submit(exec, example("# shop.py"), {})
            while not shop.done():
                payment_service.advance(5)
            shop.result()
    said = [line for line in capsys.readouterr().out.splitlines() if "PIN" not in line]
    assert said[1:] == [
        "paid",
        "shipped INV-1",
        "We have received your payment of TZS 5,000. Thank you.",
        "paid",
    ]


@pytest.mark.parametrize(("mode", "paid"), [(Mode.LIVE, "INV-1"), (Mode.TEST, "INV-3")])
def test_the_example_of_shipping_ships_what_is_paid_in_the_shops_mode(
    tmp_path: Path, mode: Mode, paid: str
) -> None:
    names: dict[str, Any] = {}
    exec(example("def shipping"), names)  # noqa: S102 - our own text

    @contextmanager
    def connect() -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(tmp_path / "orders.sqlite")) as connection, connection:
            yield connection

    with connect() as tx:
        tx.execute("CREATE TABLE orders (reference, state)")
        tx.execute("CREATE TABLE questions (reference, kind)")
        tx.executemany("INSERT INTO orders VALUES (?, 'new')", [(f"INV-{n}",) for n in (1, 2, 3)])
        tx.execute(ddl("sqlite"))
    with Store.open(tmp_path / "shop.sqlite") as store:
        store.outcomes.add("shipping", mode=mode, begin=None, all_=True, actor="asha")
        for n, in_mode in ((1, Mode.LIVE), (2, Mode.LIVE), (3, Mode.TEST)):
            begin(store, f"INV-{n}", in_mode)
        store.record(polled("col_1", Status.SUCCEEDED, "INV-1", Mode.LIVE))
        store.record(polled("col_2", Status.CREATED, "INV-2", Mode.LIVE))
        store.record(polled("col_3", Status.SUCCEEDED, "INV-3", Mode.TEST))
        assert names["shipping"](store, mode).drain(connect) == 1
        assert names["shipping"](store, mode).drain(connect) == 0
    with connect() as tx:
        assert tx.execute("SELECT * FROM orders WHERE state = 'shipped'").fetchall() == [
            (paid, "shipped")
        ]
        assert tx.execute("SELECT * FROM questions").fetchall() == []


def begin(store: Store, reference: str, mode: Mode) -> None:
    """Make the creation of an order durable, as a shop does before it sends it."""
    begin_intent(store,
        idempotency_key=reference, body=b"{}", mode=mode, profile="shop", reference=reference,
        amount=5000, phone="255754000001", at=NOON, by="shop", until=NOON,
    ).result()  # fmt: skip


def polled(identifier: str, status: Status, reference: str, mode: Mode) -> Observation:
    """Return what a poll said of a collection."""
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    return Observation(
        source=Source.POLL,
        source_id=f"poll_{identifier}",
        observed_at=at,
        observed_in=mode,
        collection=Collection(
            id=identifier,
            status=status,
            amount=5000,
            fee=65,
            currency="TZS",
            channel="MPESA_TZ",
            phone="255754000001",
            reference=reference,
            mode=mode,
            created_at=at,
            completed_at=None if status is Status.CREATED else at,
        ),
    )


@pytest.mark.merge
def test_the_examples_of_a_shops_tests_pass(tmp_path: Path) -> None:
    tests = [block for block in examples("lib/README.md") if "payment_service" in block]
    (tmp_path / "test_shop.py").write_text("\n\n".join(tests), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert f"{len(tests)} passed" in done.stdout, done.stdout


def test_the_example_of_a_configuration_is_one(tmp_path: Path) -> None:
    (text,) = examples("lib/docs/running.md", "toml")
    config = tmp_path / "config.toml"
    config.write_text(text, encoding="utf-8")
    assert load(environ={"KUSANYA_CONFIG": str(config)}).mode is Mode.LIVE


def test_every_file_of_settings_on_the_notebooks_page_is_read(tmp_path: Path) -> None:
    from kusanya_books.pack.journals import account_map
    from kusanya_books.read import mapping, tariff_file, tolerance_file

    readers = {
        "[ledger]": mapping.read_mapping,
        "grace_days": lambda path: tolerance_file.read(str(path)),
        "[[price]]": tariff_file.read,
        "[accounts]": account_map.read,
    }
    blocks = examples("notebooks/README.md", "toml")
    for holding, read in readers.items():
        path = tmp_path / "settings.toml"
        path.write_text(next(block for block in blocks if holding in block), encoding="utf-8")
        assert read(path) is not None
    assert len(blocks) == len(readers)


def test_the_files_of_settings_on_the_consoles_page_are_read(tmp_path: Path) -> None:
    from kusanya.domain.roles import Role
    from kusanya_service.simulation.faults import FaultKind, load_scenario

    roles, faults = examples("console/README.md", "toml")
    path = tmp_path / "settings.toml"
    path.write_text(roles, encoding="utf-8")
    found = load(environ={"KUSANYA_CONFIG": str(path)})
    assert found.roles == {"asha": Role.DECIDE, "juma": Role.ACT}
    path.write_text(faults, encoding="utf-8")
    assert [rule.kind for rule in load_scenario(path)] == ["lose_answer", "delay_delivery"]
    page = (ROOT / "console" / "README.md").read_text(encoding="utf-8")
    assert all(f"`{kind.value}`" in page for kind in FaultKind)
