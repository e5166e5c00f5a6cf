// Operations on single units of a layer, vectorised over rows of features.
//
// `sizes` are members, examples, positions and features, then every tensor's strides of members,
// examples and positions; features are contiguous. Sums over positions have one row per example.
// Optional tensors may be NULL. Every function returns 0.
#include <stddef.h>

#include "units.cuh"

#define ROWS                                       \
    for (int64_t m = 0; m < sizes[0]; m++)         \
        for (int64_t n = 0; n < sizes[1]; n++)     \
            for (int64_t p = 0; p < sizes[2]; p++)
// No two tensors overlap.
#define FEATURES _Pragma("GCC ivdep") for (int64_t i = 0; i < sizes[3]; i++)
// The row of the k-th tensor.
#define ROW(all, k) (all + m * sizes[4 + 3 * k] + n * sizes[5 + 3 * k] + p * sizes[6 + 3 * k])
#define READ(name, k) const REAL *restrict name = ROW(all_##name, k)
#define WRITE(name, k) REAL *restrict name = ROW(all_##name, k)
#define CLEAR(name) \
    if (p == 0) FEATURES name[i] = 0

int fill_moments_all(const int64_t *sizes, const REAL *all_tau, const REAL *all_rho,
                     const REAL *all_sent_tau, const REAL *all_sent_rho, REAL *all_mean,
                     REAL *all_square, REAL *all_variance) {
    ROWS {
        READ(tau, 0);
        READ(rho, 1);
        READ(sent_tau, 2);
        READ(sent_rho, 3);
        WRITE(mean, 4);
        WRITE(square, 5);
        WRITE(variance, 6);
        FEATURES {
            Message whole = message(tau[i], rho[i]);
            if (all_sent_tau) whole = message(tau[i] + sent_tau[i], rho[i] + sent_rho[i]);
            Moments own = floored_moments(whole);
            mean[i] = own.mean;
            square[i] = own.mean * own.mean;
            variance[i] = own.variance;
        }
    }
    return 0;
}

int output_messages_all(const int64_t *sizes, const REAL *all_mean, const REAL *all_own,
                        const REAL *all_lower, const REAL *all_bias_mean,
                        const REAL *all_bias_variance, REAL *all_tau, REAL *all_rho) {
    ROWS {
        READ(mean, 0);
        READ(own, 1);
        READ(lower, 2);
        READ(bias_mean, 3);
        READ(bias_variance, 4);
        WRITE(tau, 5);
        WRITE(rho, 6);
        FEATURES {
            REAL variance = own[i] + (all_lower ? lower[i] : 0) + bias_variance[i];
            Message out = output_message(mean[i] + bias_mean[i], variance);
            tau[i] = out.tau;
            rho[i] = out.rho;
        }
    }
    return 0;
}

int fill_pulls_all(const int64_t *sizes, const REAL *all_z_tau, const REAL *all_z_rho,
                   const REAL *all_tau, const REAL *all_rho, REAL *all_again, REAL *all_h,
                   REAL *all_g) {
    ROWS {
        READ(z_tau, 0);
        READ(z_rho, 1);
        READ(tau, 2);
        READ(rho, 3);
        WRITE(again, 4);
        WRITE(h, 5);
        WRITE(g, 6);
        FEATURES {
            Pull own = pull(message(z_tau[i], z_rho[i]), message(tau[i], rho[i]));
            h[i] = own.h;
            g[i] = own.g;
            if (all_again) again[i] = own.g;
        }
    }
    return 0;
}

int fill_pulls_without_own_all(const int64_t *sizes, const REAL *all_z_tau, const REAL *all_z_rho,
                               const REAL *all_tau, const REAL *all_rho, const REAL *all_own,
                               const REAL *all_lower, const REAL *all_old, REAL *all_again,
                               REAL *all_h, REAL *all_g) {
    ROWS {
        READ(z_tau, 0);
        READ(z_rho, 1);
        READ(tau, 2);
        READ(rho, 3);
        READ(own, 4);
        READ(lower, 5);
        READ(old, 6);
        WRITE(again, 7);
        WRITE(h, 8);
        WRITE(g, 9);
        FEATURES {
            Message z = message(z_tau[i], z_rho[i]), back = message(tau[i], rho[i]);
            Pull rest = pull_without_own(z, back, own[i] + lower[i], old[i]);
            h[i] = rest.h;
            g[i] = rest.g;
        }
        if (all_again) FEATURES again[i] = g[i];
    }
    return 0;
}

int input_messages_all(const int64_t *sizes, const REAL *all_mean, const REAL *all_force,
                       const REAL *all_own, const REAL *all_whole, REAL *all_tau,
                       REAL *all_rho) {
    ROWS {
        READ(mean, 0);
        READ(force, 1);
        READ(own, 2);
        READ(whole, 3);
        WRITE(tau, 4);
        WRITE(rho, 5);
        FEATURES {
            Message out = input_message(mean[i], force[i], own[i], whole[i]);
            tau[i] = out.tau;
            rho[i] = out.rho;
        }
    }
    return 0;
}

int bias_messages_all(const int64_t *sizes, const REAL *all_g, const REAL *all_h,
                      const REAL *all_mean, const REAL *all_variance, REAL *all_tau,
                      REAL *all_rho) {
    ROWS {
        READ(g, 0);
        READ(h, 1);
        READ(mean, 2);
        READ(variance, 3);
        WRITE(tau, 4);
        WRITE(rho, 5);
        CLEAR(tau);
        CLEAR(rho);
        FEATURES {
            Moments cavity = {mean[i], variance[i]};
            Message out = bias_message(g[i], h[i], cavity);
            tau[i] += out.tau;
            rho[i] += out.rho;
        }
    }
    return 0;
}

// diagonal = own + bias variance, scale = e sqrt(g) and scaled = e (h - old), where
// e^2 = 1 + lower/diagonal; `sum` sums `scaled`.
int begin_all(const int64_t *sizes, const REAL *all_g, const REAL *all_h, const REAL *all_old,
              const REAL *all_own, const REAL *all_lower, const REAL *all_bias_variance,
              REAL *all_diagonal, REAL *all_scale, REAL *all_scaled, REAL *all_sum) {
    ROWS {
        READ(g, 0);
        READ(h, 1);
        READ(old, 2);
        READ(own, 3);
        READ(lower, 4);
        READ(bias_variance, 5);
        WRITE(diagonal, 6);
        WRITE(scale, 7);
        WRITE(scaled, 8);
        WRITE(sum, 9);
        CLEAR(sum);
        FEATURES {
            diagonal[i] = own[i] + bias_variance[i];
            scale[i] = root(g[i]);
            scaled[i] = h[i];
        }
        // A compiler vectorises each of these loops, but not one loop with both choices in it.
        if (all_old) FEATURES scaled[i] -= old[i];
        if (all_lower) FEATURES {
            REAL e = root(1 + lower[i] / diagonal[i]);
            scale[i] *= e;
            scaled[i] *= e;
        }
        FEATURES sum[i] += scaled[i];
    }
    return 0;
}

// direction = residual = -scale (moved + shift - diagonal scaled), scaled = scale residual; the
// sums are over residual^2 and `scaled`.
int fill_residual_all(const int64_t *sizes, const REAL *all_moved, const REAL *all_shift,
                      const REAL *all_diagonal, const REAL *all_scale, REAL *all_scaled,
                      REAL *all_residual, REAL *all_direction, REAL *all_square, REAL *all_sum) {
    ROWS {
        READ(moved, 0);
        READ(shift, 1);
        READ(diagonal, 2);
        READ(scale, 3);
        WRITE(scaled, 4);
        WRITE(residual, 5);
        WRITE(direction, 6);
        WRITE(square, 7);
        WRITE(sum, 8);
        CLEAR(square);
        CLEAR(sum);
        FEATURES {
            REAL others = multiply_add(-diagonal[i], scaled[i], moved[i] + shift[i]);
            REAL rest = -scale[i] * others;
            residual[i] = rest;
            direction[i] = rest;
            scaled[i] = scale[i] * rest;
            square[i] = multiply_add(rest, rest, square[i]);
            sum[i] += scaled[i];
        }
    }
    return 0;
}

// image = direction + scale (moved + shift - diagonal scale direction); `sum` sums
// direction image.
int fill_image_all(const int64_t *sizes, const REAL *all_direction, const REAL *all_moved,
                   const REAL *all_shift, const REAL *all_diagonal, const REAL *all_scale,
                   REAL *all_image, REAL *all_sum) {
    ROWS {
        READ(direction, 0);
        READ(moved, 1);
        READ(shift, 2);
        READ(diagonal, 3);
        READ(scale, 4);
        WRITE(image, 5);
        WRITE(sum, 6);
        CLEAR(sum);
        FEATURES {
            REAL scaled = scale[i] * direction[i];
            REAL others = multiply_add(-diagonal[i], scaled, moved[i] + shift[i]);
            image[i] = multiply_add(scale[i], others, direction[i]);
            sum[i] = multiply_add(direction[i], image[i], sum[i]);
        }
    }
    return 0;
}

// u += length direction, residual -= length image; `sum` sums residual^2.
int step_all(const int64_t *sizes, const REAL *all_direction, const REAL *all_length,
             const REAL *all_image, REAL *all_u, REAL *all_residual, REAL *all_sum) {
    ROWS {
        READ(direction, 0);
        READ(length, 1);
        READ(image, 2);
        WRITE(u, 3);
        WRITE(residual, 4);
        WRITE(sum, 5);
        CLEAR(sum);
        FEATURES {
            u[i] = multiply_add(length[i], direction[i], u[i]);
            residual[i] = multiply_add(-length[i], image[i], residual[i]);
            sum[i] = multiply_add(residual[i], residual[i], sum[i]);
        }
    }
    return 0;
}

// direction = residual + ratio direction, scaled = scale direction; `sum` sums `scaled`.
int turn_all(const int64_t *sizes, const REAL *all_residual, const REAL *all_ratio,
             const REAL *all_scale, REAL *all_direction, REAL *all_scaled, REAL *all_sum) {
    ROWS {
        READ(residual, 0);
        READ(ratio, 1);
        READ(scale, 2);
        WRITE(direction, 3);
        WRITE(scaled, 4);
        WRITE(sum, 5);
        CLEAR(sum);
        FEATURES {
            direction[i] = multiply_add(ratio[i], direction[i], residual[i]);
            scaled[i] = scale[i] * direction[i];
            sum[i] += scaled[i];
        }
    }
    return 0;
}

// h += sqrt(g) u
int finish_all(const int64_t *sizes, const REAL *all_g, const REAL *all_u, REAL *all_h) {
    ROWS {
        READ(g, 0);
        READ(u, 1);
        WRITE(h, 2);
        FEATURES h[i] = multiply_add(root(g[i]), u[i], h[i]);
    }
    return 0;
}
