// Ratios of the standard normal density phi and distribution Phi, without cancellation.
//
// Laplace's continued fraction of Mills' ratio Phi(-y)/phi(y) is 1/(y + K1), K1 = 1/(y + K2),
// K2 = 2/(y + K3), ... Everything below follows from K2 by sums of positive terms or by
// differences that cancel at most a factor of three.
#pragma once
#include "exponential.cuh"

#ifdef SINGLE
#define ROOT_2_PI 2.50662827f
#define INVERSE_ROOT_2_PI 0.398942280f
#else
#define ROOT_2_PI 2.5066282746310002
#define INVERSE_ROOT_2_PI 0.39894228040143268
#endif

typedef struct {
    REAL k1, k2;
} Fraction;

// Return K1 and K2 of y >= 0.
//
// K2 (y + 4) is smooth in u = (4 - y)/(4 + y), -1 < u <= 1, also at infinite y: its Chebyshev
// series, fitted to 40 digits, is cut where terms fall below the precision.
FUNCTION Fraction fraction(REAL y) {
    REAL t = 1 / (y + 4);
    REAL u = multiply_add(8, t, -1);
    REAL s = u * u;
#ifdef SINGLE
    REAL even = 7.390742975e-4f;
    even = multiply_add(even, s, -4.622491768e-3f);
    even = multiply_add(even, s, 1.517187392e-2f);
    even = multiply_add(even, s, -3.761635900e-2f);
    even = multiply_add(even, s, 8.224705795e-2f);
    even = multiply_add(even, s, -1.586616553e-1f);
    even = multiply_add(even, s, 1.495008382e-1f);
    even = multiply_add(even, s, 3.459869944f);
    REAL odd = -1.976135579e-4f;
    odd = multiply_add(odd, s, 1.324665072e-3f);
    odd = multiply_add(odd, s, -4.83699536e-3f);
    odd = multiply_add(odd, s, 1.432668892e-2f);
    odd = multiply_add(odd, s, -4.183126498e-2f);
    odd = multiply_add(odd, s, 1.299926869e-1f);
    odd = multiply_add(odd, s, -4.457420515e-1f);
    odd = multiply_add(odd, s, 1.853592158f);
#else
    REAL even = 1.05578310026641686e-7;
    even = multiply_add(even, s, -1.12763835937028574e-6);
    even = multiply_add(even, s, 6.09703960861253067e-6);
    even = multiply_add(even, s, -2.30794113686159772e-5);
    even = multiply_add(even, s, 7.15160145798560535e-5);
    even = multiply_add(even, s, -1.98872626385298953e-4);
    even = multiply_add(even, s, 5.20728692644798650e-4);
    even = multiply_add(even, s, -1.30919360929804838e-3);
    even = multiply_add(even, s, 3.18261867497316098e-3);
    even = multiply_add(even, s, -7.50925377584844410e-3);
    even = multiply_add(even, s, 1.72428087884398156e-2);
    even = multiply_add(even, s, -3.84963890449481632e-2);
    even = multiply_add(even, s, 8.24571504095374870e-2);
    even = multiply_add(even, s, -1.58686764434496653e-1);
    even = multiply_add(even, s, 1.49501994988665011e-1);
    even = multiply_add(even, s, 3.45986993498494634);
    REAL odd = -4.26064543872277224e-8;
    odd = multiply_add(odd, s, 4.67919769027980239e-7);
    odd = multiply_add(odd, s, -2.57865804800550802e-6);
    odd = multiply_add(odd, s, 9.77084615373668277e-6);
    odd = multiply_add(odd, s, -2.94831798211366997e-5);
    odd = multiply_add(odd, s, 7.74129140908652197e-5);
    odd = multiply_add(odd, s, -1.87023747552883536e-4);
    odd = multiply_add(odd, s, 4.31568047368562813e-4);
    odd = multiply_add(odd, s, -9.81929969874786463e-4);
    odd = multiply_add(odd, s, 2.27811014834822945e-3);
    odd = multiply_add(odd, s, -5.56949695207461782e-3);
    odd = multiply_add(odd, s, 1.46728956716260649e-2);
    odd = multiply_add(odd, s, -4.19277999526928662e-2);
    odd = multiply_add(odd, s, 1.30007281408788175e-1);
    odd = multiply_add(odd, s, -4.45743055742659951e-1);
    odd = multiply_add(odd, s, 1.85359217848403447);
#endif
    Fraction result;
    result.k2 = multiply_add(odd, u, even) * t;
    result.k1 = 1 / (y + result.k2);
    return result;
}

#define FAR 40  // beyond it tails are 0

// Return Phi(-|x|).
FUNCTION REAL normal_tail(REAL x) {
    REAL y = magnitude(x) > FAR ? FAR : magnitude(x);
    REAL d = y + fraction(y).k2;  // 1/K1; divisions are what takes the time
    return INVERSE_ROOT_2_PI * exponential(x * x * (REAL)-0.5) * d / multiply_add(y, d, 1);
}

// The standard normal above -x: a unit of mean x, cut to be positive.
typedef struct {
    REAL hazard;       // lam = phi(x)/Phi(x)
    REAL mean;         // x + lam
    REAL loss;         // lam (lam + x), the variance that the cut takes away
    REAL variance;     // 1 - lam (lam + x)
    REAL pull;         // lam (1 + x (lam + x)) = mean - x variance
    REAL mass;         // sqrt(2 pi) Phi(x) e^(x^2/2 - exponent)
    REAL exponent;     // x^2/2 of positive x, otherwise 0
    REAL probability;  // Phi(x)
} Positive;

FUNCTION Positive positive_part(REAL x) {
    REAL y = magnitude(x);
    Fraction k = fraction(y);
    REAL ratio = y + k.k1, half = x * x * (REAL)0.5;
    REAL inverse = 1 / ratio, density = exponential(-half);
    Positive result;
    result.mass = x > 0 ? ROOT_2_PI - density * inverse : inverse;
    result.exponent = x > 0 ? half : 0;
    result.hazard = x > 0 ? density / result.mass : ratio;
    result.mean = x > 0 ? x + result.hazard : k.k1;
    result.loss = result.hazard * result.mean;
    result.variance = x > 0 ? 1 - result.loss : (k.k2 - k.k1) * k.k1;
    result.pull = result.hazard * (x > 0 ? multiply_add(x, result.mean, 1) : k.k1 * k.k2);
    result.probability = INVERSE_ROOT_2_PI * (x > 0 ? result.mass : result.mass * density);
    return result;
}
