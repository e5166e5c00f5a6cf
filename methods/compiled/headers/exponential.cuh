// e^x by arithmetic alone, which vector units can do for many x at once.
//
// x = k ln 2 + r with |r| <= (ln 2)/2. Adding SHIFT rounds x/ln 2 to the integer k, which then
// stands in the last bits of the sum. The polynomial interpolates (e^r - 1 - r)/r^2 at Chebyshev
// points.
#pragma once
#include "real.cuh"

#ifdef SINGLE
#define LEAST_EXPONENT -87.0f
#define MOST_EXPONENT 88.0f
#define SHIFT 12582912.0f
#define MANTISSA 23
#define ONE 0x3f800000
#define LOG2_E 1.44269504f
#define LN2_HIGH 0.693359375f
#define LN2_LOW -2.12194440e-4f
#else
#define LEAST_EXPONENT -708.0
#define MOST_EXPONENT 709.0
#define SHIFT 6755399441055744.0
#define MANTISSA 52
#define ONE 0x3ff0000000000000
#define LOG2_E 1.4426950408889634
#define LN2_HIGH 6.93145751953125e-1
#define LN2_LOW 1.42860682030941723212e-6
#endif

// Return 2^k of a number SHIFT + k.
FUNCTION REAL power_of_two(REAL shifted) {
    union {
        REAL number;
        INTEGER bits;
    } value;
    value.number = shifted;
#ifdef SINGLE
    value.bits = (INTEGER)(((unsigned)value.bits << MANTISSA) + ONE);
#else
    value.bits = (INTEGER)(((unsigned long long)value.bits << MANTISSA) + ONE);
#endif
    return value.number;
}

// Return e^x, 0 where that would be less than the least normal number; at most e^MOST_EXPONENT.
FUNCTION REAL exponential(REAL x) {
    REAL bounded = x > MOST_EXPONENT ? MOST_EXPONENT : x;
    REAL shifted = bounded * LOG2_E + SHIFT;
    REAL k = shifted - SHIFT;
    REAL r = multiply_add(k, -LN2_LOW, multiply_add(k, -LN2_HIGH, bounded));
#ifdef SINGLE
    REAL p = 1.3933733e-3f;
    p = multiply_add(p, r, 8.3632353846e-3f);
    p = multiply_add(p, r, 4.1666464167e-2f);
    p = multiply_add(p, r, 1.6666576644e-1f);
    p = multiply_add(p, r, 0.5f);
#else
    REAL s = r * r;
    REAL even = 2.7620202631315898907e-7;
    even = multiply_add(even, s, 2.4801521055364205099e-5);
    even = multiply_add(even, s, 1.3888888917368964054e-3);
    even = multiply_add(even, s, 4.1666666666623815998e-2);
    even = multiply_add(even, s, 0.5);
    REAL odd = 2.5105313423078522597e-8;
    odd = multiply_add(odd, s, 2.7557255168123061037e-6);
    odd = multiply_add(odd, s, 1.9841269875003973979e-4);
    odd = multiply_add(odd, s, 8.3333333333260825535e-3);
    odd = multiply_add(odd, s, 1.6666666666666671030e-1);
    REAL p = multiply_add(odd, r, even);
#endif
    REAL value = multiply_add(p * r, r, r);
    REAL scale = power_of_two(shifted);
    return x < LEAST_EXPONENT ? 0 : multiply_add(value, scale, scale);
}
