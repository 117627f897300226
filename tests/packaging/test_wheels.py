"""What is published, tried as people would: built, installed with an extra, and run."""

import hashlib
import json
import subprocess
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.packaging.running import ROOT, VERSIONS, run

from kusanya_console.cli.extras import NEEDS

pytestmark = [pytest.mark.ci, pytest.mark.timeout(1800)]

BARE_MOST = 16
"""Packages that the bare library may bring, itself included: it is imported by other programs."""
PLATFORMS = (
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-msvc",
    "x86_64-unknown-linux-gnu",
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])
A_MERCHANTS_TEST = """
from kusanya_service.testing import PaymentService, payment_service

def test_an_order_is_paid(payment_service: PaymentService) -> None:
    made = payment_service.create({"amount": 5000, "phone": "255754000001", "reference": "order-1"})
    payment_service.advance(20)
    assert [one.event["data"]["id"] for one in payment_service.deliveries] == [made.json["id"]]
"""


def contents(wheel: Path) -> dict[str, str]:
    """Return the files of a wheel with the hashes of what is in them."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def tracked(folder: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder],  # noqa: S607 - the checkout's own
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.removeprefix(f"{folder}/") for line in listed.stdout.splitlines()}


def test_the_wheel_holds_the_packages_the_notebooks_and_the_licence(wheel: Path) -> None:
    files = set(contents(wheel))
    notebooks = {f"kusanya_console/_notebooks/{name}" for name in tracked("notebooks")}
    assert {name for name in files if "_notebooks/" in name} == notebooks
    code = {name for name in files if not name.startswith("kusanya-") and "_notebooks/" not in name}
    assert code == {
        *(f"kusanya/{name}" for name in tracked("lib/kusanya")),
        *(f"kusanya_service/{name}" for name in tracked("lib/kusanya_service")),
        *(f"kusanya_console/{name}" for name in tracked("console/kusanya_console")),
    }
    assert {f"{name}/py.typed" for name in ("kusanya", "kusanya_service", "kusanya_console")} < code
    assert any(name.endswith("licenses/LICENSE") for name in files)
    with zipfile.ZipFile(wheel) as archive:
        [path] = (name for name in files if name.endswith("METADATA"))
        metadata = archive.read(path).decode()
    assert "License-Expression: Apache-2.0\n" in metadata
    assert "Provides-Extra: demo\n" in metadata


def test_the_wheel_built_from_the_source_archive_is_the_same(
    uv: str, built: Path, wheel: Path, tmp_path: Path
) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    assert (source / "LICENSE").is_file()
    made = run(uv, "build", "--wheel", "--out-dir", tmp_path / "dist", source)
    assert made.returncode == 0, made.stderr
    assert contents(tmp_path / "dist" / wheel.name) == contents(wheel)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_extra_installs_everywhere_without_a_compiler(
    uv: str, platform: str, extra: str, tmp_path: Path
) -> None:
    arguments = ["--extra", extra] if extra else []
    for version in (VERSIONS[0], VERSIONS[-1]):
        resolved = run(
            *(uv, "pip", "compile", "--quiet", "--only-binary", ":all:"),
            # Published as a source alone, in which nothing is compiled.
            *("--no-binary", "pyspark"),
            *("--python-platform", platform, "--python-version", version, *arguments),
            ROOT / "pyproject.toml",
            cwd=tmp_path,
        )
        assert resolved.returncode == 0, resolved.stderr
        has_driver = "pysqlite3==" in resolved.stdout
        assert has_driver == (platform not in {"aarch64-unknown-linux-gnu", "x86_64-apple-darwin"})


@pytest.mark.parametrize("version", VERSIONS)
def test_the_bare_library_works_with_few_packages(
    uv: str, installed: Callable[..., Path], version: str, tmp_path: Path
) -> None:
    programs = installed(version)
    listed = run(uv, "pip", "list", "--python", programs / "python", "--format", "json")
    assert len(json.loads(listed.stdout)) <= BARE_MOST
    script = (
        "import kusanya\n"
        "kusanya.Client('shop_test_sk_1', base_url='http://127.0.0.1:9').close()\n"
        "kusanya.Store.open('kusanya.sqlite').close()\n"
        "kusanya.receiver, kusanya.intents.create_safely, kusanya.watch.poll_open\n"
        "try: kusanya.webhooks.verify(b'{}', 't=1,v1=00', 'whsec_canary', now=1)\n"
        "except kusanya.webhooks.SignatureError as error: print(error.reason)\n"
        "print(kusanya.__file__)\n"
    )
    ran = run(programs / "python", "-c", script, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert str(programs.parent) in ran.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_the_bare_command_says_what_to_install(
    installed: Callable[..., Path], version: str, tmp_path: Path
) -> None:
    command = installed(version) / "kusanya"
    printed = run(command, "--version", cwd=tmp_path)
    assert (printed.returncode, printed.stdout) == (0, f"kusanya {PROJECT['version']}\n")
    assert run(command, cwd=tmp_path).returncode == 0
    for name in ("find", "collect", "clock", *NEEDS):
        ended = run(command, *name.split(), cwd=tmp_path)
        assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
        assert "pip install 'kusanya[" in ended.stderr


REQUIRED = {
    "receive": ("--port=0",),
    "service": ("--port=0", "--data=none"),
    "reconcile": ("--from=2026-03-01", "--to=2026-03-31", "--out=none"),
    "store export": ("none",),
}


@pytest.mark.parametrize("command", NEEDS)
def test_a_command_without_its_extra_says_in_one_line_what_to_install(
    installed: Callable[..., Path], command: str, tmp_path: Path
) -> None:
    programs = installed(VERSIONS[0], "cli")
    ended = run(programs / "kusanya", *command.split(), *REQUIRED.get(command, ()), cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        f"kusanya: kusanya {command} needs more packages: "
        f"pip install 'kusanya[{NEEDS[command].name}]'\n"
    )


@pytest.mark.parametrize("extra", [extra for extra in EXTRAS if extra not in {"all", "async"}])
def test_a_command_with_its_extra_starts(
    installed: Callable[..., Path], extra: str, tmp_path: Path
) -> None:
    for command, need in NEEDS.items():
        if need.name != extra:
            continue
        programs = installed(VERSIONS[0], extra)
        environ = {"KUSANYA_DATA": str(tmp_path)}
        ended = run(programs / "kusanya", *command.split(), "--help", environ=environ)
        assert (ended.returncode, ended.stderr) == (0, "")
        modules = ", ".join(need.modules)
        imported = run(programs / "python", "-W", "ignore", "-c", f"import {modules}")
        assert imported.returncode == 0, imported.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_the_demo_runs_from_its_extra(
    installed: Callable[..., Path], version: str, tmp_path: Path
) -> None:
    programs = installed(version, "demo")
    ended = run(
        *(programs / "kusanya", "demo", "--headless", "--seconds", "5"),
        *("--data", tmp_path / "demo"),
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    helped = run(programs / "python", "-m", "kusanya_console", "--help", cwd=tmp_path)
    assert (helped.returncode, helped.stderr) == (0, "")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_merchants_tests_run_with_the_testing_extra(
    installed: Callable[..., Path], version: str, tmp_path: Path
) -> None:
    (tmp_path / "test_order.py").write_text(A_MERCHANTS_TEST, encoding="utf-8")
    ended = run(
        installed(version, "testing") / "python", "-m", "pytest", "-q", "test_order.py",
        cwd=tmp_path,
    )  # fmt: skip
    assert "1 passed" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.parametrize("version", VERSIONS)
def test_the_installed_notebooks_are_found_and_start(
    installed: Callable[..., Path], version: str, tmp_path: Path
) -> None:
    programs = installed(version, "notebooks")
    script = (
        "import os, sys\n"
        "os.execvpe = lambda file, arguments, environ: print(arguments)\n"
        "from kusanya_console.cli import main\n"
        "sys.argv = ['kusanya', 'notebooks', '--no-browser']\n"
        "main()\n"
    )
    environ = {"KUSANYA_DATA": str(tmp_path)}
    ended = run(programs / "python", "-c", script, cwd=tmp_path, environ=environ)
    assert (ended.returncode, ended.stderr) == (0, "")
    folder = tmp_path / "notebooks" / PROJECT["version"]
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == tracked("notebooks")
    ran = run(
        *(programs / "python", "-m", "nbconvert", "--to", "notebook", "--execute"),
        *("--output-dir", tmp_path / "out", folder / "00_start.ipynb"),
        cwd=folder,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_uvx_runs_the_demo_from_the_wheel(uv: str, wheel: Path, tmp_path: Path) -> None:
    ended = run(
        *(uv, "tool", "run", "--isolated", "--from", f"kusanya[demo] @ {wheel.as_uri()}"),
        *("kusanya", "demo", "--headless", "--seconds", "5", "--data", tmp_path / "demo"),
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
