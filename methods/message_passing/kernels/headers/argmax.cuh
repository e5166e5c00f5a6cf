// The factor of a class label: the true output plus noise exceeds each other output.
//
// A pair's difference, truncated to be positive, is moment-matched. Source: paper 000, appendix B.
#pragma once
#include "message.cuh"
#include "normal.cuh"

typedef struct {
    Message to_true, to_other;
} Pair;

// Return the messages of one comparison, the second scaled by the probability of losing it.
FUNCTION Pair argmax_pair(Moments truth, Moments other, REAL noise_variance) {
    REAL total = truth.variance + other.variance + noise_variance, deviation = root(total);
    REAL x = (truth.mean - other.mean) / deviation;
    Positive cut = positive_part(x);
    REAL true_divisor = other.variance + noise_variance + cut.variance * truth.variance;
    REAL other_divisor = truth.variance + noise_variance + cut.variance * other.variance;
    // Both forms are equal; each is free of cancellation on its side of 0.
    REAL step = deviation * (x > 0 ? cut.hazard : cut.pull);
    REAL to_true = step + cut.loss * (x > 0 ? truth.mean : other.mean);
    REAL to_other = cut.loss * (x > 0 ? other.mean : truth.mean) - step;
    REAL true_scale = 1 / true_divisor, other_scale = cut.probability / other_divisor;
    Pair result;
    result.to_true = message(to_true * true_scale, cut.loss * true_scale);
    result.to_other = message(to_other * other_scale, cut.loss * other_scale);
    return result;
}
