// Moments of units, one thread per unit.
#include "maximum.cuh"
#include "rectifier.cuh"

#define UNITS(i, count)                                                               \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (count); \
         i += (long long)gridDim.x * blockDim.x)

#define RECTIFIED(name, function)                                                                 \
    extern "C" __global__ void name(long long count, double slope, const REAL *mean,              \
                        const REAL *variance, REAL *out_mean, REAL *out_variance) {               \
        UNITS(i, count) {                                                                         \
            Normal out = function(normal(mean[i], variance[i]), (REAL)slope);                     \
            out_mean[i] = out.mean;                                                               \
            out_variance[i] = out.variance;                                                       \
        }                                                                                         \
    }

#define RECTIFIED_GRADIENT(name, function)                                                        \
    extern "C" __global__ void name(long long count, double slope, const REAL *mean,              \
                        const REAL *variance, const REAL *to_mean, const REAL *to_variance,       \
                        REAL *out_mean, REAL *out_variance) {                                     \
        UNITS(i, count) {                                                                         \
            Normal x = normal(mean[i], variance[i]), to = normal(to_mean[i], to_variance[i]);     \
            Normal out = function(x, to, (REAL)slope);                                            \
            out_mean[i] = out.mean;                                                               \
            out_variance[i] = out.variance;                                                       \
        }                                                                                         \
    }

#define PAIR(name, function)                                                                      \
    extern "C" __global__ void name(long long count, const REAL *x_mean, const REAL *x_variance,  \
                        const REAL *y_mean, const REAL *y_variance, REAL *out_mean,               \
                        REAL *out_variance) {                                                     \
        UNITS(i, count) {                                                                         \
            Normal x = normal(x_mean[i], x_variance[i]), y = normal(y_mean[i], y_variance[i]);    \
            Normal out = function(x, y);                                                          \
            out_mean[i] = out.mean;                                                               \
            out_variance[i] = out.variance;                                                       \
        }                                                                                         \
    }

#define PAIR_GRADIENT(name, function)                                                             \
    extern "C" __global__ void name(long long count, const REAL *x_mean, const REAL *x_variance,  \
                        const REAL *y_mean, const REAL *y_variance, const REAL *to_mean,          \
                        const REAL *to_variance, REAL *to_x_mean, REAL *to_x_variance,            \
                        REAL *to_y_mean, REAL *to_y_variance) {                                   \
        UNITS(i, count) {                                                                         \
            Normal x = normal(x_mean[i], x_variance[i]), y = normal(y_mean[i], y_variance[i]);    \
            Pair out = function(x, y, normal(to_mean[i], to_variance[i]));                        \
            to_x_mean[i] = out.to_x.mean;                                                         \
            to_x_variance[i] = out.to_x.variance;                                                 \
            to_y_mean[i] = out.to_y.mean;                                                         \
            to_y_variance[i] = out.to_y.variance;                                                 \
        }                                                                                         \
    }

RECTIFIED(rectifier_all, rectifier)
RECTIFIED(paper_rectifier_all, paper_rectifier)
RECTIFIED_GRADIENT(rectifier_gradient_all, rectifier_gradient)
RECTIFIED_GRADIENT(paper_rectifier_gradient_all, paper_rectifier_gradient)
PAIR(maximum_all, maximum)
PAIR(paper_maximum_all, paper_maximum)
PAIR_GRADIENT(maximum_gradient_all, maximum_gradient)
PAIR_GRADIENT(paper_maximum_gradient_all, paper_maximum_gradient)
