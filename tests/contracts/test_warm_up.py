"""A method that compiles has compiled everything once it is warm."""

import pytest
from numba.core import event

from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import Compiled, PackageMissing, Unsupported
from bnnbench.methods.compiled import c_library
from bnnbench.methods.networks.architectures import Linear
from tests.contracts.test_every_method import small
from tests.methods.problems import classification, images, regression, stream

PROBLEMS = {
    "regression": regression,
    "classification": classification,
    "images": images,
    "linear": lambda fold: regression(fold, noise_std=0.5, architecture=(Linear(1, bias=False),)),
}
COMPILED = [path for path in METHODS.values() if issubclass(method_type(path), Compiled)]


@pytest.fixture(params=COMPILED)
def method(request):
    return small(method_type(request.param)())


@pytest.mark.parametrize("problem", PROBLEMS)
def test_fit_and_prediction_compile_nothing_more(method, problem):
    given = PROBLEMS[problem](0)
    try:
        method.warm_up(given)
        libraries = c_library._loaded.cache_info().misses
        with event.install_recorder("numba:compile") as compiled:
            posterior = method.fit(given, stream(1))
            posterior.predict(given.train.inputs, stream(2))
    except (PackageMissing, Unsupported) as refusal:
        pytest.skip(str(refusal))
    assert [str(one.data["dispatcher"]) for _, one in compiled.buffer] == []
    assert c_library._loaded.cache_info().misses == libraries
