"""The OpenAPI 3.1 document of /v1, written by hand beside the rules it states.

A POST has exactly the seven variants of the specification (assumption POST_VARIANTS). What any path
can answer besides, such as 405, 413, 415 and 5xx, stands under components.responses.
"""

from functools import lru_cache
from typing import Any, Final

import msgspec

from kusanya.assumptions import (
    DESCRIPTION_MAX_LENGTH,
    METADATA_KEY_MAX_LENGTH,
    METADATA_MAX_KEYS,
    METADATA_VALUE_MAX_LENGTH,
    REFERENCE_MAX_LENGTH,
)
from kusanya.limits import IDEMPOTENCY_KEY_MAX_LENGTH
from kusanya.wire import EventType, Mode, Status
from kusanya_service.simulation.rules import Bounds

_JSON: Final = "application/json"
_OUTER_BLANK_FREE: Final = r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$"

Json = dict[str, Any]


@lru_cache(maxsize=4)
def document(bounds: Bounds) -> bytes:
    """Return the document's JSON."""
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Payment collection service",
                "version": "1",
                "description": (
                    "Collect a mobile-money payment from a customer's phone. Beside the answers "
                    "listed with each operation any request may be answered with one of "
                    "components.responses, always in the error envelope."
                ),
            },
            "security": [{"ApiKey": []}],
            "paths": _paths(),
            "components": {
                "securitySchemes": {"ApiKey": {"type": "http", "scheme": "bearer"}},
                "schemas": _schemas(bounds),
                "responses": _responses(),
                "headers": {
                    "RequestId": {"schema": {"type": "string"}, "description": "Quote to support."}
                },
            },
        }
    )


def _paths() -> Json:
    return {
        "/v1/collections": {
            "post": {
                "operationId": "createCollection",
                "summary": "Start a USSD push to the customer's phone",
                "parameters": [_idempotency_key()],
                "requestBody": {
                    "required": True,
                    "content": {_JSON: {"schema": _ref("schemas", "NewCollection")}},
                },
                "responses": {
                    "202": _accepted(),
                    **{
                        status: _ref("responses", name)
                        for status, name in (
                            ("400", "BadRequest"),
                            ("401", "Unauthorized"),
                            ("403", "Forbidden"),
                            ("409", "KeyReused"),
                            ("422", "Unacceptable"),
                            ("429", "TooManyRequests"),
                        )
                    },
                },
            }
        },
        "/v1/collections/{id}": _get("getCollection", "Collection", "col_"),
        "/v1/events/{id}": _get("getEvent", "Event", "evt_"),
        "/v1/whoami": _get("whoami", "Principal", None),
    }


def _idempotency_key() -> Json:
    return {
        "name": "Idempotency-Key",
        "in": "header",
        "required": True,
        "description": "Unique per operation; kept for 24 hours from its first receipt.",
        "schema": {
            "type": "string",
            "minLength": 1,
            "maxLength": IDEMPOTENCY_KEY_MAX_LENGTH,
            "pattern": _OUTER_BLANK_FREE,
        },
    }


def _accepted() -> Json:
    return {
        "description": "Accepted: the collection is created, or the original answer replayed",
        "headers": {
            "Request-Id": _ref("headers", "RequestId"),
            "Idempotent-Replayed": {
                "description": "Present on a replay only",
                "schema": {"type": "string", "const": "true"},
            },
        },
        "content": {_JSON: {"schema": _ref("schemas", "Collection")}},
    }


def _get(operation: str, schema: str, prefix: str | None) -> Json:
    statuses = [("401", "Unauthorized"), ("429", "TooManyRequests")]
    described: Json = {
        "operationId": operation,
        "responses": {
            "200": {
                "description": f"The {schema.lower()}",
                "headers": {"Request-Id": _ref("headers", "RequestId")},
                "content": {_JSON: {"schema": _ref("schemas", schema)}},
            }
        },
    }
    if prefix is not None:
        statuses.append(("404", "NotFound"))
        described["parameters"] = [
            {
                "name": "id",
                "in": "path",
                "required": True,
                "schema": {"type": "string"},
                "example": f"{prefix}00000001",
            }
        ]
    described["responses"] |= {status: _ref("responses", name) for status, name in statuses}
    return {"get": described}


def _schemas(bounds: Bounds) -> Json:
    return {
        "NewCollection": _new_collection(bounds),
        "Collection": _collection(),
        "Event": _object(
            {
                "id": {"type": "string", "pattern": "^evt_"},
                "type": {"type": "string", "enum": [one.value for one in EventType]},
                "created_at": _instant(),
                "mode": _mode(),
                "data": _ref("schemas", "Collection"),
            }
        ),
        "Principal": _object(
            {
                "key_id": {"type": "string", "pattern": "^key_"},
                "merchant_id": {"type": "string", "pattern": "^mer_"},
                "mode": _mode(),
                "object": {"type": "string", "const": "principal"},
            }
        ),
        "Error": _error(),
    }


def _new_collection(bounds: Bounds) -> Json:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["amount", "phone", "reference"],
        "properties": {
            "amount": {"type": "integer", "minimum": bounds.least, "maximum": bounds.most},
            "phone": {"type": "string", "pattern": r"^\+?[0-9]{8,15}$"},
            "reference": {"type": "string", "minLength": 1, "maxLength": REFERENCE_MAX_LENGTH},
            "description": {"type": ["string", "null"], "maxLength": DESCRIPTION_MAX_LENGTH},
            "metadata": {
                "type": ["object", "null"],
                "maxProperties": METADATA_MAX_KEYS,
                "propertyNames": {"minLength": 1, "maxLength": METADATA_KEY_MAX_LENGTH},
                "additionalProperties": {
                    "type": "string",
                    "maxLength": METADATA_VALUE_MAX_LENGTH,
                },
            },
        },
    }


def _collection() -> Json:
    text: Json = {"type": "string"}
    optional = {
        "description": text,
        "metadata": {"type": "object", "additionalProperties": text},
        "failure_code": text,
        "failure_message": text,
        "completed_at": _instant(),
    }
    return _object(
        {
            "id": {"type": "string", "pattern": "^col_"},
            "object": {"type": "string", "const": "collection"},
            "status": {"type": "string", "enum": [one.value for one in Status]},
            "amount": {"type": "integer"},
            "fee": {"type": "integer", "minimum": 0},
            "currency": text,
            "channel": text,
            "phone": text,
            "reference": text,
            "mode": _mode(),
            "created_at": _instant(),
        },
        optional,
    )


def _error() -> Json:
    text: Json = {"type": "string"}
    detail = _object(
        dict.fromkeys(("type", "code", "message", "request_id"), text), {"param": text}
    )
    return _object({"error": detail})


def _responses() -> Json:
    described = {
        "BadRequest": "The body is malformed, or the idempotency key is missing or invalid",
        "Unauthorized": "The API key is missing, unknown or revoked",
        "Forbidden": "The API key may not do this",
        "NotFound": "There is no such object in the mode of the API key",
        "MethodNotAllowed": "405: the path does not take this method",
        "RequestTimeout": "408: the request did not arrive in time",
        "KeyReused": "The idempotency key was used before with a different body",
        "BodyTooLarge": "413: the body is too large",
        "UnsupportedMediaType": "415: the body is not application/json",
        "Unacceptable": "The body is well-formed and its values are not acceptable",
        "TooManyRequests": "Too many requests; Retry-After says how long to wait",
        "ServerError": "5xx: the service failed; send the same key and body again",
    }
    return {
        name: {
            "description": text,
            "headers": {"Request-Id": _ref("headers", "RequestId")},
            "content": {_JSON: {"schema": _ref("schemas", "Error")}},
        }
        for name, text in described.items()
    }


def _object(required: Json, optional: Json | None = None) -> Json:
    return {
        "type": "object",
        "required": list(required),
        "properties": required | (optional or {}),
    }


def _ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def _instant() -> Json:
    return {"type": "string", "format": "date-time"}


def _mode() -> Json:
    return {"type": "string", "enum": [one.value for one in Mode]}
