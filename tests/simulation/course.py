"""What happens in one simulated week: orders, troubles, and people who set things right.

Everything follows from the seed. Faults end after seven days; a day and a half later everything
that is promised must have come about.
"""

import contextlib
import heapq
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
from tests.simulation.world import Rates, World

from kusanya.errors import KusanyaError
from kusanya.intents import create_safely_async, resolve_waiting, resume_async
from kusanya.intents.resolving import open_intents
from kusanya.watch.catch_up import catch_up_async
from kusanya.webhooks import sign
from kusanya.wire import Mode

COLLECTIONS: Final = 200
_HOUR: Final = 3_600_000
_DAY: Final = 24 * _HOUR
WEEK: Final = 7 * _DAY
PHONES: Final = (
    *(f"2557540000{number:02d}" for number in (*range(1, 11), 12, 13, 14, 15)),
    "255684000412",
    "255784123456",
    "255621000777",
)
OFF_LITTLE: Final = 25 * 60_000
"""How far a clock may be off unseen: the hour between 23 and 24 is there for twice that."""
NEVER_FINISHES: Final = "255754000010"
TEST_HOSTS: Final = ("shop.example", "mirror.example", "dead.example", "flaky.example")
LIVE_HOST: Final = "live.example"
OURS: Final = ("shop.example", "mirror.example", LIVE_HOST)
"""The endpoints behind which the merchant's receiver is."""

Act = Callable[[], Awaitable[None]]


class Course:
    """The week of one seed."""

    def __init__(self, world: World, seed: int, collections: int) -> None:
        self._world = world
        self._chance = Random(f"{seed} course")  # noqa: S311 - a repeatable choice
        self._agenda: list[tuple[int, int, Act]] = []
        self._start = world.now_ms
        self._collections = collections
        self._failing: set[str] = set()
        self._ids: dict[str, str] = {}
        self._alone: set[str] = set()
        self.healed = False

    # The plan

    def _at(self, at_ms: int, act: Act) -> None:
        heapq.heappush(self._agenda, (self._start + at_ms, len(self._agenda) + at_ms, act))

    def _between(self, low: int, high: int) -> int:
        return self._chance.randrange(low, high)

    def _during(self, begin: int, length: int, begins: Act, ends: Act) -> None:
        self._at(begin, begins)
        self._at(min(begin + length, WEEK - 1), ends)

    def plan(self) -> None:
        """Draw the week."""
        chance = self._chance
        self._world.rates = Rates.drawn(chance)
        for number in range(self._collections):
            self._at(self._between(0, WEEK - _DAY // 2), self._order(number))
        for act, times in (
            (self._reuse_a_key, 6),
            (self._attack, 12),
            (self._resend, 6),
            (self._rotate, 1),
            (self._reopen, 4),
            (self._kill_sender, 3),
        ):
            for _ in range(times):
                self._at(self._between(_HOUR, WEEK - _HOUR), act)
        for at in range(2 * _HOUR, WEEK, 5 * _HOUR):
            self._at(at + self._between(0, _HOUR), self._look_after)
        for _ in range(chance.randrange(3)):
            self._during(self._between(0, WEEK), self._between(_HOUR, 30 * _HOUR), *self._outage())
        for _ in range(1 + chance.randrange(2)):
            self._during(
                self._between(0, WEEK), self._between(_HOUR // 6, 8 * _HOUR), *self._service_down()
            )
        for _ in range(2):
            self._during(self._between(0, WEEK), self._between(0, 20 * _HOUR), *self._skew())
        host = chance.choice(OURS)
        self._during(self._between(0, WEEK), self._between(_HOUR, 20 * _HOUR), *self._fails(host))
        # More than three days: it is disabled, and enabled again after it has healed.
        ends = 4 * _DAY + self._between(0, _DAY)
        self._during(_HOUR, ends, *self._fails("dead.example"))
        self._at(ends + _DAY, self._enable_all)
        for number in range(3):
            self._leave_alone(number, self._between(_HOUR, 5 * _DAY))

    async def begin(self) -> None:
        """Start everything and register the endpoints."""
        world = self._world
        world.open_store()
        await world.start_service()
        for host in (*TEST_HOSTS, LIVE_HOST):
            mode = Mode.LIVE if host == LIVE_HOST else Mode.TEST
            asked = {"url": f"https://{host}/webhooks", "mode": mode.value}
            made = await world.dashboard("POST", "endpoints", asked)
            self._ids[host] = made["id"]
            world.record.secrets[host] = [(world.now_ms, made["secret"])]
            if host in OURS:
                world.knows_secret(host, made["secret"], mode)
            world.handlers[host] = self._behind(host)

    def _behind(self, host: str) -> Any:
        async def handle(body: bytes, headers: list[tuple[bytes, bytes]]) -> int | None:
            if host in self._failing:
                return self._chance.choice((500, 503, 404, 302, 199, None))
            if host == "flaky.example":
                return 204 if self.healed or self._chance.random() < 0.5 else 500
            return await self._world.receive(body, headers) if host in OURS else 200

        return handle

    async def run(self) -> None:
        """Let the week happen."""
        await self.begin()
        self.plan()
        while self._agenda:
            at_ms, _, act = heapq.heappop(self._agenda)
            await self._world.pass_until(at_ms)
            await act()
        await self._world.pass_until(self._start + WEEK)
        await self.heal()

    async def heal(self) -> None:
        """End every fault, let a day and a half pass, and look after what is left."""
        world = self._world
        world.rates = Rates()
        world.service_skew_ms = world.clock.skew_ms = 0
        world.receiver_is_up, world.kill_sender_after = True, None
        self._failing.clear()
        self.healed = True
        if world.service is None:
            await world.start_service()
        await world.pass_by(1)
        await self._enable_all()
        for _ in range(6):
            await world.pass_by(6 * 3_600)
            await self._look_after()

    # What people and programs do

    def _order(self, number: int) -> Act:
        chance = self._chance
        phone = chance.choice(PHONES)
        amount = chance.randrange(100, 200_000)
        mode = Mode.LIVE if chance.random() < 0.15 else Mode.TEST
        key = f"job-{number}" if chance.random() < 0.3 else None
        again = chance.random() < 0.2

        async def create() -> None:
            world = self._world
            for _ in range(2 if again else 1):
                with contextlib.suppress(KusanyaError):
                    await create_safely_async(
                        world.store,
                        world.client(mode),
                        amount=amount,
                        phone=phone,
                        reference=f"order-{number}",
                        idempotency_key=key,
                    )

        return create

    async def _look_after(self) -> None:
        """Resume what is open, catch up, resolve what is known: what a merchant's job does."""
        world = self._world
        for mode in Mode:
            for intent in sorted(open_intents(world.store, mode), key=lambda row: row.reference):
                if intent.reference in self._alone and not self.healed:
                    continue
                with contextlib.suppress(KusanyaError):
                    await resume_async(world.store, world.client(mode), intent)
            with contextlib.suppress(KusanyaError):
                await catch_up_async(world.store, world.client(mode), at_once=1)
        resolve_waiting(world.store, now=world.clock.now())

    async def _reuse_a_key(self) -> None:
        """Send a key with another body, and the original after it."""
        world = self._world
        kept = [post for post in world.record.posts if post.status == 202]
        if not kept or world.service is None:
            return
        post = self._chance.choice(kept)
        if world.now_ms - post.at_ms > _DAY // 2:
            return
        said = msgspec.json.decode(post.body)
        other = msgspec.json.encode({**said, "amount": said["amount"] + 1})
        for body in (other, post.body):
            await world.v1(post.mode, "POST", "/v1/collections", body, post.key)

    def _leave_alone(self, number: int, at: int) -> None:
        """Let a create's answer be lost, and nobody look after it for most of a day, or more."""
        world, reference = self._world, f"alone-{number}"

        async def create() -> None:
            self._alone.add(reference)
            before, world.rates = world.rates, Rates(answer_lost=1.0)
            with contextlib.suppress(KusanyaError):
                await create_safely_async(
                    world.store,
                    world.client(Mode.TEST),
                    amount=5_000,
                    phone=NEVER_FINISHES,
                    reference=reference,
                )
            world.rates = before

        async def look() -> None:
            for row in world.store.intents.by_reference(Mode.TEST, reference):
                with contextlib.suppress(KusanyaError):
                    await resume_async(world.store, world.client(Mode.TEST), row)

        self._at(at, create)
        # Sent for two minutes at most; then just inside the window, just after it, after the key.
        for later in ((23 * _HOUR - 60_000), (23 * _HOUR + 150_000), (_DAY + 1)):
            if number < 2 or later > _DAY:
                self._at(at + later, look)

    async def _attack(self) -> None:
        """Send the receiver what no service would: it believes none of it."""
        world, chance = self._world, self._chance
        sent = [one for one in world.record.attempts if one.host in OURS]
        if not sent or not world.receiver_is_up:
            return
        one = chance.choice(sent)
        kind = chance.randrange(5)
        event = msgspec.json.decode(one.body)
        forged = f"evt_forged{len(world.record.forged)}"
        other = "succeeded" if event["data"]["status"] != "succeeded" else "failed"
        made_up = msgspec.json.encode(
            {
                **event,
                "id": forged,
                "type": f"collection.{other}",
                "data": {**event["data"], "status": other},
            }
        )
        secret = world.record.secrets[one.host][-1][1]
        now_s = int(world.clock.now().timestamp())
        if kind == 0:
            body, header = made_up, sign(made_up, "whsec_nobodys", now_s)
        elif kind == 1:
            body, header = made_up, sign(made_up, secret, now_s + 400)
        elif kind == 2:
            body, header = made_up, sign(made_up, secret, now_s - 301)
        elif kind == 3:
            # A secret of the one mode under an event of the other: authentic, and not ours.
            wrong = "shop.example" if one.host == LIVE_HOST else LIVE_HOST
            body = made_up
            header = sign(made_up, world.record.secrets[wrong][-1][1], now_s)
        else:
            good = sign(made_up, secret, now_s - 1_000)
            body, header = made_up, f"t={now_s},{good}"
        world.record.forged.add(forged)
        acknowledged = list(world.record.acknowledged)
        status = await world.receive(body, [(b"service-signature", header.encode())])
        assert status == 400, f"attack {kind} was answered {status}"
        assert world.record.acknowledged == acknowledged

    async def _resend(self) -> None:
        """Send by hand what failed or waits."""
        world = self._world
        if world.service is None:
            return
        status = self._chance.choice(("failed", "pending", "succeeded"))
        found = await world.dashboard("GET", f"deliveries?status={status}&limit=50")
        if not found or not found["data"]:
            return
        one = self._chance.choice(found["data"])
        world.resending = True
        await world.dashboard("POST", f"deliveries/{one['id']}/resend")
        world.resending = False

    async def _rotate(self) -> None:
        """Give an endpoint another secret, and tell the receiver."""
        world, host = self._world, self._chance.choice(OURS)
        if world.service is None:
            return
        made = await world.dashboard("POST", f"endpoints/{self._ids[host]}/rotate-secret")
        world.record.secrets[host].append((world.now_ms, made["secret"]))
        world.knows_secret(host, made["secret"], Mode.LIVE if host == LIVE_HOST else Mode.TEST)

    async def _enable_all(self) -> None:
        """Enable what was disabled."""
        world = self._world
        if world.service is None:
            return
        for one in (await world.dashboard("GET", "endpoints"))["data"]:
            if one["status"] == "disabled":
                world.record.enabled.append((world.now_ms, one["url"].split("/")[2]))
                await world.dashboard("POST", f"endpoints/{one['id']}/enable")

    async def _reopen(self) -> None:
        self._world.reopen_store()

    async def _kill_sender(self) -> None:
        self._world.kill_sender_after = self._between(1, 20)

    # What goes wrong for a while

    def _outage(self) -> tuple[Act, Act]:
        async def begins() -> None:
            self._world.receiver_is_up = False

        async def ends() -> None:
            self._world.receiver_is_up = True

        return begins, ends

    def _service_down(self) -> tuple[Act, Act]:
        async def ends() -> None:
            if self._world.service is None:
                await self._world.start_service()
                await self._world.pass_by(0)

        return self._world.stop_service, ends

    def _skew(self) -> tuple[Act, Act]:
        of_service = self._chance.random() < 0.5
        far = (-2 * _HOUR, 26 * _HOUR, -OFF_LITTLE, OFF_LITTLE)
        skew_ms = self._chance.choice((*far, -120_000, 120_000, 290_000))

        async def set_to(value: int) -> None:
            if of_service:
                self._world.service_skew_ms = value
            else:
                self._world.clock.skew_ms = value
                self._world.record.was_skewed = True

        return (lambda: set_to(skew_ms)), (lambda: set_to(0))

    def _fails(self, host: str) -> tuple[Act, Act]:
        async def begins() -> None:
            self._failing.add(host)

        async def ends() -> None:
            self._failing.discard(host)

        return begins, ends


async def simulate(folder: Path, seed: int, *, collections: int = COLLECTIONS) -> World:
    """Let the week of `seed` happen; the world is still open, for the checker."""
    world = World(folder, seed)
    try:
        await Course(world, seed, collections).run()
    except BaseException:
        await world.close()
        raise
    return world
