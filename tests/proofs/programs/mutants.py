"""Change one operator or number of a room at a time, and see whether its own tests notice.

    uv run python -m tests.proofs.programs.mutants                    all rooms
    uv run python -m tests.proofs.programs.mutants schedule fold      these
    uv run python -m tests.proofs.programs.mutants --sample 60 --seed 1a2b3c legs    some of a room

Each mutant is put into a forked process, where the code of the room's functions or the text of its
queries is exchanged, and the room's tests run there until one fails. Prints the survivors and the
score; exit code 1 below 95 %. Words of messages and docstrings are left alone: nothing depends on
them. Mutants that do what the original does are named with their reasons in tests/proofs/kit/alike
and count nowhere.
"""

import argparse
import ast
import copy
import importlib
import inspect
import itertools
import os
import pickle
import re
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import msgspec
import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings
from tests.proofs.kit.alike import ALIKE
from tests.proofs.kit.sql_variants import sql_variants

ROOT: Final = Path(__file__).parents[3]
SQL: Final = ROOT / "lib" / "kusanya_books" / "sql"
PATIENCE_S: Final = 180
NEEDED: Final = 0.95


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
        ("kusanya.alarms.rules", "kusanya.alarms.service_silence", "kusanya.alarms.silence"),
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
        ("kusanya/alarms/test_alarm_watcher.py", "kusanya/alarms/test_outage_drill.py"),
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
            "kusanya_books/test_the_verdict_is_a_proof.py",
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
            "kusanya.lookup.search.by_phone",
            "kusanya.lookup.search.finding",
            "kusanya.wording",
        ),
        (
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
        (_MATCHING[0], "kusanya_books/test_ledger_tables_equal_a_plain_reference.py"),
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
            "kusanya_books/test_bank_equals_a_plain_reference.py",
            "kusanya_books/test_operator_equals_a_plain_reference.py",
            "kusanya_books/test_settlement_equals_a_plain_reference.py",
            "kusanya_books/test_settlement_payouts.py",
            "kusanya_books/test_operator_and_bank.py",
        ),
        queries=_all("operator", "bank", "legs", "settlement", but=("settlement/bridge",)),
        rules=("OPERATOR", "BANK"),
    ),
    "roll-forward": Room(
        (
            "kusanya_books.judge.roll_forward",
            "kusanya_books.judge.carried_legs",
            "kusanya_books.request.earlier_period",
        ),
        (
            "kusanya_books/test_carried_items_of_statements.py",
            "kusanya_books/test_following_an_advice.py",
            "kusanya_books/test_legs_roll_forward.py",
        ),
    ),
    "late-changes": Room(
        ("kusanya_books.read.store.changed",),
        (
            "kusanya_books/test_what_agreed_and_is_otherwise_now.py",
            "kusanya_books/test_month_end_run.py",
        ),
        queries=("close/otherwise_now", "close/paid_since"),
    ),
    "postings": Room(
        ("kusanya_books.judge.postings", "kusanya_books.pack.journal_entries"),
        (
            "kusanya_books/test_what_is_posted_of_statements.py",
            "kusanya_books/test_journal_entries.py",
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
            "kusanya_books/test_every_spelling_reads_the_same.py",
            "kusanya_books/test_statements_of_operators_and_banks.py",
            "kusanya_books/test_ledger_and_statement_files.py",
        ),
    ),
    "tariff": Room(
        ("kusanya_books.judge.tariff", "kusanya_books.judge.fees"),
        (
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
            "kusanya_books.read.bank.entries",
            "kusanya_books.read.bank.ofx",
            "kusanya_books.read.movements",
        ),
        (
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
        ("kusanya_books.judge.findings", "kusanya_books.judge.accounting"),
        (
            "kusanya_books/test_one_verdict.py",
            "kusanya_books/test_the_verdict_is_a_proof.py",
            "kusanya_books/test_where_every_line_went.py",
        ),
        queries=("inputs/read",),
    ),
}
_COMPARED: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_REACHED: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.FloorDiv: ast.Mult,
}


def variants(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901, PLR0912 - one table of cases
    """Yield what could stand in a node's place."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in _COMPARED.get(type(operator), ()):
                changed = copy.deepcopy(node)
                changed.ops[place] = other()
                yield changed
    elif isinstance(node, ast.BoolOp):
        changed_bool = copy.deepcopy(node)
        changed_bool.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield changed_bool
    elif isinstance(node, ast.BinOp) and type(node.op) in _REACHED:
        changed_sum = copy.deepcopy(node)
        changed_sum.op = _REACHED[type(node.op)]()
        yield changed_sum
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bytes):
        yield ast.Constant(node.value + b"x")
    elif isinstance(node, ast.IfExp | ast.If):
        turned = copy.deepcopy(node)
        turned.test = ast.UnaryOp(ast.Not(), turned.test)
        yield turned
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Return) and node.value is not None:
        empty = isinstance(node.value, ast.Constant) and node.value.value is None
        if not empty:
            yield ast.Return(ast.Constant(None))


def _is_strict(node: ast.AST) -> bool:
    """Return whether this is the `strict=` of a zip, which says what holds anyway."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


class _Exchange(ast.NodeTransformer):
    def __init__(self, number: int, place: int) -> None:
        self._number = number
        self._place = place
        self._seen = 0
        self.said = ""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Exchange the one node."""
        if isinstance(node, ast.AnnAssign):
            # Its annotation is for readers.
            if node.value is not None:
                node.value = self.visit(node.value)
        elif not isinstance(node, ast.Raise) and not _is_strict(node):
            # What an error says is nobody's rule; that it is raised, is: its `if` is turned.
            self._seen += 1
            if self._seen - 1 == self._number:
                new = list(variants(node))[self._place]
                self.said = f"line {getattr(node, 'lineno', '?')}: {ast.unparse(node)[:60]!r}"
                self.said += f" became {ast.unparse(new)[:60]!r}"
                return ast.copy_location(new, node)
            super().generic_visit(node)
        return node


def functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """Yield the module's own functions and methods."""
    here = module.__file__
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, FunctionType):
            yield name, value
        elif isinstance(value, type):
            for inner, method in vars(value).items():
                found = getattr(method, "fget", method)
                found = getattr(found, "__func__", found)
                # Not what a library wrote for the class.
                if isinstance(found, FunctionType) and found.__code__.co_filename == here:
                    yield f"{name}.{inner}", found


def mutants(function: FunctionType) -> Iterator[tuple[str, CodeType]]:
    """Yield a sentence and the code of each mutant of a function."""
    source = textwrap.dedent(inspect.getsource(function))
    first = function.__code__.co_firstlineno - 1
    tree = ast.parse(source)
    defined = tree.body[0]
    if not isinstance(defined, ast.FunctionDef | ast.AsyncFunctionDef):
        # A lambda.
        return
    defined.decorator_list = []
    bare = ast.Module(defined.body, [])
    count = sum(1 for _ in ast.walk(bare))
    for number in range(count):
        for place in range(4):
            exchange = _Exchange(number, place)
            try:
                body = exchange.visit(copy.deepcopy(bare))
            except IndexError:
                break
            if not exchange.said:
                break
            program = copy.deepcopy(tree)
            copied: Any = program.body[0]
            copied.body = body.body
            ast.fix_missing_locations(program)
            ast.increment_lineno(program, first)
            compiled = compile(program, function.__code__.co_filename, "exec")
            code = next(c for c in compiled.co_consts if isinstance(c, CodeType))
            if code.co_freevars == function.__code__.co_freevars:
                yield exchange.said, code


class _Shelf:
    """The folder of queries, one of them changed."""

    def __init__(self, name: str, text: str) -> None:
        self._changed = (f"{name}.sql", text)

    def __truediv__(self, name: str) -> "_Text":
        changed, text = self._changed
        return _Text(text if name == changed else (SQL / name).read_text(encoding="utf-8"))


class _Text(msgspec.Struct, frozen=True):
    said: str

    def read_text(self, encoding: str) -> str:
        """Return the text."""
        return self.said


def exchange_code(function: FunctionType, code: CodeType) -> None:
    """Let a function do something else."""
    function.__code__ = code


def exchange_query(name: str, text: str) -> None:
    """Let a query ask something else."""
    engine: Any = importlib.import_module("kusanya_books.engine.engine")
    engine.files = lambda _package: _Shelf(name, text)
    engine._text.cache_clear()


def exchange_rule(rules: dict[str, Any], code: str, condition: str) -> None:
    """Let a break rule apply to other rows."""
    rules[code] = msgspec.structs.replace(rules[code], condition=condition)


Mutant = tuple[str, str | None, Callable[[], None]]
"""A sentence, the query that is changed, if one is, and the call that puts the mutant in place."""


def exchanges(room: Room) -> Iterator[Mutant]:
    """Yield each mutant of a room."""
    for where in room.modules:
        for label, function in functions(importlib.import_module(where)):
            if not room.only or label in room.only:
                for said, code in mutants(function):
                    exchange = partial(exchange_code, function, code)
                    yield f"{label}, {said}", None, exchange
    for name in room.queries:
        for said, text in sql_variants((SQL / f"{name}.sql").read_text(encoding="utf-8")):
            yield f"{name}, {said}", name, partial(exchange_query, name, text)
    for name in room.rules:
        rules = getattr(importlib.import_module("kusanya_books.match.breaks"), name)
        for code, rule in rules.items():
            # Its place in the file is no line of a query's.
            for said, text in sql_variants(f"WHEN {rule.condition} THEN"):
                condition = text.strip().removeprefix("WHEN").removesuffix("THEN")
                yield f"{code}, {said}", None, partial(exchange_rule, rules, code, condition)


_OPTIONS: Final = (
    *("-n", "0", "-s", "-p", "no:cacheprovider", "-p", "no:terminal"),
    # Not the long ones: a mutant that only chance finds is not found every time.
    *("-k", "not postgres"),
    # What is imported once for all children is imported already in each.
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)


class Trial(msgspec.Struct):
    """Tests that are collected once; each mutant is tried on them in a child that then ends.

    What found a mutant is asked first about the next one, and only files that reach a mutant's
    query are asked at all.
    """

    judge: Callable[["Trial"], None]
    """Called once the tests are collected and known to pass."""
    reached: dict[str, set[str]] = {}
    """The queries that each file of tests asks."""
    seconds: float = 0.0
    kills: dict[str, int] = {}
    items: list[pytest.Item] = []
    passed: bool = False

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Let a failing example be one: nobody reads the smallest."""
        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", settings(), phases=phases, derandomize=True)
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try mutants instead of running the tests once."""
        self.items = list(session.items)
        began = time.monotonic()
        said = _in_child(self._reach, PATIENCE_S * 20)
        self.seconds = time.monotonic() - began
        self.passed = bool(said) and said[0]
        if self.passed:
            self.reached = said[1]
            self.judge(self)
        return True

    def killer(self, query: str | None, exchange: Callable[[], None]) -> str | None:
        """Return the test that fails once something is exchanged; None where all pass."""
        asked = [one for one in self.items if self._reaches(one, query)]
        asked.sort(key=lambda one: -self.kills.get(one.nodeid, 0))

        def tried() -> str | None:
            exchange()
            return _first_failure(asked)

        found: str | None = _in_child(tried, max(PATIENCE_S, 5 * self.seconds), late="no end")
        if found is not None:
            self.kills[found] = self.kills.get(found, 0) + 1
        return found

    def _reaches(self, item: pytest.Item, query: str | None) -> bool:
        return query is None or query in self.reached[item.path.as_posix()]

    def _reach(self) -> tuple[bool, dict[str, set[str]]]:
        engine: Any = importlib.import_module("kusanya_books.engine.engine")
        text = engine._text
        reached: dict[str, set[str]] = {}
        passed = True
        for path, items in itertools.groupby(self.items, lambda item: item.path.as_posix()):
            here = reached.setdefault(path, set())

            def noted(name: str, here: set[str] = here) -> str:
                here.add(name)
                return str(text(name))

            engine._text = noted
            passed = passed and _first_failure(list(items)) is None
        return passed, reached


def _first_failure(items: list[pytest.Item]) -> str | None:
    for item, following in itertools.zip_longest(items, items[1:]):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=following)
        if any(report.failed for report in reports):
            return str(item.nodeid)
    return None


def _in_child(call: Callable[[], Any], patience_s: float, late: Any = None) -> Any:
    """Return what a call returns in a forked child, in silence; `late` where it does not end."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        status = 1
        try:
            os.write(writer, pickle.dumps(call()))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    os.set_blocking(reader, False)
    ends = time.monotonic() + patience_s
    said = b""
    with os.fdopen(reader, "rb") as answer:
        while True:
            said += answer.read() or b""
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                said += answer.read() or b""
                # A child that died was killed by what it tried.
                return pickle.loads(said) if status == 0 else "died"  # noqa: S301 - our own child
            if time.monotonic() > ends:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return late
            time.sleep(0.02)


def main(arguments: list[str]) -> int:
    """Try every mutant of the named rooms, or of all; or a sample of each room's."""
    parser = argparse.ArgumentParser(description="Try mutants of rules.")
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, []])
    parser.add_argument("--sample", type=int, help="how many of each room are tried")
    parser.add_argument("--seed", default="", help="which of them: the same seed, the same mutants")
    parser.add_argument("--only", default="", help="only mutants whose sentence holds this text")
    asked = parser.parse_args(arguments)
    names: list[str] = asked.rooms
    made = killed = 0
    for name in names or list(ROOMS):
        room = ROOMS[name]
        # All at once: whoever edits the room meanwhile changes nothing here.
        every = list(exchanges(room))
        alike = ALIKE.get(name, {})
        if unknown := alike.keys() - {unplaced(said) for said, _, _ in every}:
            sys.stderr.write(f"{name}: there is no mutant {sorted(unknown)}\n")
            return 2
        chosen = [one for one in every if unplaced(one[0]) not in alike and asked.only in one[0]]
        if asked.sample is not None and asked.sample < len(chosen):
            chance = Random(f"{asked.seed} {name}")  # noqa: S311 - a repeatable choice
            chosen = chance.sample(chosen, asked.sample)
        found: list[str | None] = []

        def judge(
            trial: Trial, chosen: list[Mutant] = chosen, found: list[str | None] = found
        ) -> None:
            for said, query, exchange in chosen:
                found.append(trial.killer(query, exchange))
                if found[-1] is None:
                    sys.stdout.write(f"  survived: {said}\n")
                    sys.stdout.flush()

        trial = Trial(judge)
        pytest.main([*_OPTIONS, *(str(ROOT / "tests" / test) for test in room.tests)], [trial])
        if not trial.passed:
            sys.stderr.write(f"{name}: its tests fail without any change\n")
            return 2
        tried, survived = len(found), found.count(None)
        dead = tried - survived
        sys.stdout.write(f"{name}: {dead} of {tried} killed, {dead / max(1, tried):.1%}")
        sys.stdout.write(f"; of {len(every)}, of which {len(alike)} do what the original does\n")
        sys.stdout.flush()
        made, killed = made + tried, killed + dead
    sys.stdout.write(f"all: {killed} of {made} killed, {killed / max(1, made):.1%}\n")
    return 0 if killed >= NEEDED * made else 1


def unplaced(said: str) -> str:
    """Return the sentence about a mutant without its line, which moves."""
    return re.sub(r", line [0-9]+:", ":", said, count=1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
