// Operations on single weights. Optional tensors may be NULL. Every function returns 0.
#include <stddef.h>

#include "weights.cuh"

int fill_weight_moments_all(int64_t count, const REAL *restrict tau, const REAL *restrict rho,
                            REAL *restrict mean, REAL *restrict variance, REAL *restrict second) {
    for (int64_t i = 0; i < count; i++) {
        WeightMoments w = weight_moments(message(tau[i], rho[i]));
        mean[i] = w.mean;
        variance[i] = w.variance;
        second[i] = w.second;
    }
    return 0;
}

int exchange_all(int64_t count, double damping, const REAL *new_tau,
                 const REAL *new_rho, const REAL *old_tau,
                 const REAL *old_rho, REAL *kept_tau, REAL *kept_rho,
                 REAL *total_tau, REAL *total_rho, REAL *tau,
                 REAL *rho) {
    // No two tensors overlap, except that the old and the kept message may be the same.
#pragma GCC ivdep
    for (int64_t i = 0; i < count; i++) {
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
    return 0;
}
