// Building blocks of the moments of a normal truncated at 0, without cancellation.
//
// y = |mean|/std; tail = Phi(-y); excess = phi(y) - y Phi(-y), the mean of max(Z - y, 0). All are
// products and sums of positive terms of Laplace's continued fraction.
#pragma once
#include "normal.cuh"

// The minimum variance used when dividing by a standard deviation.
#define LEAST_VARIANCE (REAL)1e-24
#define MOST_STANDARDISED (REAL)1e3
#define PAPER_SCALE (REAL)0.3729

typedef struct {
    REAL mean, variance;
} Normal;

FUNCTION Normal normal(REAL mean, REAL variance) {
    Normal result;
    result.mean = mean;
    result.variance = variance;
    return result;
}

// Common quantities of moments and gradients.
typedef struct {
    REAL inverse;  // 1/std
    REAL y, density, tail, excess;
    REAL lower;  // variance of max(Z - y, 0)
} Tail;

FUNCTION Tail tail_of(Normal x) {
    Tail t;
    t.inverse = 1 / root(at_least(LEAST_VARIANCE, x.variance));
    REAL y = magnitude(x.mean) * t.inverse;
    t.y = y > MOST_STANDARDISED ? MOST_STANDARDISED : y;
    REAL k2 = fraction(t.y).k2, sum = t.y + k2;
    t.density = INVERSE_ROOT_2_PI * exponential(t.y * t.y * (REAL)-0.5);
    t.excess = t.density / multiply_add(t.y, sum, 1);
    t.tail = t.excess * sum;
    t.lower = t.excess * (k2 - t.excess);
    return t;
}

// Return S(-y/t), t = PAPER_SCALE.
FUNCTION REAL paper_tail(Tail t) {
    REAL small = exponential(t.y * (-1 / PAPER_SCALE));
    return small / (1 + small);
}
