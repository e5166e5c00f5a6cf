// Messages in natural parameters, and the factor of a sum.
#pragma once
#include "real.cuh"

#define LEAST_PRECISION (REAL)1e-8

// G(tau, rho): tau = mean/variance, rho = 1/variance.
typedef struct {
    REAL tau, rho;
} Message;

FUNCTION Message message(REAL tau, REAL rho) {
    Message result;
    result.tau = tau;
    result.rho = rho;
    return result;
}

FUNCTION int is_valid(Message m) {
    return is_finite(m.tau) & is_finite(m.rho) & (m.rho >= 0);
}

// Return the message from a sum to one of its terms, c v, given the mean and variance of the other
// terms. `back` is the message to the sum.
FUNCTION Message to_summand(REAL c, Message back, REAL others_mean, REAL others_variance) {
    REAL scale = c / multiply_add(back.rho, others_variance, 1);
    return message(scale * multiply_add(-back.rho, others_mean, back.tau), scale * c * back.rho);
}

// The precision used in place of 0 where a factor needs a variance.
#define UNIFORM_PRECISION (REAL)1e-30

typedef struct {
    REAL mean, variance;
} Moments;

// Return mean and variance; for a uniform message they are 0 and 1/UNIFORM_PRECISION.
FUNCTION Moments moments(Message m) {
    Moments result;
    result.variance = 1 / at_least(UNIFORM_PRECISION, m.rho);
    result.mean = m.tau * result.variance;
    return result;
}
