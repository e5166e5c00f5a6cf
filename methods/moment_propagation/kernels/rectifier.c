// Moments of rectifiers on a processor with vector units. Every function returns 0.
#include "rectifier.cuh"

#define MOMENTS(name, function)                                                            \
    int name(int64_t count, double slope, const REAL *restrict mean,                       \
             const REAL *restrict variance, REAL *restrict out_mean,                       \
             REAL *restrict out_variance) {                                                \
        for (int64_t i = 0; i < count; i++) {                                              \
            Normal out = function(normal(mean[i], variance[i]), (REAL)slope);            \
            out_mean[i] = out.mean;                                                        \
            out_variance[i] = out.variance;                                                \
        }                                                                                  \
        return 0;                                                                          \
    }

#define GRADIENTS(name, function)                                                          \
    int name(int64_t count, double slope, const REAL *restrict mean,                       \
             const REAL *restrict variance, const REAL *restrict to_mean,                  \
             const REAL *restrict to_variance, REAL *restrict out_mean,                    \
             REAL *restrict out_variance) {                                                \
        for (int64_t i = 0; i < count; i++) {                                              \
            Normal out = function(normal(mean[i], variance[i]),                          \
                                  normal(to_mean[i], to_variance[i]), (REAL)slope);      \
            out_mean[i] = out.mean;                                                        \
            out_variance[i] = out.variance;                                                \
        }                                                                                  \
        return 0;                                                                          \
    }

MOMENTS(rectifier_all, rectifier)
MOMENTS(paper_rectifier_all, paper_rectifier)
GRADIENTS(rectifier_gradient_all, rectifier_gradient)
GRADIENTS(paper_rectifier_gradient_all, paper_rectifier_gradient)
