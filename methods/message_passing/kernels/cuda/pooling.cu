// Max-pooling by squares of side POOL: one thread per window.
#include "max_pool.cuh"

#define INPUTS (POOL * POOL)

typedef struct {
    Moments input[INPUTS];
    REAL weight[INPUTS];
    long long place[INPUTS];
} Window;

// Return a window, indexed in the order of the results, with its normalised weights.
__device__ static Window window(long long index, const long long *layout, const REAL *z_tau,
                                const REAL *z_rho) {
    long long channels = layout[0], height = layout[1], width = layout[2], last = layout[3];
    long long columns = width / POOL, rows = height / POOL, channel, column, row;
    if (last) {
        channel = index % channels, index /= channels;
        column = index % columns, index /= columns;
        row = index % rows, index /= rows;
    } else {
        column = index % columns, index /= columns;
        row = index % rows, index /= rows;
        channel = index % channels, index /= channels;
    }
    long long pixel = last ? channels : 1, line = width * pixel;
    long long plane = height * width;
    long long first = index * channels * plane + channel * (last ? 1 : plane) +
                      row * POOL * line + column * POOL * pixel;
    Window w;
#pragma unroll
    for (int j = 0; j < INPUTS; j++) {
        w.place[j] = first + j / POOL * line + j % POOL * pixel;
        w.input[j] = moments(message(z_tau[w.place[j]], z_rho[w.place[j]]));
        w.weight[j] = 1;
    }
#pragma unroll
    for (int i = 1; i < INPUTS; i++)
#pragma unroll
        for (int j = 0; j < i; j++)
            compare(w.input[i], w.input[j], &w.weight[i], &w.weight[j]);
    REAL total = 0;
#pragma unroll
    for (int j = 0; j < INPUTS; j++) total += w.weight[j];
    REAL inverse = 1 / total;
#pragma unroll
    for (int j = 0; j < INPUTS; j++) w.weight[j] *= inverse;
    return w;
}

// Return the moments of a window's weighted sum without one of its inputs; -1 omits none.
__device__ static Moments sum_without(const Window *w, int omitted) {
    Moments sum = {0, 0};
#pragma unroll
    for (int j = 0; j < INPUTS; j++) {
        REAL weight = j == omitted ? 0 : w->weight[j];
        sum.mean = multiply_add(weight, w->input[j].mean, sum.mean);
        sum.variance = multiply_add(weight * weight, w->input[j].variance, sum.variance);
    }
    return sum;
}

extern "C" __global__ void max_pool_forward_all(long long images, long long channels,
                                                long long height, long long width, long long size,
                                                long long last, const REAL *z_tau,
                                                const REAL *z_rho, REAL *out_tau, REAL *out_rho) {
    long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= images * channels * (height / size) * (width / size)) return;
    long long layout[4] = {channels, height, width, last};
    Window w = window(k, layout, z_tau, z_rho);
    Moments sum = sum_without(&w, -1);
    out_rho[k] = 1 / sum.variance;
    out_tau[k] = sum.mean * out_rho[k];
}

extern "C" __global__ void max_pool_backward_all(long long images, long long channels,
                                                 long long height, long long width, long long size,
                                                 long long last, const REAL *z_tau,
                                                 const REAL *z_rho, const REAL *back_tau,
                                                 const REAL *back_rho, REAL *out_tau,
                                                 REAL *out_rho) {
    long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= images * channels * (height / size) * (width / size)) return;
    long long layout[4] = {channels, height, width, last};
    Window w = window(k, layout, z_tau, z_rho);
    Message back = message(back_tau[k], back_rho[k]);
#pragma unroll
    for (int j = 0; j < INPUTS; j++) {
        Moments others = sum_without(&w, j);
        Message out = to_summand(w.weight[j], back, others.mean, others.variance);
        out_tau[w.place[j]] = out.tau;
        out_rho[w.place[j]] = out.rho;
    }
}
