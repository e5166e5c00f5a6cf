// The threads of kernels on units: one thread per unit or, for sums over positions, one block per
// set of an example's features.
#pragma once
#include "real.cuh"

#define WIDTH 32  // features of a block
#define LANES blockDim.y  // threads of a block that share one feature's positions
#define MOST_LANES 32

// A kernel with sums over positions; its blocks have at most this many threads.
#define OVER_POSITIONS extern "C" __global__ __launch_bounds__(WIDTH *MOST_LANES) void
// Tensors do not overlap, so that many positions can be loaded at once.
#define IN const REAL *__restrict__
#define OUT REAL *__restrict__

#define LENGTHS long long members, long long examples, long long positions, long long features
// The strides of a tensor's members, examples and positions.
#define STRIDES(x) long long x##_m, long long x##_n, long long x##_p
#define AT(x) x[m * x##_m + n * x##_n + p * x##_p + i]

#define EVERY_UNIT                                                     \
    long long rest = (long long)blockIdx.x * blockDim.x + threadIdx.x; \
    const long long i = rest % features;                               \
    rest /= features;                                                  \
    const long long p = rest % positions;                              \
    rest /= positions;                                                 \
    const long long n = rest % examples, m = rest / examples;          \
    if (m >= members) return;

#define BLOCK                                                     \
    const long long tiles = (features + WIDTH - 1) / WIDTH;       \
    const long long i = blockIdx.x % tiles * WIDTH + threadIdx.x; \
    const long long n = blockIdx.x / tiles % examples;            \
    const long long m = blockIdx.x / tiles / examples;
#define POSITIONS    \
    if (i < features) \
        for (long long p = threadIdx.y; p < positions; p += LANES)
#define ALL_POSITIONS \
    BLOCK             \
    POSITIONS

// Store the sum of the values of all threads of a feature, in thread order.
#define PUT_TOTAL(sums, own)                                                \
    do {                                                                    \
        __shared__ REAL found[MOST_LANES][WIDTH];                           \
        const long long p = 0;                                              \
        found[threadIdx.y][threadIdx.x] = own;                              \
        __syncthreads();                                                    \
        if (threadIdx.y == 0 && i < features) {                             \
            REAL total = 0;                                                 \
            for (int k = 0; k < LANES; k++) total += found[k][threadIdx.x]; \
            AT(sums) = total;                                               \
        }                                                                   \
    } while (0)
