// Max-pooling as a sum weighted by the probability that each input of a window is the largest.
//
// Source: paper 000, section 3.2.
#pragma once
#include "message.cuh"
#include "normal.cuh"

#define POOL_NOISE_VARIANCE (REAL)0.3

// Multiply two products by twice the probability that one input beats the other. The factor 2
// makes the largest product at least 1.
FUNCTION void compare(Moments a, Moments b, REAL *wins_a, REAL *wins_b) {
    REAL x = (a.mean - b.mean) / root(a.variance + b.variance + POOL_NOISE_VARIANCE);
    REAL less = 2 * normal_tail(x), more = 2 - less;
    *wins_a *= x > 0 ? more : less;
    *wins_b *= x > 0 ? less : more;
}
