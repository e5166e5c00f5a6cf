// Scalar functions of the headers, one value at a time, for tests against 50-digit arithmetic.
#include "argmax.cuh"
#include "leaky_relu.cuh"

void scalar_exponential(const REAL *x, REAL *out) { out[0] = exponential(x[0]); }

void scalar_tail(const REAL *x, REAL *out) { out[0] = normal_tail(x[0]); }

void scalar_positive_part(const REAL *x, REAL *out) {
    Positive cut = positive_part(x[0]);
    out[0] = cut.hazard;
    out[1] = cut.mean;
    out[2] = cut.loss;
    out[3] = cut.variance;
    out[4] = cut.pull;
    out[5] = cut.probability;
}
