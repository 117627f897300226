"""Saved views: a filter under a name, for everybody, kept with who saved it."""

from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, press, shown, ticked

from kusanya.clock import ManualClock
from kusanya.filters import FilterError, expand
from kusanya.store import Store
from kusanya_console.actions.saved_views import delete_view, load_views, save_view
from kusanya_console.actions.store_actions import StoreActions


@pytest.fixture
def actions(store: Store, clock: ManualClock) -> StoreActions:
    return StoreActions(store, actor="asha", clock=clock, profile="main")


def typed(text: str) -> list[str]:
    names = {" ": "space", "@": "at"}
    return [names.get(letter, letter) for letter in text]


@pytest.mark.merge
@pytest.mark.anyio
async def test_a_filter_is_saved_under_a_name_and_applied_by_it(
    opened: OpenConsole, seed: Any, store: Store, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.busy(12)
    async with opened("slash", *"failed", "enter", actions=actions) as (app, pilot):
        await app.run_action("screen.save_view")
        await at_rest(pilot)
        assert "Save this filter as status:failed" in shown(app)
        await press(pilot, at_rest, *"fraud", "enter")
        assert "saved as @fraud: status:failed" in shown(app)
        [view] = load_views(store)
        assert (view.of, view.name, view.text, view.by) == (
            "live", "fraud", "status:failed", store.audit.actor,
        )  # fmt: skip
        await ticked(pilot, at_rest)
        await press(pilot, at_rest, "escape", "escape", "slash", *typed("@fraud amount>1"), "enter")
        assert "filter status:failed amount>=2" in shown(app)
        await press(pilot, at_rest, "escape", "slash", *typed("@nobody"), "enter")
        assert "no view was saved as @nobody; there are @fraud" in shown(app)


@pytest.mark.merge
@pytest.mark.anyio
async def test_the_palette_applies_and_deletes_a_view(
    opened: OpenConsole, seed: Any, store: Store, actions: StoreActions, at_rest: AtRest
) -> None:
    seed.busy(12)
    save_view(store, of="live", name="night", text="expired")
    save_view(store, of="live", name="odd", text='"ref:[/x] [@click=app.quit] [MTN]"')
    save_view(store, of="deliveries", name="other", text="verdict:rejected")
    async with opened("ctrl+p", *typed("view @night"), actions=actions) as (app, pilot):
        assert "View @night" in shown(app)
        await press(pilot, at_rest, *["backspace"] * 5, *"odd")
        assert "ref:[/x] [@click=app.quit] [MTN]" in shown(app)
        await press(pilot, at_rest, *["backspace"] * 3, *"night")
        await press(pilot, at_rest, "enter")
        assert "filter status:expired" in shown(app)
        await press(pilot, at_rest, "ctrl+p", *typed("delete view @night"), "enter")
        assert "deleted the view @night" in shown(app)
    assert [view.name for view in load_views(store)] == ["other", "odd"]
    assert [row.act for row in store.audit.page().rows] == [
        "delete view", "save view", "save view", "save view",
    ]  # fmt: skip


@pytest.mark.merge
@pytest.mark.anyio
async def test_nothing_is_saved_without_writes_a_filter_or_a_name(
    opened: OpenConsole, seed: Any, store: Store, actions: StoreActions, at_rest: AtRest
) -> None:
    async with opened("slash", *"failed", "enter") as (app, pilot):
        await app.run_action("screen.save_view")
        await at_rest(pilot)
        assert "read-only" in shown(app)
    async with opened(actions=actions) as (app, pilot):
        await app.run_action("screen.save_view")
        await at_rest(pilot)
        assert "there is no filter to save" in shown(app)
        await press(pilot, at_rest, "slash", *"failed", "enter")
        await app.run_action("screen.save_view")
        await at_rest(pilot)
        await press(pilot, at_rest, *typed("Bad name"), "enter")
        assert "a name has small letters" in shown(app)
    assert load_views(store) == ()


def test_the_newest_row_of_a_name_counts(store: Store) -> None:
    save_view(store, of="live", name="a", text="failed")
    save_view(store, of="live", name="a", text="expired")
    save_view(store, of="audit", name="a", text="actor:asha")
    delete_view(store, of="audit", name="a")
    store.audit.add(actor="x", act="resave viewing", subject="live:@b", detail="no view")
    assert [(view.of, view.text) for view in load_views(store)] == [("live", "expired")]


def test_names_stand_among_other_words_and_quotes_keep_a_reference() -> None:
    views = {"mine": "ref:INV", "big": "amount>=5000"}
    assert expand("@mine -failed @big", views) == "ref:INV -failed amount>=5000"
    assert expand('"@mine" a@mine', views) == '"@mine" a@mine'
    with pytest.raises(FilterError, match="no view was saved as @x; there are @big, @mine") as bad:
        expand("failed @x", views)
    assert bad.value.position == 7
