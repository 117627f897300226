"""The service put together: one data folder, one merchant, both modes."""

import itertools
import secrets
from collections.abc import Callable
from typing import Final

from kusanya.clock import ScaledClock
from kusanya_service.asgi import App, Receive, Scope, Send, send_json
from kusanya_service.dashboard.app import make_dashboard
from kusanya_service.dashboard.clock import ClockRoutes
from kusanya_service.dashboard.deliveries import Deliveries
from kusanya_service.dashboard.endpoints import Endpoints
from kusanya_service.dashboard.faults import FaultRoutes
from kusanya_service.dashboard.keys import Keys, add_key
from kusanya_service.delivery.address_policy import Border, Place
from kusanya_service.delivery.dispatcher import Dispatcher
from kusanya_service.delivery.http_sender import Courier
from kusanya_service.delivery.resolver import Resolve, Resolver
from kusanya_service.engine import TIME_KEPT, Engine
from kusanya_service.errors import DataDamaged
from kusanya_service.http import access, auth
from kusanya_service.http.access import Access
from kusanya_service.http.answers import method_not_allowed, no_such_path, send_error
from kusanya_service.http.api import Api, RequestIds
from kusanya_service.http.auth import FULL, KeyRing
from kusanya_service.http.openapi import document
from kusanya_service.http.rate import RateLimit
from kusanya_service.instants import to_ms
from kusanya_service.options import Options
from kusanya_service.simulation.event_queue import Agenda
from kusanya_service.simulation.faults import Faults, Kind
from kusanya_service.simulation.networks import Operators
from kusanya_service.simulation.rules import Rules
from kusanya_service.simulation.seeded_random import Chance
from kusanya_service.simulation.timeline import (
    ClockMemory,
    RunningTimeline,
    Timeline,
    make_timeline,
)
from kusanya_service.storage import changes, queries
from kusanya_service.storage.store import Storage

_SEED: Final = "seed"
_ORIGIN: Final = "origin_ms"
_SPEED: Final = "speed"
_SEED_BITS: Final = 63


class Service:
    """A payment collection service, from `start` to `stop` on one event loop.

    `app` is an ASGI application; it answers after `start` and never after `stop`.
    """

    def __init__(self, options: Options) -> None:
        self.options: Final = options
        self._storage: Storage | None = None
        self._app: App | None = None
        self._keys = KeyRing()

    async def start(self, *, own: Place | None = None) -> Access:
        """Open the data folder, take up what earlier runs left open, and begin.

        `own` is where the service listens: deliveries never go there. Returns the credentials to
        print. Raises the errors of errors.py.
        """
        self._storage = storage = Storage.open(self.options.data)
        storage.start()
        try:
            return await self._start(storage, own)
        except BaseException:
            await storage.close()
            raise

    async def _start(self, storage: Storage, own: Place | None) -> Access:
        options = self.options
        self.timeline: Timeline = await self._make_timeline(storage)
        chance = Chance(await self._seed(storage))
        self.operators = Operators(chance, mix=options.mix)
        self._rules = Rules(
            merchant_id=chance.identifier("mer", 1),
            chance=chance,
            operators=self.operators,
            tariff=options.tariff,
            bounds=options.bounds,
        )
        self._faults = faults = Faults(
            chance=chance, now_ms=self.timeline.now_ms, rules=options.faults
        )
        batches = itertools.count(1)
        storage.refuse_while(
            lambda: faults.strike(Kind.STORAGE_FULL, "batch", next(batches)) is not None
        )
        border = Border(allow_local=options.allow_local)
        if own is not None:
            border.refuse(own)
        self._resolver = None if options.resolve else Resolver()
        resolve: Resolve = options.resolve or self._resolver or Resolver()
        self._courier = Courier(
            border=border,
            resolve=resolve,
            signature_header=options.signature_header,
            ca_file=None if options.ca_file is None else str(options.ca_file),
        )
        agenda = Agenda()
        dispatcher = Dispatcher(
            storage=storage,
            timeline=self.timeline,
            agenda=agenda,
            courier=self._courier,
            rules=self._rules,
            faults=faults,
        )
        self._engine = Engine(
            storage=storage,
            timeline=self.timeline,
            agenda=agenda,
            dispatcher=dispatcher,
            rules=self._rules,
        )
        credentials = await self._credentials(storage)
        self._compose(storage, border, resolve, credentials)
        self._engine.start()
        return credentials

    def _compose(
        self, storage: Storage, border: Border, resolve: Resolve, credentials: Access
    ) -> None:
        request_ids = RequestIds()
        timeline, rules, engine = self.timeline, self._rules, self._engine
        self._request_ids = request_ids
        self._api = Api(
            storage=storage,
            timeline=timeline,
            engine=engine,
            rules=rules,
            keys=self._keys,
            request_ids=request_ids,
            faults=self._faults,
            rate_limit=RateLimit(self.options.rate_limit, timeline.steady_ms),
        )
        self._dashboard = make_dashboard(
            token=credentials.dashboard_token,
            next_id=request_ids.next,
            keys=Keys(
                storage=storage,
                timeline=timeline,
                rules=rules,
                ring=self._keys,
                prefix=self.options.key_prefix,
            ),
            endpoints=Endpoints(
                storage=storage,
                timeline=timeline,
                rules=rules,
                engine=engine,
                courier=self._courier,
                border=border,
                resolve=resolve,
            ),
            deliveries=Deliveries(storage=storage, timeline=timeline, engine=engine),
            clock=ClockRoutes(timeline=timeline, engine=engine),
            faults=FaultRoutes(self._faults),
        )

    async def stop(self) -> None:
        """Let nothing more happen, commit what waits and let go of the data folder."""
        try:
            await self._engine.stop()
        finally:
            await self._courier.close()
            if self._resolver is not None:
                self._resolver.close()
            if self._storage is not None:
                await self._storage.close()

    def when_crashed(self, end: Callable[[], None]) -> None:
        """Call `end` if a bug ends the course of events: nothing would be delivered any more."""
        self._engine.on_crash = end

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError("the service speaks HTTP alone; run it without lifespan")
        path: str = scope["path"]
        if path.startswith("/v1/"):
            await self._api(scope, receive, send)
        elif path == "/dashboard" or path.startswith("/dashboard/"):
            await self._dashboard(scope, receive, send)
        elif path == "/openapi.json":
            await self._describe(scope["method"], send)
        else:
            await send_error(send, no_such_path(), self._request_ids.next())

    async def _describe(self, method: str, send: Send) -> None:
        request_id = self._request_ids.next()
        if method == "GET":
            await send_json(send, 200, document(self.options.bounds), request_id)
        else:
            await send_error(send, method_not_allowed(), request_id, (b"allow", b"GET"))

    # What a data folder remembers

    async def _make_timeline(self, storage: Storage) -> Timeline:
        memory = ClockMemory(
            last_ms=_whole(queries.meta(storage.reader, TIME_KEPT)),
            origin_ms=_whole(queries.meta(storage.reader, _ORIGIN)),
            speed=_number(queries.meta(storage.reader, _SPEED)),
        )
        timeline = make_timeline(self.options.clock, memory, starts_at=self.options.starts_at)
        if isinstance(timeline, RunningTimeline) and isinstance(timeline.clock, ScaledClock):
            origin = str(to_ms(timeline.clock.origin))
            await storage.write(changes.remember, _ORIGIN, origin)
            await storage.write(changes.remember, _SPEED, repr(timeline.clock.speed))
        await storage.write(changes.remember, TIME_KEPT, str(timeline.steady_ms()))
        return timeline

    async def _seed(self, storage: Storage) -> int:
        known = _whole(queries.meta(storage.reader, _SEED))
        seed = self.options.seed if self.options.seed is not None else known
        if seed is None:
            seed = secrets.randbits(_SEED_BITS)
        if seed != known:
            await storage.write(changes.remember, _SEED, str(seed))
        return seed

    async def _credentials(self, storage: Storage) -> Access:
        for key in queries.keys(storage.reader):
            if key.revoked_at is None:
                self._keys.add(key)
        known = access.load(storage.folder)
        if known is not None and all(
            self._keys.knows(auth.digest(key)) for key in (known.test_key, known.live_key)
        ):
            return known
        fresh = access.make(self.options.key_prefix, keep_token=known)
        # The file first: a key that nobody was told is better than one that nobody can use.
        access.keep(storage.folder, fresh)
        for mode, made in (("test", fresh.test_key), ("live", fresh.live_key)):
            now = self.timeline.now_ms()
            kept = await storage.write(
                add_key, made, mode=mode, access=FULL, now_ms=now, rules=self._rules
            )
            self._keys.add(kept)
        return fresh


def _whole(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        raise DataDamaged("the data folder remembers something that is no number") from None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        raise DataDamaged("the data folder remembers something that is no number") from None
