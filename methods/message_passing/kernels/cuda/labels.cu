// Messages of class labels to outputs: one thread per row.
#include "argmax.cuh"

// An invalid label gives NaN messages, because the host does not wait for a status.
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

// Return log Phi(x).
__device__ static REAL log_probability(REAL x) {
    Positive half = positive_part(x);
    if (x > 0) return log1p(-normal_tail(x));
    return log(half.mass * INVERSE_ROOT_2_PI) - x * x * (REAL)0.5;
}

// Fill the negative log probability that each label beats all others, normalised over classes.
extern "C" __global__ void argmax_loss_all(long long rows, long long classes,
                                           double noise_variance, const REAL *z_tau,
                                           const REAL *z_rho, const long long *labels,
                                           REAL *loss) {
    long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    long long start = row * classes;
    REAL most = 0, mass = 0, true_score = 0, zero = 0;
    if (labels[row] < 0 || labels[row] >= classes) true_score = zero / zero;
    for (long long c = 0; c < classes; c++) {
        REAL score = 0, mean = z_tau[start + c] / z_rho[start + c];
        for (long long j = 0; j < classes; j++) {
            if (j == c) continue;
            REAL variance = 1 / z_rho[start + c] + 1 / z_rho[start + j] + (REAL)noise_variance;
            score += log_probability((mean - z_tau[start + j] / z_rho[start + j]) / root(variance));
        }
        if (c == labels[row]) true_score = score;
        if (c == 0 || score > most) {
            mass = c == 0 ? 1 : multiply_add(mass, exponential(most - score), 1);
            most = score;
        } else {
            mass += exponential(score - most);
        }
    }
    loss[row] = most + log(mass) - true_score;
}
