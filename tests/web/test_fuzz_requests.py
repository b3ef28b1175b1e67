"""A fixed part of `fuzz/http.py`, some seconds long: no failure, no hang, no traceback, no markup."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "fuzz" / "http.py"


@pytest.fixture(scope="module")
def fuzzer():
    spec = importlib.util.spec_from_file_location("fuzz_http", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hostile_requests_are_refused_with_a_sentence(fuzzer):
    assert fuzzer.main(seed=0, count=150) == []


def test_the_fuzzer_sees_failures(fuzzer, monkeypatch):
    from coview.web.service import Service

    def broken(self, key, questions):
        raise KeyError("inside")

    monkeypatch.setattr(Service, "answer", broken)
    failures = fuzzer.main(seed=0, count=40)
    assert any("status 500" in failure for failure in failures)
