// Max-pooling of images, channels first or channels last; vectorised over windows.
#include <stdlib.h>
#include <string.h>

#include "max_pool.cuh"

#define WINDOWS 32       // computed at once; every loop over them is vectorised
#define MOST_INPUTS 121  // per window: products of 120 numbers below 2 are finite in any type
#define EACH(k) for (int k = 0; k < WINDOWS; k++)

typedef REAL Lanes[WINDOWS];

typedef struct {
    int64_t channels, height, width, size, channels_last;
} Layout;

typedef struct {
    Lanes mean[MOST_INPUTS], variance[MOST_INPUTS], weight[MOST_INPUTS];
} Windows;

// Return the offset of the first input of every window of an image, in the order of the results.
static int64_t *origins(Layout image, int64_t *count) {
    int64_t rows = image.height / image.size, columns = image.width / image.size;
    *count = image.channels * rows * columns;
    int64_t *origin = malloc(*count * sizeof *origin), k = 0;
    if (!origin) return origin;
    if (image.channels_last) {
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = 0; column < columns; column++)
                for (int64_t channel = 0; channel < image.channels; channel++) {
                    int64_t pixel = (row * image.width + column) * image.size;
                    origin[k++] = pixel * image.channels + channel;
                }
    } else {
        for (int64_t channel = 0; channel < image.channels; channel++)
            for (int64_t row = 0; row < rows; row++)
                for (int64_t column = 0; column < columns; column++)
                    origin[k++] = (channel * image.height + row * image.size) * image.width +
                                  column * image.size;
    }
    return origin;
}

// Return the offset of input j of a window from the first.
static int64_t shift(Layout image, int64_t j) {
    int64_t pixels = j / image.size * image.width + j % image.size;
    return pixels * (image.channels_last ? image.channels : 1);
}

// Return whether windows are contiguous, like the channels of a pixel: their inputs are then read
// and written as vectors.
static int side_by_side(int count, const int64_t *origin) {
    return origin[count - 1] - origin[0] == count - 1;
}

static void read_messages(int count, const int64_t *restrict origin, const REAL *restrict tau,
                          const REAL *restrict rho, REAL *restrict mean, REAL *restrict variance) {
    Lanes own_tau = {0}, own_rho;
    EACH(k) own_rho[k] = 1;
    if (side_by_side(count, origin)) {
        memcpy(own_tau, tau + origin[0], count * sizeof(REAL));
        memcpy(own_rho, rho + origin[0], count * sizeof(REAL));
    } else
        for (int k = 0; k < count; k++) {
            own_tau[k] = tau[origin[k]];
            own_rho[k] = rho[origin[k]];
        }
    EACH(k) {
        Moments input = moments(message(own_tau[k], own_rho[k]));
        mean[k] = input.mean;
        variance[k] = input.variance;
    }
}

static void write_messages(int count, const int64_t *restrict origin, const REAL *restrict tau,
                           const REAL *restrict rho, REAL *restrict out_tau,
                           REAL *restrict out_rho) {
    if (side_by_side(count, origin)) {
        memcpy(out_tau + origin[0], tau, count * sizeof(REAL));
        memcpy(out_rho + origin[0], rho, count * sizeof(REAL));
    } else
        for (int k = 0; k < count; k++) {
            out_tau[origin[k]] = tau[k];
            out_rho[origin[k]] = rho[k];
        }
}

static void compare_all(const REAL *restrict mean, const REAL *restrict variance,
                        const REAL *restrict other_mean, const REAL *restrict other_variance,
                        REAL *restrict wins, REAL *restrict other_wins) {
    EACH(k) {
        Moments own = {mean[k], variance[k]}, other = {other_mean[k], other_variance[k]};
        compare(own, other, &wins[k], &other_wins[k]);
    }
}

static void add_weighted(const REAL *restrict weight, const REAL *restrict mean,
                         const REAL *restrict variance, REAL *restrict sum_mean,
                         REAL *restrict sum_variance) {
    EACH(k) {
        sum_mean[k] = multiply_add(weight[k], mean[k], sum_mean[k]);
        sum_variance[k] = multiply_add(weight[k] * weight[k], variance[k], sum_variance[k]);
    }
}

// Fill means, variances and normalised weights of `count` windows, and of unused lanes.
static void weigh(Windows *w, Layout image, int count, const int64_t *origin, const REAL *tau,
                  const REAL *rho) {
    int inputs = (int)(image.size * image.size);
    for (int j = 0; j < inputs; j++) {
        int64_t by = shift(image, j);
        read_messages(count, origin, tau + by, rho + by, w->mean[j], w->variance[j]);
        EACH(k) w->weight[j][k] = 1;
    }
    for (int i = 1; i < inputs; i++)
        for (int j = 0; j < i; j++)
            compare_all(w->mean[i], w->variance[i], w->mean[j], w->variance[j], w->weight[i],
                        w->weight[j]);
    Lanes total = {0};
    for (int j = 0; j < inputs; j++) EACH(k) total[k] += w->weight[j][k];
    EACH(k) total[k] = 1 / total[k];
    for (int j = 0; j < inputs; j++) EACH(k) w->weight[j][k] *= total[k];
}

// Fill the moments of the windows' weighted sums without one of their inputs; -1 omits none.
static void sum_without(const Windows *w, int inputs, int omitted, REAL *mean, REAL *variance) {
    EACH(k) mean[k] = variance[k] = 0;
    for (int j = 0; j < inputs; j++)
        if (j != omitted) add_weighted(w->weight[j], w->mean[j], w->variance[j], mean, variance);
}

// Fill the messages to windows of `images` images. Return 0, or 1 if memory is exhausted.
int max_pool_forward_all(int64_t images, const int64_t *layout, const REAL *z_tau,
                         const REAL *z_rho, REAL *out_tau, REAL *out_rho) {
    Layout image = {layout[0], layout[1], layout[2], layout[3], layout[4]};
    int64_t windows, pixels = image.channels * image.height * image.width;
    int64_t *origin = origins(image, &windows);
    if (!origin) return 1;
    Windows w;
    Lanes mean, variance;
    for (int64_t n = 0; n < images; n++) {
        for (int64_t first = 0; first < windows; first += WINDOWS) {
            int count = windows - first < WINDOWS ? (int)(windows - first) : WINDOWS;
            weigh(&w, image, count, origin + first, z_tau + n * pixels, z_rho + n * pixels);
            sum_without(&w, (int)(image.size * image.size), -1, mean, variance);
            REAL *restrict tau = out_tau + n * windows + first;
            REAL *restrict rho = out_rho + n * windows + first;
            for (int k = 0; k < count; k++) {
                rho[k] = 1 / variance[k];
                tau[k] = mean[k] * rho[k];
            }
        }
    }
    free(origin);
    return 0;
}

// Fill the messages to the inputs that a window covers; others are left unchanged.
int max_pool_backward_all(int64_t images, const int64_t *layout, const REAL *z_tau,
                          const REAL *z_rho, const REAL *back_tau, const REAL *back_rho,
                          REAL *out_tau, REAL *out_rho) {
    Layout image = {layout[0], layout[1], layout[2], layout[3], layout[4]};
    int64_t windows, pixels = image.channels * image.height * image.width;
    int64_t *origin = origins(image, &windows);
    if (!origin) return 1;
    int inputs = (int)(image.size * image.size);
    Windows w;
    Lanes mean, variance, tau, rho, back_t = {0}, back_r = {0};
    for (int64_t n = 0; n < images; n++) {
        for (int64_t first = 0; first < windows; first += WINDOWS) {
            int count = windows - first < WINDOWS ? (int)(windows - first) : WINDOWS;
            weigh(&w, image, count, origin + first, z_tau + n * pixels, z_rho + n * pixels);
            memcpy(back_t, back_tau + n * windows + first, count * sizeof(REAL));
            memcpy(back_r, back_rho + n * windows + first, count * sizeof(REAL));
            for (int j = 0; j < inputs; j++) {
                sum_without(&w, inputs, j, mean, variance);
                EACH(k) {
                    Message out = to_summand(w.weight[j][k], message(back_t[k], back_r[k]),
                                             mean[k], variance[k]);
                    tau[k] = out.tau;
                    rho[k] = out.rho;
                }
                int64_t place = n * pixels + shift(image, j);
                write_messages(count, origin + first, tau, rho, out_tau + place, out_rho + place);
            }
        }
    }
    free(origin);
    return 0;
}
