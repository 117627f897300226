"""What a running service consists of, and how it is put together."""

import itertools
import secrets
from typing import Final

import msgspec

from kusanya.privacy.secret import Secret
from kusanya_service.asgi import App
from kusanya_service.dashboard.app import make_dashboard
from kusanya_service.dashboard.controls import ClockRoutes, FaultRoutes
from kusanya_service.dashboard.deliveries import DeliveryRoutes
from kusanya_service.dashboard.endpoints import EndpointRoutes
from kusanya_service.dashboard.keys import KeyRoutes
from kusanya_service.delivery.address_policy import AddressPolicy, SocketAddress
from kusanya_service.delivery.dispatcher import Dispatcher
from kusanya_service.delivery.event_runner import EventRunner
from kusanya_service.delivery.http_sender import HttpSender
from kusanya_service.delivery.resolver import Resolve, Resolver
from kusanya_service.http.api import Api, RequestIds
from kusanya_service.http.auth import (
    FULL,
    Credentials,
    KeyRing,
    add_key,
    load_credentials,
    new_credentials,
    store_credentials,
)
from kusanya_service.http.rate import RateLimit
from kusanya_service.options import Options
from kusanya_service.simulation.clock import ServiceClock, make_clock
from kusanya_service.simulation.event_queue import EventQueue
from kusanya_service.simulation.faults import FaultKind, Faults
from kusanya_service.simulation.networks import Networks
from kusanya_service.simulation.rules import Rules
from kusanya_service.simulation.seeded_random import SeededRandom
from kusanya_service.simulation.stored_clock import load_clock, load_number, store_clock
from kusanya_service.storage import changes, queries
from kusanya_service.storage.store import Storage

_SEED: Final = "seed"
_SEED_BITS: Final = 63


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What a running service consists of, as `build` puts it together."""

    storage: Storage
    clock: ServiceClock
    networks: Networks
    sender: HttpSender
    resolver: Resolver | None
    runner: EventRunner
    request_ids: RequestIds
    credentials: Credentials
    api: App
    dashboard: App


class _World(msgspec.Struct, frozen=True, kw_only=True):
    """What decides how collections go."""

    clock: ServiceClock
    networks: Networks
    rules: Rules
    faults: Faults


class _Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What brings events to endpoints."""

    policy: AddressPolicy
    resolver: Resolver | None
    """Ours, to be closed; None where the options have one."""
    resolve: Resolve
    sender: HttpSender
    runner: EventRunner


async def build(options: Options, storage: Storage, own: SocketAddress | None) -> Parts:
    """Return the parts of a service on an open data folder; deliveries never go to `own`."""
    world = await _open_world(options, storage)
    delivery = _make_delivery(options, storage, world, own)
    keys = KeyRing()
    credentials = await _open_credentials(
        storage, keys, prefix=options.key_prefix, now_ms=world.clock.now_ms(), rules=world.rules
    )
    request_ids = RequestIds()
    return Parts(
        storage=storage,
        clock=world.clock,
        networks=world.networks,
        sender=delivery.sender,
        resolver=delivery.resolver,
        runner=delivery.runner,
        request_ids=request_ids,
        credentials=credentials,
        api=Api(
            storage=storage,
            clock=world.clock,
            runner=delivery.runner,
            rules=world.rules,
            keys=keys,
            request_ids=request_ids,
            faults=world.faults,
            rate_limit=RateLimit(options.rate_limit, world.clock.monotonic_ms),
        ),
        dashboard=_dashboard(
            options,
            storage,
            world,
            delivery,
            keys=keys,
            request_ids=request_ids,
            token=credentials.dashboard_token,
        ),
    )


def _dashboard(
    options: Options,
    storage: Storage,
    world: _World,
    delivery: _Delivery,
    *,
    keys: KeyRing,
    request_ids: RequestIds,
    token: Secret,
) -> App:
    clock, rules, runner = world.clock, world.rules, delivery.runner
    return make_dashboard(
        token=token,
        next_id=request_ids.next,
        keys=KeyRoutes(
            storage=storage, clock=clock, rules=rules, ring=keys, prefix=options.key_prefix
        ),
        endpoints=EndpointRoutes(
            storage=storage,
            clock=clock,
            rules=rules,
            runner=runner,
            sender=delivery.sender,
            policy=delivery.policy,
            resolve=delivery.resolve,
        ),
        deliveries=DeliveryRoutes(storage=storage, clock=clock, runner=runner),
        clock=ClockRoutes(clock=clock, runner=runner),
        faults=FaultRoutes(world.faults),
    )


async def _open_world(options: Options, storage: Storage) -> _World:
    clock = await _open_clock(options, storage)
    random = SeededRandom(await _seed(options, storage))
    networks = Networks(random, mix=options.mix)
    rules = Rules(
        merchant_id=random.identifier("mer", 1),
        random=random,
        networks=networks,
        tariff=options.tariff,
        bounds=options.bounds,
    )
    faults = Faults(random=random, now_ms=clock.now_ms, rules=options.faults)
    batches = itertools.count(1)
    storage.fail_writes_while(
        lambda: faults.roll(FaultKind.STORAGE_FULL, "batch", next(batches)) is not None
    )
    return _World(clock=clock, networks=networks, rules=rules, faults=faults)


def _make_delivery(
    options: Options, storage: Storage, world: _World, own: SocketAddress | None
) -> _Delivery:
    policy = AddressPolicy(allow_local=options.allow_local)
    if own is not None:
        policy.refuse(own)
    resolve, resolver = options.resolve, None
    if resolve is None:
        resolve = resolver = Resolver()
    sender = HttpSender(
        policy=policy,
        resolve=resolve,
        signature_header=options.signature_header,
        ca_file=None if options.ca_file is None else str(options.ca_file),
    )
    queue = EventQueue()
    dispatcher = Dispatcher(
        storage=storage,
        clock=world.clock,
        queue=queue,
        sender=sender,
        rules=world.rules,
        faults=world.faults,
    )
    runner = EventRunner(
        storage=storage,
        clock=world.clock,
        queue=queue,
        dispatcher=dispatcher,
        rules=world.rules,
    )
    return _Delivery(
        policy=policy, resolver=resolver, resolve=resolve, sender=sender, runner=runner
    )


async def _open_clock(options: Options, storage: Storage) -> ServiceClock:
    stored = load_clock(storage.reader)
    clock = make_clock(options.clock, stored, starts_at=options.starts_at, uptime=options.uptime)
    await storage.write(store_clock, clock.to_store(), extend_key_uses_ms=clock.doubtful_ms)
    return clock


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
