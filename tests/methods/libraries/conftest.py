"""The tests' interpreter as the environment of a library that does not exist."""

import sys

import pytest

from bnnbench.methods import environments
from tests.methods.libraries.fake import LIBRARY


@pytest.fixture
def fake_environment(monkeypatch):
    """Register the library for this process and those that it starts."""
    monkeypatch.setattr(environments, "LIBRARIES", {LIBRARY: "fake_library"})
    monkeypatch.setenv(environments.VARIABLE, f"{LIBRARY}={sys.executable}")
