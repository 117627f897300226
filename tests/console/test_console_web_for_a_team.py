"""The console behind an authenticating proxy: who is believed, who may act, and in whose name."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kusanya.domain.roles import Role
from kusanya.errors import ConfigurationError, StoreUnavailable
from kusanya.profiles import load
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.cli.command_line import main
from kusanya_console.cli.console.in_a_browser import WebPlace, door_of
from kusanya_console.web.child import SETTINGS, WebSettings
from kusanya_console.web.door import ProxyDoor, Visitor
from kusanya_console.web.process import environment
from kusanya_console.web.server import WebConsole

pytestmark = pytest.mark.anyio
HEADER = "X-User"
ROLES = {"asha": Role.DECIDE, "juma": Role.ACT, "neema": Role.LOOK}
SURROUNDINGS = {
    "HOME": "/nowhere", "LANG": "C.UTF-8", "KUSANYA_API_KEY": "svc_live_sk_secret",
    "KUSANYA_BASE_URL": "http://127.0.0.1:9", "KUSANYA_SECRETS": "whsec_secret",
    "KUSANYA_DASHBOARD_TOKEN": "dash_secret", "AWS_SECRET_ACCESS_KEY": "secret",
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a store with a working hour in it."""
    seed.busy(5)
    config = tmp_path / "empty.toml"
    config.touch()
    monkeypatch.setitem(SURROUNDINGS, "KUSANYA_CONFIG", str(config))
    return tmp_path / "kusanya.db"


async def for_ever() -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def serving(
    path: Path,
    *,
    proxies: tuple[str, ...] = ("127.0.0.1/32",),
    role_of: Callable[[str], Role | None] = ROLES.get,
    pause: Callable[[], Awaitable[object]] = for_ever,
) -> AsyncIterator[tuple[WebConsole, aiohttp.ClientSession]]:
    """Serve a store to people whom we, the proxy, name."""
    settings = WebSettings(store=str(path), mode=Mode.LIVE, profile="main", clock="real")
    door = ProxyDoor(HEADER, proxies, role_of)
    console = WebConsole(settings, environ=SURROUNDINGS, door=door, pause=pause)
    await console.start()
    try:
        async with aiohttp.ClientSession() as proxy:
            yield console, proxy
    finally:
        await console.stop()


async def answer(
    proxy: aiohttp.ClientSession, url: str, *headers: tuple[str, str]
) -> tuple[int, str]:
    async with proxy.get(url, headers=list(headers)) as found:
        return found.status, await found.text()


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


async def until_closed(socket: aiohttp.ClientWebSocketResponse) -> None:
    async with asyncio.timeout(60):
        while not socket.closed:
            await socket.receive()


async def keys(socket: aiohttp.ClientWebSocketResponse, text: str) -> None:
    await socket.send_str(json.dumps(["stdin", text]))


async def test_a_header_is_believed_of_the_proxy_alone(path: Path) -> None:
    async with serving(path, proxies=("10.0.0.5/32",)) as (console, stranger):
        for where in ("/", "/ws", "/page/page.js"):
            assert await answer(stranger, console.origin + where, (HEADER, "asha")) == (
                403, "This console is reached through its proxy alone.\n",
            )  # fmt: skip
            forwarded = ("X-Forwarded-For", "10.0.0.5")
            found = await answer(stranger, console.origin + where, (HEADER, "asha"), forwarded)
            assert found[0] == 403


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ([], "The proxy named nobody: its header X-User is missing."),
        ([(HEADER, "asha"), (HEADER, "root")], "The header X-User came 2 times"),
        ([(HEADER, "")], "holds no name"),
        ([(HEADER, "asha, root")], "holds no name"),
        ([(HEADER, "asha root")], "holds no name"),
        ([(HEADER, "-asha")], "holds no name"),
        ([(HEADER, "a" * 65)], "holds no name"),
        ([(HEADER, "as\thá")], "holds no name"),
        ([(HEADER, "<b>asha</b>")], "holds no name"),
        ([(HEADER, "[@click=app.quit]asha[/]")], "holds no name"),
        ([("X_User", "asha")], "is missing"),
    ],
)
async def test_a_name_that_is_no_name_is_refused(
    path: Path, headers: list[tuple[str, str]], said: str
) -> None:
    async with serving(path) as (console, proxy):
        status, text = await answer(proxy, console.origin, *headers)
        assert (status, said in text) == (403, True), text


@pytest.mark.parametrize(
    "lines",
    [
        *(b"X-User: " + name for name in (b"as\x00ha", b"as\x1bha", b"asha\x7f", b"as\xc2\x9bha")),
        b"X-User: asha\r\nx-user: asha",
        b"X-User: asha\r\n root",
        b"X-User : asha",
        b"X-User: asha\nX-Other: a",
    ],
)
async def test_what_no_client_of_ours_would_send_never_gets_in(path: Path, lines: bytes) -> None:
    async with serving(path) as (console, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", console.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n\r\n")
        async with asyncio.timeout(30):
            status = await reader.readline()
        assert status.split()[1] in {b"400", b"403"}, status
        writer.close()


async def test_a_page_knows_the_address_of_the_proxy(path: Path) -> None:
    async with serving(path) as (console, proxy):
        behind = (HEADER, "asha"), ("Host", "desk.shop.example"), ("X-Forwarded-Proto", "https")
        async with proxy.get(console.origin, headers=list(behind)) as found:
            assert found.status == 200
            assert 'data-session-websocket-url="wss://desk.shop.example/ws"' in await found.text()
            policy = found.headers["Content-Security-Policy"]
            assert "connect-src 'self' wss://desk.shop.example;" in policy
            assert "Set-Cookie" not in found.headers
        for wrong in (("X-Forwarded-Proto", "ftp"), ("Host", "a b"), ("Host", "x/'\";")):
            status, text = await answer(proxy, console.origin, (HEADER, "asha"), wrong)
            assert (status, "has to pass on Host" in text) == (403, True)


async def test_a_page_of_another_origin_gets_no_socket(path: Path) -> None:
    async with serving(path) as (console, proxy):
        for origin in (None, "null", "http://evil.example", "https://127.0.0.1"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await proxy.ws_connect(
                    f"{console.origin}/ws", origin=origin, headers={HEADER: "asha"}
                )
            assert caught.value.status == 403
        assert console.pids == ()


@pytest.mark.merge
async def test_a_person_acts_in_their_own_name_as_far_as_their_role_goes(
    path: Path, store: Store
) -> None:
    where = "/ws?width=240&height=36"
    async with serving(path) as (console, proxy):

        def visit(name: str) -> Any:
            return proxy.ws_connect(
                console.origin + where, origin=console.origin, headers={HEADER: name}
            )

        async with visit("asha") as asha:
            wanted = (b"INV-482900", b"asha@main", b"WRITES ON")
            await read_until(asha, lambda seen: all(one in seen for one in wanted))
            await keys(asha, "\x1a")  # there is no shell to go back to
            await keys(asha, "A")
            await read_until(asha, lambda seen: b"keeps it under your name" in seen)
            await keys(asha, "seen at the till\r")
            await read_until(asha, lambda seen: b"by asha" in seen)
        async with visit("juma") as juma:
            await read_until(juma, lambda seen: b"INV-482900" in seen)
            await keys(juma, "A")
            await read_until(juma, lambda seen: b"keeps it under your name" in seen)
            await keys(juma, "so do I\r")
            await read_until(juma, lambda seen: b"your role here is act" in seen)
        for name in ("neema", "nobody"):
            async with visit(name) as reader:
                await read_until(
                    reader, lambda seen: b"INV-482900" in seen and b"read-only" in seen
                )
                await keys(reader, "A")
                await read_until(reader, lambda seen: b"you have no role here" in seen)
    rows = [row for row in store.audit.page().rows if row.act == "note"]
    assert [(row.actor, row.outcome) for row in rows] == [
        ("juma", "failed: your role here is act, and this needs decide"), ("asha", "done"),
    ]  # fmt: skip
    assert rows[1].detail.endswith(f"(through {store.audit.actor})")
    [note] = store.notes.of(rows[1].subject or "", Mode.LIVE)
    assert (note.author, note.text) == ("asha", "seen at the till")


@pytest.mark.merge
async def test_a_role_that_was_taken_away_ends_the_console_of_its_person_alone(path: Path) -> None:
    roles: dict[str, Role] = {"asha": Role.DECIDE, "juma": Role.ACT}
    asked: asyncio.Queue[None] = asyncio.Queue()
    now = asyncio.Condition()

    async def pause() -> None:
        asked.put_nowait(None)
        async with now:
            await now.wait()

    async def all_asked() -> None:
        for _ in range(2):
            await asked.get()

    async def ask_again() -> None:
        async with now:
            now.notify_all()

    async with serving(path, role_of=roles.get, pause=pause) as (console, proxy):

        def visit(name: str) -> Any:
            return proxy.ws_connect(
                f"{console.origin}/ws?width=240&height=36",
                origin=console.origin,
                headers={HEADER: name},
            )

        async with visit("asha") as asha, visit("juma") as juma:
            for socket in (asha, juma):
                await read_until(
                    socket, lambda seen: b"INV-482900" in seen and b"WRITES ON" in seen
                )
            await all_asked()
            await ask_again()
            await all_asked()
            assert not asha.closed, "nobody's role has changed"
            del roles["asha"]
            await ask_again()
            await until_closed(asha)
            await keys(juma, "A")
            await read_until(juma, lambda seen: b"keeps it under your name" in seen)
        async with visit("asha") as asha:
            await read_until(asha, lambda seen: b"read-only" in seen)


@pytest.mark.parametrize(
    ("found", "stays"),
    [
        (Role.ACT, True), (Role.ASK, False), (Role.DECIDE, False), (None, False),
        (StoreUnavailable("the server is away"), True), (ConfigurationError("broken"), False),
    ],
)  # fmt: skip
async def test_a_person_stays_with_the_role_that_they_came_with_and_no_other(
    found: Role | Exception | None, *, stays: bool
) -> None:
    def role_of(_name: str) -> Role | None:
        if isinstance(found, Exception):
            raise found
        return found

    door = ProxyDoor(HEADER, ("127.0.0.1/32",), role_of)
    juma = Visitor(name="juma", role=Role.ACT, origin="http://x")
    assert await door.still_admits(juma) is stays


def test_a_role_is_taken_from_the_configuration_as_it_stands_now(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    monkeypatch.setenv("KUSANYA_CONFIG", str(config))
    config.write_text('[profiles.main.roles]\nasha = "decide"\n')
    place = WebPlace(host="x", port=0, header=HEADER, proxies=("127.0.0.1/32",))
    door = door_of(place, load("main"), store)
    asha = Visitor(name="asha", role=Role.DECIDE, origin="http://x")
    assert door is not None
    assert asyncio.run(door.still_admits(asha))
    config.write_text('[profiles.main.roles]\nasha = "act"\n')
    assert not asyncio.run(door.still_admits(asha))


@pytest.mark.merge
async def test_one_person_opens_so_many_and_leaves_room_for_others(path: Path) -> None:
    async with serving(path) as (console, proxy):

        def visit(name: str) -> Any:
            return proxy.ws_connect(
                f"{console.origin}/ws", origin=console.origin, headers={HEADER: name}
            )

        mine = [await visit("neema") for _ in range(ProxyDoor.consoles_each)]
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await visit("neema")
        assert caught.value.status == 503
        mine.append(await visit("juma"))
        for socket in mine:
            await socket.close()


def test_a_console_gets_the_secrets_that_its_role_needs() -> None:
    def secrets_of(role: Role | None) -> set[str]:
        settings = WebSettings(
            store="x.db", mode=Mode.LIVE, profile="main", clock="real", user="a", role=role
        )
        found = environment(settings, SURROUNDINGS, width=80, height=24)
        return {name for name in found if name.startswith("KUSANYA_")} - {
            SETTINGS, "KUSANYA_CONFIG"
        }  # fmt: skip

    assert secrets_of(None) == secrets_of(Role.LOOK) == set()
    assert secrets_of(Role.ASK) == {"KUSANYA_API_KEY", "KUSANYA_BASE_URL"}
    assert secrets_of(Role.ACT) == secrets_of(Role.ASK) | {"KUSANYA_DASHBOARD_TOKEN"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--listen", "127.0.0.1:0"), "needs --listen HOST:PORT, --trust-header X-User and"),
        (("--trust-header", "X-User"), "needs --listen HOST:PORT"),
        (("--trusted-proxy", "10.0.0.5/32"), "needs --listen HOST:PORT"),
        (("--listen", "8600", "--trust-header", "X-User", "--trusted-proxy", "10.0.0.5/32"),
         "--listen is HOST:PORT"),
        (("--listen", "[::1]:99999", "--trust-header", "X", "--trusted-proxy", "::1/128"),
         "--listen is HOST:PORT"),
        (("--listen", "127.0.0.1:0", "--trust-header", "Host", "--trusted-proxy", "10.0.0.5/32"),
         "--trust-header is the name of a header of its own"),
        (("--listen", "127.0.0.1:0", "--trust-header", "X-User", "--trusted-proxy", "everybody"),
         "a trusted proxy is a network as 10.0.0.0/8"),
        (("--listen", "127.0.0.1:0", "--trust-header", "X-User", "--trusted-proxy", "::1/128",
          "--allow-writes"), "leave out --allow-writes: here roles say who may do more"),
    ],
)  # fmt: skip
def test_what_would_let_anybody_be_anybody_is_refused(
    path: Path,
    words: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["kusanya", "console", "--web", f"--store={path}", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (2, "")
    assert said in printed.err
