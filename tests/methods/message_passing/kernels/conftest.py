"""The CUDA kernels on machines without a GPU."""

import pytest

from tests.methods.message_passing.kernels.emulation import Emulated, compiler


@pytest.fixture(scope="module")
def emulated(tmp_path_factory) -> Emulated:
    if not compiler():
        pytest.skip("needs a C++ compiler, which takes the place of a GPU")
    return Emulated(tmp_path_factory.mktemp("emulated"))
