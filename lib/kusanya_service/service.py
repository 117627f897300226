"""The service put together: one data folder, one merchant, both modes."""

import itertools
import secrets
from collections.abc import Callable
from typing import Final

import msgspec

from kusanya_service.asgi import App, Receive, Scope, Send, send_json, with_date
from kusanya_service.dashboard.app import make_dashboard
from kusanya_service.dashboard.controls import ClockRoutes, FaultRoutes
from kusanya_service.dashboard.deliveries import DeliveryRoutes
from kusanya_service.dashboard.endpoints import EndpointRoutes
from kusanya_service.dashboard.keys import KeyRoutes
from kusanya_service.delivery.address_policy import AddressPolicy, SocketAddress
from kusanya_service.delivery.dispatcher import Dispatcher
from kusanya_service.delivery.event_runner import EventRunner
from kusanya_service.delivery.http_sender import HttpSender
from kusanya_service.delivery.resolver import Resolver
from kusanya_service.errors import method_not_allowed, no_such_path
from kusanya_service.http.api import Api, RequestIds, send_error
from kusanya_service.http.auth import (
    FULL,
    Credentials,
    KeyRing,
    add_key,
    load_credentials,
    new_credentials,
    store_credentials,
)
from kusanya_service.http.openapi import document
from kusanya_service.http.rate import RateLimit
from kusanya_service.options import Options
from kusanya_service.simulation.event_queue import EventQueue
from kusanya_service.simulation.faults import FaultKind, Faults
from kusanya_service.simulation.networks import Operators
from kusanya_service.simulation.rules import Rules
from kusanya_service.simulation.seeded_random import SeededRandom
from kusanya_service.simulation.stored_clock import load_clock, load_number, store_clock
from kusanya_service.simulation.timeline import Timeline, make_timeline
from kusanya_service.storage import changes, queries
from kusanya_service.storage.store import Storage

_SEED: Final = "seed"
_SEED_BITS: Final = 63


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What a running service consists of, as `_build` puts it together."""

    storage: Storage
    timeline: Timeline
    operators: Operators
    sender: HttpSender
    resolver: Resolver | None
    runner: EventRunner
    request_ids: RequestIds
    credentials: Credentials
    api: App
    dashboard: App


class Service:
    """A payment collection service, from `start` to `stop` on one event loop.

    `app` is an ASGI application; it answers after `start` and never after `stop`.
    """

    def __init__(self, options: Options) -> None:
        self.options: Final = options
        self._parts: Parts | None = None

    @property
    def parts(self) -> Parts:
        """Return what it consists of, after `start`."""
        if self._parts is None:
            raise AssertionError("the service has not been started")
        return self._parts

    async def start(self, *, own: SocketAddress | None = None) -> Credentials:
        """Open the data folder, go on where earlier runs stopped, and begin.

        `own` is where the service listens: deliveries never go there. Returns the credentials to
        print. Raises the errors of errors.py.
        """
        storage = Storage.open(self.options.data)
        storage.start()
        try:
            self._parts = parts = await _build(self.options, storage, own)
            parts.runner.start()
        except BaseException:
            await storage.close()
            raise
        return parts.credentials

    async def stop(self) -> None:
        """Stop every task, commit what waits and release the data folder."""
        if self._parts is None:
            return
        parts = self._parts
        try:
            await parts.runner.stop()
        finally:
            await parts.sender.close()
            if parts.resolver is not None:
                parts.resolver.close()
            await parts.storage.close()

    def when_crashed(self, end: Callable[[], None]) -> None:
        """Call `end` if a bug ends the course of events: nothing would be delivered any more."""
        self.parts.runner.on_crash = end

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError("the service speaks HTTP alone; run it without lifespan")
        if scope["method"] == "HEAD":
            # The server sends the same answer without its body.
            scope = dict(scope, method="GET")
        send = with_date(send, self.parts.timeline.now_ms)
        path: str = scope["path"]
        if b"%2f" in scope["raw_path"].lower():
            # Decoded, it would be a slash between two parts of another path.
            await send_error(send, no_such_path(), self.parts.request_ids.next())
        elif path.startswith("/v1/"):
            await self.parts.api(scope, receive, send)
        elif path == "/dashboard" or path.startswith("/dashboard/"):
            await self.parts.dashboard(scope, receive, send)
        elif path == "/openapi.json":
            await self._describe(scope["method"], send)
        else:
            await send_error(send, no_such_path(), self.parts.request_ids.next())

    async def _describe(self, method: str, send: Send) -> None:
        request_id = self.parts.request_ids.next()
        if method == "GET":
            await send_json(
                send, 200, document(self.options.bounds, self.options.signature_header), request_id
            )
        else:
            await send_error(send, method_not_allowed(), request_id, (b"allow", b"GET, HEAD"))


async def _build(options: Options, storage: Storage, own: SocketAddress | None) -> Parts:
    timeline = await _open_timeline(options, storage)
    random = SeededRandom(await _seed(options, storage))
    operators = Operators(random, mix=options.mix)
    rules = Rules(
        merchant_id=random.identifier("mer", 1),
        random=random,
        operators=operators,
        tariff=options.tariff,
        bounds=options.bounds,
    )
    faults = Faults(random=random, now_ms=timeline.now_ms, rules=options.faults)
    batches = itertools.count(1)
    storage.fail_writes_while(
        lambda: faults.roll(FaultKind.STORAGE_FULL, "batch", next(batches)) is not None
    )
    policy = AddressPolicy(allow_local=options.allow_local)
    if own is not None:
        policy.refuse(own)
    resolver = None if options.resolve else Resolver()
    resolve = options.resolve or resolver or Resolver()
    sender = HttpSender(
        policy=policy,
        resolve=resolve,
        signature_header=options.signature_header,
        ca_file=None if options.ca_file is None else str(options.ca_file),
    )
    queue = EventQueue()
    dispatcher = Dispatcher(
        storage=storage, timeline=timeline, queue=queue, sender=sender, rules=rules, faults=faults
    )
    runner = EventRunner(
        storage=storage, timeline=timeline, queue=queue, dispatcher=dispatcher, rules=rules
    )
    keys = KeyRing()
    credentials = await _open_credentials(
        storage, keys, prefix=options.key_prefix, now_ms=timeline.now_ms(), rules=rules
    )
    request_ids = RequestIds()
    return Parts(
        storage=storage,
        timeline=timeline,
        operators=operators,
        sender=sender,
        resolver=resolver,
        runner=runner,
        request_ids=request_ids,
        credentials=credentials,
        api=Api(
            storage=storage,
            timeline=timeline,
            runner=runner,
            rules=rules,
            keys=keys,
            request_ids=request_ids,
            faults=faults,
            rate_limit=RateLimit(options.rate_limit, timeline.monotonic_ms),
        ),
        dashboard=make_dashboard(
            token=credentials.dashboard_token,
            next_id=request_ids.next,
            keys=KeyRoutes(
                storage=storage,
                timeline=timeline,
                rules=rules,
                ring=keys,
                prefix=options.key_prefix,
            ),
            endpoints=EndpointRoutes(
                storage=storage,
                timeline=timeline,
                rules=rules,
                runner=runner,
                sender=sender,
                policy=policy,
                resolve=resolve,
            ),
            deliveries=DeliveryRoutes(storage=storage, timeline=timeline, runner=runner),
            clock=ClockRoutes(timeline=timeline, runner=runner),
            faults=FaultRoutes(faults),
        ),
    )


async def _open_timeline(options: Options, storage: Storage) -> Timeline:
    stored = load_clock(storage.reader)
    timeline = make_timeline(
        options.clock, stored, starts_at=options.starts_at, uptime=options.uptime
    )
    await storage.write(store_clock, timeline.to_store(), extend_claims_ms=timeline.doubtful_ms)
    return timeline


async def _seed(options: Options, storage: Storage) -> int:
    known = load_number(storage.reader, _SEED)
    seed = options.seed if options.seed is not None else known
    if seed is None:
        seed = secrets.randbits(_SEED_BITS)
    if seed != known:
        await storage.write(changes.set_meta, _SEED, str(seed))
    return seed


async def _open_credentials(
    storage: Storage, keys: KeyRing, *, prefix: str, now_ms: int, rules: Rules
) -> Credentials:
    """Fill the key ring, and return the credentials of earlier starts, or new ones."""
    for key in queries.keys(storage.reader):
        if key.revoked_at is None:
            keys.add(key)
    known = load_credentials(storage.folder)
    if known is not None and known.test_key in keys and known.live_key in keys:
        return known
    fresh = new_credentials(prefix, None if known is None else known.dashboard_token)
    # The file first: a key that nobody has seen is better than one that nobody can use.
    store_credentials(storage.folder, fresh)
    for mode, made in (("test", fresh.test_key), ("live", fresh.live_key)):
        keys.add(
            await storage.write(add_key, made, mode=mode, access=FULL, now_ms=now_ms, rules=rules)
        )
    return fresh
