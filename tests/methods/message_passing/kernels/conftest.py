"""The CUDA kernels on machines without a GPU."""

import pytest

from tests.methods.message_passing.kernels.emulation import Emulated


@pytest.fixture(scope="session")
def compiled_once(emulator) -> Emulated:
    """The kernels, compiled for all tests."""
    return Emulated(emulator)


@pytest.fixture
def emulated(compiled_once) -> Emulated:
    """The same, before any launch."""
    compiled_once.launched.clear()
    return compiled_once
