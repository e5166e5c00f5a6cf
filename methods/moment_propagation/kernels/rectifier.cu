// Moments of rectifiers, one thread for each unit.
#include "rectifier.cuh"

#define UNITS(i, count)                                                               \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (count); \
         i += (long long)gridDim.x * blockDim.x)

#define MOMENTS(name, function)                                                              \
    extern "C" __global__ void name(long long count, double slope, const REAL *mean,         \
                                    const REAL *variance, REAL *out_mean,                    \
                                    REAL *out_variance) {                                    \
        UNITS(i, count) {                                                                    \
            Normal out = function(normal(mean[i], variance[i]), (REAL)slope);                \
            out_mean[i] = out.mean;                                                          \
            out_variance[i] = out.variance;                                                  \
        }                                                                                    \
    }

#define GRADIENTS(name, function)                                                            \
    extern "C" __global__ void name(long long count, double slope, const REAL *mean,         \
                                    const REAL *variance, const REAL *to_mean,               \
                                    const REAL *to_variance, REAL *out_mean,                 \
                                    REAL *out_variance) {                                    \
        UNITS(i, count) {                                                                    \
            Normal out = function(normal(mean[i], variance[i]),                              \
                                  normal(to_mean[i], to_variance[i]), (REAL)slope);          \
            out_mean[i] = out.mean;                                                          \
            out_variance[i] = out.variance;                                                  \
        }                                                                                    \
    }

MOMENTS(rectifier_all, rectifier)
MOMENTS(paper_rectifier_all, paper_rectifier)
GRADIENTS(rectifier_gradient_all, rectifier_gradient)
GRADIENTS(paper_rectifier_gradient_all, paper_rectifier_gradient)
