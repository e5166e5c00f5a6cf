// Sums over the examples of a member, in every block that needs them.
#pragma once
#include "blocks.cuh"

// Return the sum over a member's examples, with stride `apart`, in a fixed order. All threads of a
// block must call it; `inside` says whether the feature exists.
__device__ static REAL over_examples(const REAL *values, long long apart, long long examples,
                                     int inside) {
    __shared__ REAL parts[MOST_LANES][WIDTH];
    REAL own = 0, total = 0;
    if (inside)
        for (long long n = threadIdx.y; n < examples; n += LANES) own += values[n * apart];
    __syncthreads();  // until the previous sum has been read
    parts[threadIdx.y][threadIdx.x] = own;
    __syncthreads();
    for (int k = 0; k < LANES; k++) total += parts[k][threadIdx.x];
    return total;
}
#define TOTAL(x) over_examples(x + m * x##_m + i, x##_n, examples, i < features)
