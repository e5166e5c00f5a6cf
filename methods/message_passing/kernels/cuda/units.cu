// Operations on single units of a layer (units.c defines lengths and strides).
#include "units.cuh"
#include "blocks.cuh"

extern "C" __global__ void fill_moments_all(
    LENGTHS, STRIDES(tau), STRIDES(rho), STRIDES(sent_tau), STRIDES(sent_rho), STRIDES(mean),
    STRIDES(square), STRIDES(variance), const REAL *tau, const REAL *rho, const REAL *sent_tau,
    const REAL *sent_rho, REAL *mean, REAL *square, REAL *variance) {
    EVERY_UNIT
    Message whole = message(AT(tau), AT(rho));
    if (sent_tau) whole = message(whole.tau + AT(sent_tau), whole.rho + AT(sent_rho));
    Moments own = floored_moments(whole);
    AT(mean) = own.mean;
    AT(square) = own.mean * own.mean;
    AT(variance) = own.variance;
}

extern "C" __global__ void output_messages_all(
    LENGTHS, STRIDES(mean), STRIDES(own), STRIDES(lower), STRIDES(bias_mean),
    STRIDES(bias_variance), STRIDES(tau), STRIDES(rho), const REAL *mean, const REAL *own,
    const REAL *lower, const REAL *bias_mean, const REAL *bias_variance, REAL *tau, REAL *rho) {
    EVERY_UNIT
    REAL variance = AT(own) + (lower ? AT(lower) : 0) + AT(bias_variance);
    Message out = output_message(AT(mean) + AT(bias_mean), variance);
    AT(tau) = out.tau;
    AT(rho) = out.rho;
}

extern "C" __global__ void fill_pulls_all(LENGTHS, STRIDES(z_tau), STRIDES(z_rho), STRIDES(tau),
                                          STRIDES(rho), STRIDES(again), STRIDES(h), STRIDES(g),
                                          const REAL *z_tau, const REAL *z_rho, const REAL *tau,
                                          const REAL *rho, REAL *again, REAL *h, REAL *g) {
    EVERY_UNIT
    Pull own = pull(message(AT(z_tau), AT(z_rho)), message(AT(tau), AT(rho)));
    AT(h) = own.h;
    AT(g) = own.g;
    if (again) AT(again) = own.g;
}

extern "C" __global__ void fill_pulls_without_own_all(
    LENGTHS, STRIDES(z_tau), STRIDES(z_rho), STRIDES(tau), STRIDES(rho), STRIDES(own),
    STRIDES(lower), STRIDES(old), STRIDES(again), STRIDES(h), STRIDES(g), const REAL *z_tau,
    const REAL *z_rho, const REAL *tau, const REAL *rho, const REAL *own, const REAL *lower,
    const REAL *old, REAL *again, REAL *h, REAL *g) {
    EVERY_UNIT
    Message z = message(AT(z_tau), AT(z_rho)), back = message(AT(tau), AT(rho));
    Pull sent = pull_without_own(z, back, AT(own) + AT(lower), AT(old));
    AT(h) = sent.h;
    AT(g) = sent.g;
    if (again) AT(again) = sent.g;
}

extern "C" __global__ void input_messages_all(LENGTHS, STRIDES(mean), STRIDES(force), STRIDES(own),
                                              STRIDES(whole), STRIDES(tau), STRIDES(rho),
                                              const REAL *mean, const REAL *force, const REAL *own,
                                              const REAL *whole, REAL *tau, REAL *rho) {
    EVERY_UNIT
    Message out = input_message(AT(mean), AT(force), AT(own), AT(whole));
    AT(tau) = out.tau;
    AT(rho) = out.rho;
}

OVER_POSITIONS bias_messages_all(LENGTHS, STRIDES(g), STRIDES(h), STRIDES(mean),
                                             STRIDES(variance), STRIDES(tau), STRIDES(rho),
                                             const REAL *g, const REAL *h, const REAL *mean,
                                             const REAL *variance, REAL *tau, REAL *rho) {
    Message sum = message(0, 0);
    ALL_POSITIONS {
        Moments cavity = {AT(mean), AT(variance)};
        Message out = bias_message(AT(g), AT(h), cavity);
        sum = message(sum.tau + out.tau, sum.rho + out.rho);
    }
    PUT_TOTAL(tau, sum.tau);
    PUT_TOTAL(rho, sum.rho);
}

OVER_POSITIONS begin_all(
    LENGTHS, STRIDES(g), STRIDES(h), STRIDES(old), STRIDES(own), STRIDES(lower),
    STRIDES(bias_variance), STRIDES(diagonal), STRIDES(scale), STRIDES(scaled), STRIDES(sum),
    const REAL *g, const REAL *h, const REAL *old, const REAL *own, const REAL *lower,
    const REAL *bias_variance, REAL *diagonal, REAL *scale, REAL *scaled, REAL *sum) {
    REAL total = 0;
    ALL_POSITIONS {
        REAL local = AT(own) + AT(bias_variance);
        REAL e = lower ? root(1 + AT(lower) / local) : 1;
        REAL step = e * (AT(h) - (old ? AT(old) : 0));
        AT(diagonal) = local;
        AT(scale) = root(AT(g)) * e;
        AT(scaled) = step;
        total += step;
    }
    PUT_TOTAL(sum, total);
}

OVER_POSITIONS fill_residual_all(
    LENGTHS, STRIDES(moved), STRIDES(shift), STRIDES(diagonal), STRIDES(scale), STRIDES(scaled),
    STRIDES(residual), STRIDES(direction), STRIDES(square), STRIDES(sum), const REAL *moved,
    const REAL *shift, const REAL *diagonal, const REAL *scale, REAL *scaled, REAL *residual,
    REAL *direction, REAL *square, REAL *sum) {
    REAL squares = 0, total = 0;
    ALL_POSITIONS {
        REAL others = multiply_add(-AT(diagonal), AT(scaled), AT(moved) + AT(shift));
        REAL rest = -AT(scale) * others, step = AT(scale) * rest;
        AT(residual) = rest;
        AT(direction) = rest;
        AT(scaled) = step;
        squares = multiply_add(rest, rest, squares);
        total += step;
    }
    PUT_TOTAL(square, squares);
    PUT_TOTAL(sum, total);
}

OVER_POSITIONS fill_image_all(LENGTHS, STRIDES(direction), STRIDES(moved),
                                          STRIDES(shift), STRIDES(diagonal), STRIDES(scale),
                                          STRIDES(image), STRIDES(sum), const REAL *direction,
                                          const REAL *moved, const REAL *shift,
                                          const REAL *diagonal, const REAL *scale, REAL *image,
                                          REAL *sum) {
    REAL total = 0;
    ALL_POSITIONS {
        REAL along = AT(direction), scaled = AT(scale) * along;
        REAL others = multiply_add(-AT(diagonal), scaled, AT(moved) + AT(shift));
        REAL own = multiply_add(AT(scale), others, along);
        AT(image) = own;
        total = multiply_add(along, own, total);
    }
    PUT_TOTAL(sum, total);
}

OVER_POSITIONS step_all(LENGTHS, STRIDES(direction), STRIDES(length), STRIDES(image),
                                    STRIDES(u), STRIDES(residual), STRIDES(sum),
                                    const REAL *direction, const REAL *length, const REAL *image,
                                    REAL *u, REAL *residual, REAL *sum) {
    REAL total = 0;
    ALL_POSITIONS {
        AT(u) = multiply_add(AT(length), AT(direction), AT(u));
        REAL rest = multiply_add(-AT(length), AT(image), AT(residual));
        AT(residual) = rest;
        total = multiply_add(rest, rest, total);
    }
    PUT_TOTAL(sum, total);
}

OVER_POSITIONS turn_all(LENGTHS, STRIDES(residual), STRIDES(ratio), STRIDES(scale),
                                    STRIDES(direction), STRIDES(scaled), STRIDES(sum),
                                    const REAL *residual, const REAL *ratio, const REAL *scale,
                                    REAL *direction, REAL *scaled, REAL *sum) {
    REAL total = 0;
    ALL_POSITIONS {
        REAL along = multiply_add(AT(ratio), AT(direction), AT(residual));
        REAL step = AT(scale) * along;
        AT(direction) = along;
        AT(scaled) = step;
        total += step;
    }
    PUT_TOTAL(sum, total);
}

extern "C" __global__ void finish_all(LENGTHS, STRIDES(g), STRIDES(u), STRIDES(h), const REAL *g,
                                      const REAL *u, REAL *h) {
    EVERY_UNIT
    AT(h) = multiply_add(root(AT(g)), AT(u), AT(h));
}
