"""The console in a browser: who gets in, what its process knows, and that nothing outlives it."""

import asyncio
import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.web.child import SETTINGS, WebSettings
from kusanya_console.web.process import environment
from kusanya_console.web.server import CONSOLES_MAX, WebConsole

pytestmark = pytest.mark.anyio
TOKEN = "the-token-of-this-test"
SURROUNDINGS = {
    "HOME": "/nowhere",
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin",
    "KUSANYA_API_KEY": "x_live_sk_secret",
    "KUSANYA_SECRETS": "whsec_secret",
    "KUSANYA_DASHBOARD_TOKEN": "dash_secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "PGPASSWORD": "secret",
    "LD_PRELOAD": "",
}


def settings_for(path: Path | str) -> WebSettings:
    """Return the settings of a console on a store."""
    return WebSettings(store=str(path), mode=Mode.LIVE, profile="main", clock="real")


@pytest.fixture
def path(tmp_path: Path, store: Store, seed: Any) -> Path:
    """Return the path of a store with a working hour in it."""
    seed.busy(5)
    return tmp_path / "kusanya.db"


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[tuple[WebConsole, aiohttp.ClientSession]]:
    """Serve a store, and yield a visitor that keeps cookies and follows nothing."""
    console = WebConsole(settings_for(path), environ=SURROUNDINGS, token=TOKEN)
    await console.start()
    jar = aiohttp.CookieJar(unsafe=True)  # it would keep none for a bare address
    try:
        async with aiohttp.ClientSession(cookie_jar=jar) as visitor:
            yield console, visitor
    finally:
        await console.stop()


async def status(visitor: aiohttp.ClientSession, url: str, **options: Any) -> int:
    """Return the status of a GET."""
    async with visitor.get(url, **options) as answer:
        await answer.read()
        return answer.status


async def read_until(
    socket: aiohttp.ClientWebSocketResponse, wanted: Callable[[bytes], bool]
) -> bytes:
    """Return what came over the socket once it is what was wanted."""
    seen = bytearray()
    async with asyncio.timeout(60):
        while not wanted(bytes(seen)):
            message = await socket.receive()
            assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}, message
            if message.type is aiohttp.WSMsgType.BINARY:
                seen += message.data
    return bytes(seen)


async def test_without_the_token_nothing_is_served(path: Path) -> None:
    async with serving(path) as (console, visitor):
        for where in (
            "/",
            "/?token=",
            "/?token=guess",
            "/ws",
            "/page/page.js",
            "/static/js/textual.js",
        ):
            assert await status(visitor, console.origin + where) == 403, where
        # A wrong guess spends nothing.
        assert await status(visitor, console.address) == 200


async def test_the_token_is_exchanged_once_for_a_cookie_that_scripts_and_other_sites_never_see(
    path: Path,
) -> None:
    async with serving(path) as (console, visitor):
        first = console.address
        async with visitor.get(first) as answer:
            assert answer.status == 200
            [cookie] = answer.headers.getall("Set-Cookie")
            for wanted in ("HttpOnly", "SameSite=Strict", "Path=/"):
                assert wanted in cookie
            assert TOKEN not in cookie
            assert TOKEN not in await answer.text()
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
        assert await status(visitor, console.origin) == 200, "a reload needs no token"
        async with aiohttp.ClientSession() as another:
            assert await status(another, first) == 403, "the token was spent"
        assert TOKEN not in console.address


async def test_a_name_that_leads_to_loopback_is_refused(path: Path) -> None:
    async with serving(path) as (console, visitor):
        for host in ("evil.example", f"evil.example:{console.port}", f"localhost:{console.port}"):
            assert await status(visitor, console.address, headers={"Host": host}) == 403, host
        assert await status(visitor, console.address) == 200


async def test_a_page_of_another_origin_gets_no_socket_although_the_browser_sends_the_cookie(
    path: Path,
) -> None:
    async with serving(path) as (console, visitor):
        assert await status(visitor, console.address) == 200
        for origin in (
            None,
            "null",
            "http://evil.example",
            "http://127.0.0.1:1",
            "http://127.0.0.1",
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await visitor.ws_connect(f"{console.origin}/ws", origin=origin)
            assert caught.value.status == 403, origin
        assert console.pids == ()


async def test_the_socket_needs_the_cookie_too(path: Path) -> None:
    async with serving(path) as (console, visitor):
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await visitor.ws_connect(f"{console.origin}/ws?token={TOKEN}", origin=console.origin)
        assert caught.value.status == 403


@pytest.mark.merge
async def test_a_visitor_sees_and_drives_a_console_whose_process_knows_no_secret(
    path: Path,
) -> None:
    async with serving(path) as (console, visitor):
        assert await status(visitor, console.address) == 200
        where = f"{console.origin}/ws?width=120&height=36"
        async with visitor.ws_connect(where, origin=console.origin) as socket:
            shown = await read_until(socket, lambda seen: b"INV-482900" in seen)
            assert b"read-only" in shown
            [pid] = console.pids
            words, known = arguments_and_environment(pid)
            assert str(path).encode() not in words
            assert b"kusanya_console.web.child" in words
            assert b"secret" not in known + words
            assert {name.partition(b"=")[0].decode() for name in known.split(b"\0") if name} == {
                "HOME", "LANG", SETTINGS, "TEXTUAL_DRIVER", "TEXTUAL_COLOR_SYSTEM", "TERM",
                "COLUMNS", "ROWS",
            }  # fmt: skip
            await socket.send_str(json.dumps(["stdin", "4"]))
            await read_until(socket, lambda seen: b"endpoints" in seen.lower())
            await socket.send_str(json.dumps(["ping", "7"]))
            async with asyncio.timeout(10):
                while (said := await socket.receive()).type is not aiohttp.WSMsgType.TEXT:
                    pass
            assert json.loads(said.data) == ["pong", "7"]
        await until(lambda: not console.pids)
        assert not runs(pid)


@pytest.mark.merge
async def test_an_export_is_handed_to_the_visitors_browser_once(path: Path) -> None:
    async with serving(path) as (console, visitor):
        assert await status(visitor, console.address) == 200
        where = f"{console.origin}/ws?width=120&height=36"
        async with visitor.ws_connect(where, origin=console.origin) as socket:
            await read_until(socket, lambda seen: b"INV-482900" in seen)
            await socket.send_str(json.dumps(["stdin", "\x13"]))
            async with asyncio.timeout(60):
                while (said := await socket.receive()).type is not aiohttp.WSMsgType.TEXT:
                    assert said.type is aiohttp.WSMsgType.BINARY
            word, key = json.loads(said.data)
            assert word == "deliver_file_start"
            async with aiohttp.ClientSession() as stranger:
                assert await status(stranger, f"{console.origin}/download/{key}") == 403
            async with visitor.get(f"{console.origin}/download/{key}") as answer:
                text = (await answer.read()).decode("utf-8-sig")
                disposition = answer.headers["Content-Disposition"]
            assert disposition.startswith('attachment; filename="kusanya-live-collections-')
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            rows = list(csv.DictReader(io.StringIO(text)))
            assert "INV-482900" in {row["reference"] for row in rows}
            assert await status(visitor, f"{console.origin}/download/{key}") == 404


@pytest.mark.merge
@pytest.mark.parametrize(
    "nonsense", ["", "[", '{"a":1}', '["stdin", 7]', '["sh", "id"]', "[" * 60_000]
)
async def test_what_no_page_of_ours_sends_ends_the_visit(
    path: Path, nonsense: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(path) as (console, visitor):
        assert await status(visitor, console.address) == 200
        async with visitor.ws_connect(f"{console.origin}/ws", origin=console.origin) as socket:
            await socket.send_str(nonsense)
            async with asyncio.timeout(30):
                while (await socket.receive()).type is not aiohttp.WSMsgType.CLOSE:
                    pass
    assert caplog.records == []


@pytest.mark.merge
async def test_a_size_of_thousands_of_digits_is_no_size(path: Path) -> None:
    async with serving(path) as (console, visitor):
        assert await status(visitor, console.address) == 200
        address = f"{console.origin}/ws?width={'9' * 5000}&height=24"
        async with visitor.ws_connect(address, origin=console.origin) as socket:
            assert await read_until(socket, bool)


@pytest.mark.merge
async def test_there_is_a_bound_on_consoles_at_once(path: Path) -> None:
    async with serving(path) as (console, visitor):
        assert await status(visitor, console.address) == 200
        sockets = [
            await visitor.ws_connect(f"{console.origin}/ws", origin=console.origin)
            for _ in range(CONSOLES_MAX)
        ]
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await visitor.ws_connect(f"{console.origin}/ws", origin=console.origin)
        assert caught.value.status == 503
        for socket in sockets:
            await socket.close()


NO_UPGRADES: dict[str, dict[str, str]] = {
    "no upgrade at all": {},
    "an upgrade to something else": {"Connection": "Upgrade", "Upgrade": "h2c"},
    "no key": {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"},
    "a key that is none": {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "short",
    },
    "a version that nobody speaks": {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "99",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    },
}


@pytest.mark.merge
@pytest.mark.parametrize("broken", NO_UPGRADES)
async def test_a_broken_handshake_takes_no_place(path: Path, broken: str) -> None:
    async with serving(path) as (console, visitor):
        assert await status(visitor, console.address) == 200
        headers = {"Origin": console.origin} | NO_UPGRADES[broken]
        for _ in range(CONSOLES_MAX + 1):
            assert await status(visitor, f"{console.origin}/ws", headers=headers) == 400
        async with visitor.ws_connect(f"{console.origin}/ws", origin=console.origin) as socket:
            assert await read_until(socket, bool)


@pytest.mark.merge
async def test_a_visitor_who_is_cut_off_at_once_frees_the_place(path: Path) -> None:
    async with serving(path) as (console, visitor):
        assert await status(visitor, console.address) == 200
        [cookie] = [f"{one.key}={one.value}" for one in visitor.cookie_jar]
        headers = {
            "Host": f"{console.host}:{console.port}",
            "Origin": console.origin,
            "Cookie": cookie,
            **NO_UPGRADES["a version that nobody speaks"],
            "Sec-WebSocket-Version": "13",
        }
        request = "GET /ws HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        for end in ("", "\r\n"):  # half a handshake, and a whole one
            for _ in range(CONSOLES_MAX):
                _, writer = await asyncio.open_connection(console.host, console.port)
                writer.write((request + end).encode())
                await writer.drain()
                writer.transport.abort()
        async with await connected(visitor, console) as socket:
            assert await read_until(socket, bool)


async def test_a_look_at_the_head_of_the_page_spends_no_token(path: Path) -> None:
    async with serving(path) as (console, visitor):
        async with visitor.head(console.address) as answer:
            assert answer.status == 403
        assert await status(visitor, console.address) == 200


def test_only_named_variables_reach_a_console() -> None:
    given = environment(settings_for("kusanya.db"), SURROUNDINGS, width=80, height=24)
    assert set(given) == {
        "HOME", "LANG", SETTINGS, "TEXTUAL_DRIVER", "TEXTUAL_COLOR_SYSTEM", "TERM", "COLUMNS",
        "ROWS",
    }  # fmt: skip
    on_postgresql = environment(settings_for("postgresql://db/x"), SURROUNDINGS, width=1, height=1)
    assert set(on_postgresql) - set(given) == {"PGPASSWORD"}
    huge = environment(settings_for("x"), {}, width=10**9, height=0)
    assert (huge["COLUMNS"], huge["ROWS"]) == ("1000", "1")


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "kusanya_console.cli", "console", *arguments],
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        **options,
    )  # fmt: skip


@pytest.mark.merge
def test_writes_in_a_browser_are_refused(path: Path) -> None:
    ended = run("--web", "--allow-writes", f"--store={path}")
    assert ended.returncode == 2
    assert ended.stderr == "kusanya: --web only looks: leave out --allow-writes\n"
    assert ended.stdout == ""


@pytest.mark.merge
def test_a_store_that_is_not_there_is_reported_before_an_address(tmp_path: Path) -> None:
    ended = run("--web", f"--store={tmp_path / 'none.db'}")
    assert ended.returncode == 1
    assert "http://" not in ended.stdout + ended.stderr


def arguments_and_environment(pid: int) -> tuple[bytes, bytes]:
    """Return what a process was told: its command line and its environment."""
    there = Path(f"/proc/{pid}")
    return (there / "cmdline").read_bytes(), (there / "environ").read_bytes()


def children_of(pid: int) -> set[int]:
    """Return the processes that a process has started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(child) for task in tasks for child in task.read_text().split()}


@pytest.mark.merge
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_the_end_of_the_command_is_the_end_of_every_process(
    path: Path, how: signal.Signals
) -> None:
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kusanya_console.cli", "console", "--web", f"--store={path}",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"KUSANYA_MODE": "live"},
    )  # fmt: skip
    assert server.stdout is not None
    try:
        async with asyncio.timeout(60):
            printed = (await server.stdout.readline()) + (await server.stdout.readline())
        address = printed.decode().split()[-1]
        assert printed.count(b"token=") == 1
        origin = address.partition("/?")[0]
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as visitor:
            assert await status(visitor, address) == 200
            async with visitor.ws_connect(f"{origin}/ws", origin=origin) as socket:
                await read_until(socket, lambda seen: b"INV-4829" in seen)
                children = children_of(server.pid)
                assert children
                server.send_signal(how)
                async with asyncio.timeout(30):
                    rest = await server.stdout.read()
                    await server.wait()
        assert b"token=" not in rest
        assert server.returncode == (0 if how is not signal.SIGKILL else -signal.SIGKILL)
        await until(lambda: not any(map(runs, children)))
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()


async def connected(
    visitor: aiohttp.ClientSession, console: WebConsole
) -> aiohttp.ClientWebSocketResponse:
    """Return a socket as soon as there is a place for it."""
    for _ in range(400):
        try:
            return await visitor.ws_connect(f"{console.origin}/ws", origin=console.origin)
        except aiohttp.WSServerHandshakeError as refused:
            if refused.status != 503:
                raise
            await asyncio.sleep(0.05)
    pytest.fail("no place came free within 20 s")


async def until(true: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    for _ in range(400):
        if true():
            return
        await asyncio.sleep(0.05)
    pytest.fail("it did not happen within 20 s")


def runs(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not yet buried does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
