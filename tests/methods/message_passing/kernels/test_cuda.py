"""The CUDA kernels, on a GPU if there is one, and everywhere on an emulation.

They are compared with the kernels in C, bit for bit if nothing is split, and with the reference.
"""

import subprocess
import sys

import pytest
import torch

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import compiled, cuda, grids, reference
from bnnbench.methods.message_passing.kernels.table import KERNELS
from tests.methods.message_passing.factors.messages import DTYPES, is_bitwise_equal, random_messages
from tests.methods.message_passing.kernels.agreement import (
    SLOPES,
    as_message,
    difference,
    elementwise,
    moved,
    sums,
    unequal_guards,
)

both_types = pytest.mark.parametrize("dtype", DTYPES)


@pytest.mark.long
@both_types
@pytest.mark.parametrize("name", elementwise(torch.float64))
def test_emulated_elementwise_kernels_have_the_bits_of_the_kernels_in_c(name, dtype, emulated):
    call = elementwise(dtype)[name]
    assert is_bitwise_equal(call(emulated), call(compiled))


@both_types
def test_emulated_counts_agree_with_the_kernels_in_c(dtype, emulated):
    z, a = (random_messages(3, 700, seed=seed, dtype=dtype) for seed in range(2))
    for name in ("leaky_relu_forward", "leaky_relu_backward"):
        found = getattr(emulated, name)(z, a, 0.1)[1]
        assert found.tolist() == getattr(compiled, name)(z, a, 0.1)[1].tolist()
        assert found.sum() > 0


@both_types
@pytest.mark.parametrize("name", sums(torch.float64))
def test_emulated_sums_have_the_bits_of_the_kernels_in_c(name, dtype, emulated):
    arguments = sums(dtype)[name]
    found, expected = (as_message(getattr(k, name)(*arguments)) for k in (emulated, compiled))
    assert is_bitwise_equal(found, expected)


@both_types
def test_emulated_sums_of_observed_inputs_have_the_bits_of_the_kernels_in_c(dtype, emulated):
    mean, _, *others = sums(dtype)["exact_weight_sums"]
    found, expected = (k.exact_weight_sums(mean, None, *others) for k in (emulated, compiled))
    assert is_bitwise_equal(found, expected)


@pytest.mark.parametrize("name", ["exact_weight_sums", "exact_first_weight_sums"])
def test_emulated_sums_over_split_rows_agree_and_members_keep_their_bits(
    name, emulated, monkeypatch
):
    monkeypatch.setattr(grids, "LEAST_ROWS", 7)
    monkeypatch.setattr(grids, "ENOUGH_BLOCKS", 17)
    arguments = sums(torch.float64)[name]
    together, expected = (as_message(getattr(k, name)(*arguments)) for k in (emulated, compiled))
    assert [kernel for kernel, _ in emulated.launched] == [f"{name}_all", "add_parts"]
    torch.testing.assert_close(together.rho, expected.rho, rtol=1e-12, atol=0)
    torch.testing.assert_close(together.tau, expected.tau, rtol=1e-10, atol=1e-12)
    alone = as_message(getattr(emulated, name)(*(t[1:2].contiguous() for t in arguments)))
    assert is_bitwise_equal(alone, together[1:2])


def test_emulated_pooling_of_images_with_channels_last_and_larger_windows(emulated):
    z, back = random_messages(4, 5, 7, 9, seed=4), random_messages(4, 5, 2, 3, seed=5)
    last = [
        Gaussian(*(t.contiguous(memory_format=torch.channels_last) for t in (m.tau, m.rho)))
        for m in (z, back)
    ]
    for messages in ((z, back), last):
        expected = compiled.max_pool_backward(*messages, 3)
        found = emulated.max_pool_backward(*messages, 3)
        assert is_bitwise_equal(found, expected)
        assert found.rho.stride() == expected.rho.stride()
        found = emulated.max_pool_forward(messages[0], 3)
        assert is_bitwise_equal(found, compiled.max_pool_forward(messages[0], 3))


def test_emulated_labels_that_are_no_classes_make_messages_that_are_not_numbers(emulated):
    z = random_messages(1, 3, 4, seed=1)
    out = emulated.argmax_backward(z, torch.tensor([[0, 4, -1]]), 0.3, 0.1)
    assert out.is_valid().all(-1).tolist() == [[True, False, False]]


def test_nothing_is_launched_for_nothing(emulated):
    nothing = random_messages(0, 5, seed=1)
    out, counts = emulated.leaky_relu_forward(nothing, nothing, 0.1)
    assert out.shape == (0, 5)
    assert counts.shape == (0,)
    assert not emulated.launched


def test_grids_cover_every_element_and_stay_within_the_limits_of_cuda():
    for count in (1, 255, 256, 257, 10**9):
        how = KERNELS["exchange_all"].launch(count)
        assert how is not None
        assert how.grid[0] <= grids.MOST_BLOCKS
        assert how.grid[0] == grids.MOST_BLOCKS or how.grid[0] * how.block[0] >= count
    how = KERNELS["leaky_relu_forward_all"].launch(100_000, 300)
    assert how == ((2, 65535, 1), (256, 1, 1))
    how = KERNELS["max_pool_backward_all"].launch(2, 3, 11, 9, 2, 1)
    assert how == ((1, 1, 1), (256, 1, 1))
    assert KERNELS["exact_weight_sums_all"].launch(2, 1000, 33, 16, 3) == ((1, 3, 6), (16, 16, 1))
    assert KERNELS["exact_input_sums_all"].launch(2, 33, 17, 100) == ((3, 2, 2), (16, 16, 1))
    assert KERNELS["exact_first_forward_all"].launch(2, 33, 99, 17) == ((3, 2, 2), (16, 16, 1))
    assert KERNELS["exact_input_sums_all"].launch(2, 0, 17, 100) is None
    assert KERNELS["fill_pulls_all"].launch(2, 3, 50, 7, 0) == ((9, 1, 1), (256, 1, 1))
    assert KERNELS["turn_all"].launch(2, 3, 50, 33, 0) == ((12, 1, 1), (32, 32, 1))
    assert KERNELS["turn_all"].launch(2, 3, 1, 33, 0) == ((12, 1, 1), (32, 8, 1))
    with pytest.raises(ValueError, match="at most 65535 blocks"):
        KERNELS["exact_input_sums_all"].launch(70_000, 1, 1, 1)


def test_rows_are_split_where_a_gpu_would_be_idle_and_never_by_the_number_of_members():
    assert grids.parts(rows=57_600, inputs=27, outputs=32) == 128
    assert grids.parts(rows=64, inputs=27, outputs=32) == 1
    assert grids.parts(rows=57_600, inputs=1600, outputs=512) == 1
    assert grids.parts(rows=0, inputs=1, outputs=1) == 1


def test_a_source_holds_each_of_its_headers_once_and_includes_nothing():
    for file in {kernel.file for kernel in KERNELS.values() if kernel.grid}:
        text = cuda.source(file)
        assert '#include "' not in text
        assert "#pragma once" not in text
        assert text.count("typedef struct {\n    REAL tau, rho;\n} Message;") == 1


def test_tensors_in_main_memory_and_a_missing_cupy_are_said(monkeypatch):
    z = random_messages(2, 3, seed=1)
    with pytest.raises(ValueError, match=r"on a GPU.*cpu"):
        cuda.leaky_relu_forward(z, None, 0.1)

    def missing(name, *_):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(cuda, "import_module", missing)
    cuda._cupy.cache_clear()
    with pytest.raises(PackageMissing, match=r"pip install bnnbench\[gpu"):
        cuda._cupy()


def test_importing_needs_no_cupy():
    code = "import sys, bnnbench.methods.message_passing.kernels.cuda; print('cupy' in sys.modules)"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.gpu
@both_types
@pytest.mark.parametrize("name", elementwise(torch.float64))
def test_elementwise_kernels_on_a_gpu_agree_with_the_reference(name, dtype):
    found = moved(elementwise(dtype, "cuda")[name](cuda), "cpu")
    expected = elementwise(dtype)[name](reference)
    z, a = (random_messages(3, 29, 11, seed=seed, dtype=dtype) for seed in range(2))
    images = random_messages(3, 4, 5, 7, 9, seed=4, dtype=dtype)
    others = {"forward": [z, a], "backward": [z, a], "argmax": [z]}.get(name.split(" ")[0], [])
    others = [images] if name == "pool backward" else others
    covered = expected.rho > 0
    others = [other[covered] for other in others]
    tolerance = 1e-11 if dtype is torch.float64 else 2e-5
    assert difference(found[covered], expected[covered], *others) < tolerance
    in_c = elementwise(dtype)[name](compiled)
    assert is_bitwise_equal(flushed(found), flushed(in_c))


def flushed(message: Gaussian) -> Gaussian:
    """Return a message without the smallest numbers of float32, which CuPy computes as 0."""
    if message.rho.dtype is torch.float64:
        return message
    return Gaussian(*(torch.where(t.abs() < 1e-36, 0, t) for t in (message.tau, message.rho)))


@pytest.mark.gpu
@both_types
@pytest.mark.parametrize("name", sums(torch.float64))
def test_sums_on_a_gpu_agree_with_the_reference_and_repeat(name, dtype):
    arguments = sums(dtype)[name]
    there = tuple(argument.cuda() for argument in arguments)
    found = as_message(getattr(cuda, name)(*there))
    expected = as_message(getattr(reference, name)(*arguments))
    tolerance = 1e-11 if dtype is torch.float64 else 1e-4
    for value, truth in ((found.tau, expected.tau), (found.rho, expected.rho)):
        scale = truth.abs().max().item()
        torch.testing.assert_close(value.cpu(), truth, rtol=tolerance, atol=tolerance * scale)
    assert is_bitwise_equal(found, as_message(getattr(cuda, name)(*there)))


@pytest.mark.gpu
@pytest.mark.parametrize("slope", SLOPES)
def test_guards_on_a_gpu_agree_with_the_reference(slope):
    z, a = (moved(random_messages(3, 10_000, seed=seed), "cuda") for seed in range(2))
    assert unequal_guards(z, a, slope, cuda) <= (0 if slope < 1 else 10)


@pytest.mark.gpu
def test_every_kernel_can_be_captured_in_a_graph_and_replayed():
    dtype = torch.float32
    calls = elementwise(dtype, "cuda")
    tensors = {name: tuple(t.cuda() for t in given) for name, given in sums(dtype).items()}

    def everything() -> list[Gaussian]:
        out = [as_message(call(cuda)) for call in calls.values()]
        return out + [as_message(getattr(cuda, n)(*given)) for n, given in tensors.items()]

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        expected = everything()  # compiled before the capture
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = everything()
    for out in found:
        out.tau.zero_()
        out.rho.zero_()
    graph.replay()
    torch.cuda.synchronize()
    for left, right in zip(found, expected, strict=True):
        assert is_bitwise_equal(left, right)
