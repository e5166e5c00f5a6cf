// The factor delta(a - LeakyReLU(z)), 0 <= slope <= 1; a slope of 0 is ReLU.
//
// Both products of messages are mixtures of a branch z > 0 and a branch z < 0, each a Gaussian
// truncated at 0, where their densities agree. The quotients are written so that nothing cancels
// if a message is weak. Source: paper 000, appendix B.
#pragma once
#include "message.cuh"
#include "normal.cuh"

#ifdef SINGLE
#define LOG_FORWARD_MASS 18.4206807f
#else
#define LOG_FORWARD_MASS 18.420680743952367
#endif
#define LOG_BACKWARD_MASS (REAL)700
#define FOUR_PI_SQUARED (REAL)39.478417604357434
// At equality the forward precision is the sum of both; this keeps rounding from deciding.
#define TOLERANCE (REAL)1e-5
// A ReLU that is off is the point 0, represented by this many times the precision of z.
#define DEGENERATE (REAL)1e8

// Return the message with the moments of LeakyReLU(z); uniform if z is.
FUNCTION Message leaky_relu_direct(Message z, REAL slope) {
    int proper = z.rho > 0;
    REAL deviation = 1 / root(proper ? z.rho : 1), x = z.tau * deviation, y = magnitude(x);
    Fraction k = fraction(y);
    REAL beyond = INVERSE_ROOT_2_PI * exponential(x * x * (REAL)-0.5) / (y + k.k1);
    REAL bend = 1 - slope, excess = beyond * k.k1;
    REAL mean = (x > 0 ? x : slope * x) + bend * excess;
    REAL linear = x > 0 ? 1 - 2 * bend * beyond : slope * (slope + 2 * bend * beyond);
    REAL variance = linear + bend * bend * excess * (k.k2 - excess);
    REAL least = slope > 0 ? slope * slope : 1 / DEGENERATE;
    REAL rho = z.rho / at_least(least, variance), tau = mean * deviation * rho;
    return message(proper ? tau : 0, proper ? rho : 0);
}

// Both branches of the product of a message to z and a message to a.
typedef struct {
    REAL plus_weight, minus_weight;
    REAL plus_deviation, minus_deviation;
    Positive plus, minus;
    REAL likely;  // at least FOUR_PI_SQUARED if the log of the product's mass is at least -limit
} Branches;

FUNCTION Branches branches(Message z, Message a, REAL slope, REAL limit) {
    Branches b;
    b.plus_deviation = 1 / root(z.rho + a.rho);
    b.minus_deviation = 1 / root(z.rho + slope * slope * a.rho);
    b.plus = positive_part((z.tau + a.tau) * b.plus_deviation);
    b.minus = positive_part(-(z.tau + slope * a.tau) * b.minus_deviation);

    // Both branches have the same density at 0, so their masses relative to it are comparable.
    REAL lead = b.plus.exponent - b.minus.exponent;
    REAL behind = exponential(-magnitude(lead));
    REAL plus = b.plus_deviation * b.plus.mass * (lead < 0 ? behind : 1);
    REAL minus = b.minus_deviation * b.minus.mass * (lead > 0 ? behind : 1);
    REAL total = plus + minus, inverse = 1 / total;
    b.plus_weight = plus * inverse;
    b.minus_weight = minus * inverse;

    // The density at 0 times e^exponent, from squared differences of means.
    REAL crossed = a.tau * z.rho, rhos = z.rho * a.rho;
    REAL plus_distance = (z.tau * a.rho - crossed) * b.plus_deviation;
    REAL minus_distance = (slope * z.tau * a.rho - crossed) * b.minus_deviation;
    REAL distance = lead < 0 ? minus_distance : plus_distance;
    REAL inside = b.plus.exponent + b.minus.exponent > 0
                      ? distance * distance
                      : z.tau * z.tau * a.rho + a.tau * a.tau * z.rho;
    b.likely = total * total * rhos * exponential(2 * limit - inside / rhos);
    return b;
}

// A message, and flags (1 or 0): a guard replaced the quotient, and the replacement counts. Flags
// are numbers because compilers do not vectorise choices between truth values.
typedef struct {
    Message message;
    REAL replaced, counted;
} Guarded;

// Return the marginal of a divided by the message from a; `replaced` marks an unusable quotient.
FUNCTION Guarded leaky_relu_marginal_forward(Message z, Message a, REAL slope) {
    Branches b = branches(z, a, slope, LOG_FORWARD_MASS);
    REAL wp = b.plus_weight, wm = b.minus_weight, sp = b.plus_deviation, sm = b.minus_deviation;
    REAL vp = sp * sp, vm = sm * sm, slope2 = slope * slope;
    REAL distance = sp * b.plus.mean + slope * sm * b.minus.mean;
    REAL between = wp * wm * distance * distance;
    REAL precision =
        1 / (wp * vp * b.plus.variance + wm * slope2 * vm * b.minus.variance + between);
    REAL plus_rho = vp * (z.rho + a.rho * b.plus.loss);
    REAL minus_rho = vm * (z.rho + slope2 * a.rho * b.minus.loss);
    REAL plus_tau = vp * (z.tau + a.tau * b.plus.loss) + sp * b.plus.hazard;
    REAL minus_tau = slope * (vm * (z.tau + slope * a.tau * b.minus.loss) - sm * b.minus.hazard);
    Guarded result;
    result.message.rho = precision * (wp * plus_rho + wm * minus_rho - between * a.rho);
    result.message.tau = precision * (wp * plus_tau + wm * minus_tau - between * a.tau);
    int sound = (b.likely >= FOUR_PI_SQUARED) & (result.message.rho >= z.rho * (1 - TOLERANCE));
    int point = (slope == 0) & (result.message.rho > DEGENERATE * (z.rho + a.rho));
    int usable = sound & is_valid(result.message) & !point;
    result.replaced = usable ? 0 : 1;
    result.counted = (usable | point | (a.rho <= LEAST_PRECISION)) ? 0 : 1;
    return result;
}

// Return the marginal of z divided by the message from z, floored, or a guard's replacement.
FUNCTION Guarded leaky_relu_backward(Message z, Message a, REAL slope) {
    Branches b = branches(z, a, slope, LOG_BACKWARD_MASS);
    REAL wp = b.plus_weight, wm = b.minus_weight, sp = b.plus_deviation, sm = b.minus_deviation;
    REAL vp = sp * sp, vm = sm * sm, slope2 = slope * slope;
    REAL plus_mean = sp * b.plus.mean, minus_mean = sm * b.minus.mean;
    REAL distance = plus_mean + minus_mean;
    REAL between = wp * wm * distance * distance;
    REAL precision = 1 / (wp * vp * b.plus.variance + wm * vm * b.minus.variance + between);
    REAL plus_rho = vp * (a.rho + z.rho * b.plus.loss);
    REAL minus_rho = vm * (slope2 * a.rho + z.rho * b.minus.loss);
    REAL plus_tau = vp * (a.tau + z.tau * b.plus.loss) + sp * b.plus.hazard;
    REAL minus_tau = vm * (slope * a.tau + z.tau * b.minus.loss) - sm * b.minus.hazard;
    REAL gain = wp * plus_rho + wm * minus_rho - between * z.rho;
    REAL pull = wp * plus_tau + wm * minus_tau - between * z.tau;
    REAL rho = precision * gain, tau = precision * pull;
    // mean (rho_z + LEAST_PRECISION) - tau_z, without subtracting large numbers
    REAL mean = wp * plus_mean - wm * minus_mean;
    REAL floored_tau = z.rho * pull - z.tau * gain + LEAST_PRECISION * mean;
    int absent = (a.tau < 0) & (a.rho < 2 * LEAST_PRECISION);
    int finite = is_finite(rho) & is_finite(tau) & is_finite(floored_tau);
    int sound = (b.likely >= FOUR_PI_SQUARED) & finite & !absent;
    REAL floored = rho < LEAST_PRECISION ? 1 : 0;
    tau = rho < LEAST_PRECISION ? floored_tau : tau;
    rho = at_least(LEAST_PRECISION, rho);
    Guarded result;
    result.message = message(sound ? tau : 0, sound ? rho : LEAST_PRECISION);
    result.replaced = sound ? floored : 1;
    result.counted = a.rho == 0 ? 0 : result.replaced;
    return result;
}
