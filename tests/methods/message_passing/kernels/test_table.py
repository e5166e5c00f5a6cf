"""The table of operations, beside the sources of its kernels and the definitions in torch."""

import inspect
import re

import pytest

from bnnbench.methods.compiled.cuda_source import with_headers
from bnnbench.methods.message_passing.kernels import compiled, cuda, fused, reference
from bnnbench.methods.message_passing.kernels.patterns import OnUnits, OnWeights
from bnnbench.methods.message_passing.kernels.table import IN_BOTH, IN_C, IN_CUDA, KERNELS

OPERATIONS = {**IN_C, **IN_CUDA}
KINDS = {"int64_t": "n", "long long": "n", "double": "r"}


def parameters(text: str, name: str) -> str:
    """Return n, r and p for each parameter of a function in C."""
    (found,) = re.findall(rf"\b{name}\(([^)]*)\)\s*{{", text)
    return "".join(
        "p" if "*" in each else KINDS[each.strip().removeprefix("const ").rpartition(" ")[0]]
        for each in found.split(",")
    )


@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if kernel.c_arguments])
def test_arguments_of_functions_in_c_are_those_of_the_sources(name):
    kernel = KERNELS[name]
    text = (compiled.FOLDER / f"{kernel.file}.c").read_text()
    assert kernel.c_arguments == parameters(text, name)


@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if kernel.grid])
def test_kernels_stand_in_their_files(name):
    text = with_headers(f"{KERNELS[name].file}.cu", cuda.FOLDERS)
    assert len(re.findall(rf"\b{name}\(", text)) == 1


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_the_arguments_of_its_definition(name):
    definition = getattr(reference if name in IN_C else fused, name)
    names = tuple(inspect.signature(definition).parameters)
    function = OPERATIONS[name].function
    if isinstance(function, OnUnits | OnWeights):
        assert function.signature.names == names
    elif "arguments" not in inspect.signature(function).parameters:
        taken = tuple(inspect.signature(function).parameters)
        assert taken[1 + len(OPERATIONS[name].kernels) :] == names


def test_backends_have_the_operations_of_their_language():
    for module, table in ((compiled, IN_C), (cuda, IN_CUDA)):
        for name in OPERATIONS:
            assert hasattr(module, name) == (name in table)
    assert all(hasattr(fused, name) for name in IN_BOTH)
