// Operations on single units of a layer: an input, an output, or a bias.
#pragma once
#include "message.cuh"

#define NO_VARIANCE (REAL)1e-20

// The effect of a message from above on a unit: gain g and force h.
typedef struct {
    REAL g, h;
} Pull;

// Return mean and variance of a message with its precision raised to at least LEAST_PRECISION.
FUNCTION Moments floored_moments(Message m) {
    Moments result;
    result.mean = m.tau / (m.rho > 0 ? m.rho : LEAST_PRECISION);
    result.variance = 1 / at_least(LEAST_PRECISION, m.rho);
    return result;
}

// Return the message with a mean and a variance; a narrow one if the variance is 0.
FUNCTION Message output_message(REAL mean, REAL variance) {
    REAL rho = 1 / at_least(NO_VARIANCE, variance);
    return message(mean * rho, rho);
}

// Return g = rho/(1 + rho V) and h = (tau - rho M)/(1 + rho V) of the backward message (tau, rho),
// where M and V are the moments of the message `z`.
FUNCTION Pull pull(Message z, Message back) {
    REAL inverse = 1 / (z.rho + back.rho), share = z.rho * inverse;
    Pull result;
    result.g = back.rho * share;
    result.h = multiply_add(back.tau, share, -(back.rho * inverse) * z.tau);
    return result;
}

// Return the same, with `old`, the force of the unit's own last message, removed from M.
FUNCTION Pull pull_without_own(Message z, Message back, REAL variance, REAL old) {
    Pull result = pull(z, back);
    result.h += result.g * variance * old;
    return result;
}

// Return the message to an input with this mean, floored. `force`, `own` and `rho` are the sums of
// h w, g s_w and g E[w^2] over the outputs.
FUNCTION Message input_message(REAL mean, REAL force, REAL own, REAL rho) {
    REAL tau = multiply_add(mean, rho - own, force);
    REAL scale = (rho > 0) & (rho < LEAST_PRECISION) ? LEAST_PRECISION / rho : 1;
    return message(tau * scale, at_least(LEAST_PRECISION, rho));
}

// Return the message to a bias with this cavity.
FUNCTION Message bias_message(REAL g, REAL h, Moments cavity) {
    REAL inverse = 1 / (1 - g * cavity.variance);
    return message(multiply_add(g, cavity.mean, h) * inverse, g * inverse);
}

// Return the moments of a bias without one of the messages in its marginal.
FUNCTION Moments bias_cavity(Message whole, Message own) {
    REAL rho = at_least(LEAST_PRECISION, whole.rho - own.rho);
    Moments result;
    result.mean = (whole.tau - own.tau) / rho;
    result.variance = 1 / rho;
    return result;
}
