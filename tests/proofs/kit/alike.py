"""Mutants that do what the original does, each with the reason; nothing else may be listed here."""

from typing import Final

_ONE_CLASS: Final = "both ways lead to the same error class, by another sentence"
_KEYED: Final = "_keyed takes a text and a Secret alike; this only spares making one each time"
_HEADERS_ALONE: Final = "of the answer only the headers are read"
_DIFFERS: Final = "what differs has a total, whose currency is known, and differs by some money"
_LOOK: Final = "it only asks for the closer look, which then finds no contradiction"
_LAST: Final = "the last of the ranks stays the last"
_BACK: Final = "each payment is more than 0, and a line of 0 is called that before all else"
_NO_FEE: Final = "a fee of 0 adds nothing to a sum"
_NO_ZERO: Final = "a payout of 0 is paid by nothing, and is not among them"

ALIKE: Final[dict[str, dict[str, str]]] = {
    "verifier": {
        "check: '1' became '2'": "what matched is -1 or -2 when nothing did: only its sign is read",
        "_ascii: 'header is None or not header' became 'header is None and (not header)'": (
            _ONE_CLASS
        ),
        "_out_of_time: 'ahead < 0' became 'ahead <= 0'": "what is 0 ahead is never out of time",
        "_out_of_time: '0' became '1'": "whole seconds, and what is 0 ahead is never out of time",
        "_hexdigest: 'if type(secret) is not str:\\n    secret = (secret if type(sec' became "
        "'if not type(secret) is not str:\\n    secret = (secret if type'": _KEYED,
        "_hexdigest: 'type(secret) is not str' became 'type(secret) is str'": _KEYED,
        "_hexdigest: 'secret if type(secret) is Secret else Secret(secret)' became "
        "'secret if not type(secret) is Secret else Secret(secret)'": _KEYED,
        "_hexdigest: 'type(secret) is Secret' became 'type(secret) is not Secret'": _KEYED,
    },
    "fold": {
        "_merged: 'b is not None and a != b' became 'b is not None or a != b'": _LOOK,
        "_merged: 'False' became 'True'": _LOOK,
        "fold: 'len(finals) > 1' became 'len(finals) >= 1'": _LOOK,
        "fold: 'len(ours) < len(observed)' became 'len(ours) <= len(observed)'": (
            "without evidence the closer look finds what differs among the facts, as it always does"
        ),
        "_contradictions: 'len(finals) > 1' became 'len(finals) >= 1'": (
            "one final state said by all differs from nothing"
        ),
        "_ordered: 'fact.observed_at < earlier.observed_at' became "
        "'fact.observed_at <= earlier.observed_at'": (
            "of one source and content, heard at one instant: the two are one fact"
        ),
        "_ordered: \"b''\" became \"b'x'\"": (
            "facts of one place have one source and source id, so all of them have contents"
        ),
    },
    "window": {
        "effect_possible: '0' became '1'": "neither 0 nor 1 is the status of a failed server",
    },
    "causes": {
        "_of_creations: '1' became '2'": "of the answered ones the newest alone is asked for",
    },
    "client": {
        "pause_s: '10' became '11'": "the longest pause is reached before both",
    },
    "classification": {
        "_says_each_once: '0' became '1'": "a body begins with its brace",
        "_is_spelled_as_usual: '1' became '2'": "then every body is looked at closely",
    },
    "kept-intents": {
        "check_order: 'found.status is OrderStatus.UNKNOWN and found.intent is not ' became "
        "'found.status is OrderStatus.UNKNOWN or found.intent is not N'": (
            "an order is unknown by an intent, and only then"
        ),
    },
    "forwarder": {
        "Forwarder._asked_to_wait: \"b''\" became \"b'x'\"": _HEADERS_ALONE,
        "Forwarder._asked_to_wait: 'True' became 'False'": _HEADERS_ALONE,
        "forward_key: \"b''\" became \"b'x'\"": "neither has the length of a key",
    },
    "files": {
        "_fee_and_net: '1' became '2'": "of a gross and its fee the signs alone are asked",
    },
    "readers": {
        "_mark: 'commas > dots' became 'commas >= dots'": "as many of both were answered before",
    },
    "verdict": {
        "_totals: 'load.total is not None and load.total.currency is not None' became "
        "'load.total is not None or load.total.currency is not None'": _DIFFERS,
        "_totals: '0' became '1'": _DIFFERS,
    },
    "rulings": {
        "Contradictions._contradicting: 'True' became 'False'": (
            "what contradicts itself is unwell: the word only names the index"
        ),
    },
    "legs": {
        "bank/by_sum: '>' became '>=' in "
        "'SELECT DISTINCT currency, amount > 0 AS is_above FROM rest_p'": _NO_ZERO,
        "bank/by_sum: '>' became '>=' in 'AND (p.amount > 0 OR NOT k.is_above)'": _NO_ZERO,
        "bank/by_sum: '>' became '>=' in 'WHERE p.amount > 0'": _NO_ZERO,
        "bank/by_sum: '>' became '>=' in "
        "'SELECT c.* FROM rest_credits AS c ANTI JOIN together AS t ON'": (
            "a credit is above 0 or below"
        ),
        "operator/answer: '2' became '3' in "
        "\"CASE rule.standing WHEN 'break' THEN 0 WHEN 'expected' THEN \"": _LAST,
        "operator/met: '=' became '<>' in "
        "'SELECT r.id, r.reference_key FROM received AS r SEMI JOIN pa'": (
            "a line that names a collection which no other line met meets it itself"
        ),
        "operator/met: '<' became '<=' in 'AND amount < 0;'": _BACK,
        "operator/met: '0' became '1' in 'AND amount < 0;'": _BACK,
        "operator/met: '<' became '<=' in "
        "'coalesce(-sum(fee) FILTER (fee < 0), 0)::BIGINT AS given_bac'": _NO_FEE,
        "operator/met: 'DISTINCT' became '' in 'SELECT DISTINCT account, currency, receipt_key'": (
            "it is only asked whether there is one"
        ),
        "operator/met: '>' became '>=' in 'm.amount > 0 AS is_in,'": (
            "a line of 0 has a verdict of its own, before"
        ),
        "operator/met: without 'p.move <> l.move' of ON": "what is left over is in no pair",
        "operator/met: without 'amount < 0' of WHERE": _BACK,
        "operator/met: without 'receipt_key IS NOT NULL' of WHERE": (
            "what is missing equals nothing"
        ),
        "operator/pairs: '2' became '3' in "
        "'CASE WHEN c.status IN {paid} THEN 0 WHEN c.status IN {open} '": _LAST,
    },
}
