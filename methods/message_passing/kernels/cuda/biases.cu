// Biases of a layer: their moments without an example's own message, and the examples' messages.
#include "units.cuh"
#include "examples.cuh"

// Return the moments of a bias without the example's message `old`, if there is one.
#define CAVITY                                                                     \
    (old_rho ? bias_cavity(message(AT(bias_tau), AT(bias_rho)),                    \
                           message(AT(old_tau), AT(old_rho)))                      \
             : Moments{AT(bias_tau) / AT(bias_rho), 1 / AT(bias_rho)})

extern "C" __global__ void biased_outputs_all(
    LENGTHS, STRIDES(mean), STRIDES(own), STRIDES(lower), STRIDES(bias_tau), STRIDES(bias_rho),
    STRIDES(old_tau), STRIDES(old_rho), STRIDES(tau), STRIDES(rho), const REAL *mean,
    const REAL *own, const REAL *lower, const REAL *bias_tau, const REAL *bias_rho,
    const REAL *old_tau, const REAL *old_rho, REAL *tau, REAL *rho) {
    EVERY_UNIT
    Moments bias = {0, 0};
    if (bias_rho) bias = CAVITY;
    Message out = output_message(AT(mean) + bias.mean,
                                 AT(own) + (lower ? AT(lower) : 0) + bias.variance);
    AT(tau) = out.tau;
    AT(rho) = out.rho;
}

OVER_POSITIONS bias_kept_all(
    LENGTHS, STRIDES(g), STRIDES(h), STRIDES(bias_tau), STRIDES(bias_rho), STRIDES(old_tau),
    STRIDES(old_rho), STRIDES(tau), STRIDES(rho), double damping, const REAL *g, const REAL *h,
    const REAL *bias_tau, const REAL *bias_rho, const REAL *old_tau, const REAL *old_rho,
    REAL *tau, REAL *rho) {
    Message sum = message(0, 0);
    ALL_POSITIONS {
        Message out = bias_message(AT(g), AT(h), CAVITY);
        sum = message(sum.tau + out.tau, sum.rho + out.rho);
    }
    PUT_TOTAL(tau, sum.tau);
    PUT_TOTAL(rho, sum.rho);
    if (old_rho && threadIdx.y == 0 && i < features) {
        const long long p = 0;
        AT(tau) = multiply_add((REAL)damping, AT(tau) - AT(old_tau), AT(old_tau));
        AT(rho) = multiply_add((REAL)damping, AT(rho) - AT(old_rho), AT(old_rho));
    }
}

// One block per set of a member's features: the product of its examples' messages replaces the old
// product in the marginal, and is multiplied into the total.
extern "C" __global__ void bias_exchange_all(
    LENGTHS, STRIDES(kept_tau), STRIDES(kept_rho), STRIDES(bias_tau), STRIDES(bias_rho),
    STRIDES(old_tau), STRIDES(old_rho), STRIDES(total_tau), STRIDES(total_rho), STRIDES(sum_tau),
    STRIDES(sum_rho), STRIDES(tau), STRIDES(rho), const REAL *kept_tau, const REAL *kept_rho,
    const REAL *bias_tau, const REAL *bias_rho, const REAL *old_tau, const REAL *old_rho,
    REAL *total_tau, REAL *total_rho, REAL *sum_tau, REAL *sum_rho, REAL *tau, REAL *rho) {
    const long long tiles = (features + WIDTH - 1) / WIDTH, m = blockIdx.x / tiles, n = 0, p = 0;
    const long long i = blockIdx.x % tiles * WIDTH + threadIdx.x;
    const REAL own_tau = TOTAL(kept_tau), own_rho = TOTAL(kept_rho);
    if (threadIdx.y || i >= features) return;
    AT(tau) = AT(bias_tau) + (own_tau - (old_rho ? AT(old_tau) : 0));
    AT(rho) = AT(bias_rho) + (own_rho - (old_rho ? AT(old_rho) : 0));
    AT(sum_tau) = own_tau;
    AT(sum_rho) = own_rho;
    if (total_rho) {
        AT(total_tau) += own_tau;
        AT(total_rho) += own_rho;
    }
}
