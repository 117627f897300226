"""Every command of the registry is pressed in a test of its own, and no key crashes any screen."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from tests.console.looking import AtRest

from kusanya_console.application.app import ConsoleApp
from kusanya_console.commands import COMMANDS, SCREENS, ScreenEntry, commands_of
from kusanya_console.commands.screens import Part
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.lists.table_screen import TableScreen
from kusanya_console.widgets.filter_box import FilterBox

HERE: Final = Path(__file__).parent
WITHOUT_A_SERVICE: Final = tuple(entry.name for entry in SCREENS if entry.name != "service")

PROVEN: Final = {
    "go.live": "test_the_keys_of_the_screens_lead_there_and_escape_leads_back",
    "go.deliveries": "test_the_keys_of_the_screens_lead_there_and_escape_leads_back",
    "go.lookup": "test_the_keys_of_the_screens_lead_there_and_escape_leads_back",
    "go.health": "test_the_keys_of_the_screens_lead_there_and_escape_leads_back",
    "go.intents": "test_the_keys_of_the_screens_lead_there_and_escape_leads_back",
    "go.service": "test_the_screen_shows_clock_endpoints_phones_faults_and_keys",
    "go.audit": "test_the_audit_is_narrowed_by_actor_act_and_day",
    "go.handover": "test_the_page_shows_a_shift_and_goes_to_the_one_before",
    "handover.down": "test_a_long_page_is_scrolled_and_copied_whole",
    "handover.up": "test_a_long_page_is_scrolled_and_copied_whole",
    "handover.earlier": "test_the_page_shows_a_shift_and_goes_to_the_one_before",
    "handover.later": "test_the_page_shows_a_shift_and_goes_to_the_one_before",
    "handover.reread": "test_the_page_says_when_it_was_read_and_one_key_reads_it_again",
    "copy.notice": "test_an_outage_notice_is_copied_in_both_languages",
    "list.down": "test_the_cursor_moves_by_records_and_by_pages",
    "list.up": "test_the_cursor_moves_by_records_and_by_pages",
    "list.page_down": "test_the_cursor_moves_by_records_and_by_pages",
    "list.page_up": "test_the_cursor_moves_by_records_and_by_pages",
    "list.newest": "test_the_keys_reach_both_ends_of_a_long_list_and_come_back",
    "list.oldest": "test_the_keys_reach_both_ends_of_a_long_list_and_come_back",
    "list.follow": "test_the_cursor_stays_on_its_record_while_the_list_moves",
    "list.mark": "test_space_marks_the_foot_counts_and_escape_unmarks",
    "list.mark_all": "test_an_outage_is_resent_at_once_after_its_count_is_typed_each_event_once",
    "list.pause": "test_a_paused_list_stands_still_while_counts_go_on",
    "list.filter": "test_typing_narrows_the_list_and_escape_clears_it_on_the_same_record",
    "list.save_view": "test_a_filter_is_saved_under_a_name_and_applied_by_it",
    "list.search_on": "test_a_search_that_ran_out_of_time_goes_on_when_asked",
    "list.unwell": "test_only_what_is_not_well_is_shown_until_the_key_is_pressed_again",
    "list.next_unwell": "test_what_is_not_well_is_found_however_far_away",
    "list.previous_unwell": "test_what_is_not_well_is_found_however_far_away",
    "list.order": "test_the_next_order_keeps_the_cursor_on_its_record",
    "list.turn": "test_a_click_on_a_heading_sorts_and_once_more_turns_round",
    "list.columns": ("test_columns_are_hidden_moved_and_widened_and_stay_for_the_next_session"),
    "lookup.columns": "test_the_palette_arranges_the_matches_of_a_lookup",
    "list.open": "test_enter_opens_the_story_of_the_record_under_the_cursor",
    "list.pane": "test_the_detail_is_hidden_shown_and_given_the_whole_screen",
    "list.export": "test_the_rows_of_the_filter_are_written_and_the_screen_says_where",
    "list.export_raw": "test_the_palette_offers_the_forms_for_programs",
    "list.export_lines": "test_the_palette_offers_the_forms_for_programs",
    "pane.next": "test_the_parts_of_the_detail_follow_one_another",
    "pane.previous": "test_the_parts_of_the_detail_follow_one_another",
    "pane.zoom": "test_the_detail_is_hidden_shown_and_given_the_whole_screen",
    "health.open": "test_enter_on_a_line_of_health_opens_the_rows_behind_it",
    "health.narrower": "test_the_window_grows_from_an_hour_to_a_week_and_says_where_it_ends",
    "health.wider": "test_the_window_grows_from_an_hour_to_a_week_and_says_where_it_ends",
    "lookup.choose": "test_nothing_is_said_to_the_customer_before_one_of_several_fits_is_chosen",
    "lookup.box": "test_the_box_is_reached_again_from_the_story",
    "copy.sentence": "test_the_customers_sentence_is_copied_on_every_screen_with_a_payment",
    "copy.card": "test_the_card_is_copied_and_kept_in_a_file_of_its_owner",
    "copy.json": "test_the_json_is_copied_exactly_but_for_the_phone",
    "copy.id": "test_copying_says_that_the_text_was_sent_and_not_that_it_arrived",
    "ask.service": "test_asking_keeps_the_answer_and_says_what_it_was",
    "ask.catch_up": "test_a_catch_up_reports_what_was_learned",
    "act.note": "test_a_note_is_kept_under_its_author_and_audited",
    "act.keep_receipt": "test_a_pasted_message_shows_its_payment_and_one_key_keeps_the_receipt",
    "act.rule": "test_the_services_answer_rules_on_a_contradiction_and_a_refusal_is_audited",
    "act.retry_outcome": "test_what_a_consumer_parked_is_tried_again_or_skipped_from_the_payment",
    "act.skip_outcome": "test_what_a_consumer_parked_is_tried_again_or_skipped_from_the_payment",
    "act.reveal": "test_a_revealed_phone_is_audited_and_masked_again_after_half_a_minute",
    "act.replay": "test_a_replay_sends_the_same_key_and_bytes_once_it_is_confirmed",
    "act.decide": "test_a_person_decides_a_closed_intent_with_a_reason_and_it_is_audited",
    "act.acknowledge": "test_an_acknowledged_alarm_stays_and_names_who_looks_after_it",
    "act.mute": "test_an_alarm_is_muted_for_as_long_as_one_writes_and_stays_on_the_screen",
    "act.resend": "test_the_embedded_service_delivers_an_event_again",
    "service.next": "test_the_screen_shows_clock_endpoints_phones_faults_and_keys",
    "service.previous": "test_the_screen_shows_clock_endpoints_phones_faults_and_keys",
    "service.use": (
        "test_enter_on_a_scripted_phone_creates_crash_safely_and_shows_what_became_of_it"
    ),
    "service.add": "test_a_new_endpoint_shows_its_secret_once_and_no_audit_row_holds_it",
    "service.enable": "test_a_disabled_endpoint_shows_its_blown_fuse_and_is_enabled_again",
    "service.rotate": ("test_a_rotated_secret_is_shown_once_and_signs_what_is_sent_from_now_on"),
    "service.delete": "test_an_endpoint_is_deleted_only_after_the_word_is_typed",
    "service.advance": "test_the_clock_is_advanced_and_what_was_due_has_happened",
    "service.no_faults": (
        "test_all_faults_end_once_their_number_is_typed_and_a_rule_keeps_what_it_has_left"
    ),
    "view.times": "test_times_are_written_in_eat_utc_or_as_ages",
    "view.theme": "test_the_palette_goes_through_the_colours_and_a_foreign_theme_is_taken",
    "view.language": "test_the_palette_goes_to_english_and_back_on_every_screen",
    "view.mode": "test_the_other_mode_begins_with_empty_windows_and_asks_nothing",
    "view.back": "test_escape_leaves_the_box_step_by_step",
    "view.help": "test_the_help_names_every_command_of_its_screen",
    "view.palette": "test_the_palette_runs_a_command_by_its_name",
    "app.leave": "test_q_and_ctrl_c_leave_when_they_are_pressed_twice",
    "app.quit": "test_quitting_ends_the_console_with_status_zero",
}
"""The test in which a command is given by a person and its effect is seen."""


def test_every_command_has_a_pilot_test() -> None:
    tests = {
        node.name
        for path in HERE.rglob("test_console_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.AsyncFunctionDef)
    }
    assert {command.id for command in COMMANDS} == set(PROVEN)
    assert set(PROVEN.values()) <= tests


@pytest.mark.parametrize("entry", SCREENS, ids=lambda entry: entry.name)
def test_a_screen_is_what_its_entry_says(entry: ScreenEntry) -> None:
    screen = getattr(import_module(f"kusanya_console.{entry.module}"), entry.screen)
    assert (entry.name, entry.label) == (screen.NAME, screen.CRUMB)
    assert issubclass(screen, ListScreen) is (Part.LIST in entry.parts)
    assert issubclass(screen, TableScreen) is (Part.TABLE in entry.parts)
    asked = {
        what for base in screen.__mro__ if base.__module__.startswith("kusanya_console")
        for what in re.findall(r'self\.fetch\(\s*"(\w+)"', inspect.getsource(base))
    }  # fmt: skip
    assert set(screen.UNREAD) == asked, "each of its questions has words, and no other"


def test_no_screen_gives_one_key_to_two_commands() -> None:
    for entry in SCREENS:
        keys = [key for command in commands_of(entry.name) for key in command.keys]
        assert len(keys) == len(set(keys)), entry.name


@pytest.mark.merge
@pytest.mark.anyio
@pytest.mark.parametrize("screen", WITHOUT_A_SERVICE)
@pytest.mark.parametrize(
    "busy",
    [pytest.param(True, id="busy"), pytest.param(False, id="empty", marks=pytest.mark.ci)],
)
async def test_every_key_of_a_screen_does_something_or_says_why_not(
    screen: str, *, busy: bool, console: Any, seed: Any, at_rest: AtRest, tmp_path: Path
) -> None:
    if busy:
        seed.busy(6)
        seed.intents()
    app: ConsoleApp = console(folder=tmp_path)
    async with app.run_test(size=(120, 36)) as pilot:
        await at_rest(pilot)
        for command in commands_of(screen):
            for key in command.keys:
                if command.id in {"app.quit", "app.leave"}:
                    continue
                if app.console_screen is None or screen != app.console_screen.NAME:
                    await app.run_action(f"go('{screen}')")
                    await at_rest(pilot)
                if screen == "lookup":
                    app.screen.query_one("#matches").focus()
                    await pilot.pause()
                bound = app.screen.active_bindings.get(key)
                assert bound is not None, f"{key} is not bound on {screen}"
                # Textual binds the palette's own key itself.
                actions = {command.action, command.action.removeprefix("app.")}
                assert bound.binding.action in actions, f"{key} leads elsewhere on {screen}"
                await pilot.press(key)
                await at_rest(pilot)
                assert app.return_code is None, f"{key} on {screen} ended the console"
                while len(app.screen_stack) > 1 or isinstance(app.focused, FilterBox):
                    await pilot.press("escape")
                    await at_rest(pilot)


@pytest.mark.anyio
async def test_quitting_ends_the_console_with_status_zero(console: Any, at_rest: AtRest) -> None:
    app: ConsoleApp = console()
    async with app.run_test(size=(120, 36)) as pilot:
        await at_rest(pilot)
        await pilot.press("q")
        assert app.is_running, "one q is no way out: the console stays open all day"
        await pilot.press("ctrl+q")
        await pilot.pause()
    assert app.return_code == 0
