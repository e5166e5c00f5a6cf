// Messages of class labels to outputs: one thread for each row.
#include "argmax.cuh"

// A label that is no class makes messages that are not numbers: nobody waits here to be told.
extern "C" __global__ void argmax_backward_all(long long rows, long long classes,
                                               double noise_variance, double precision,
                                               const REAL *z_tau, const REAL *z_rho,
                                               const long long *labels, REAL *out_tau,
                                               REAL *out_rho) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    long long start = row * classes, end = start + classes, label = start + labels[row];
    REAL regular = (REAL)precision;
    if (label < start || label >= end) {
        REAL zero = regular - regular;
        for (long long k = start; k < end; k++) out_tau[k] = out_rho[k] = zero / zero;
        return;
    }
    Moments truth = moments(message(z_tau[label], z_rho[label]));
    Message total = message(regular, regular);
    for (long long k = start; k < end; k++) {
        if (k == label) continue;
        Moments other = moments(message(z_tau[k], z_rho[k]));
        Pair pair = argmax_pair(truth, other, (REAL)noise_variance);
        total.tau += pair.to_true.tau;
        total.rho += pair.to_true.rho;
        out_tau[k] = pair.to_other.tau - regular;
        out_rho[k] = pair.to_other.rho + regular;
    }
    out_tau[label] = total.tau;
    out_rho[label] = total.rho;
}
