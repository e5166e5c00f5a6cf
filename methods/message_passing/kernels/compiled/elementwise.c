// Elementwise messages, vectorised. Every function returns 0.
#include "leaky_relu.cuh"

#define BLOCK 256  // messages per block; a block's replacements are computed together

static void direct_messages(int64_t count, const REAL *restrict tau, const REAL *restrict rho,
                            REAL slope, REAL *restrict out_tau, REAL *restrict out_rho) {
    for (int64_t i = 0; i < count; i++) {
        Message out = leaky_relu_direct(message(tau[i], rho[i]), slope);
        out_tau[i] = out.tau;
        out_rho[i] = out.rho;
    }
}

static void marginal_messages(int count, const REAL *restrict z_tau, const REAL *restrict z_rho,
                              const REAL *restrict a_tau, const REAL *restrict a_rho, REAL slope,
                              REAL *restrict out_tau, REAL *restrict out_rho,
                              REAL *restrict replaced, REAL *restrict counted) {
    for (int i = 0; i < count; i++) {
        Guarded out = leaky_relu_marginal_forward(message(z_tau[i], z_rho[i]),
                                                  message(a_tau[i], a_rho[i]), slope);
        out_tau[i] = out.message.tau;
        out_rho[i] = out.message.rho;
        replaced[i] = out.replaced;
        counted[i] = out.counted;
    }
}

static void backward_messages(int count, const REAL *restrict z_tau, const REAL *restrict z_rho,
                              const REAL *restrict a_tau, const REAL *restrict a_rho, REAL slope,
                              REAL *restrict out_tau, REAL *restrict out_rho,
                              REAL *restrict counted) {
    for (int i = 0; i < count; i++) {
        Guarded out = leaky_relu_backward(message(z_tau[i], z_rho[i]),
                                          message(a_tau[i], a_rho[i]), slope);
        out_tau[i] = out.message.tau;
        out_rho[i] = out.message.rho;
        counted[i] = out.counted;
    }
}

static int64_t how_many(int count, const REAL *flags) {
    INTEGER total = 0;
    for (int i = 0; i < count; i++) total += flags[i] != 0;
    return total;
}

// Compute direct messages for the marked ones, packed side by side, and put them in place.
static void replace(int count, const REAL *z_tau, const REAL *z_rho, REAL slope,
                    const REAL *replaced, REAL *out_tau, REAL *out_rho) {
    REAL tau[BLOCK], rho[BLOCK], direct_tau[BLOCK], direct_rho[BLOCK];
    int places[BLOCK], found = 0;
    for (int i = 0; i < count; i++) {
        tau[found] = z_tau[i];
        rho[found] = z_rho[i];
        places[found] = i;
        found += replaced[i] != 0;
    }
    direct_messages(found, tau, rho, slope, direct_tau, direct_rho);
    for (int k = 0; k < found; k++) {
        out_tau[places[k]] = direct_tau[k];
        out_rho[places[k]] = direct_rho[k];
    }
}

int leaky_relu_direct_all(int64_t count, double slope, const REAL *z_tau, const REAL *z_rho,
                           REAL *out_tau, REAL *out_rho) {
    direct_messages(count, z_tau, z_rho, slope, out_tau, out_rho);
    return 0;
}

// `counts` has one number per member; each member has `count` messages.
int leaky_relu_forward_all(int64_t members, int64_t count, double slope, const REAL *z_tau,
                            const REAL *z_rho, const REAL *a_tau, const REAL *a_rho,
                            REAL *out_tau, REAL *out_rho, int64_t *counts) {
    REAL replaced[BLOCK], counted[BLOCK];
    for (int64_t member = 0; member < members; member++) {
        counts[member] = 0;
        for (int64_t end = (member + 1) * count, i = member * count; i < end; i += BLOCK) {
            int n = end - i < BLOCK ? (int)(end - i) : BLOCK;
            marginal_messages(n, z_tau + i, z_rho + i, a_tau + i, a_rho + i, slope, out_tau + i,
                              out_rho + i, replaced, counted);
            replace(n, z_tau + i, z_rho + i, slope, replaced, out_tau + i, out_rho + i);
            counts[member] += how_many(n, counted);
        }
    }
    return 0;
}

int leaky_relu_backward_all(int64_t members, int64_t count, double slope, const REAL *z_tau,
                             const REAL *z_rho, const REAL *a_tau, const REAL *a_rho,
                             REAL *out_tau, REAL *out_rho, int64_t *counts) {
    REAL counted[BLOCK];
    for (int64_t member = 0; member < members; member++) {
        counts[member] = 0;
        for (int64_t end = (member + 1) * count, i = member * count; i < end; i += BLOCK) {
            int n = end - i < BLOCK ? (int)(end - i) : BLOCK;
            backward_messages(n, z_tau + i, z_rho + i, a_tau + i, a_rho + i, slope, out_tau + i,
                              out_rho + i, counted);
            counts[member] += how_many(n, counted);
        }
    }
    return 0;
}
