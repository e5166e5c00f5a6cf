"""The tests' interpreter as the environment of a library that does not exist."""

import sys

import pytest

from bnnbench.methods import environments
from tests.methods.libraries.fake import LIBRARY


@pytest.fixture
def fake_environment(monkeypatch):
    """Give the library an environment in this process and those that it starts."""
    monkeypatch.setenv(environments.VARIABLE, f"{LIBRARY}={sys.executable}")
