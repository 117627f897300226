"""How the command line starts: nothing is loaded or searched that a command does not need."""

import subprocess
import sys

import pytest
import typer

from kusanya_console.cli.plain_values import taking_plain_values

app = typer.Typer(add_completion=False)


@app.command()
def typed(*, text: str = "none", number: int = 7, texts: list[str] | None = None) -> None:
    """Print what was given, and whether Typer had to convert any of it."""
    print([text, number, texts], "pydantic" in sys.modules)  # noqa: T201 - the test reads it


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    taking_plain_values(typer.main.get_command(app))(list(arguments), standalone_mode=False)
    return capsys.readouterr().out.rpartition(" ")[0]


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ((), "['none', 7, None]"),
        (("--text", "12"), "['12', 7, None]"),
        (("--number", "12"), "['none', 12, None]"),
        (("--texts", "a", "--texts", "b"), "['none', 7, ['a', 'b']]"),
    ],
    ids=["nothing", "a text that looks like a number", "a number", "several"],
)
def test_every_kind_of_value_arrives_as_what_it_should_be(
    arguments: tuple[str, ...], taken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, *arguments) == taken


def test_a_number_that_is_none_is_complained_of_as_ever(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(typer.BadParameter, match="valid integer"):
        run(capsys, "--number", "twelve")


def test_a_text_is_taken_without_loading_what_converts_values() -> None:
    script = (
        "import sys, typer; from kusanya_console.cli.plain_values import taking_plain_values\n"
        "app = typer.Typer(add_completion=False)\n"
        "@app.command()\n"
        "def say(text: str, number: int = 7, *, flag: bool = False): print(text, number, flag)\n"
        "taking_plain_values(typer.main.get_command(app))(['hello'], standalone_mode=False)\n"
        "print('pydantic' in sys.modules)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout.split("\n")[:2] == ["hello 7 False", "False"]
