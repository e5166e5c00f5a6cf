// Weights of a layer: the moments of their marginals, and the messages that these contain.
#pragma once
#include "message.cuh"

// The moments of a proper marginal.
typedef struct {
    REAL mean, variance, second;
} WeightMoments;

FUNCTION WeightMoments weight_moments(Message marginal) {
    WeightMoments w;
    w.variance = 1 / marginal.rho;
    w.mean = marginal.tau * w.variance;
    w.second = multiply_add(w.mean, w.mean, w.variance);
    return w;
}

// A group's message, and the marginal that contains it.
typedef struct {
    Message kept, marginal;
} Exchange;

// Move a group's message from the old one towards the new one.
FUNCTION Exchange exchanged(Message marginal, Message old, Message target, REAL damping) {
    Message change = message(damping * (target.tau - old.tau), damping * (target.rho - old.rho));
    Exchange result;
    result.kept = message(old.tau + change.tau, old.rho + change.rho);
    result.marginal = message(marginal.tau + change.tau, marginal.rho + change.rho);
    return result;
}
