// Messages of a weighted sum of products, one term at a time.
//
// (g, h) of a unit are the two numbers of its backward message (tau, rho) at forward moments
// (M, V): g = rho/(1 + rho V), h = (tau - rho M)/(1 + rho V). Source: paper 000, table 2.
#pragma once
#include "message.cuh"

// Return 1/(1 - g v), where only rounding could make 1 - g v less than EPSILON.
FUNCTION REAL inverse_share(REAL explained) { return 1 / at_least(EPSILON, 1 - explained); }

// Return a sum plus the message to a factor of a product; `own` is the other factor.
FUNCTION Message add_product_message(Message sum, Moments own, Moments target, REAL g, REAL h) {
    REAL square = own.mean * own.mean;
    REAL second = multiply_add(target.mean, target.mean, target.variance);
    REAL variance = multiply_add(own.variance, second, square * target.variance);
    REAL inverse = inverse_share(g * variance);
    REAL force = multiply_add(g, own.mean * target.mean, h);
    sum.tau = multiply_add(own.mean * force, inverse, sum.tau);
    sum.rho = multiply_add((square + own.variance) * g, inverse, sum.rho);
    return sum;
}

// Return a weight without one row's message, rebuilt from the (g, h) of that message.
FUNCTION Moments cavity(REAL x, Moments weight, REAL g, REAL h) {
    REAL share = root(at_least(0, 1 - 4 * g * (x * x * weight.variance)));
    Moments result;
    result.variance = 2 * weight.variance / (1 + share);
    result.mean = multiply_add(-result.variance, x * h, weight.mean);
    return result;
}

// Return the moments of a sum plus one observed input's term.
FUNCTION Moments add_observed_term(Moments sum, REAL x, Moments weight, REAL g, REAL h) {
    Moments own = cavity(x, weight, g, h);
    sum.mean = multiply_add(x, own.mean, sum.mean);
    sum.variance = multiply_add(x * x, own.variance, sum.variance);
    return sum;
}

// Return a sum plus the message to the weight of an observed input.
FUNCTION Message add_known_message(Message sum, REAL x, Moments weight, REAL g, REAL h) {
    REAL square = x * x, inverse = inverse_share(g * (square * weight.variance));
    sum.tau = multiply_add(x * multiply_add(g, x * weight.mean, h), inverse, sum.tau);
    sum.rho = multiply_add(square * g, inverse, sum.rho);
    return sum;
}

// Return the same, with the weight's cavity rebuilt from the old (g, h).
FUNCTION Message add_observed_message(Message sum, REAL x, Moments weight, REAL old_g, REAL old_h,
                                      REAL g, REAL h) {
    return add_known_message(sum, x, cavity(x, weight, old_g, old_h), g, h);
}
