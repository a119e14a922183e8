"""A service is open to other machines only with a token, or if that is said."""

from __future__ import annotations

import os
import subprocess
import sys

import httpx
import pytest

from tests.serving.process import TEXT, serving


def refusal(*options: str, **variables: str) -> str:
    """The message of a service that does not start."""
    command = [sys.executable, "-m", "treeformer", "serve", "--port", "0", "--processes", "1", *options]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=100, env={**os.environ, **variables}
    )
    assert run.returncode == 1, run.stdout
    assert "Traceback" not in run.stderr
    return run.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_need_a_token(host: str) -> None:
    assert "--insecure" in refusal("--host", host)


@pytest.mark.parametrize("token", ["", "  ", "a b", "ü"])
def test_a_token_that_protects_nothing_is_refused(token: str) -> None:
    assert "token" in refusal("--token", token)
    assert "TREEFORMER_TOKEN" in refusal(TREEFORMER_TOKEN=token)


@pytest.mark.parametrize("host", ["127.0.0.2", "::1", "localhost"])
def test_all_addresses_of_this_machine_are_local(host: str) -> None:
    with serving("--host", host, "--processes", "1") as service:
        address = service.address.replace("127.0.0.1", host)
        headers = {"Host": "evil.example"}
        assert httpx.get(f"{address}/v1/models", headers=headers, timeout=60).status_code == 400
        assert httpx.get(f"{address}/v1/models", timeout=60).status_code == 200


def test_other_machines_are_accepted_with_a_token_or_if_that_is_said() -> None:
    for options in (("--insecure",), ("--token", "secret")):
        with serving("--host", "0.0.0.0", "--processes", "1", *options) as service:
            headers = {"Host": "example.org", "Authorization": "Bearer secret"}
            question = {"inputs": [TEXT]}
            answer = service.client.post("/v1/classify", json=question, headers=headers)
            assert answer.status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
def test_a_body_that_does_not_call_itself_json_is_refused(kind: str) -> None:
    with serving("--processes", "1") as service:
        headers = {"Content-Type": kind} if kind else {}
        answer = service.client.post("/v1/classify", content=b'{"inputs": ["a"]}', headers=headers)
        assert answer.status_code == 415
        assert set(answer.json()) == {"error", "limit"}
