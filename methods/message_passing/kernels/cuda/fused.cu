// Operations of a later layer that take several kernels in other backends.
#include "weights.cuh"

// Exchange a group's message to weights, formed from sums over its examples (maps/sums.py) and the
// weights' means. Optional tensors may be NULL.
extern "C" __global__ void exchange_sums_all(
    long long count, double damping, const REAL *mean, const REAL *force, const REAL *of_square,
    const REAL *of_variance, const REAL *old_tau, const REAL *old_rho, REAL *kept_tau,
    REAL *kept_rho, REAL *total_tau, REAL *total_rho, REAL *tau, REAL *rho) {
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (long long)gridDim.x * blockDim.x) {
        Message target = message(multiply_add(mean[i], of_square[i], force[i]),
                                 of_square[i] + of_variance[i]);
        Message old = old_tau ? message(old_tau[i], old_rho[i]) : message(0, 0);
        Exchange out = exchanged(message(tau[i], rho[i]), old, target, (REAL)damping);
        tau[i] = out.marginal.tau;
        rho[i] = out.marginal.rho;
        if (kept_tau) {
            kept_tau[i] = out.kept.tau;
            kept_rho[i] = out.kept.rho;
        }
        if (total_tau) {
            total_tau[i] += out.kept.tau;
            total_rho[i] += out.kept.rho;
        }
    }
}
