"""The tests' interpreter as the environment of a library that does not exist."""

import sys

import pytest

from bnnbench.methods import environments
from tests.methods.libraries.fake import LIBRARY


@pytest.fixture
def fake_environment(monkeypatch):
    """Give the library an environment in this process and its child processes."""
    monkeypatch.setenv(environments.VARIABLE, f"{LIBRARY}={sys.executable}")
