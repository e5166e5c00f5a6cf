// Moments of units, vectorised. Every function returns 0.
//
// Subnormal numbers of single precision (below 1.2e-38) are 0: tails are full of them, and x86
// takes a hundred times as long for each.
#include "maximum.cuh"
#include "rectifier.cuh"

#if defined(SINGLE) && defined(__SSE__)
#include <xmmintrin.h>
#define FLUSH_TO_ZERO 0x8000u
#define SUBNORMALS_ARE_ZERO 0x0040u
static unsigned flushing(void) {
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH_TO_ZERO | SUBNORMALS_ARE_ZERO);
    return before;
}
static void restore(unsigned before) { _mm_setcsr(before); }
#else
static unsigned flushing(void) { return 0; }
static void restore(unsigned before) { (void)before; }
#endif

#define RECTIFIED(name, function)                                                                 \
    int name(int64_t count, double slope, const REAL *restrict mean,                              \
             const REAL *restrict variance, REAL *restrict out_mean,                              \
             REAL *restrict out_variance) {                                                       \
        unsigned before = flushing();                                                             \
        for (int64_t i = 0; i < count; i++) {                                                     \
            Normal out = function(normal(mean[i], variance[i]), (REAL)slope);                     \
            out_mean[i] = out.mean;                                                               \
            out_variance[i] = out.variance;                                                       \
        }                                                                                         \
        restore(before);                                                                          \
        return 0;                                                                                 \
    }

#define RECTIFIED_GRADIENT(name, function)                                                        \
    int name(int64_t count, double slope, const REAL *restrict mean,                              \
             const REAL *restrict variance, const REAL *restrict to_mean,                         \
             const REAL *restrict to_variance, REAL *restrict out_mean,                           \
             REAL *restrict out_variance) {                                                       \
        unsigned before = flushing();                                                             \
        for (int64_t i = 0; i < count; i++) {                                                     \
            Normal x = normal(mean[i], variance[i]), to = normal(to_mean[i], to_variance[i]);     \
            Normal out = function(x, to, (REAL)slope);                                            \
            out_mean[i] = out.mean;                                                               \
            out_variance[i] = out.variance;                                                       \
        }                                                                                         \
        restore(before);                                                                          \
        return 0;                                                                                 \
    }

#define PAIR(name, function)                                                                      \
    int name(int64_t count, const REAL *restrict x_mean, const REAL *restrict x_variance,         \
             const REAL *restrict y_mean, const REAL *restrict y_variance,                        \
             REAL *restrict out_mean, REAL *restrict out_variance) {                              \
        unsigned before = flushing();                                                             \
        for (int64_t i = 0; i < count; i++) {                                                     \
            Normal x = normal(x_mean[i], x_variance[i]), y = normal(y_mean[i], y_variance[i]);    \
            Normal out = function(x, y);                                                          \
            out_mean[i] = out.mean;                                                               \
            out_variance[i] = out.variance;                                                       \
        }                                                                                         \
        restore(before);                                                                          \
        return 0;                                                                                 \
    }

#define PAIR_GRADIENT(name, function)                                                             \
    int name(int64_t count, const REAL *restrict x_mean, const REAL *restrict x_variance,         \
             const REAL *restrict y_mean, const REAL *restrict y_variance,                        \
             const REAL *restrict to_mean, const REAL *restrict to_variance,                      \
             REAL *restrict to_x_mean, REAL *restrict to_x_variance, REAL *restrict to_y_mean,    \
             REAL *restrict to_y_variance) {                                                      \
        unsigned before = flushing();                                                             \
        for (int64_t i = 0; i < count; i++) {                                                     \
            Normal x = normal(x_mean[i], x_variance[i]), y = normal(y_mean[i], y_variance[i]);    \
            Pair out = function(x, y, normal(to_mean[i], to_variance[i]));                        \
            to_x_mean[i] = out.to_x.mean;                                                         \
            to_x_variance[i] = out.to_x.variance;                                                 \
            to_y_mean[i] = out.to_y.mean;                                                         \
            to_y_variance[i] = out.to_y.variance;                                                 \
        }                                                                                         \
        restore(before);                                                                          \
        return 0;                                                                                 \
    }

RECTIFIED(rectifier_all, rectifier)
RECTIFIED(paper_rectifier_all, paper_rectifier)
RECTIFIED_GRADIENT(rectifier_gradient_all, rectifier_gradient)
RECTIFIED_GRADIENT(paper_rectifier_gradient_all, paper_rectifier_gradient)
PAIR(maximum_all, maximum)
PAIR(paper_maximum_all, paper_maximum)
PAIR_GRADIENT(maximum_gradient_all, maximum_gradient)
PAIR_GRADIENT(paper_maximum_gradient_all, paper_maximum_gradient)
