"""Every operation with compiled code: its arguments, its kernels, and their launches.

A new operation is a line here, a definition in plain torch of the same name and arguments
(`reference`; `fused` for operations only on a GPU), and its source in C, in CUDA, or both. The
signatures of patterns are explained in patterns.py.
"""

from collections.abc import Mapping

from bnnbench.methods.message_passing.kernels import grids, operations
from bnnbench.methods.message_passing.kernels.backend import Kernel, Operation
from bnnbench.methods.message_passing.kernels.patterns import (
    OnUnits,
    OnWeights,
    message,
    message_of_examples,
    one_sum,
    two_sums,
)

DIRECT = Kernel("leaky_relu_direct_all", "elementwise", grids.elements, "nrpppp")
FORWARD, BACKWARD = (
    Kernel(f"leaky_relu_{way}_all", "elementwise", grids.elements_by_member, "nnrppppppp")
    for way in ("forward", "backward")
)
ADD_PARTS = Kernel("add_parts", "sums", grids.rows)
"""Adds the parts of a sum over rows; no operation by itself."""

IN_BOTH: Mapping[str, Operation] = {
    "leaky_relu_forward": Operation(
        operations.with_counts(operations.counted_forward), FORWARD, DIRECT
    ),
    "leaky_relu_backward": Operation(operations.with_counts(operations.counted), BACKWARD),
    "max_pool_forward": Operation(
        operations.max_pool_forward,
        Kernel("max_pool_forward_all", "pooling", grids.windows, "nppppp"),
    ),
    "max_pool_backward": Operation(
        operations.max_pool_backward,
        Kernel("max_pool_backward_all", "pooling", grids.windows, "nppppppp"),
    ),
    "argmax_backward": Operation(
        operations.argmax_backward,
        Kernel("argmax_backward_all", "labels", grids.rows, "nnrrppppp"),
    ),
    "exact_weight_sums": Operation(
        operations.row_sums(2, pattern=2),
        Kernel("exact_weight_sums_all", "sums", grids.weight_sums, "ppppppppp"),
    ),
    "exact_input_sums": Operation(
        operations.row_sums(2, pattern=0),
        Kernel("exact_input_sums_all", "sums", grids.input_sums, "ppppppppp"),
    ),
    "exact_first_forward": Operation(
        operations.first_forward,
        Kernel("exact_first_forward_all", "sums", grids.output_sums, "pppppppp"),
    ),
    "exact_first_weight_sums": Operation(
        operations.row_sums(1, pattern=1),
        Kernel("exact_first_weight_sums_all", "sums", grids.weight_sums, "pppppppppp"),
    ),
    "fill_moments": Operation(
        OnUnits("message:2 sent:2 -> mean square variance"),
        Kernel("fill_moments_all", "units", grids.units, "pppppppp"),
    ),
    "output_messages": Operation(
        OnUnits("mean by_weights by_inputs bias_mean bias_variance", message),
        Kernel("output_messages_all", "units", grids.units, "pppppppp"),
    ),
    "fill_pulls": Operation(
        OnUnits("z:2 back:2 -> again h g", order="z back h g again"),
        Kernel("fill_pulls_all", "units", grids.units, "pppppppp"),
    ),
    "fill_pulls_without_own": Operation(
        OnUnits(
            "z:2 back:2 by_weights by_inputs old -> again h g",
            order="z back by_weights by_inputs old h g again",
        ),
        Kernel("fill_pulls_without_own_all", "units", grids.units, "ppppppppppp"),
    ),
    "input_messages": Operation(
        OnUnits("mean sums:3", message),
        Kernel("input_messages_all", "units", grids.units, "ppppppp"),
    ),
    "bias_messages": Operation(
        OnUnits("g h mean variance", message_of_examples),
        Kernel("bias_messages_all", "units", grids.positions, "ppppppp"),
    ),
    "begin": Operation(
        OnUnits("g h old by_weights by_inputs bias_variance -> diagonal scale scaled", one_sum),
        Kernel("begin_all", "units", grids.positions, "ppppppppppp"),
    ),
    "fill_residual": Operation(
        OnUnits("moved shift diagonal scale -> scaled residual direction", two_sums),
        Kernel("fill_residual_all", "units", grids.positions, "pppppppppp"),
    ),
    "fill_image": Operation(
        OnUnits("direction moved shift diagonal scale -> image", one_sum),
        Kernel("fill_image_all", "units", grids.positions, "pppppppp"),
    ),
    "step": Operation(
        OnUnits(
            "direction length image -> u residual",
            one_sum,
            order="length direction image u residual",
        ),
        Kernel("step_all", "units", grids.positions, "ppppppp"),
    ),
    "turn": Operation(
        OnUnits("residual ratio scale -> direction scaled", one_sum),
        Kernel("turn_all", "units", grids.positions, "ppppppp"),
    ),
    "finish": Operation(
        OnUnits("g u -> h"),
        Kernel("finish_all", "units", grids.units, "pppp"),
    ),
    "fill_weight_moments": Operation(
        OnWeights("weight:2 -> mean variance second"),
        Kernel("fill_weight_moments_all", "weights", grids.elements, "nppppp"),
    ),
    "exchange": Operation(
        OnWeights(
            "new:2 old:2 -> stored:2 total:2 marginal:2 damping:0",
            order="marginal total new old stored damping",
        ),
        Kernel("exchange_all", "weights", grids.elements, "nrpppppppppp"),
    ),
}
"""Operations in C and CUDA, defined in `reference`."""

IN_C: Mapping[str, Operation] = {
    **IN_BOTH,
    "dense_sums": Operation(
        operations.dense_sums,
        Kernel("dense_sums_all", "dense", None, "pppppp"),
    ),
    "dense_messages": Operation(
        operations.dense_messages,
        Kernel("dense_messages_all", "dense", None, "prpppppppppppp"),
    ),
}
IN_CUDA: Mapping[str, Operation] = {
    **IN_BOTH,
    "counted_forward": Operation(operations.counted_forward, FORWARD, DIRECT),
    "counted_backward": Operation(operations.counted, BACKWARD),
    "argmax_loss": Operation(
        operations.argmax_loss,
        Kernel("argmax_loss_all", "labels", grids.rows),
    ),
    "exchange_sums": Operation(
        OnWeights(
            "mean sums:3 old:2 -> stored:2 total:2 marginal:2 damping:0",
            order="marginal total mean sums old stored damping",
        ),
        Kernel("exchange_sums_all", "fused", grids.elements),
    ),
    "coupled_begin": Operation(
        OnUnits(
            "g h old by_weights by_inputs bias -> diagonal scale scaled u", one_sum, split=True
        ),
        Kernel("coupled_begin_all", "coupled", grids.positions),
    ),
    "coupled_residual": Operation(
        OnUnits(
            "moved total bias diagonal scale -> scaled residual direction", two_sums, split=True
        ),
        Kernel("coupled_residual_all", "coupled", grids.positions),
    ),
    "coupled_image": Operation(
        OnUnits("direction moved total bias diagonal scale -> image", one_sum, split=True),
        Kernel("coupled_image_all", "coupled", grids.positions),
    ),
    "coupled_step": Operation(
        OnUnits("direction image square curvature -> u residual", one_sum, split=True),
        Kernel("coupled_step_all", "coupled", grids.positions),
    ),
    "coupled_turn": Operation(
        OnUnits("residual square before scale -> direction scaled", one_sum, split=True),
        Kernel("coupled_turn_all", "coupled", grids.positions),
    ),
    "coupled_finish": Operation(
        OnUnits("g u old -> h stored damping:0"),
        Kernel("coupled_finish_all", "coupled", grids.units),
    ),
    "biased_outputs": Operation(
        OnUnits("mean by_weights by_inputs bias:2 old:2", message),
        Kernel("biased_outputs_all", "biases", grids.units),
    ),
    "exchange_bias": Operation(
        operations.exchange_bias,
        Kernel("bias_kept_all", "biases", grids.positions),
        Kernel("bias_exchange_all", "biases", grids.all_examples),
    ),
}
"""The further ones are fused, and defined in `fused`."""

KERNELS: Mapping[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        ADD_PARTS,
        *(k for table in (IN_C, IN_CUDA) for each in table.values() for k in each.kernels),
    )
}
