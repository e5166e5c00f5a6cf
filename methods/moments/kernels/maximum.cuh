// Moments of max(X, Y) of independent normals X and Y, and their gradients.
//
// All results follow from the normal X - Y: if its mean is positive, X leads, otherwise Y.
// Source: paper 001, eqs. 33, 40 and 41.
#pragma once
#include "tail.cuh"

// Shares of the leading and of the other variance in the maximum's variance, and the derivative of
// both together with respect to y.
typedef struct {
    REAL leading, other, slope;
} Shares;

FUNCTION Shares shares(Tail t, REAL leading, REAL other) {
    Shares result;
    result.leading = 1 - 2 * t.tail + t.lower;
    result.other = t.lower;
    result.slope = 2 * (leading * (t.y + t.excess) * t.tail - other * t.excess * (1 - t.tail));
    return result;
}

FUNCTION Shares paper_shares(Tail t, REAL leading, REAL other) {
    REAL below = paper_tail(t);
    Shares result;
    result.leading = 1 - below;
    result.other = below;
    result.slope = (leading - other) * (1 / PAPER_SCALE) * below * (1 - below);
    return result;
}

FUNCTION Normal difference(Normal x, Normal y) {
    return normal(x.mean - y.mean, x.variance + y.variance);
}

FUNCTION Normal maximum_of(Normal x, Normal y, Normal d, Tail t, Shares s) {
    int first = d.mean > 0;
    REAL std = d.variance * t.inverse;
    REAL leading = first ? x.variance : y.variance, other = first ? y.variance : x.variance;
    return normal(multiply_add(std, t.excess, first ? x.mean : y.mean),
                  multiply_add(leading, s.leading, other * s.other));
}

FUNCTION Normal maximum(Normal x, Normal y) {
    Normal d = difference(x, y);
    Tail t = tail_of(d);
    return maximum_of(x, y, d, t, shares(t, 0, 0));
}

FUNCTION Normal paper_maximum(Normal x, Normal y) {
    Normal d = difference(x, y);
    Tail t = tail_of(d);
    return maximum_of(x, y, d, t, paper_shares(t, 0, 0));
}

typedef struct {
    Normal to_x, to_y;
} Pair;

FUNCTION Pair pair_gradient(Normal to, int first, Tail t, Shares s) {
    REAL push = to.variance * s.slope * t.inverse;
    REAL spread = (REAL)0.5 * t.inverse * multiply_add(to.mean, t.density, -t.y * push);
    Normal leading = normal(multiply_add(to.mean, 1 - t.tail, push),
                            multiply_add(to.variance, s.leading, spread));
    Normal other = normal(multiply_add(to.mean, t.tail, -push),
                          multiply_add(to.variance, s.other, spread));
    Pair result;
    result.to_x = normal(first ? leading.mean : other.mean,
                         first ? leading.variance : other.variance);
    result.to_y = normal(first ? other.mean : leading.mean,
                         first ? other.variance : leading.variance);
    return result;
}

// Return the gradients to two normals, given the gradient to their maximum's moments.
FUNCTION Pair maximum_gradient(Normal x, Normal y, Normal to) {
    Normal d = difference(x, y);
    Tail t = tail_of(d);
    int first = d.mean > 0;
    REAL leading = first ? x.variance : y.variance, other = first ? y.variance : x.variance;
    return pair_gradient(to, first, t, shares(t, leading, other));
}

FUNCTION Pair paper_maximum_gradient(Normal x, Normal y, Normal to) {
    Normal d = difference(x, y);
    Tail t = tail_of(d);
    int first = d.mean > 0;
    REAL leading = first ? x.variance : y.variance, other = first ? y.variance : x.variance;
    return pair_gradient(to, first, t, paper_shares(t, leading, other));
}
