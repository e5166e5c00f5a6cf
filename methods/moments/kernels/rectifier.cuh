// Moments of Y = X if X > 0 and slope X otherwise, for a normal X, and their gradients.
//
// A slope of -1 gives |X|. Source: paper 001, eqs. 31, 36, 38 and 39.
#pragma once
#include "tail.cuh"

FUNCTION REAL rectified_mean(Normal x, Tail t, REAL slope) {
    REAL std = x.variance * t.inverse;
    return multiply_add((1 - slope) * std, t.excess, x.mean > 0 ? x.mean : slope * x.mean);
}

FUNCTION Normal rectifier(Normal x, REAL slope) {
    Tail t = tail_of(x);
    REAL bend = 1 - slope, twice = 2 * bend * t.tail;
    REAL linear = x.mean > 0 ? 1 - twice : slope * (slope + twice);
    REAL ratio = multiply_add(bend * bend, t.lower, linear);
    return normal(rectified_mean(x, t, slope), x.variance * ratio);
}

FUNCTION Normal paper_rectifier(Normal x, REAL slope) {
    Tail t = tail_of(x);
    REAL share = (1 - slope * slope) * paper_tail(t);
    REAL ratio = x.mean > 0 ? 1 - share : multiply_add(slope, slope, share);
    return normal(rectified_mean(x, t, slope), x.variance * ratio);
}

// Return the gradient to a normal, given the gradient to its rectifier's moments.
FUNCTION Normal rectifier_gradient(Normal x, Normal to, REAL slope) {
    Tail t = tail_of(x);
    REAL bend = 1 - slope, cut = bend * t.tail;
    int positive = x.mean > 0;
    REAL factor = positive ? t.y + t.excess : t.excess;  // a Phi(a) + phi(a)
    REAL other = positive ? t.tail : 1 - t.tail;         // Phi(-a)
    REAL a = positive ? t.y : -t.y;
    REAL std = x.variance * t.inverse;
    REAL mean_mean = positive ? 1 - cut : slope + cut;
    REAL mean_variance = (REAL)0.5 * bend * t.density * t.inverse;
    REAL variance_mean = 2 * bend * std * multiply_add(bend * factor, other, slope * t.density);
    REAL second = positive ? 1 - (1 + slope) * cut : multiply_add(1 + slope, cut, slope * slope);
    REAL slant = multiply_add(bend, factor, slope * a);  // mean of Y over std
    REAL variance_variance = multiply_add(-bend * t.density, slant, second);
    return normal(multiply_add(to.mean, mean_mean, to.variance * variance_mean),
                  multiply_add(to.mean, mean_variance, to.variance * variance_variance));
}

FUNCTION Normal paper_rectifier_gradient(Normal x, Normal to, REAL slope) {
    Tail t = tail_of(x);
    REAL bend = 1 - slope, cut = bend * t.tail, share = 1 - slope * slope;
    int positive = x.mean > 0;
    REAL std = x.variance * t.inverse, below = paper_tail(t);
    REAL steep = share * (1 / PAPER_SCALE) * below * (1 - below);
    REAL a = positive ? t.y : -t.y;
    REAL mean_mean = positive ? 1 - cut : slope + cut;
    REAL mean_variance = (REAL)0.5 * bend * t.density * t.inverse;
    REAL ratio = positive ? 1 - share * below : multiply_add(slope, slope, share * below);
    REAL variance_variance = multiply_add((REAL)-0.5 * a, steep, ratio);
    return normal(multiply_add(to.mean, mean_mean, to.variance * (std * steep)),
                  multiply_add(to.mean, mean_variance, to.variance * variance_variance));
}
