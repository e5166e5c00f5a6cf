// Max-pooling of images that lie channels first or channels last; windows go side by side.
#include <stdlib.h>

#include "max_pool.cuh"

#define WINDOWS 32       // computed at once
#define MOST_INPUTS 121  // of a window: products of 120 numbers below 2 are finite in any type

typedef struct {
    int64_t channels, height, width, size, channels_last;
} Layout;

typedef struct {
    REAL mean[MOST_INPUTS][WINDOWS], variance[MOST_INPUTS][WINDOWS], weight[MOST_INPUTS][WINDOWS];
} Windows;

// Return where the first input of every window of an image stands, in the order of the results.
static int64_t *origins(Layout image, int64_t *count) {
    int64_t rows = image.height / image.size, columns = image.width / image.size;
    *count = image.channels * rows * columns;
    int64_t *origin = malloc(*count * sizeof *origin), k = 0;
    if (!origin) return origin;
    if (image.channels_last) {
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = 0; column < columns; column++)
                for (int64_t channel = 0; channel < image.channels; channel++)
                    origin[k++] = (row * image.width + column) * image.size * image.channels + channel;
    } else {
        for (int64_t channel = 0; channel < image.channels; channel++)
            for (int64_t row = 0; row < rows; row++)
                for (int64_t column = 0; column < columns; column++)
                    origin[k++] = (channel * image.height + row * image.size) * image.width +
                                  column * image.size;
    }
    return origin;
}

// Return how far input j of a window stands from its first.
static int64_t shift(Layout image, int64_t j) {
    int64_t pixels = j / image.size * image.width + j % image.size;
    return pixels * (image.channels_last ? image.channels : 1);
}

// Fill means, variances and normalised weights of `count` windows.
static void weigh(Windows *w, Layout image, int count, const int64_t *origin,
                  const REAL *restrict tau, const REAL *restrict rho) {
    int inputs = (int)(image.size * image.size);
    for (int j = 0; j < inputs; j++) {
        int64_t by = shift(image, j);
        for (int k = 0; k < count; k++) {
            Moments input = moments(message(tau[origin[k] + by], rho[origin[k] + by]));
            w->mean[j][k] = input.mean;
            w->variance[j][k] = input.variance;
            w->weight[j][k] = 1;
        }
    }
    for (int i = 1; i < inputs; i++) {
        for (int j = 0; j < i; j++) {
            const REAL *restrict mi = w->mean[i], *restrict mj = w->mean[j];
            const REAL *restrict vi = w->variance[i], *restrict vj = w->variance[j];
            REAL *restrict wi = w->weight[i], *restrict wj = w->weight[j];
            for (int k = 0; k < count; k++) {
                Moments a = {mi[k], vi[k]}, b = {mj[k], vj[k]};
                compare(a, b, &wi[k], &wj[k]);
            }
        }
    }
    for (int k = 0; k < count; k++) {
        REAL total = 0;
        for (int j = 0; j < inputs; j++) total += w->weight[j][k];
        REAL inverse = 1 / total;
        for (int j = 0; j < inputs; j++) w->weight[j][k] *= inverse;
    }
}

// Fill the messages to windows of `images` images. Return 0, or 1 if there is no memory.
int max_pool_forward_all(int64_t images, const int64_t *layout, const REAL *z_tau,
                         const REAL *z_rho, REAL *out_tau, REAL *out_rho) {
    Layout image = {layout[0], layout[1], layout[2], layout[3], layout[4]};
    int64_t windows, pixels = image.channels * image.height * image.width;
    int64_t *origin = origins(image, &windows);
    if (!origin) return 1;
    int inputs = (int)(image.size * image.size);
    Windows w;
    for (int64_t n = 0; n < images; n++) {
        for (int64_t first = 0; first < windows; first += WINDOWS) {
            int count = windows - first < WINDOWS ? (int)(windows - first) : WINDOWS;
            weigh(&w, image, count, origin + first, z_tau + n * pixels, z_rho + n * pixels);
            REAL *restrict tau = out_tau + n * windows + first;
            REAL *restrict rho = out_rho + n * windows + first;
            for (int k = 0; k < count; k++) {
                Moments sum = {0, 0};
                for (int j = 0; j < inputs; j++) {
                    REAL weight = w.weight[j][k];
                    sum.mean = multiply_add(weight, w.mean[j][k], sum.mean);
                    sum.variance = multiply_add(weight * weight, w.variance[j][k], sum.variance);
                }
                rho[k] = 1 / sum.variance;
                tau[k] = sum.mean * rho[k];
            }
        }
    }
    free(origin);
    return 0;
}

// Fill the messages to the inputs that a window covers; others are left as they are.
int max_pool_backward_all(int64_t images, const int64_t *layout, const REAL *z_tau,
                          const REAL *z_rho, const REAL *back_tau, const REAL *back_rho,
                          REAL *out_tau, REAL *out_rho) {
    Layout image = {layout[0], layout[1], layout[2], layout[3], layout[4]};
    int64_t windows, pixels = image.channels * image.height * image.width;
    int64_t *origin = origins(image, &windows);
    if (!origin) return 1;
    int inputs = (int)(image.size * image.size);
    Windows w;
    for (int64_t n = 0; n < images; n++) {
        for (int64_t first = 0; first < windows; first += WINDOWS) {
            int count = windows - first < WINDOWS ? (int)(windows - first) : WINDOWS;
            weigh(&w, image, count, origin + first, z_tau + n * pixels, z_rho + n * pixels);
            const REAL *restrict tau = back_tau + n * windows + first;
            const REAL *restrict rho = back_rho + n * windows + first;
            for (int j = 0; j < inputs; j++) {
                REAL new_tau[WINDOWS], new_rho[WINDOWS];
                for (int k = 0; k < count; k++) {
                    Moments others = {0, 0};
                    for (int i = 0; i < inputs; i++) {
                        REAL weight = i == j ? 0 : w.weight[i][k];
                        others.mean = multiply_add(weight, w.mean[i][k], others.mean);
                        others.variance =
                            multiply_add(weight * weight, w.variance[i][k], others.variance);
                    }
                    Message out = to_summand(w.weight[j][k], message(tau[k], rho[k]), others.mean,
                                             others.variance);
                    new_tau[k] = out.tau;
                    new_rho[k] = out.rho;
                }
                int64_t place = n * pixels + shift(image, j);
                for (int k = 0; k < count; k++) {
                    out_tau[place + origin[first + k]] = new_tau[k];
                    out_rho[place + origin[first + k]] = new_rho[k];
                }
            }
        }
    }
    free(origin);
    return 0;
}
