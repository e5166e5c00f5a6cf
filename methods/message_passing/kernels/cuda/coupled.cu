// The coupled update of a group by conjugate gradients, one kernel per step.
//
// Each kernel stores sums over every example's positions. The next kernel adds them over examples:
// every block sums the features it needs, in the same order. Thus no number passes through the
// host, and no kernel waits for all blocks. `bias` are precisions of the biases' marginals.
#include "units.cuh"
#include "examples.cuh"

// Return above/below, or 0 if below is not positive.
__device__ static REAL quotient(REAL above, REAL below) { return below > 0 ? above / below : 0; }

// The move of all pre-activations of a feature due to the bias.
#define SHIFT(total) \
    (bias ? TOTAL(total) * (i < features ? 1 / bias[m * bias_m + i] : 0) : 0)

OVER_POSITIONS coupled_begin_all(
    LENGTHS, STRIDES(g), STRIDES(h), STRIDES(old), STRIDES(own), STRIDES(lower), STRIDES(bias),
    STRIDES(diagonal), STRIDES(scale), STRIDES(scaled), STRIDES(u), STRIDES(sum), IN g, IN h,
    IN old, IN own, IN lower, IN bias, OUT diagonal, OUT scale, OUT scaled, OUT u, OUT sum) {
    REAL total = 0;
    ALL_POSITIONS {
        REAL gain = AT(g), change = AT(h) - (old ? AT(old) : 0);
        REAL local = AT(own) + (bias ? 1 / AT(bias) : 0);
        REAL e = lower ? root(1 + AT(lower) / local) : 1;
        REAL step = e * change;
        AT(diagonal) = local;
        AT(scale) = root(gain) * e;
        AT(scaled) = step;
        AT(u) = 0;
        total += step;
    }
    PUT_TOTAL(sum, total);
}

OVER_POSITIONS coupled_residual_all(
    LENGTHS, STRIDES(moved), STRIDES(total), STRIDES(bias), STRIDES(diagonal), STRIDES(scale),
    STRIDES(scaled), STRIDES(residual), STRIDES(direction), STRIDES(square), STRIDES(sum),
    IN moved, IN total, IN bias, IN diagonal, IN scale, OUT scaled, OUT residual, OUT direction,
    OUT square, OUT sum) {
    BLOCK
    const REAL shift = SHIFT(total);
    REAL squares = 0, steps = 0;
    POSITIONS {
        REAL q = AT(scale);
        REAL others = multiply_add(-AT(diagonal), AT(scaled), AT(moved) + shift);
        REAL rest = -q * others, step = q * rest;
        AT(residual) = rest;
        AT(direction) = rest;
        AT(scaled) = step;
        squares = multiply_add(rest, rest, squares);
        steps += step;
    }
    PUT_TOTAL(square, squares);
    PUT_TOTAL(sum, steps);
}

OVER_POSITIONS coupled_image_all(
    LENGTHS, STRIDES(direction), STRIDES(moved), STRIDES(total), STRIDES(bias),
    STRIDES(diagonal), STRIDES(scale), STRIDES(image), STRIDES(sum), IN direction, IN moved,
    IN total, IN bias, IN diagonal, IN scale, OUT image, OUT sum) {
    BLOCK
    const REAL shift = SHIFT(total);
    REAL curvature = 0;
    POSITIONS {
        REAL along = AT(direction), q = AT(scale);
        REAL others = multiply_add(-AT(diagonal), q * along, AT(moved) + shift);
        REAL own = multiply_add(q, others, along);
        AT(image) = own;
        curvature = multiply_add(along, own, curvature);
    }
    PUT_TOTAL(sum, curvature);
}

OVER_POSITIONS coupled_step_all(
    LENGTHS, STRIDES(direction), STRIDES(image), STRIDES(square), STRIDES(curvature),
    STRIDES(u), STRIDES(residual), STRIDES(sum), IN direction, IN image, IN square,
    IN curvature, OUT u, OUT residual, OUT sum) {
    BLOCK
    const REAL above = TOTAL(square), length = quotient(above, TOTAL(curvature));
    REAL squares = 0;
    POSITIONS {
        REAL rest = multiply_add(-length, AT(image), AT(residual));
        REAL moved = multiply_add(length, AT(direction), AT(u));
        AT(residual) = rest;
        AT(u) = moved;
        squares = multiply_add(rest, rest, squares);
    }
    PUT_TOTAL(sum, squares);
}

OVER_POSITIONS coupled_turn_all(
    LENGTHS, STRIDES(residual), STRIDES(square), STRIDES(before), STRIDES(scale),
    STRIDES(direction), STRIDES(scaled), STRIDES(sum), IN residual, IN square, IN before,
    IN scale, OUT direction, OUT scaled, OUT sum) {
    BLOCK
    const REAL above = TOTAL(square), ratio = quotient(above, TOTAL(before));
    REAL steps = 0;
    POSITIONS {
        REAL along = multiply_add(ratio, AT(direction), AT(residual)), step = AT(scale) * along;
        AT(direction) = along;
        AT(scaled) = step;
        steps += step;
    }
    PUT_TOTAL(sum, steps);
}

// `kept`, if not NULL, is stored for the next round: forces `damping` of the way from the old ones.
extern "C" __global__ void coupled_finish_all(
    LENGTHS, STRIDES(g), STRIDES(u), STRIDES(old), STRIDES(h), STRIDES(kept), double damping,
    IN g, IN u, IN old, REAL *h, OUT kept) {
    EVERY_UNIT
    REAL force = multiply_add(root(AT(g)), AT(u), AT(h));
    AT(h) = force;
    if (kept) AT(kept) = old ? multiply_add((REAL)damping, force - AT(old), AT(old)) : force;
}
