// Moments of rectifiers on a processor with vector units. Every function returns 0.
//
// Single precision numbers below the least normal one (1.2e-38) are 0: tails are full of them, and
// x86 takes a hundred times as long for each.
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

#define MOMENTS(name, function)                                                            \
    int name(int64_t count, double slope, const REAL *restrict mean,                       \
             const REAL *restrict variance, REAL *restrict out_mean,                       \
             REAL *restrict out_variance) {                                                \
        unsigned before = flushing();                                                      \
        for (int64_t i = 0; i < count; i++) {                                              \
            Normal out = function(normal(mean[i], variance[i]), (REAL)slope);              \
            out_mean[i] = out.mean;                                                        \
            out_variance[i] = out.variance;                                                \
        }                                                                                  \
        restore(before);                                                                   \
        return 0;                                                                          \
    }

#define GRADIENTS(name, function)                                                          \
    int name(int64_t count, double slope, const REAL *restrict mean,                       \
             const REAL *restrict variance, const REAL *restrict to_mean,                  \
             const REAL *restrict to_variance, REAL *restrict out_mean,                    \
             REAL *restrict out_variance) {                                                \
        unsigned before = flushing();                                                      \
        for (int64_t i = 0; i < count; i++) {                                              \
            Normal out = function(normal(mean[i], variance[i]),                            \
                                  normal(to_mean[i], to_variance[i]), (REAL)slope);        \
            out_mean[i] = out.mean;                                                        \
            out_variance[i] = out.variance;                                                \
        }                                                                                  \
        restore(before);                                                                   \
        return 0;                                                                          \
    }

MOMENTS(rectifier_all, rectifier)
MOMENTS(paper_rectifier_all, paper_rectifier)
GRADIENTS(rectifier_gradient_all, rectifier_gradient)
GRADIENTS(paper_rectifier_gradient_all, paper_rectifier_gradient)
