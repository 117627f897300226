"""A child of the demo that ends before its time is told, each in its turn, with what to do."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.console.looking import AtRest

from kusanya_console.application.app import ConsoleApp
from kusanya_console.cli.process.terminal import look_after
from kusanya_console.sandbox.demo.processes import Child, ChildFailed


def test_a_killed_child_is_reported_with_its_signal_and_not_with_an_old_line_of_its_log(
    tmp_path: Path,
) -> None:
    log = tmp_path / "receiver.log"
    log.write_text("kusanya: a line of an earlier start\n", encoding="utf-8")
    child = Child("receiver", ["clock", "show"], environ=dict(os.environ), log=log)
    os.kill(child.pid, signal.SIGKILL)
    child.ensure_stopped()
    child.ask_to_stop()
    assert child.last_words() == "it was ended by signal 9"


def test_a_complaint_is_found_between_the_lines_of_a_childs_work(tmp_path: Path) -> None:
    child = Child("clock", ["clock", "colour"], environ=dict(os.environ), log=tmp_path / "x.log")
    child.ensure_stopped(within_s=60)
    child.ask_to_stop()
    with (tmp_path / "x.log").open("a", encoding="utf-8") as log:
        log.write("2026-11-22T08:11:47.075Z info kusanya.receiver: delivery received\n")
    assert child.last_words().startswith("No such command 'colour'")


def test_a_child_that_fails_while_its_parent_lives_ends_with_its_own_code() -> None:
    script = (
        "import sys\n"
        "from kusanya_console.cli.process.parent_watch import stop_when_stdin_closes\n"
        "stop_when_stdin_closes()\n"
        "sys.stdout.write('ready'); sys.stdout.flush()\n"
        "sys.exit(3)"
    )
    for _ in range(5):
        child = subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.wait(60) == 3
        child.communicate()


@pytest.mark.anyio
async def test_every_child_that_ends_is_named_in_the_result_line(
    console: Callable[..., ConsoleApp], at_rest: AtRest
) -> None:
    ended: list[str] = []

    def check() -> None:
        if ended:
            raise ChildFailed("; ".join(ended))

    app = console()
    async with app.run_test(size=(120, 36)) as pilot:
        await at_rest(pilot)
        looking = asyncio.create_task(look_after(app, check, every_s=0.02))
        said: list[str] = []
        for name in ("receiver", "service"):
            ended.append(f"the demo's {name} ended")
            while app.context.result is None or app.context.result.sentence in said:
                await pilot.pause()
            said.append(app.context.result.sentence)
            app.context.show(None)
            await pilot.pause()
            assert app.context.result is None, "told once"
        looking.cancel()
    assert said == [
        "the demo's receiver ended",
        "the demo's receiver ended; the demo's service ended",
    ]
