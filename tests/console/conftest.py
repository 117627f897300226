"""What the console's tests share: a seeded store, a clock that stands still, stable pictures."""

import fcntl
import itertools
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
import pytest_textual_snapshot as pts  # type: ignore[import-untyped] # ships no types
import textual._wait
from tests.console.at_rest import come_to_rest
from tests.console.looking import console_on
from tests.console.seeding import NOW, Seed
from tests.kit.intents import prepare_intent
from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.pilot import Pilot

from kusanya.clock import ManualClock
from kusanya.say import Language
from kusanya.store import Store
from kusanya.store.records import Verdict
from kusanya.wire import Mode
from kusanya_console.application.app import ConsoleApp
from kusanya_console.ui import language

# The plug-in names its files .raw and derives ids from the contents, so that one changed cell would
# rewrite every line of a picture.
pts.SVGImageExtension.file_extension = "svg"
_serialize = pts.SVGImageExtension.serialize


def _stable_ids(self: Any, data: Any, **options: Any) -> Any:
    drawn = _serialize(self, data, **options)
    if isinstance(drawn, bytes):
        return re.sub(rb"terminal-\d+-", b"terminal-", drawn)
    return re.sub(r"terminal-\d+-", "terminal-", drawn)


pts.SVGImageExtension.serialize = _stable_ids

# How long Textual's pilot watches a console before it takes it to be at rest. Its own patience
# costs more than most tests do, and ours wait for workers and messages besides.
textual._wait.SLEEP_GRANULARITY = 1 / 200
textual._wait.SLEEP_IDLE = 1 / 400

_draw = Compositor.render_update


def _draw_when_asked(self: Compositor, full: bool = False, **how: Any) -> Any:
    return _draw(self, full=full, **how) if full else None


# Without a terminal Textual draws every change and shows it to nobody: a third of a test's time.
# Here it draws once everything is at rest, see `rest_and_draw`, and for pictures.
Compositor.render_update = _draw_when_asked  # type: ignore[assignment,method-assign] # it is Textual's

HOSTILE = (
    "[/red]x",
    "[@click=app.quit]pay[/]",
    "ref [MTN]",
    "\x1b[31mred\x1b]52;c;QUFB\x07\x1b]0;title\x07",
    "\x9b31m\x00\x7f",
    "\u202egnp\u202c\u200b\u2066x",
    "Z" + "\u0301" * 50,
    "W" * 10_000,
    "line\nbreak\ttab\rreturn",
    "漢字カナ한글",
)


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands at 15:24:07 EAT on a Wednesday."""
    return ManualClock(NOW)


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock, empty_store: Path) -> Iterator[Store]:
    """Open an empty store."""
    with Store.open(copy(empty_store, tmp_path / "kusanya.db"), clock=clock) as opened:
        yield opened


@pytest.fixture
def seed(store: Store) -> Seed:
    """Return what writes facts into the store."""
    return Seed(store)


@pytest.fixture
def make_seed() -> type[Seed]:
    """Return what writes facts into any store."""
    return Seed


@pytest.fixture
def hostile(seed: Seed) -> Seed:
    """Fill every field from outside with text that attacks a terminal or its reader."""
    seed.watched()
    for n, text in enumerate(HOSTILE):
        at = NOW - timedelta(minutes=2, seconds=n)
        fields: dict[str, Any] = {
            "reference": text, "channel": text, "currency": text if n % 2 else "TZS", "phone": text,
            "failure_code": text, "failure_message": text, "description": text,
        }  # fmt: skip
        status = text if n % 3 == 0 else "failed"
        collection = seed.collection(n, at=at, status=status, completed_at=at, **fields)
        seed.answered(collection)
        prepare_intent(
            seed.store,
            idempotency_key=f"key-{n}", body=text.encode(errors="replace"), mode=Mode.LIVE,
            profile=text[:64], reference=text, amount=n, phone=text, prepared_at=at,
            intent_id=f"int_{n:08}",
        )  # fmt: skip
        event = seed.event(collection, at=at, type=text)
        seed.delivered(
            event, at=at, verdict=Verdict.REJECTED, reason=text, answer=400, endpoint=text
        )
    return seed


@pytest.fixture
def console(
    store: Store, clock: ManualClock, tmp_path: Path
) -> Iterator[Callable[..., ConsoleApp]]:
    """Return what builds a console on the store; nothing in it moves by itself."""

    def build(*, mode: Mode = Mode.LIVE, **options: Any) -> ConsoleApp:
        arguments: dict[str, Any] = {
            "store_shown": "sqlite:///kusanya.db",
            "profile": "main",
            "tick_s": None,
            "folder": tmp_path,
        }
        arguments |= {"sleep": at_once} | options
        return console_on(store, mode=mode, clock=clock, **arguments)

    yield build
    # Textual remembers what it drew of the last thousand widgets, also of consoles long closed:
    # by the hundredth test every search for garbage went through a million of their objects.
    StylesCache.get_inner_outer.cache_clear()


async def at_once(_seconds: float) -> None:
    """Wait for nothing."""


async def rest_and_draw(pilot: Pilot[Any]) -> None:
    """Wait until the console is at rest; then draw it."""
    await come_to_rest(pilot)
    screen = pilot.app.screen
    _draw(screen._compositor, screen_stack=pilot.app._background_screens)


@pytest.fixture
def slow_fingers() -> Callable[[], float]:
    """Return a clock by which every key is pressed long after the one before."""
    return itertools.count(step=10.0).__next__


@pytest.fixture
def at_rest() -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Return the wait for everything that was begun."""
    return rest_and_draw


@pytest.fixture
def keys() -> Callable[..., Callable[[Pilot[Any]], Awaitable[None]]]:
    """Return what presses keys one by one, each after everything before it has come to rest.

    Nothing is drawn in between: a picture draws all of its screen anew.
    """

    def pressing(*names: str, text: str = "") -> Callable[[Pilot[Any]], Awaitable[None]]:
        async def run(pilot: Pilot[Any]) -> None:
            await come_to_rest(pilot)
            for name in (*names, *text):
                await pilot.press(name)
                await come_to_rest(pilot)

        return run

    return pressing


@pytest.fixture
def opened(console: Any) -> Callable[..., AbstractAsyncContextManager[tuple[ConsoleApp, Any]]]:
    """Return what opens a console, presses keys and waits until each has had its effect."""

    @asynccontextmanager
    async def opening(
        *names: str,
        size: tuple[int, int] = (120, 36),
        notifications: bool = False,
        **options: Any,
    ) -> AsyncIterator[tuple[ConsoleApp, Pilot[Any]]]:
        app = console(**options)
        async with app.run_test(size=size, notifications=notifications) as pilot:
            await rest_and_draw(pilot)
            for name in names:
                await pilot.press(name)
                await rest_and_draw(pilot)
            yield app, pilot

    return opening


@pytest.fixture
def spoken(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the console speak the language of the test, see `in_both_languages`."""
    language.use(request.param)
    yield
    language.use(Language.ENGLISH)


@pytest.fixture
def picture(console: Any, keys: Any, snap_compare: Any) -> Callable[..., bool]:
    """Return what compares a screen, after some keys, with the picture accepted before."""

    def compare(
        size: tuple[int, int], *names: str, text: str = "", theme: str = "kusanya", **options: Any
    ) -> bool:
        app = console(**options)
        app.theme = theme
        run = keys(*names, text=text)
        return bool(snap_compare(app, terminal_size=size, run_before=run))

    return compare


Step = tuple[bytes, bytes]
"""What must have been written since the step before, as a pattern, and what is typed then."""


def run_on_a_terminal(
    arguments: Sequence[str],
    steps: Sequence[Step] = (),
    *,
    size: tuple[int, int] = (36, 120),
    within_s: float = 90.0,
    **environ: str,
) -> tuple[int, bytes]:
    """Run a program on a pseudo-terminal of its own; return its status and all that it wrote."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    environment = {name: v for name, v in os.environ.items() if not name.startswith("KUSANYA_")}
    child = subprocess.Popen(
        arguments, stdin=follower, stdout=follower, stderr=follower, close_fds=True,
        env=environment | {"TERM": "xterm-256color"} | environ, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    written, since, waiting = bytearray(), 0, list(steps)
    give_up = time.monotonic() + within_s
    try:
        while time.monotonic() < give_up:
            if waiting and (found := re.search(waiting[0][0], written[since:])):
                since += found.end()
                os.write(leader, waiting.pop(0)[1])
            elif select.select([leader], [], [], 0.1)[0]:
                try:
                    written += os.read(leader, 65_536)
                except OSError:  # the terminal is gone with its last writer
                    break
            elif child.poll() is not None:
                break
        else:
            pytest.fail(f"it still ran after {within_s} s, waiting for {waiting[:1]}")
        status = child.wait(timeout=30)
        assert not waiting, f"{waiting[0][0]!r} never came; last came {bytes(written[-600:])!r}"
        return status, bytes(written)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        os.close(leader)


@pytest.fixture
def on_a_terminal() -> Callable[..., tuple[int, bytes]]:
    """Return what runs a program on a pseudo-terminal."""
    return run_on_a_terminal
