"""Lookup reads a customer's whole message, names the payment, and keeps its receipt on one key."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, press, shown
from tests.kit.messages import CHANNELS, message
from textual import events

from kusanya.clock import ManualClock
from kusanya.say import Language
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.application.app import ConsoleApp
from kusanya_console.collections.screen import PaymentScreen
from kusanya_console.live.screen import LiveScreen
from kusanya_console.ui.format import plain

pytestmark = pytest.mark.anyio


def copied_card(app: ConsoleApp) -> str:
    """Return the card that would be copied of the record under the cursor."""
    assert isinstance(app.screen, PaymentScreen)
    read = app.screen.card()
    assert read is not None
    return " ".join(plain(read()).split())


def flat(app: ConsoleApp) -> str:
    return " ".join(shown(app).split())


def customers_message(store: Store, *, more: int = 0) -> str:
    """Return what the operator wrote to the customer of INV-482003, or `more` shillings of it."""
    [row] = store.collections.by_reference(Mode.LIVE, "INV-482003")
    issuer = {channel: name for name, channel in CHANNELS.items()}[row.channel]
    return message(
        issuer,
        Language.SWAHILI,
        amount=row.amount + more,
        at=row.completed_at or row.created_at,
        payee="DUKA",
        random=Random(1),  # noqa: S311 - a seed
    ).text


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (160, 50)])
async def test_a_pasted_message_shows_its_payment_and_one_key_keeps_the_receipt(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock, size: tuple[int, int]
) -> None:
    seed.life(3, at=clock.now() - timedelta(minutes=9))
    text = customers_message(seed.store)
    actions = StoreActions(seed.store, actor="desk", clock=clock, profile="main")
    async with opened("3", size=size, actions=actions) as (app, pilot):
        app.screen.post_message(events.Paste(text.replace(". ", ".\n")))
        await at_rest(pilot)
        said = flat(app)
        assert "message: paid TZS" in said
        assert "Amount, channel and time fit this payment alone." in said
        assert "found by the customer's message" in said
        assert "INV-482003" in said
        await pilot.press("K")
        await at_rest(pilot)
        assert "kept receipt" in flat(app)
    [row] = seed.store.collections.by_reference(Mode.LIVE, "INV-482003")
    (fact,) = seed.store.receipts.of(row.id, Mode.LIVE)
    assert fact.receipt in text
    assert seed.store.audit.page(limit=1).rows[0].act == "record_receipt"


FAILED: dict[str, Any] = {"status": "failed", "failure_code": "insufficient_funds"}


async def test_a_receipt_is_kept_with_an_unpaid_payment_only_once_a_person_has_read_that_it_claims(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=9)
    seed.life(3, at=at, completed_at=at + timedelta(seconds=17), **FAILED)
    text = customers_message(seed.store)
    [row] = seed.store.collections.by_reference(Mode.LIVE, "INV-482003")
    actions = StoreActions(seed.store, actor="desk", clock=clock, profile="main")
    async with opened("3", actions=actions) as (app, pilot):
        app.screen.post_message(events.Paste(text))
        await at_rest(pilot)
        await pilot.press("K")
        await at_rest(pilot)
        assert "the receipt is only a claim" in flat(app)
        await pilot.press("escape")
        await at_rest(pilot)
        assert seed.store.receipts.of(row.id, Mode.LIVE) == ()
        await pilot.press("K", *"live", "enter")
        await at_rest(pilot)
        assert "kept receipt" in flat(app)
    assert len(seed.store.receipts.of(row.id, Mode.LIVE)) == 1


async def test_nothing_is_said_to_the_customer_before_one_of_several_fits_is_chosen(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=9)
    same: dict[str, Any] = {"at": at, "channel": "MPESA_TZ", "amount": 5_000}
    for number in (3, 11):
        seed.life(number, completed_at=at + timedelta(seconds=17), **same)
    async with opened("3") as (app, pilot):
        app.screen.post_message(events.Paste(customers_message(seed.store)))
        await at_rest(pilot)
        assert "2 payments fit" in flat(app)
        assert "Please tell me your order number" in flat(app)
        assert "We have received" not in flat(app)
        for key in ("s", "Y"):
            await pilot.press(key)
            await at_rest(pilot)
            assert "enter chooses this one" in flat(app)
            await pilot.press("j", "k")
        await pilot.press("enter")
        await at_rest(pilot)
        await pilot.press("s")
        await at_rest(pilot)
        assert "clipboard, say: We have received your payment of TZS 5,000" in flat(app)


async def test_a_message_that_cannot_be_read_stands_above_the_payment_of_its_amount(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    seed.life(3, at=clock.now() - timedelta(minutes=9), amount=5_000)
    async with opened("3", size=(120, 36)) as (app, pilot):
        app.screen.post_message(events.Paste("Umelipa TSh 5,000 kwa DUKA. Salio lako TSh 3."))
        await at_rest(pilot)
        said = flat(app)
        assert "It is written like a confirmation, in a form that we do not know" in said
        assert "INV-482003" in said
        assert "Please tell me your order number" in said


async def test_what_a_pasted_message_claims_is_said_wherever_the_payment_is_opened(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=9)
    seed.life(3, at=at, completed_at=at + timedelta(seconds=17), **FAILED)
    text = customers_message(seed.store)
    async with opened("j", "z") as (app, pilot):
        assert "A pasted confirmation" not in flat(app)
        await press(pilot, at_rest, "3")
        app.screen.post_message(events.Paste(text))
        await at_rest(pilot)
        await press(pilot, at_rest, "escape", "escape", "escape")
        assert isinstance(app.console_screen, LiveScreen)
        assert "the service says failed: ask the service first." in flat(app)
        card = copied_card(app)
        assert "A pasted confirmation may be of this payment" in card
        assert "may be of this one" in card
        await press(pilot, at_rest, "enter")
        assert "A pasted confirmation may be of this payment" in flat(app)


async def test_a_kept_receipt_is_said_on_the_card_of_a_list(
    opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    at = clock.now() - timedelta(minutes=9)
    seed.life(3, at=at, completed_at=at + timedelta(seconds=17), **FAILED)
    [row] = seed.store.collections.by_reference(Mode.LIVE, "INV-482003")
    seed.store.receipts.record(row.id, Mode.LIVE, "SJ31HG4K2", source="mpesa.csv", actor="asha")
    async with opened("j", "z") as (app, _):
        assert "Receipt SJ31HG4K2 (mpesa.csv) claims that this was paid" in flat(app)
        card = copied_card(app)
        assert "Receipt SJ31HG4K2 (mpesa.csv) claims that this was paid" in card


async def test_a_message_that_fits_nothing_says_why_in_the_storys_place(
    opened: OpenConsole, seed: Any, at_rest: AtRest, clock: ManualClock
) -> None:
    seed.life(3, at=clock.now() - timedelta(minutes=9))
    text = customers_message(seed.store, more=7)
    async with opened("3") as (app, pilot):
        app.screen.post_message(events.Paste(text))
        await at_rest(pilot)
        said = flat(app)
        assert "a message that leads to no payment here" in said
        assert "Another amount: about that time we asked for TZS" in said
        await pilot.press("K")
        await at_rest(pilot)
        assert "paste a message that fits one payment alone" in flat(app)
    [row] = seed.store.collections.by_reference(Mode.LIVE, "INV-482003")
    assert seed.store.receipts.of(row.id, Mode.LIVE) == ()


async def test_a_hostile_paste_is_never_drawn_as_it_came(
    opened: OpenConsole, at_rest: AtRest
) -> None:
    text = (
        "DFL7C2KPQ8 Confirmed. Tsh7,500.00 sent to \x1b[31m\u202e255754000111 on 21/6/26 at 1:00 pm"
    )
    async with opened("3") as (app, pilot):
        app.screen.post_message(events.Paste(text * 50))
        await at_rest(pilot)
        said = shown(app)
        assert "\x1b" not in said
        assert "\u202e" not in said
        assert "754000111" not in said.split("message: paid")[-1]
