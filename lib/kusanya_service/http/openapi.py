"""The OpenAPI 3.1 document of /v1: its bodies are the types that the service reads and writes.

A POST has exactly the seven variants of the specification (assumption POST_VARIANTS). What any path
can answer besides, such as 405, 413, 415 and 5xx, stands under components.responses.
"""

from functools import lru_cache
from typing import Any, Final

import msgspec

from kusanya.domain.limits import ACKNOWLEDGEMENT_TIME, IDEMPOTENCY_KEY_MAX_LENGTH
from kusanya_service.errors import Error
from kusanya_service.http.requests import NewCollection
from kusanya_service.simulation.resources import Collection, Event, Principal, Status
from kusanya_service.simulation.rules import Bounds

_JSON: Final = "application/json"
_OUTER_BLANK_FREE: Final = r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$"
_BODIES: Final = (NewCollection, Collection, Event, Principal, Error)

Json = dict[str, Any]


@lru_cache(maxsize=4)
def document(bounds: Bounds, signature_header: str) -> bytes:
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
            "webhooks": {
                one.event_type: _webhook(one, signature_header) for one in Status if one.is_final
            },
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
                            ("409", "KeyConflict"),
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


def _webhook(status: Status, signature_header: str) -> Json:
    within_s = int(ACKNOWLEDGEMENT_TIME.total_seconds())
    return {
        "post": {
            "operationId": f"on.{status.event_type}",
            "summary": f"Sent to each endpoint of the mode: a collection is {status}",
            "security": [],
            "parameters": [
                {
                    "name": signature_header,
                    "in": "header",
                    "required": True,
                    "description": "t=<Unix time>,v1=<HMAC-SHA256 of t, a dot and the exact body>",
                    "schema": {"type": "string"},
                }
            ],
            "requestBody": {
                "required": True,
                "content": {_JSON: {"schema": _ref("schemas", "Event")}},
            },
            "responses": {"2XX": {"description": f"Acknowledged, within {within_s} seconds"}},
        }
    }


def _schemas(bounds: Bounds) -> Json:
    _, schemas = msgspec.json.schema_components(_BODIES, ref_template="#/components/schemas/{name}")
    schemas["NewCollection"]["properties"]["amount"] |= {
        "minimum": bounds.least,
        "maximum": bounds.most,
        "description": (
            "Whole shillings, written without a fraction: 5000. JSON Schema takes 5000.0 for an "
            "integer too; this service refuses it."
        ),
    }
    return schemas


def _responses() -> Json:
    described = {
        "BadRequest": "The body is malformed, or the idempotency key is missing or invalid",
        "Unauthorized": "The API key is missing, unknown or revoked",
        "Forbidden": "The API key may not do this",
        "NotFound": "There is no such object in the mode of the API key",
        "MethodNotAllowed": "405: the path does not take this method",
        "RequestTimeout": "408: the request did not arrive in time",
        "KeyConflict": "The idempotency key was used before with a different body",
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


def _ref(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}
