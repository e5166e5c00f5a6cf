// Exact sums of messages of weighted sums. One thread per result sums in order, in registers;
// a block of SIDE x SIDE results shares the values it reads.
//
// Axes: rows `members rows inputs` and `members rows outputs`, weights `members outputs inputs`.
#include "dense.cuh"

#define SIDE 16

typedef REAL Tile[SIDE][SIDE + 1];  // + 1 puts columns into different banks

__device__ static int least(long long a, long long b) { return (int)(a < b ? a : b); }

// Read element [row, column] of a matrix of this width; 0 beyond its end.
__device__ static REAL element(const REAL *matrix, long long rows, long long width, long long row,
                               long long column) {
    return row < rows && column < width ? matrix[row * width + column] : 0;
}

// Rows are split into parts, each with separate results: z is part * members + member.
typedef struct {
    long long member, output, input, first, end, place;
    bool inside;
} Weight;

__device__ static Weight weight_of_thread(long long members, long long rows, long long inputs,
                                          long long outputs, long long parts) {
    Weight w;
    long long part = blockIdx.z / members, length = (rows + parts - 1) / parts;
    w.member = blockIdx.z % members;
    w.output = (long long)blockIdx.x * SIDE + threadIdx.y;
    w.input = (long long)blockIdx.y * SIDE + threadIdx.x;
    w.first = part * length < rows ? part * length : rows;
    w.end = w.first + length < rows ? w.first + length : rows;
    w.inside = w.output < outputs && w.input < inputs;
    w.place = (blockIdx.z * outputs + w.output) * inputs + w.input;
    return w;
}

extern "C" __global__ void exact_weight_sums_all(long long members, long long rows,
                                                 long long inputs, long long outputs,
                                                 long long parts, const REAL *mean,
                                                 const REAL *variance, const REAL *w_mean,
                                                 const REAL *w_variance, const REAL *g,
                                                 const REAL *h, REAL *tau, REAL *rho) {
    __shared__ Tile means, variances, gs, hs;
    Weight w = weight_of_thread(members, rows, inputs, outputs, parts);
    long long column = (long long)blockIdx.x * SIDE + threadIdx.x;
    mean += w.member * rows * inputs;
    if (variance) variance += w.member * rows * inputs;  // observed inputs have none
    g += w.member * rows * outputs, h += w.member * rows * outputs;
    long long weight = w.member * outputs * inputs;
    Moments target = {element(w_mean + weight, outputs, inputs, w.output, w.input),
                      element(w_variance + weight, outputs, inputs, w.output, w.input)};
    Message sum = message(0, 0);
    for (long long n = w.first; n < w.end; n += SIDE) {
        long long row = n + threadIdx.y;
        means[threadIdx.y][threadIdx.x] = element(mean, w.end, inputs, row, w.input);
        variances[threadIdx.y][threadIdx.x] =
            variance ? element(variance, w.end, inputs, row, w.input) : 0;
        gs[threadIdx.y][threadIdx.x] = element(g, w.end, outputs, row, column);
        hs[threadIdx.y][threadIdx.x] = element(h, w.end, outputs, row, column);
        __syncthreads();
        for (int k = 0; k < least(SIDE, w.end - n); k++) {
            Moments own = {means[k][threadIdx.x], variances[k][threadIdx.x]};
            sum = add_product_message(sum, own, target, gs[k][threadIdx.y], hs[k][threadIdx.y]);
        }
        __syncthreads();
    }
    if (w.inside) tau[w.place] = sum.tau, rho[w.place] = sum.rho;
}

extern "C" __global__ void exact_first_weight_sums_all(
    long long members, long long rows, long long inputs, long long outputs, long long parts,
    const REAL *x, const REAL *w_mean, const REAL *w_variance, const REAL *old_g,
    const REAL *old_h, const REAL *g, const REAL *h, REAL *tau, REAL *rho) {
    __shared__ Tile xs, old_gs, old_hs, gs, hs;
    Weight w = weight_of_thread(members, rows, inputs, outputs, parts);
    long long column = (long long)blockIdx.x * SIDE + threadIdx.x;
    long long unit = w.member * rows * outputs, weight = w.member * outputs * inputs;
    x += w.member * rows * inputs;
    Moments target = {element(w_mean + weight, outputs, inputs, w.output, w.input),
                      element(w_variance + weight, outputs, inputs, w.output, w.input)};
    Message sum = message(0, 0);
    for (long long n = w.first; n < w.end; n += SIDE) {
        long long row = n + threadIdx.y;
        xs[threadIdx.y][threadIdx.x] = element(x, w.end, inputs, row, w.input);
        old_gs[threadIdx.y][threadIdx.x] = element(old_g + unit, w.end, outputs, row, column);
        old_hs[threadIdx.y][threadIdx.x] = element(old_h + unit, w.end, outputs, row, column);
        gs[threadIdx.y][threadIdx.x] = element(g + unit, w.end, outputs, row, column);
        hs[threadIdx.y][threadIdx.x] = element(h + unit, w.end, outputs, row, column);
        __syncthreads();
        for (int k = 0; k < least(SIDE, w.end - n); k++)
            sum = add_observed_message(sum, xs[k][threadIdx.x], target, old_gs[k][threadIdx.y],
                                       old_hs[k][threadIdx.y], gs[k][threadIdx.y],
                                       hs[k][threadIdx.y]);
        __syncthreads();
    }
    if (w.inside) tau[w.place] = sum.tau, rho[w.place] = sum.rho;
}

// Add the results of all parts of the rows, in order.
extern "C" __global__ void add_parts(long long count, long long parts, const REAL *parts_tau,
                                     const REAL *parts_rho, REAL *tau, REAL *rho) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Message sum = message(0, 0);
    for (long long part = 0; part < parts; part++) {
        sum.tau += parts_tau[part * count + i];
        sum.rho += parts_rho[part * count + i];
    }
    tau[i] = sum.tau, rho[i] = sum.rho;
}

extern "C" __global__ void exact_input_sums_all(long long members, long long rows,
                                                long long inputs, long long outputs,
                                                const REAL *mean, const REAL *variance,
                                                const REAL *w_mean, const REAL *w_variance,
                                                const REAL *g, const REAL *h, REAL *tau,
                                                REAL *rho) {
    __shared__ Tile means, variances, gs, hs;
    long long member = blockIdx.z, row = (long long)blockIdx.x * SIDE + threadIdx.y;
    long long input = (long long)blockIdx.y * SIDE + threadIdx.x;
    long long start = member * rows * inputs, weight = member * outputs * inputs;
    g += member * rows * outputs, h += member * rows * outputs;
    Moments target = {element(mean + start, rows, inputs, row, input),
                      element(variance + start, rows, inputs, row, input)};
    Message sum = message(0, 0);
    for (long long o = 0; o < outputs; o += SIDE) {
        long long output = o + threadIdx.y, column = o + threadIdx.x;
        means[threadIdx.y][threadIdx.x] = element(w_mean + weight, outputs, inputs, output, input);
        variances[threadIdx.y][threadIdx.x] =
            element(w_variance + weight, outputs, inputs, output, input);
        gs[threadIdx.y][threadIdx.x] = element(g, rows, outputs, row, column);
        hs[threadIdx.y][threadIdx.x] = element(h, rows, outputs, row, column);
        __syncthreads();
        for (int k = 0; k < least(SIDE, outputs - o); k++) {
            Moments own = {means[k][threadIdx.x], variances[k][threadIdx.x]};
            sum = add_product_message(sum, own, target, gs[threadIdx.y][k], hs[threadIdx.y][k]);
        }
        __syncthreads();
    }
    if (row < rows && input < inputs) {
        tau[start + row * inputs + input] = sum.tau;
        rho[start + row * inputs + input] = sum.rho;
    }
}

extern "C" __global__ void exact_first_forward_all(long long members, long long rows,
                                                   long long inputs, long long outputs,
                                                   const REAL *x, const REAL *w_mean,
                                                   const REAL *w_variance, const REAL *g,
                                                   const REAL *h, REAL *out_mean,
                                                   REAL *out_variance) {
    __shared__ Tile xs, means, variances;
    long long member = blockIdx.z, row = (long long)blockIdx.x * SIDE + threadIdx.y;
    long long first = (long long)blockIdx.y * SIDE, output = first + threadIdx.x;
    long long start = member * rows * outputs, weight = member * outputs * inputs;
    REAL own_g = element(g + start, rows, outputs, row, output);
    REAL own_h = element(h + start, rows, outputs, row, output);
    x += member * rows * inputs;
    Moments sum = {0, 0};
    for (long long i = 0; i < inputs; i += SIDE) {
        long long input = i + threadIdx.x, of = first + threadIdx.y;
        xs[threadIdx.y][threadIdx.x] = element(x, rows, inputs, row, input);
        means[threadIdx.x][threadIdx.y] = element(w_mean + weight, outputs, inputs, of, input);
        variances[threadIdx.x][threadIdx.y] =
            element(w_variance + weight, outputs, inputs, of, input);
        __syncthreads();
        for (int k = 0; k < least(SIDE, inputs - i); k++) {
            Moments own = {means[k][threadIdx.x], variances[k][threadIdx.x]};
            sum = add_observed_term(sum, xs[threadIdx.y][k], own, own_g, own_h);
        }
        __syncthreads();
    }
    if (row < rows && output < outputs) {
        out_mean[start + row * outputs + output] = sum.mean;
        out_variance[start + row * outputs + output] = sum.variance;
    }
}
