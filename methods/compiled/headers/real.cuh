// The number type of one compilation, and what C and CUDA spell differently.
//
// Compiled as C, by nvcc and by NVRTC. Rounding is written out: products and sums are fused where
// `multiply_add` says so and nowhere else, so every compiler computes the same bits.
#pragma once

#ifdef SINGLE
typedef float REAL;
typedef int INTEGER;  // as wide as REAL
#define EPSILON 1.1920929e-7f
#else
typedef double REAL;
typedef long long INTEGER;
#define EPSILON 2.220446049250313e-16
#endif

#ifdef __CUDACC__
#define FUNCTION __device__ __forceinline__
#define HAS_MULTIPLY_ADD
#else
#include <math.h>
#include <stdint.h>
#define FUNCTION static inline __attribute__((always_inline))
#if defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define HAS_MULTIPLY_ADD
#endif
#endif

FUNCTION REAL multiply_add(REAL a, REAL b, REAL c) {
#if !defined(HAS_MULTIPLY_ADD)
    return a * b + c;
#elif defined(SINGLE)
    return fmaf(a, b, c);
#else
    return fma(a, b, c);
#endif
}

FUNCTION REAL root(REAL x) {
#ifdef SINGLE
    return sqrtf(x);
#else
    return sqrt(x);
#endif
}

FUNCTION REAL magnitude(REAL x) { return x < 0 ? -x : x; }

FUNCTION REAL at_least(REAL least, REAL x) { return x < least ? least : x; }

FUNCTION int is_finite(REAL x) { return x - x == 0; }
