"""Eight float64 side by side, as a type that numba-compiled functions can use.

Loops that a compiler may or may not vectorise are written with this type instead: arithmetic
on it maps to one AVX-512 instruction, or to two of AVX2, whatever the compiler's heuristics.
A multiplication and a sum may be fused; nothing else about IEEE arithmetic is relaxed.
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
_BOOLEANS = ir.VectorType(ir.IntType(1), LANES)
_CONTRACT = ("contract",)


class _Vector(types.Type):
    """The numba type of eight values."""


float64x8 = _Vector(name="float64x8")
bool8 = _Vector(name="bool8")


@register_model(_Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _DOUBLES if kind == float64x8 else _BOOLEANS)


def _splat(builder, value, kind):
    """Return the vector of a scalar; a vector is returned as it is."""
    if kind == float64x8:
        return value
    start = ir.Constant(_DOUBLES, ir.Undefined)
    first = builder.insert_element(start, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, start, zeros)


def operation(function: Callable) -> Any:
    """Return a function for compiled code, of which `function` gives signature and code."""
    return intrinsic(function)


_PAIRS = [(float64x8, float64x8), (float64x8, types.float64), (types.float64, float64x8)]


def _define(symbol, result, emit):
    """Give an operator its meaning for two vectors, or for one and a number."""

    @infer_global(symbol)  # pyright: ignore[reportOptionalCall] (numba has no types)
    class _Template(ConcreteTemplate):
        cases: ClassVar = [signature(result, *pair) for pair in _PAIRS]

    def lower(context, builder, sig, args):
        left, right = (_splat(builder, *pair) for pair in zip(args, sig.args, strict=True))
        return emit(builder, left, right)

    for pair in _PAIRS:
        lower_builtin(symbol, *pair)(lower)


_define(operator.add, float64x8, lambda b, x, y: b.fadd(x, y, flags=_CONTRACT))
_define(operator.sub, float64x8, lambda b, x, y: b.fsub(x, y, flags=_CONTRACT))
_define(operator.mul, float64x8, lambda b, x, y: b.fmul(x, y, flags=_CONTRACT))
_define(operator.truediv, float64x8, lambda b, x, y: b.fdiv(x, y))
_define(operator.gt, bool8, lambda b, x, y: b.fcmp_ordered(">", x, y))
_define(operator.lt, bool8, lambda b, x, y: b.fcmp_ordered("<", x, y))


def _pointer(context, builder, sig, args):
    """Return the address of eight values in a row of a C-contiguous matrix, as a vector's."""
    matrix = context.make_array(sig.args[0])(context, builder, value=args[0])
    columns = builder.extract_value(matrix.shape, 1)
    index = builder.add(builder.mul(args[1], columns), args[2])
    return builder.bitcast(builder.gep(matrix.data, [index]), _DOUBLES.as_pointer())


def _declared(builder, name, result, *arguments):
    """Return an LLVM intrinsic."""
    kind = ir.FunctionType(result, arguments)
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)


@operation
def load(typing, array, row, column):
    """Return the values array[row, column : column + 8]."""

    def emit(context, builder, sig, args):
        return builder.load(_pointer(context, builder, sig, args), align=8)

    return float64x8(array, types.intp, types.intp), emit


@operation
def store(typing, array, row, column, values):
    """Write the values to array[row, column : column + 8]."""

    def emit(context, builder, sig, args):
        builder.store(args[3], _pointer(context, builder, sig, args), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, float64x8), emit


@operation
def splat(typing, number):
    """Return eight times the number."""

    def emit(context, builder, sig, args):
        return _splat(builder, args[0], types.float64)

    return float64x8(types.float64), emit


@operation
def where(typing, mask, yes, no):
    """Return `yes` where the mask is true and `no` elsewhere."""

    def emit(context, builder, sig, args):
        return builder.select(*args)

    return float64x8(bool8, float64x8, float64x8), emit


@operation
def reciprocal_root_guess(typing, values):
    """Return 1/√x of normal positive numbers, within 3.5 %.

    Halving and negating the exponent is subtracting half of the bits from a constant (Lomont,
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
        double = ir.DoubleType()
        name = "llvm.vector.reduce.fadd.v8f64"
        reduce = _declared(builder, name, double, double, _DOUBLES)
        zero = ir.Constant(double, -0.0)
        return builder.call(reduce, [zero, args[0]], fastmath=("reassoc",))

    return types.float64(float64x8), emit


@operation
def count(typing, mask):
    """Return how many of the eight are true."""

    def emit(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return types.int64(bool8), emit


@operation
def every(typing, mask):
    """Return whether all eight are true."""

    def emit(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(LANES), -1))

    return types.boolean(bool8), emit


@operation
def power_of_two(typing, shifted):
    """Return 2**k, -1022 <= k <= 1023, of values that are k + 1.5 * 2**52."""

    def emit(context, builder, sig, args):
        # The last bits of such a value are those of k; a float's exponent starts at bit 52.
        bits = builder.bitcast(args[0], _INTEGERS)
        one = ir.Constant(_INTEGERS, [0x3FF0000000000000] * LANES)
        shift = ir.Constant(_INTEGERS, [52] * LANES)
        return builder.bitcast(builder.add(builder.shl(bits, shift), one), _DOUBLES)

    return float64x8(float64x8), emit
