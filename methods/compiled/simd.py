"""64 bytes of numbers side by side, as types for numba-compiled functions.

Loops that a compiler might not vectorise are written with these types instead: arithmetic on
them maps to one AVX-512 instruction or two of AVX2, whatever the compiler's heuristics. A
multiplication and a sum may be fused; nothing else about IEEE arithmetic is relaxed.
"""

import operator
from collections.abc import Callable
from typing import Any, ClassVar

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from bnnbench.methods.compiled import LANES

_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_INTEGERS = ir.VectorType(ir.IntType(64), LANES)
_CONTRACT = ("contract",)


class _Vector(types.Type):
    """The numba type of several numbers, or of several truth values."""

    def __init__(self, scalar: Any, element: Any, lanes: int) -> None:
        self.scalar, self.lanes = scalar, lanes
        self.llvm = ir.VectorType(element, lanes)
        super().__init__(name=f"{scalar}x{lanes}")


float64x8 = _Vector(types.float64, ir.DoubleType(), LANES)
float32x16 = _Vector(types.float32, ir.FloatType(), 2 * LANES)
bool8, bool16 = (_Vector(types.boolean, ir.IntType(1), lanes) for lanes in (LANES, 2 * LANES))
_NUMBERS = {kind.scalar: kind for kind in (float64x8, float32x16)}


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, kind.llvm)


def _splat(builder, value, kind):
    """Return a scalar as a vector; a vector is returned unchanged."""
    if isinstance(kind, _Vector):
        return value
    vector = _NUMBERS[kind]
    start = ir.Constant(vector.llvm, ir.Undefined)
    first = builder.insert_element(start, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.lanes), [0] * vector.lanes)
    return builder.shuffle_vector(first, start, zeros)


def operation(function: Callable) -> Any:
    """Return a function for compiled code; `function` provides its signature and code."""
    return intrinsic(function)


def _define(symbol, emit, compares=False):
    """Define an operator for two vectors, or for a vector and a number."""
    signatures = []
    for scalar, vector, mask in (
        (types.float64, float64x8, bool8),
        (types.float32, float32x16, bool16),
    ):
        for pair in ((vector, vector), (vector, scalar), (scalar, vector)):
            signatures.append(signature(mask if compares else vector, *pair))

    @infer_global(symbol)  # pyright: ignore[reportOptionalCall] (numba has no types)
    class _Template(ConcreteTemplate):
        cases: ClassVar = signatures

    def lower(context, builder, sig, args):
        left, right = (_splat(builder, *pair) for pair in zip(args, sig.args, strict=True))
        return emit(builder, left, right)

    for known in signatures:
        lower_builtin(symbol, *known.args)(lower)


_define(operator.add, lambda b, x, y: b.fadd(x, y, flags=_CONTRACT))
_define(operator.sub, lambda b, x, y: b.fsub(x, y, flags=_CONTRACT))
_define(operator.mul, lambda b, x, y: b.fmul(x, y, flags=_CONTRACT))
_define(operator.truediv, lambda b, x, y: b.fdiv(x, y))
_define(operator.gt, lambda b, x, y: b.fcmp_ordered(">", x, y), compares=True)
_define(operator.lt, lambda b, x, y: b.fcmp_ordered("<", x, y), compares=True)


def _pointer(context, builder, sig, args):
    """Return a vector pointer to the values in a row of a C-contiguous matrix."""
    matrix = context.make_array(sig.args[0])(context, builder, value=args[0])
    columns = builder.extract_value(matrix.shape, 1)
    index = builder.add(builder.mul(args[1], columns), args[2])
    pointer = _NUMBERS[sig.args[0].dtype].llvm.as_pointer()
    return builder.bitcast(builder.gep(matrix.data, [index]), pointer)


def _declared(builder, name, result, *arguments):
    """Return an LLVM intrinsic."""
    kind = ir.FunctionType(result, arguments)
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)


@operation
def load(typing, array, row, column):
    """Return the values array[row, column : column + lanes]."""

    def emit(context, builder, sig, args):
        return builder.load(_pointer(context, builder, sig, args), align=_align(sig.args[0]))

    return _NUMBERS[array.dtype](array, types.intp, types.intp), emit


@operation
def store(typing, array, row, column, values):
    """Write the values to array[row, column : column + lanes]."""

    def emit(context, builder, sig, args):
        pointer = _pointer(context, builder, sig, args)
        builder.store(args[3], pointer, align=_align(sig.args[0]))
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, _NUMBERS[array.dtype]), emit


def _align(array):
    return array.dtype.bitwidth // 8


@operation
def splat(typing, number):
    """Return a vector filled with the number."""

    def emit(context, builder, sig, args):
        return _splat(builder, args[0], sig.args[0])

    return _NUMBERS[number](number), emit


@operation
def zeros(typing, array):
    """Return a vector of zeros, of the array's number type."""

    def emit(context, builder, sig, args):
        return ir.Constant(sig.return_type.llvm, [0.0] * sig.return_type.lanes)

    return _NUMBERS[array.dtype](array), emit


@operation
def where(typing, mask, yes, no):
    """Return `yes` where the mask is true and `no` elsewhere."""

    def emit(context, builder, sig, args):
        return builder.select(*args)

    return yes(mask, yes, yes), emit


@operation
def reciprocal_root_guess(typing, values):
    """Return 1/√x of normal positive numbers, within 3.5 %.

    To halve and negate the exponent, half of the bits are subtracted from a constant (Lomont,
    2003, "Fast Inverse Square Root", with the constant for 64 bits).
    """

    def emit(context, builder, sig, args):
        bits = builder.bitcast(args[0], _INTEGERS)
        magic = ir.Constant(_INTEGERS, [0x5FE6EB50C7B537A9] * LANES)
        half = builder.lshr(bits, ir.Constant(_INTEGERS, [1] * LANES))
        return builder.bitcast(builder.sub(magic, half), _DOUBLES)

    return float64x8(float64x8), emit


@operation
def magnitude(typing, values):
    """Return the absolute values."""

    def emit(context, builder, sig, args):
        return builder.call(_declared(builder, "llvm.fabs.v8f64", _DOUBLES, _DOUBLES), args)

    return float64x8(float64x8), emit


@operation
def total(typing, values):
    """Return the sum, added in pairs."""

    def emit(context, builder, sig, args):
        vector = values.llvm
        name = f"llvm.vector.reduce.fadd.v{values.lanes}f{values.scalar.bitwidth}"
        reduce = _declared(builder, name, vector.element, vector.element, vector)
        zero = ir.Constant(vector.element, -0.0)
        return builder.call(reduce, [zero, args[0]], fastmath=("reassoc",))

    return values.scalar(values), emit


@operation
def count(typing, mask):
    """Return how many of the eight values are true."""

    def emit(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return types.int64(bool8), emit


@operation
def every(typing, mask):
    """Return whether all eight values are true."""

    def emit(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(LANES), -1))

    return types.boolean(bool8), emit


@operation
def power_of_two(typing, shifted):
    """Return 2**k, -1022 <= k <= 1023, given the values k + 1.5 * 2**52."""

    def emit(context, builder, sig, args):
        # The last bits of such a value are those of k; a float's exponent starts at bit 52.
        bits = builder.bitcast(args[0], _INTEGERS)
        one = ir.Constant(_INTEGERS, [0x3FF0000000000000] * LANES)
        shift = ir.Constant(_INTEGERS, [52] * LANES)
        return builder.bitcast(builder.add(builder.shl(bits, shift), one), _DOUBLES)

    return float64x8(float64x8), emit
