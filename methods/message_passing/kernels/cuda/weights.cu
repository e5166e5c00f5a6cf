// Operations on single weights: one thread per weight. Optional tensors may be NULL.
#include "weights.cuh"

#define WEIGHTS(i, count)                                                                 \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (count); \
         i += (long long)gridDim.x * blockDim.x)

extern "C" __global__ void fill_weight_moments_all(long long count, const REAL *tau,
                                                   const REAL *rho, REAL *mean, REAL *variance,
                                                   REAL *second) {
    WEIGHTS(i, count) {
        WeightMoments w = weight_moments(message(tau[i], rho[i]));
        mean[i] = w.mean;
        variance[i] = w.variance;
        second[i] = w.second;
    }
}

extern "C" __global__ void exchange_all(long long count, double damping, const REAL *new_tau,
                                        const REAL *new_rho, const REAL *old_tau,
                                        const REAL *old_rho, REAL *kept_tau, REAL *kept_rho,
                                        REAL *total_tau, REAL *total_rho, REAL *tau, REAL *rho) {
    WEIGHTS(i, count) {
        Message old = old_tau ? message(old_tau[i], old_rho[i]) : message(0, 0);
        Exchange out = exchanged(message(tau[i], rho[i]), old, message(new_tau[i], new_rho[i]),
                                 (REAL)damping);
        if (kept_tau) {
            kept_tau[i] = out.kept.tau;
            kept_rho[i] = out.kept.rho;
        }
        tau[i] = out.marginal.tau;
        rho[i] = out.marginal.rho;
        if (total_tau) {
            total_tau[i] += out.kept.tau;
            total_rho[i] += out.kept.rho;
        }
    }
}
