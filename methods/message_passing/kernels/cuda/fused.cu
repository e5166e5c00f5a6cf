// What a later layer does in several kernels elsewhere.
#include "units.cuh"
#include "weights.cuh"
#include "blocks.cuh"

// Forces and gains, the force of the example's own last message, `old`, taken out of the mean: by the
// variances due to the layer's weights, `own`, and to its inputs.
extern "C" __global__ void fill_pulls_without_own_all(
    LENGTHS, STRIDES(z_tau), STRIDES(z_rho), STRIDES(tau), STRIDES(rho), STRIDES(own),
    STRIDES(lower), STRIDES(old), STRIDES(again), STRIDES(h), STRIDES(g), const REAL *z_tau,
    const REAL *z_rho, const REAL *tau, const REAL *rho, const REAL *own, const REAL *lower,
    const REAL *old, REAL *again, REAL *h, REAL *g) {
    EVERY_UNIT
    Pull back = pull(message(AT(z_tau), AT(z_rho)), message(AT(tau), AT(rho)));
    AT(h) = multiply_add(back.g * (AT(own) + AT(lower)), AT(old), back.h);
    AT(g) = back.g;
    if (again) AT(again) = back.g;
}

// Exchange of a group's message to weights, made of sums over its examples (maps/sums.py) and the
// weights' means. Tensors that need not be are NULL.
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
