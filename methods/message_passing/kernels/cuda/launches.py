"""Launch dimensions of the kernels and assembly of their sources; no GPU is needed."""

from math import ceil
from pathlib import Path
from typing import NamedTuple

from bnnbench.methods.compiled import headers as shared
from bnnbench.methods.compiled.cuda_source import with_headers
from bnnbench.methods.message_passing.kernels import headers

FOLDERS = (Path(__file__).parent, headers.FOLDER, shared.FOLDER)
"""Folders of sources and headers."""
OPTIONS = ("--std=c++17", "--fmad=false")
"""Products and sums are fused only where the source says so, so that all bits match the C ones."""

THREADS = 256
SIDE = 16
"""The side of a block of threads in sums.cu."""
MOST_BLOCKS = 4096
"""Maximum number of blocks of elementwise kernels; each thread loops over further elements."""
MOST_ACROSS = 65535
"""Maximum number of blocks along a grid's second and third dimensions."""
ENOUGH_BLOCKS = 512
"""Target number of blocks of a sum over rows: fewer leave a GPU idle, so rows are split."""
LEAST_ROWS = 256
"""Minimum number of rows in each part if rows are split."""

FILES = {
    "leaky_relu_direct_all": "elementwise.cu",
    "leaky_relu_forward_all": "elementwise.cu",
    "leaky_relu_backward_all": "elementwise.cu",
    "argmax_backward_all": "labels.cu",
    "argmax_loss_all": "labels.cu",
    "max_pool_forward_all": "pooling.cu",
    "max_pool_backward_all": "pooling.cu",
    "exact_weight_sums_all": "sums.cu",
    "exact_first_weight_sums_all": "sums.cu",
    "exact_input_sums_all": "sums.cu",
    "exact_first_forward_all": "sums.cu",
    "add_parts": "sums.cu",
    "fill_moments_all": "units.cu",
    "output_messages_all": "units.cu",
    "fill_pulls_all": "units.cu",
    "fill_pulls_without_own_all": "units.cu",
    "input_messages_all": "units.cu",
    "bias_messages_all": "units.cu",
    "begin_all": "units.cu",
    "fill_residual_all": "units.cu",
    "fill_image_all": "units.cu",
    "step_all": "units.cu",
    "turn_all": "units.cu",
    "finish_all": "units.cu",
    "coupled_begin_all": "coupled.cu",
    "coupled_residual_all": "coupled.cu",
    "coupled_image_all": "coupled.cu",
    "coupled_step_all": "coupled.cu",
    "coupled_turn_all": "coupled.cu",
    "coupled_finish_all": "coupled.cu",
    "biased_outputs_all": "biases.cu",
    "bias_kept_all": "biases.cu",
    "bias_exchange_all": "biases.cu",
    "fill_weight_moments_all": "weights.cu",
    "exchange_all": "weights.cu",
    "exchange_sums_all": "fused.cu",
}
"""The source file of each kernel."""
OVER_POSITIONS = (
    "bias_messages_all",
    "begin_all",
    "fill_residual_all",
    "fill_image_all",
    "step_all",
    "turn_all",
    "coupled_begin_all",
    "coupled_residual_all",
    "coupled_image_all",
    "coupled_step_all",
    "coupled_turn_all",
    "bias_kept_all",
)
"""Kernels on units with sums over positions, which the threads of a block share."""
OF_UNITS = ("units.cu", "coupled.cu", "biases.cu", "fused.cu")
"""Files of kernels on units, except those in `OF_WEIGHTS`."""
OF_WEIGHTS = ("fill_weight_moments_all", "exchange_all", "exchange_sums_all")
WIDTH, LANES, MOST_LANES = 32, 8, 32
"""The sides of a block of threads in such kernels: features, and threads per feature (few or
many)."""


class Launch(NamedTuple):
    """Sides of the grid in blocks, and of a block in threads."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


def launch(name: str, *lengths: int) -> Launch | None:
    """Return the launch dimensions of a kernel for these lengths; None if there is no work."""
    if name == "leaky_relu_direct_all" or name in OF_WEIGHTS:
        grid, block = (min(ceil(lengths[0] / THREADS), MOST_BLOCKS), 1, 1), (THREADS, 1, 1)
    elif name in ("leaky_relu_forward_all", "leaky_relu_backward_all"):
        members, count = lengths
        grid = (min(ceil(count / THREADS), MOST_BLOCKS), min(members, MOST_ACROSS), 1)
        block = (THREADS, 1, 1)
    elif FILES[name] == "pooling.cu":
        images, channels, height, width, size, _ = lengths
        windows = images * channels * (height // size) * (width // size)
        grid, block = (ceil(windows / THREADS), 1, 1), (THREADS, 1, 1)
    elif FILES[name] in OF_UNITS:
        members, examples, positions, features = lengths[:4]
        lanes = LANES if positions < MOST_LANES else MOST_LANES
        grid, block = (members * examples * ceil(features / WIDTH), 1, 1), (WIDTH, lanes, 1)
        if name == "bias_exchange_all":  # it also sums over examples
            grid = (members * ceil(features / WIDTH), 1, 1)
        elif name not in OVER_POSITIONS:
            units = members * examples * positions * features
            grid, block = (ceil(units / THREADS), 1, 1), (THREADS, 1, 1)
    elif FILES[name] == "labels.cu" or name == "add_parts":
        grid, block = (ceil(lengths[0] / THREADS), 1, 1), (THREADS, 1, 1)
    else:
        members, rows, inputs, outputs, *parts = lengths
        rows, inputs, outputs = (ceil(length / SIDE) for length in (rows, inputs, outputs))
        if name == "exact_input_sums_all":
            grid = (rows, inputs, members)
        elif name == "exact_first_forward_all":
            grid = (rows, outputs, members)
        else:
            grid = (outputs, inputs, members * parts[0])
        block = (SIDE, SIDE, 1)
    if max(grid[1:]) > MOST_ACROSS:
        raise ValueError(f"needed at most {MOST_ACROSS} blocks across for {name}; got {grid}")
    return Launch(grid, block) if min(grid) else None


def parts(rows: int, inputs: int, outputs: int) -> int:
    """Return the number of parts of a sum over rows, whatever the number of members."""
    blocks = max(1, ceil(inputs / SIDE) * ceil(outputs / SIDE))
    return max(1, min(ENOUGH_BLOCKS // blocks, rows // LEAST_ROWS))


def source(file: str) -> str:
    """Return a file with its headers included."""
    return with_headers(file, FOLDERS)
