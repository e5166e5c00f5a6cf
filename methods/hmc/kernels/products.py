"""Products of small matrices, four rows and one vector of columns at a time.

Matrices are padded: columns to a multiple of the vector width, rows to a multiple of four.
"""

from bnnbench.methods.compiled.numba_code import fused_inline
from bnnbench.methods.compiled.simd import load, store, total, where, zeros

VECTOR_BYTES = 64


@fused_inline
def padded(columns, matrix):
    """Return the number of columns, rounded up to a multiple of the vector width."""
    lanes = VECTOR_BYTES // matrix.itemsize
    return (columns + lanes - 1) // lanes * lanes


@fused_inline
def multiply_rectified(out, left, right, rows, depth, columns, slope, values):
    """Write left @ right, summed over `depth`, times the slope where `values` are not positive.

    If `values` is None, the signs of the products themselves decide.
    """
    for column in range(0, columns, VECTOR_BYTES // out.itemsize):
        for row in range(0, rows, 4):
            a, b, c, d = zeros(out), zeros(out), zeros(out), zeros(out)
            for k in range(depth):
                factor = load(right, k, column)
                a = a + factor * left[row, k]
                b = b + factor * left[row + 1, k]
                c = c + factor * left[row + 2, k]
                d = d + factor * left[row + 3, k]
            if values is None:
                w, x, y, z = a, b, c, d
            else:
                w, x = load(values, row, column), load(values, row + 1, column)
                y, z = load(values, row + 2, column), load(values, row + 3, column)
            store(out, row, column, rectified(a, w, slope, out))
            store(out, row + 1, column, rectified(b, x, slope, out))
            store(out, row + 2, column, rectified(c, y, slope, out))
            store(out, row + 3, column, rectified(d, z, slope, out))


@fused_inline
def add_transposed(out, left, right, rows, depth, columns):
    """Add left.T @ right, summed over `depth`."""
    for column in range(0, columns, VECTOR_BYTES // out.itemsize):
        for row in range(0, rows, 4):
            a, b = load(out, row, column), load(out, row + 1, column)
            c, d = load(out, row + 2, column), load(out, row + 3, column)
            for k in range(depth):
                factor = load(right, k, column)
                a = a + factor * left[k, row]
                b = b + factor * left[k, row + 1]
                c = c + factor * left[k, row + 2]
                d = d + factor * left[k, row + 3]
            store(out, row, column, a)
            store(out, row + 1, column, b)
            store(out, row + 2, column, c)
            store(out, row + 3, column, d)


@fused_inline
def dots(out, left, right, rows, outputs, columns):
    """Write left @ right.T, for few outputs."""
    for output in range(outputs):
        for row in range(rows):
            product = zeros(left)
            for column in range(0, columns, VECTOR_BYTES // left.itemsize):
                product = product + load(left, row, column) * load(right, output, column)
            out[row, output] = total(product)


@fused_inline
def through_one_output(of_weights, of_units, errors, weights, values, rows, columns, slope):
    """Add the gradient of one output's weights, and write the gradient of the units below it.

    `values` are these units. `multiply_rectified` and `add_transposed` would take four times as
    long for such a narrow matrix.
    """
    for column in range(0, columns, VECTOR_BYTES // values.itemsize):
        gradient, weight = load(of_weights, 0, column), load(weights, 0, column)
        for row in range(rows):
            value, error = load(values, row, column), errors[row, 0]
            gradient = gradient + value * error
            store(of_units, row, column, rectified(weight * error, value, slope, values))
        store(of_weights, 0, column, gradient)


@fused_inline
def rectified(x, value, slope, matrix):
    """Return x, times the slope where the value is not positive; NaN stays NaN."""
    return where(value > zeros(matrix), x, x * slope)
