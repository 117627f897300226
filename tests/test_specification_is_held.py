"""Every rule of the specification is held by at least one test that names it, and none is invented.

A test names the rule it holds with `@pytest.mark.spec("rule")`; the rules stand below by their
section and number.
"""

import ast
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent

RULES: Final = {
    "service-1": "a create answers 202 created and starts a push",
    "service-2": "the customer approves on the phone",
    "service-3": "a final state is learned by webhook or by polling",
    "service-4": "the fee is fixed at creation and deducted",
    "service-5": "test mode moves no money and completes in 10 to 20 s; one number succeeds",
    "service-6": "every POST requires an Idempotency-Key",
    "fields-collection": "the fields of a collection",
    "fields-principal": "the fields of a principal",
    "fields-event": "the fields of an event",
    "states": "from created to one final state, with its event",
    "post-headers": "Authorization, Idempotency-Key and Content-Type",
    "post-body": "amount, phone, reference, description, metadata",
    "post-1": "same key, same body: the original answer and no second charge",
    "post-2": "same key, other body: 409 idempotency_key_reused",
    "post-3": "seven answers are documented",
    "get-collection": "the current status by id",
    "get-event": "an event by id",
    "whoami": "whose key it is",
    "authentication-1": "a bearer key on every request",
    "authentication-2": "the key's prefix selects the mode",
    "authentication-3": "keys are made in the dashboard",
    "authentication-4": "endpoints per mode, their secret shown once",
    "events-types": "one event type per final state",
    "events-payload": "id, type, created_at, mode, data frozen at that moment",
    "signature-1": "the header on every delivery",
    "signature-2": "HMAC-SHA256 of t, a dot and the raw body",
    "signature-3": "over the exact bytes sent",
    "signature-4": "what a receiver rejects, in constant time",
    "delivery-1": "any 2xx within 10 s, nothing else",
    "delivery-2": "seven attempts on the schedule, then failed",
    "delivery-3": "disabled after three days of failure, enabled by a person",
    "delivery-4": "at least once; receivers ignore repeats",
    "delivery-5": "any order; the present state is asked for",
    "delivery-6": "https in live mode, and never a private address",
    "errors": "409 idempotency_key_reused, and failures are no HTTP errors",
    "limits-key-length": "1 to 255 printable ASCII characters",
    "limits-key-retention": "24 hours",
    "limits-acknowledgement-time": "10 seconds",
    "limits-timestamp-tolerance": "300 seconds",
    "limits-retry-schedule": "1m, 5m, 30m, 2h, 6h, 12h",
    "limits-endpoint-disabling": "three days",
    "limits-test-completion": "10 to 20 seconds",
    "versioning": "the path begins with /v1",
}


def named_rules() -> dict[str, str]:
    """Return every rule that a marker names, with one test file that names it."""
    found: dict[str, str] = {}
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.spec"):
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"a literal rule in {path.name}"
                    found[str(argument.value)] = path.name
    return found


def test_every_rule_of_the_specification_is_held_by_a_test() -> None:
    assert sorted(RULES.keys() - named_rules().keys()) == []


def test_no_test_names_a_rule_that_the_specification_does_not_have() -> None:
    named = named_rules()
    assert {rule: named[rule] for rule in named.keys() - RULES.keys()} == {}
