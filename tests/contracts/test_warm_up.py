"""A compiled method compiles nothing more after its warm-up."""

import pytest
from numba.core import event

from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import Compiled
from bnnbench.methods.compiled import c_library
from tests.contracts.test_every_method import MISSING, PROBLEMS, covered, small
from tests.methods.problems import stream

pytestmark = pytest.mark.long


COMPILED = [
    name
    for name, path in METHODS.items()
    if issubclass(method_type(path), Compiled) and name not in MISSING
]
CASES = [(name, problem) for name in COMPILED for problem in covered(name)]


@pytest.mark.parametrize(("name", "problem"), CASES)
def test_fit_and_prediction_compile_nothing_more(name, problem):
    method, given = small(method_type(METHODS[name])()), PROBLEMS[problem](0)
    method.warm_up(given)
    libraries = c_library._loaded.cache_info().misses
    with event.install_recorder("numba:compile") as compiled:
        posterior = method.fit(given, stream(1))
        posterior.predict(given.train.inputs, stream(2))
    assert [str(one.data["dispatcher"]) for _, one in compiled.buffer] == []
    assert c_library._loaded.cache_info().misses == libraries
