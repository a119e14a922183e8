"""The OpenAPI description is what the service does: schemathesis tries what it allows and what it forbids."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks

from tests.serving.process import ServiceProcess

EXAMPLES = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    database=None,
)
NAMES = ("parse", "classify", "translate", "language", "attention")


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("path", [f"/v1/{name}" for name in NAMES])
def test_requests_are_answered_as_described(service: ServiceProcess, path: str, mode: GenerationMode) -> None:
    operation = schemathesis.openapi.from_url(f"{service.address}/openapi.json")[path]["POST"]
    # Brackets that are no tree, and text without words, are refused though a schema cannot forbid them.
    left_out = [checks.CHECKS.get_one("positive_data_acceptance")]
    statuses = set()

    @EXAMPLES
    @given(case=operation.as_strategy(generation_mode=mode))
    def conforms(case: schemathesis.Case) -> None:
        statuses.add(case.call_and_validate(excluded_checks=left_out).status_code)

    conforms()
    assert statuses <= {200, 400, 422}
    assert service.process.poll() is None


@pytest.mark.parametrize("path", ["/v1/models", "/healthz", "/metrics"])
def test_status_is_reported_as_described(service: ServiceProcess, path: str) -> None:
    operation = schemathesis.openapi.from_url(f"{service.address}/openapi.json")[path]["GET"]
    operation.Case().call_and_validate()
