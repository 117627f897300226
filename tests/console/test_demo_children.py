"""A child of the demo that ends before its time is told, each in its turn, with what to do."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kusanya_console.app import ConsoleApp
from kusanya_console.cli.terminal import look_after
from kusanya_console.demo.processes import Child, ChildFailed

Settled = Callable[[Pilot[Any]], Awaitable[None]]


def test_a_killed_child_is_told_with_its_signal_and_not_with_an_old_line_of_its_log(
    tmp_path: Path,
) -> None:
    log = tmp_path / "receiver.log"
    log.write_text("kusanya: a line of an earlier start\n", encoding="utf-8")
    child = Child("receiver", ["clock", "show"], environ=dict(os.environ), log=log)
    os.kill(child.pid, signal.SIGKILL)
    child.ensure_stopped()
    child.ask_to_stop()
    assert child.last_words() == "it was ended by signal 9"


@pytest.mark.anyio
async def test_every_child_that_ends_is_told_in_the_result_line(
    console: Callable[..., ConsoleApp], settled: Settled
) -> None:
    ended: list[str] = []

    def check() -> None:
        if ended:
            raise ChildFailed("; ".join(ended))

    app = console()
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        looking = asyncio.create_task(look_after(app, check, every_s=0.02))
        said: list[str] = []
        for name in ("receiver", "service"):
            ended.append(f"the demo's {name} ended")
            while app.desk.ended is None or app.desk.ended.sentence in said:
                await pilot.pause()
            said.append(app.desk.ended.sentence)
            app.desk.tell(None)
            await pilot.pause()
            assert app.desk.ended is None, "told once"
        looking.cancel()
    assert said == [
        "the demo's receiver ended",
        "the demo's receiver ended; the demo's service ended",
    ]
