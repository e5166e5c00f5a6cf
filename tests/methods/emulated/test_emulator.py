"""The emulator finds every kind of race between blocks, in whatever order they run."""

import pytest
import torch

from tests.methods.emulated import RaceFound

BLOCKS, THREADS = 7, 4
SIDES = (BLOCKS, 1, 1), (THREADS, 1, 1)
PARAMETERS = "long long count, float *x, unsigned long long *n"
FIRST = "if (threadIdx.x == 0)"
HERE = "blockIdx.x * blockDim.x + threadIdx.x"
IN_ORDER = f"{FIRST} x[blockIdx.x] = atomicAdd(n, 1);"

FREE_OF_RACES = {
    "each its own": f"x[{HERE}] += {HERE};",
    "all read one": f"long long k = {HERE}; if (k) x[k] = x[0] + n[0];",
    "atomic sums": "atomicAdd(n, threadIdx.x);",
    "threads of a block": f"""
        __shared__ float own[{THREADS}];
        own[threadIdx.x] = x[{HERE}] + threadIdx.x;
        __syncthreads();
        {FIRST} for (int k = 0; k < {THREADS}; k++) x[blockIdx.x * {THREADS}] += own[k];
    """,
}


BLOCK = r"block \(\d, 0, 0\)"
WRITTEN = rf"written by {BLOCK} in the same launch"
READ = rf"read by {BLOCK} in the same launch"
ADDED = rf"added to by {BLOCK} in the same launch"
RACES = {
    "reads another block's result": (
        f"long long k = {HERE}; x[k] = k; {FIRST} x[k] += x[(k + {THREADS}) % count];",
        rf"{BLOCK} (reads x\[\d+\], {WRITTEN}|writes x\[\d+\], {READ})",
    ),
    "writes what another block reads": (
        f"long long k = {HERE}; x[k] = k == 5 ? 1 : x[5];",
        rf"{BLOCK} (reads x\[5\], {WRITTEN}|writes x\[5\], {READ})",
    ),
    "all write one": ("x[3] = 1;", rf"{BLOCK} writes x\[3\], {WRITTEN}"),
    "sums without atomics": (
        f"{FIRST} n[2] += 1;",
        rf"{BLOCK} (reads|writes) n\[2\], {WRITTEN}",
    ),
    "reads a sum that is not finished": (
        f"atomicAdd(n + 1, 1); {FIRST} x[blockIdx.x] = n[1];",
        rf"{BLOCK} (reads n\[1\], {ADDED}|adds to n\[1\], {READ})",
    ),
    "writes a sum": (
        f"{FIRST} {{ if (blockIdx.x) atomicAdd(n, 1); else *n = 0; }}",
        rf"{BLOCK} (writes n\[0\], {ADDED}|adds to n\[0\], {WRITTEN})",
    ),
    "finds another block's shared memory": (
        f"__shared__ float own; if (blockIdx.x % 2) own = 1; x[{HERE}] = own;",
        rf"{BLOCK} reads shared memory(, {WRITTEN}| before it is written)",
    ),
}


BODIES = [IN_ORDER, *FREE_OF_RACES.values(), *(body for body, _ in RACES.values())]


@pytest.fixture(scope="module")
def launched(emulator):
    """Return a function that launches a kernel and returns both of its arrays."""
    names = {body: f"planted_{k}" for k, body in enumerate(BODIES)}
    kernels = [f'extern "C" __global__ void {n}({PARAMETERS}) {{ {b} }}' for b, n in names.items()]
    library = emulator.library("\n".join(kernels), names.values())

    def launch(body: str):
        values = torch.zeros(BLOCKS * THREADS)
        counters = torch.zeros(BLOCKS, dtype=torch.int64)
        library.launch(names[body], *SIDES, [values.numel()], [values, counters])
        return values, counters

    return launch


def test_blocks_run_in_an_order_that_is_shuffled_anew_and_the_same_in_every_process(
    launched, emulator, monkeypatch
):
    def orders() -> list[list[float]]:
        monkeypatch.setattr(emulator, "launches", 0)
        return [launched(IN_ORDER)[0][:BLOCKS].tolist() for _ in range(2)]

    first, second = orders()
    assert sorted(first) == sorted(second) == list(range(BLOCKS))
    assert len({tuple(first), tuple(second), tuple(range(BLOCKS))}) == 3
    assert orders() == [first, second]


@pytest.mark.parametrize("name", FREE_OF_RACES)
def test_blocks_without_a_race_may_share_what_they_read_and_add_to(name, launched):
    values, counters = launched(FREE_OF_RACES[name])
    every = torch.arange(BLOCKS * THREADS, dtype=torch.float32)
    sums = torch.zeros(BLOCKS, THREADS)
    sums[:, 0] = THREADS * (THREADS - 1) / 2
    expected = {"each its own": every, "threads of a block": sums.flatten()}
    assert values.equal(expected.get(name, torch.zeros(BLOCKS * THREADS)))
    assert counters[0] == (BLOCKS * sums[0, 0] if name == "atomic sums" else 0)


@pytest.mark.parametrize("name", RACES)
def test_a_planted_race_is_found_in_every_order(name, launched):
    body, message = RACES[name]
    for _ in range(3):
        with pytest.raises(RaceFound, match=rf"^planted_\d+: {message}$"):
            launched(body)
