"""The rooms that money hangs on: where their rules stand, and which tests hold them."""

from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).parents[3]
SQL: Final = ROOT / "lib" / "kusanya_books" / "sql"


class Room(msgspec.Struct, frozen=True):
    """Where rules stand and which tests hold them, the quickest first."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    only: tuple[str, ...] = ()
    """The functions that are changed; none: all."""
    queries: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """Tables of break rules, whose conditions are changed."""


_INTENTS: Final = (
    "kusanya/intents/test_windows_to_the_second.py",
    "kusanya/intents/test_creating_at_the_edges.py",
    "kusanya/intents/test_windows_and_decisions.py",
    "kusanya/intents/test_lost_answers.py",
    "kusanya/intents/test_repeated_references.py",
    "kusanya/intents/test_clocks_set_right.py",
    "kusanya/intents/test_creating_safely.py",
    "kusanya/intents/test_leases.py",
    "kusanya/intents/test_where_intents_belong.py",
    "kusanya/intents/test_dying_at_every_step.py",
    "kusanya/intents/test_intent_machine.py",
)
_OUTCOMES: Final = (
    "kusanya/outcomes/test_outcomes.py",
    "kusanya/outcomes/test_consumers.py",
    "kusanya/outcomes/test_loops_of_consumers.py",
    "kusanya/outcomes/test_order_in_the_story.py",
    "kusanya/outcomes/test_outcomes_machine.py",
    "kusanya/alarms/test_alarms_of_orders.py",
)
_FEES: Final = (
    "kusanya_books/test_daily_fees.py",
    "kusanya_books/test_tariff_inference.py",
    "kusanya_books/test_declared_tariff_and_start.py",
    "kusanya_books/test_fee_audit_equals_a_plain_reference.py",
    "kusanya_books/test_planted_months.py",
)
_MATCHING: Final = (
    "kusanya_books/test_match_equals_a_plain_reference.py",
    "kusanya_books/test_settlement_equals_a_plain_reference.py",
    "kusanya_books/test_settlement_payouts.py",
    "kusanya_books/test_planted_months.py",
)


def _all(*folders: str, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names of all queries of some folders."""
    found = (path for folder in folders for path in sorted((SQL / folder).rglob("*.sql")))
    names = (path.relative_to(SQL).with_suffix("").as_posix() for path in found)
    return tuple(name for name in names if name not in but)


ROOMS: Final[dict[str, Room]] = {
    "verifier": Room(
        ("kusanya.webhooks.signature",),
        (
            "kusanya/webhooks/test_signature_spellings.py",
            "kusanya/webhooks/test_signature_table.py",
            "kusanya/webhooks/test_signature_peer.py",
        ),
    ),
    "schedule": Room(("kusanya.webhooks.schedule",), ("kusanya/webhooks/test_schedule.py",)),
    "fold": Room(
        ("kusanya.state.fold",),
        (
            "kusanya/state/test_rulings.py",
            "kusanya/state/test_fold_of_modes.py",
            "kusanya/state/test_fold.py",
            "kusanya/state/test_fold_in_any_order.py",
        ),
    ),
    "anomalies": Room(("kusanya.state.anomalies",), ("kusanya/state/test_anomalies.py",)),
    "window": Room(("kusanya.intents.window",), _INTENTS),
    "resolving": Room(("kusanya.intents.resolving",), _INTENTS),
    "deciding": Room(
        ("kusanya.intents.deciding", "kusanya.intents.outcome", "kusanya.watch.resuming"),
        (
            "kusanya/intents/test_outcome_in_words.py",
            "kusanya/intents/test_comparing_decisions.py",
            "kusanya/intents/test_windows_and_decisions.py",
            "kusanya/intents/test_clocks_set_right.py",
            "kusanya/intents/test_watch_resumes.py",
            "kusanya/intents/test_restored_stores.py",
        ),
    ),
    "wire": Room(
        ("kusanya.wire", "kusanya.client.requests", "kusanya.client.core"),
        (
            "kusanya/test_wire.py",
            "kusanya/client/test_client_refuses_before_the_wire.py",
            "kusanya/client/test_client_retries_and_errors.py",
            "kusanya/client/test_client_settings.py",
            "kusanya/intents/test_answers_409.py",
            "kusanya/client/test_client_on_the_wire.py",
        ),
    ),
    "creating": Room(
        (
            "kusanya.intents.creating",
            "kusanya.intents.leases",
            "kusanya.intents.recorded_attempts",
            "kusanya.intents.send_target",
        ),
        _INTENTS,
    ),
    "orders": Room(
        ("kusanya.store.records.order", "kusanya.orders.paying", "kusanya.orders.order"),
        ("kusanya/intents/test_orders.py", "kusanya/intents/test_orders_machine.py"),
    ),
    "outcomes": Room(
        (
            "kusanya.store.records.outcomes",
            "kusanya.store.queries.outcomes.telling",
            "kusanya.store.queries.outcomes.handing_out",
        ),
        _OUTCOMES,
    ),
    "consumers": Room(
        ("kusanya.outcomes.consumer", "kusanya.outcomes.work_loop", "kusanya.outcomes.shop"),
        ("kusanya/outcomes/test_shop_databases.py", *_OUTCOMES),
    ),
    "forwarder": Room(("kusanya.outcomes.forwarder",), ("kusanya/outcomes/test_forwarding.py",)),
    "gateway": Room(("kusanya.gateway.application",), ("kusanya/gateway/test_gateway.py",)),
    "rulings": Room(
        ("kusanya.intents.ruling", "kusanya.watch.contradicted"),
        ("kusanya/outcomes/test_rulings.py", "kusanya/state/test_rulings.py"),
    ),
    "channels": Room(
        (
            "kusanya.channels.present",
            "kusanya.channels.history",
            "kusanya.channels.outage_guard",
        ),
        ("kusanya/channels/test_channels_now.py", "kusanya/channels/test_outage_guard.py"),
    ),
    "causes": Room(
        ("kusanya.alarms.rules", "kusanya.health.service_silence", "kusanya.alarms.silence"),
        (
            "kusanya/alarms/test_cause_tree.py",
            "kusanya/watch/test_service_silence.py",
            "kusanya/alarms/test_alarms.py",
            "kusanya/watch/test_watching_open_collections.py",
            "kusanya/alarms/test_alarm_readings.py",
        ),
    ),
    "notices": Room(
        ("kusanya.alarms.notices.notices",),
        (
            "kusanya/alarms/test_notices.py",
            "kusanya/alarms/test_alarm_watcher.py",
            "kusanya/alarms/test_outage_drill.py",
        ),
    ),
    "client": Room(
        (
            "kusanya.client.response_classifier",
            "kusanya.client.answers",
            "kusanya.client.attempts",
            "kusanya.client.retry_policy",
            "kusanya.client.clock_check",
        ),
        (
            "kusanya/client/test_client_retries_and_errors.py",
            "kusanya/client/test_clock_check.py",
            "kusanya/client/test_client_refuses_before_the_wire.py",
            "kusanya/intents/test_answers_409.py",
            "kusanya/client/test_client_on_the_wire.py",
        ),
    ),
    "classification": Room(
        ("kusanya.receiver.classification", "kusanya.receiver.double_check"),
        (
            "kusanya/receiver/test_classify_delivery.py",
            "kusanya/receiver/test_classify_bodies.py",
            "kusanya/receiver/test_double_check.py",
            "kusanya/receiver/test_receiver_handle.py",
            "kusanya/receiver/test_receiver_machine.py",
        ),
    ),
    "writer": Room(
        (
            "kusanya.store.writer.batch",
            "kusanya.store.writer.projection",
            "kusanya.store.writer.refold",
            "kusanya.store.writer.rejected",
            "kusanya.store.writer.repeats",
            "kusanya.store.writer.row_values",
            "kusanya.store.writer.statements",
        ),
        (
            "kusanya/store/test_store_disputes.py",
            "kusanya/store/test_store_rejected.py",
            "kusanya/store/test_store_modes.py",
            "kusanya/store/test_store_rollups.py",
            "kusanya/store/test_store_texts.py",
            "kusanya/store/test_store_journal.py",
            "kusanya/store/test_store_feed.py",
            "kusanya/store/test_missing_events.py",
            "kusanya/store/test_store_care.py",
            "kusanya/store/test_store_search.py",
            "kusanya/store/test_store_people.py",
            "kusanya/store/test_store_erasing.py",
            "kusanya/intents/test_where_intents_belong.py",
        ),
    ),
    "kept-intents": Room(
        (
            "kusanya.store.records.intent_rules",
            "kusanya.store.queries.intents.attempts",
            "kusanya.store.queries.intents.intents",
            "kusanya.store.queries.intents.order",
            "kusanya.store.queries.intents.rows",
        ),
        (
            "kusanya/store/test_store_intents.py",
            "kusanya/intents/test_orders.py",
            "kusanya/intents/test_wrong_pairings.py",
            *_INTENTS,
        ),
    ),
    "restores": Room(
        (
            "kusanya.store.records.restores",
            "kusanya.store.queries.restores",
            "kusanya.intents.restored",
            "kusanya.store.maintenance.restoring",
        ),
        (
            "kusanya/store/test_restored_twice.py",
            "kusanya/intents/test_restored_stores.py",
            "kusanya/store/test_store_backups.py",
        ),
    ),
    "erasure": Room(
        (
            "kusanya.store.maintenance.masks",
            "kusanya.store.maintenance.erasing",
            "kusanya.store.records.erased_names",
        ),
        ("kusanya/store/test_masked_copies.py", "kusanya/store/test_store_erasing.py"),
    ),
    "alarms": Room(
        (
            "kusanya.alarms.rules.payments",
            "kusanya.alarms.rules.orders",
            "kusanya.alarms.rules.deliveries",
            "kusanya.alarms.rules.operation",
        ),
        (
            "kusanya/alarms/test_alarms.py",
            "kusanya/alarms/test_alarms_of_orders.py",
            "kusanya/alarms/test_alarms_of_strangers.py",
            "kusanya/alarms/test_alarms_of_quiet_weeks.py",
            "kusanya/alarms/test_alarm_readings.py",
            "kusanya/alarms/test_cause_tree.py",
            "kusanya/alarms/test_outage_drill.py",
        ),
    ),
    "watching": Room(
        ("kusanya.watch.poller", "kusanya.watch.catch_up", "kusanya.watch.schedule"),
        (
            "kusanya/watch/test_rhythm_of_a_watch.py",
            "kusanya/watch/test_watching_open_collections.py",
            "kusanya/watch/test_catching_up.py",
            "kusanya/watch/test_service_silence.py",
            "kusanya/store/test_poll_leases.py",
            "kusanya/store/test_pollers_share_the_work.py",
            "kusanya/intents/test_watch_resumes.py",
            "kusanya/alarms/test_outage_drill.py",
        ),
    ),
    "proof": Room(
        (
            "kusanya_books.judge.proof",
            "kusanya_books.judge.coverage",
            "kusanya_books.judge.open_items",
            "kusanya_books.judge.reconciliation",
        ),
        (
            "kusanya_books/test_what_keeps_a_close_unproven.py",
            "kusanya_books/test_what_is_left_to_do_of_each_row.py",
            "kusanya_books/test_the_verdict_is_a_proof.py",
            "kusanya_books/test_nights_before_the_money_is_due.py",
            "kusanya_books/test_one_verdict.py",
            "kusanya_books/test_where_every_line_went.py",
            "kusanya_books/test_carried_items_of_statements.py",
        ),
    ),
    "confirmations": Room(
        (
            "kusanya.confirmations.reading",
            "kusanya.confirmations.fragments",
            "kusanya.confirmations.grammar",
            "kusanya.lookup.search.by_message",
            "kusanya.lookup.search.fitting",
        ),
        (
            "kusanya/confirmations/test_confirmations.py",
            "kusanya/lookup/test_lookup_by_message.py",
            "kusanya/lookup/test_lookup_by_named_reference.py",
        ),
    ),
    "desk": Room(
        (
            "kusanya.lookup.new_request",
            "kusanya.lookup.claims",
            "kusanya.lookup.around",
            "kusanya.lookup.search.amounts",
            "kusanya.lookup.search.in_figures",
            "kusanya.lookup.search.by_amount",
            "kusanya.lookup.search.by_phone",
            "kusanya.lookup.search.finding",
            "kusanya.wording",
        ),
        (
            "kusanya/lookup/test_lookup_of_what_customers_write.py",
            "kusanya/lookup/test_desk_equals_a_plain_reference.py",
            "kusanya/lookup/test_lookup.py",
            "kusanya/lookup/test_lookup_texts.py",
            "kusanya/lookup/test_lookup_by_words.py",
            "kusanya/lookup/test_lookup_claims.py",
            "kusanya/store/test_lookup_of_open_creations.py",
            "kusanya/test_wording.py",
            "kusanya/outcomes/test_order_in_the_story.py",
            "kusanya/channels/test_channels_now.py",
        ),
    ),
    "health": Room(
        (
            "kusanya.health.causes",
            "kusanya.health.delivery_plan",
            "kusanya.health.endpoints",
            "kusanya.health.report",
            "kusanya.health.stuck_prompts",
        ),
        (
            "kusanya/test_health_at_the_edges.py",
            "kusanya/test_health.py",
            "kusanya/alarms/test_alarms.py",
            "kusanya/alarms/test_cause_tree.py",
            "kusanya/alarms/test_alarms_of_strangers.py",
            "kusanya/alarms/test_alarm_gauges.py",
            "kusanya/alarms/test_alarms_of_quiet_weeks.py",
            "kusanya/alarms/test_outage_drill.py",
            "kusanya/channels/test_channels_now.py",
        ),
    ),
    "front": Room(
        (
            "kusanya_books.pack.summary",
            "kusanya_books.pack.front",
            "kusanya_books.judge.report",
            "kusanya_books.judge.report_pages",
            "kusanya_books.match.break_life",
        ),
        (
            "kusanya_books/test_what_the_first_page_says.py",
            "kusanya_books/test_incomplete_files.py",
            "kusanya_books/test_one_verdict.py",
            "kusanya_books/test_pack_as_people_open_it.py",
            "kusanya_books/test_breaks_have_a_life.py",
            "kusanya_books/test_where_every_line_went.py",
        ),
    ),
    "redaction": Room(
        ("kusanya.privacy", "kusanya.privacy.secret"),
        (
            "kusanya/privacy/test_secret.py",
            "kusanya/privacy/test_privacy.py",
            "kusanya/privacy/test_privacy_logs.py",
        ),
    ),
    "idempotency": Room(
        ("kusanya_service.http.idempotency", "kusanya_service.http.creation"),
        (
            "kusanya_service/test_service_bad_input.py",
            "kusanya_service/test_service_idempotency.py",
            "kusanya_service/test_service_keys.py",
        ),
    ),
    "addresses": Room(
        (
            "kusanya_service.delivery.address_policy",
            "kusanya_service.delivery.urls",
        ),
        (
            "kusanya_service/test_service_refusals_before_the_wire.py",
            "kusanya_service/test_service_addresses.py",
            "kusanya_service/test_service_urls.py",
            "kusanya_service/test_service_connecting.py",
            "kusanya_service/test_service_hostile_endpoints.py",
        ),
    ),
    "prices": Room(("kusanya.domain.prices",), _FEES),
    "fees": Room(
        (), _FEES, queries=("fees/priced", "fees/unpaid", "fees/daily", "fees/exceptions")
    ),
    "bridge": Room((), _MATCHING, queries=("ledger/bridge", "settlement/bridge")),
    "match": Room(
        ("kusanya_books.match.ledger",),
        (
            _MATCHING[0],
            "kusanya_books/test_ledger_tables_equal_a_plain_reference.py",
            "kusanya_books/test_books_one_to_many.py",
            "kusanya_books/test_months_roll_forward.py",
        ),
        queries=_all("ledger", but=("ledger/bridge",)),
        rules=("LEDGER",),
    ),
    "legs": Room(
        (
            "kusanya_books.match.operator",
            "kusanya_books.match.settlement",
            "kusanya_books.match.bank",
        ),
        (
            "kusanya_books/test_legs_of_what_was_given.py",
            "kusanya_books/test_bank_equals_a_plain_reference.py",
            "kusanya_books/test_operator_equals_a_plain_reference.py",
            "kusanya_books/test_settlement_equals_a_plain_reference.py",
            "kusanya_books/test_settlement_payouts.py",
            "kusanya_books/test_operator_and_bank.py",
            "kusanya_books/test_operator_fees_and_reversals.py",
            "kusanya_books/test_bank_debits.py",
            "kusanya_books/test_settlement_files_that_repeat_days.py",
            "kusanya_books/test_who_pays_a_channel_out.py",
            "kusanya_books/test_refunds_through_the_provider.py",
            "kusanya_books/test_charges_of_the_provider.py",
        ),
        queries=_all("operator", "bank", "legs", "settlement", but=("settlement/bridge",)),
        rules=("OPERATOR", "BANK"),
    ),
    "balances": Room(
        ("kusanya_books.match.balances",),
        (
            "kusanya_books/test_balances_beside_the_lines.py",
            "kusanya_books/test_bank_equals_a_plain_reference.py",
            "kusanya_books/test_operator_equals_a_plain_reference.py",
        ),
    ),
    "roll-forward": Room(
        (
            "kusanya_books.judge.roll_forward",
            "kusanya_books.judge.carried_legs",
            "kusanya_books.judge.carried_payouts",
            "kusanya_books.judge.refunds_of_books",
            "kusanya_books.request.earlier_period",
        ),
        (
            "kusanya_books/test_what_clears_a_carried_item.py",
            "kusanya_books/test_what_an_earlier_period_says.py",
            "kusanya_books/test_refunds_through_the_provider.py",
            "kusanya_books/test_advice_on_rare_breaks_of_statements.py",
            "kusanya_books/test_settlement_files_that_repeat_days.py",
            "kusanya_books/test_carried_items_of_statements.py",
            "kusanya_books/test_following_an_advice.py",
            "kusanya_books/test_legs_roll_forward.py",
            "kusanya_books/test_months_roll_forward.py",
            "kusanya_books/test_breaks_have_a_life.py",
        ),
    ),
    "handling": Room(
        (
            "kusanya.receiver.handler",
            "kusanya.receiver.waiting",
            "kusanya.receiver.admission",
        ),
        (
            "kusanya/receiver/test_receiver_handle.py",
            "kusanya/receiver/test_receiver_mounted.py",
            "kusanya/receiver/test_receiver_waiting.py",
            "kusanya/receiver/test_pending_commits.py",
            "kusanya/receiver/test_receiver_bounds.py",
            "kusanya/receiver/test_receiver_under_attack.py",
            "kusanya/receiver/test_receiver_stopping.py",
            "kusanya/receiver/test_receiver_app.py",
            "kusanya/receiver/test_receiver_requests.py",
            "kusanya/receiver/test_receiver_logs.py",
            "kusanya/receiver/test_receiver_status_pages.py",
            "kusanya/receiver/test_receiver_settings.py",
            "kusanya/receiver/test_receiver_machine.py",
            "kusanya/telemetry/test_tracing.py",
        ),
    ),
    "listing": Room(
        (
            "kusanya.store.queries.collections.collections",
            "kusanya.store.queries.collections.terms",
            "kusanya.store.queries.collections.names",
            "kusanya.store.queries.collections.parts_of_text",
            "kusanya.store.queries.feed",
        ),
        (
            "kusanya/store/test_store_search.py",
            "kusanya/store/test_store_texts.py",
            "kusanya/store/test_store_paging.py",
            "kusanya/store/test_store_open_prompts.py",
            "kusanya/store/test_store_feed.py",
            "kusanya/store/test_store_people.py",
            "kusanya/store/test_store_plans.py",
            "kusanya/store/test_store_figures_between_instants.py",
        ),
    ),
    "polling": Room(
        ("kusanya.store.queries.poll_leases", "kusanya.store.queries.breaks"),
        (
            "kusanya/store/test_poll_leases.py",
            "kusanya/store/test_pollers_share_the_work.py",
            "kusanya/store/test_store_breaks.py",
            "kusanya/store/test_alarm_notices.py",
        ),
    ),
    "requests": Room(
        (
            "kusanya_books.request.days",
            "kusanya_books.request.tolerance",
            "kusanya_books.request.quality",
            "kusanya_books.request.report_inputs",
            "kusanya_books.request.earlier_period",
            "kusanya_books.read.load",
            "kusanya_books.read.earlier_pack",
        ),
        (
            "kusanya_books/test_business_days.py",
            "kusanya_books/test_what_an_earlier_period_says.py",
            "kusanya_books/test_load_from_a_store.py",
            "kusanya_books/test_what_agreed_and_is_otherwise_now.py",
            "kusanya_books/test_ledger_and_statement_files.py",
            "kusanya_books/test_reconcile_command.py",
            "kusanya_books/test_one_verdict.py",
            "kusanya_books/test_the_verdict_is_a_proof.py",
            "kusanya_books/test_months_roll_forward.py",
        ),
    ),
    "pages": Room(
        (
            "kusanya_books.present.views",
            "kusanya_books.present.stories",
            "kusanya_books.present.answers",
            "kusanya_books.pack.cells",
            "kusanya_books.pack.tables",
            "kusanya_books.pack.decisions",
            "kusanya_books.pack.summary",
            "kusanya_books.pack.journals.journal_files",
            "kusanya_books.pack.journals.account_map",
        ),
        (
            "kusanya_books/test_tables_and_charts.py",
            "kusanya_books/test_answers_on_top.py",
            "kusanya_books/test_journal_entries.py",
            "kusanya_books/test_pack_as_people_open_it.py",
            "kusanya_books/test_page_one_equals_a_plain_reference.py",
            "kusanya_books/test_hostile_exports.py",
            "kusanya_books/test_breaks_have_a_life.py",
            "kusanya_books/test_workbook_styles.py",
            "kusanya_books/test_sums_in_a_workbook.py",
        ),
    ),
    "late-changes": Room(
        ("kusanya_books.read.store.changed", "kusanya_books.pack.late_changes"),
        (
            "kusanya_books/test_what_agreed_and_is_otherwise_now.py",
            "kusanya_books/test_month_end_run.py",
        ),
        queries=_all("close"),
    ),
    "postings": Room(
        (
            "kusanya_books.judge.postings",
            "kusanya_books.judge.suspense",
            "kusanya_books.pack.journals.booked_before",
            "kusanya_books.pack.journals.to_book",
            "kusanya_books.pack.journals.journal_entries",
        ),
        (
            "kusanya_books/test_what_is_booked_of_each_row.py",
            "kusanya_books/test_what_is_posted_of_statements.py",
            "kusanya_books/test_journal_entries.py",
            "kusanya_books/test_every_change_is_booked_once.py",
            "kusanya_books/test_what_entries_hold_at_the_edges.py",
            "kusanya_books/test_what_the_account_for_breaks_holds.py",
            "kusanya_books/test_packs_are_read_as_they_were_written.py",
        ),
    ),
    "readers": Room(
        (
            "kusanya_books.read.tables.numbers",
            "kusanya_books.read.tables.dates",
            "kusanya_books.read.tables.kinds",
            "kusanya_books.read.bank.mt940",
            "kusanya_books.read.bank.camt",
        ),
        (
            "kusanya_books/test_dates_and_numbers_of_people.py",
            "kusanya_books/test_files_as_programs_write_them.py",
            "kusanya_books/test_bank_files_are_read_back.py",
            "kusanya_books/test_every_spelling_reads_the_same.py",
            "kusanya_books/test_charges_of_the_provider.py",
            "kusanya_books/test_statements_of_operators_and_banks.py",
            "kusanya_books/test_ledger_and_statement_files.py",
            "kusanya_books/test_quick_readers_read_what_careful_ones_do.py",
            "kusanya_books/test_nothing_is_guessed.py",
            "kusanya_books/test_signs_known_by_kind.py",
            "kusanya_books/test_guessed_signs.py",
            "kusanya_books/test_invisible_characters.py",
            "kusanya_books/test_hostile_files.py",
        ),
    ),
    "tariff": Room(
        ("kusanya_books.judge.tariff", "kusanya_books.judge.fees"),
        (
            "kusanya_books/test_tariff_parts_equal_a_plain_reference.py",
            "kusanya_books/test_tariff_inference.py",
            "kusanya_books/test_fee_audit_equals_a_plain_reference.py",
            "kusanya_books/test_declared_tariff_and_start.py",
            "kusanya_books/test_daily_fees.py",
        ),
    ),
    "files": Room(
        (
            "kusanya_books.read.tables.text_files",
            "kusanya_books.read.tables.row_account",
            "kusanya_books.read.tables.footers",
            "kusanya_books.read.tables.headers",
            "kusanya_books.read.tables.reader",
            "kusanya_books.read.guess",
            "kusanya_books.read.files",
            "kusanya_books.read.bank.entries",
            "kusanya_books.read.bank.ofx",
            "kusanya_books.read.movements",
        ),
        (
            "kusanya_books/test_files_as_programs_write_them.py",
            "kusanya_books/test_guessed_signs.py",
            "kusanya_books/test_guessing_a_mapping.py",
            "console/cli/test_mapping_command.py",
            "kusanya_books/test_nothing_is_guessed.py",
            "kusanya_books/test_ofx.py",
            "kusanya_books/test_invisible_characters.py",
            "kusanya_books/test_ledger_and_statement_files.py",
            "kusanya_books/test_statements_of_operators_and_banks.py",
            "kusanya_books/test_incomplete_files.py",
            "kusanya_books/test_quick_readers_read_what_careful_ones_do.py",
        ),
    ),
    "several-files": Room(
        (
            "kusanya_books.read.several_files",
            "kusanya_books.read.mapped_files",
            "kusanya_books.read.store.known_receipts",
        ),
        (
            "kusanya_books/test_receipts_in_books.py",
            "kusanya_books/test_files_as_people_name_them.py",
            "kusanya_books/test_statements_in_several_files.py",
            "kusanya_books/test_sheets_of_a_workbook.py",
            "kusanya_books/test_three_legs_by_command.py",
        ),
    ),
    "loading": Room(
        (
            "kusanya.store.queries.bulk.snapshot",
            "kusanya.store.queries.bulk.fee_sources",
            "kusanya_books.read.store.from_store",
            "kusanya_books.read.store.elsewhere",
            "kusanya_books.read.store.normalisation",
            "kusanya_books.read.store.collections_on_disk",
            "kusanya_books.read.store.exported",
        ),
        (
            "kusanya/store/test_store_bulk_read.py",
            "kusanya_books/test_load_from_a_store.py",
            "kusanya_books/test_exported_collections_equal_the_frame.py",
            "kusanya_books/test_business_days.py",
            "kusanya_books/test_months_out_of_the_ordinary.py",
        ),
    ),
    "verdict": Room(
        (
            "kusanya_books.judge.findings",
            "kusanya_books.judge.accounting",
            "kusanya_books.judge.look_first",
        ),
        (
            "kusanya_books/test_files_that_are_wrong_as_a_whole.py",
            "kusanya_books/test_findings_equal_a_plain_reference.py",
            "kusanya_books/test_one_verdict.py",
            "kusanya_books/test_the_verdict_is_a_proof.py",
            "kusanya_books/test_where_every_line_went.py",
        ),
        queries=("inputs/read",),
    ),
    "forensics": Room(
        ("kusanya.webhooks.forensics",),
        (
            "kusanya/webhooks/test_forensics.py",
            "kusanya/webhooks/test_forensics_spellings.py",
        ),
    ),
    "lists": Room(
        ("kusanya.store.queries.receipts", "kusanya.store.queries.rollups"),
        (
            "kusanya/store/test_store_breaks.py",
            "kusanya/store/test_store_figures_between_instants.py",
            "kusanya/store/test_store_rollups.py",
        ),
    ),
    "gap": Room(
        (
            "kusanya_books.judge.gap.answer",
            "kusanya_books.judge.gap.hypotheses",
            "kusanya_books.judge.gap.sets",
            "kusanya_books.judge.gap.amounts",
        ),
        ("kusanya_books/test_gap_sets.py", "kusanya_books/test_gap_command.py"),
    ),
    "failures": Room(
        ("kusanya_books.judge.failures",),
        (
            "kusanya_books/test_failure_rates.py",
            "kusanya_books/test_failure_rates_equal_a_plain_reference.py",
            "kusanya_books/test_figures_equal_a_plain_reference.py",
        ),
        queries=_all("failures"),
    ),
    "coverage": Room(
        ("kusanya_books.judge.coverage", "kusanya_books.judge.reconciliation"),
        (
            "kusanya_books/test_page_one_equals_a_plain_reference.py",
            "kusanya_books/test_the_verdict_is_a_proof.py",
            "kusanya_books/test_incomplete_files.py",
            "kusanya_books/test_one_verdict.py",
        ),
    ),
    "handover": Room(
        ("kusanya.handover.acts", "kusanya.handover.page"),
        ("console/test_console_handover.py", "console/cli/test_handover_command.py"),
    ),
}
