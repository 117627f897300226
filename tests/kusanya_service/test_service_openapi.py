"""The OpenAPI document, and the service held to it by an independent generator of requests."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kusanya.domain.status import EVENT_TYPES
from kusanya_service.testing import PaymentService


@pytest.fixture(scope="module")
def document(shared: PaymentService) -> Any:
    return shared.request("GET", "/openapi.json").json


def test_the_document_is_openapi_3_1_of_the_four_endpoints(document: Any) -> None:
    assert document["openapi"].startswith("3.1.")
    operations = {(path, method) for path, item in document["paths"].items() for method in item}
    assert operations == {
        ("/v1/collections", "post"),
        ("/v1/collections/{id}", "get"),
        ("/v1/events/{id}", "get"),
        ("/v1/whoami", "get"),
    }


@pytest.mark.spec("post-3")
def test_a_post_has_exactly_seven_variants_all_of_them_json(document: Any) -> None:
    responses = document["paths"]["/v1/collections"]["post"]["responses"]
    assert set(responses) == {"202", "400", "401", "403", "409", "422", "429"}
    for response in responses.values():
        name = response.get("$ref", "").rsplit("/", 1)[-1]
        described = document["components"]["responses"].get(name, response)
        assert list(described["content"]) == ["application/json"]


def test_every_error_is_the_one_envelope(document: Any) -> None:
    for response in document["components"]["responses"].values():
        schema = response["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/Error"}
    schemas = document["components"]["schemas"]
    assert schemas["Error"]["properties"]["error"] == {"$ref": "#/components/schemas/ErrorDetail"}
    detail = schemas["ErrorDetail"]
    assert set(detail["required"]) == {"type", "code", "message", "request_id"}


def test_each_event_is_a_webhook_of_the_document_with_its_signature(document: Any) -> None:
    assert set(document["webhooks"]) == set(EVENT_TYPES)
    for webhook in document["webhooks"].values():
        sent = webhook["post"]
        schema = sent["requestBody"]["content"]["application/json"]["schema"]
        assert schema == {"$ref": "#/components/schemas/Event"}
        [signature] = sent["parameters"]
        assert (signature["name"], signature["required"]) == ("Service-Signature", True)
        assert list(sent["responses"]) == ["2XX"]
        assert sent["security"] == []
    data = document["components"]["schemas"]["Event"]["properties"]["data"]
    assert data == {"$ref": "#/components/schemas/Collection"}


def test_the_document_says_what_json_schema_cannot_about_an_amount(document: Any) -> None:
    amount = document["components"]["schemas"]["NewCollection"]["properties"]["amount"]
    assert (amount["type"], amount["minimum"]) == ("integer", 1)
    assert "this service refuses it" in amount["description"]


def test_every_reference_leads_to_something(document: Any) -> None:
    def references(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if "$ref" in node:
                yield node["$ref"]
            for member in node.values():
                yield from references(member)
        elif isinstance(node, list):
            for member in node:
                yield from references(member)

    found = set(references(document))
    assert len(found) > 15
    for reference in found:
        _, _, kind, name = reference.split("/")
        assert name in document["components"][kind]


@pytest.mark.merge
@pytest.mark.timeout(600)
@pytest.mark.scale(20, 100, 300)
def test_generated_requests_find_no_answer_that_the_document_does_not_allow(
    shared: PaymentService, rounds: int, tmp_path: Path
) -> None:
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis is not installed")
    done = subprocess.run(
        [
            program,
            "run",
            f"{shared.base_url}/openapi.json",
            "--header",
            f"Authorization: Bearer {shared.test_key}",
            "--checks=all",
            f"--max-examples={rounds}",
            "--seed=1",
            "--generation-database=none",
            "--no-color",
        ],
        cwd=tmp_path,
        env=os.environ | {"SCHEMATHESIS_HOOKS": str(Path(__file__).with_name("whole_amounts.py"))},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
