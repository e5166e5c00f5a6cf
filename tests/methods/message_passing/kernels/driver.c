// Every kernel on odd shapes and extreme numbers, with arrays of exactly the size that it is told:
// a sanitizer sees each read and write beyond them. Prints the number of invalid messages.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.cuh"

typedef const REAL *In;
typedef REAL *Out;

int leaky_relu_direct_all(int64_t, double, In, In, Out, Out);
int leaky_relu_forward_all(int64_t, int64_t, double, In, In, In, In, Out, Out, int64_t *);
int leaky_relu_backward_all(int64_t, int64_t, double, In, In, In, In, Out, Out, int64_t *);
int argmax_backward_all(int64_t, int64_t, double, double, In, In, const int64_t *, Out, Out);
int max_pool_forward_all(int64_t, const int64_t *, In, In, Out, Out);
int max_pool_backward_all(int64_t, const int64_t *, In, In, In, In, Out, Out);
int exact_weight_sums_all(const int64_t *, In, In, In, In, In, In, Out, Out);
int exact_input_sums_all(const int64_t *, In, In, In, In, In, In, Out, Out);
int exact_first_forward_all(const int64_t *, In, In, In, In, In, Out, Out);
int exact_first_weight_sums_all(const int64_t *, In, In, In, In, In, In, In, Out, Out);
int fill_moments_all(const int64_t *, In, In, In, In, Out, Out, Out);
int output_messages_all(const int64_t *, In, In, In, In, In, Out, Out);
int fill_pulls_all(const int64_t *, In, In, In, In, Out, Out, Out);
int fill_pulls_without_own_all(const int64_t *, In, In, In, In, In, In, In, Out, Out, Out);
int input_messages_all(const int64_t *, In, In, In, In, Out, Out);
int bias_messages_all(const int64_t *, In, In, In, In, Out, Out);
int begin_all(const int64_t *, In, In, In, In, In, In, Out, Out, Out, Out);
int fill_residual_all(const int64_t *, In, In, In, In, Out, Out, Out, Out, Out);
int fill_image_all(const int64_t *, In, In, In, In, In, Out, Out);
int step_all(const int64_t *, In, In, In, Out, Out, Out);
int turn_all(const int64_t *, In, In, In, Out, Out, Out);
int finish_all(const int64_t *, In, In, Out);
int fill_weight_moments_all(int64_t, In, In, Out, Out, Out);
int exchange_all(int64_t, double, In, In, In, In, Out, Out, Out, Out, Out, Out);
int dense_sums_all(const int64_t *, In, In, In, Out, Out);
int dense_messages_all(const int64_t *, double, In, In, In, In, In, Out, Out, Out, Out, Out, Out,
                       Out);

static unsigned state = 1;

static double uniform(void) {
    state = state * 1664525u + 1013904223u;
    return state / 4294967296.0;
}

static REAL *empty(int64_t count) { return malloc((count ? count : 1) * sizeof(REAL)); }

// Random numbers, on a logarithmic scale where they are precisions.
static REAL *filled(int64_t count, double low, double high, int logarithmic) {
    REAL *out = empty(count);
    for (int64_t i = 0; i < count; i++) {
        double value = low + (high - low) * uniform();
        out[i] = (REAL)(logarithmic ? exp(value) : value);
    }
    return out;
}

static int64_t invalid(int64_t count, REAL *tau, REAL *rho) {
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) found += !is_valid(message(tau[i], rho[i]));
    free(tau);
    free(rho);
    return found;
}

static int64_t activations(int64_t members, int64_t count, double slope) {
    int64_t n = members * count, found = 0;
    REAL *zt = filled(n, -100, 100, 0), *zr = filled(n, -18, 18, 1);
    REAL *at = filled(n, -100, 100, 0), *ar = filled(n, -18, 18, 1);
    int64_t *counts = malloc((members ? members : 1) * sizeof *counts);
    REAL *t = empty(n), *r = empty(n);
    leaky_relu_direct_all(n, slope, zt, zr, t, r);
    found += invalid(n, t, r), t = empty(n), r = empty(n);
    leaky_relu_forward_all(members, count, slope, zt, zr, at, ar, t, r, counts);
    found += invalid(n, t, r), t = empty(n), r = empty(n);
    leaky_relu_backward_all(members, count, slope, zt, zr, at, ar, t, r, counts);
    found += invalid(n, t, r);
    free(zt), free(zr), free(at), free(ar), free(counts);
    return found;
}

static int64_t labels(int64_t rows, int64_t classes) {
    int64_t n = rows * classes;
    REAL *zt = filled(n, -100, 100, 0), *zr = filled(n, -18, 18, 1), *t = empty(n), *r = empty(n);
    int64_t *label = malloc((rows ? rows : 1) * sizeof *label);
    for (int64_t k = 0; k < rows; k++) label[k] = k % classes;
    argmax_backward_all(rows, classes, 0.3, 10.0, zt, zr, label, t, r);
    free(zt), free(zr), free(label);
    return invalid(n, t, r);
}

static int64_t pooling(int64_t images, int64_t channels, int64_t height, int64_t width,
                       int64_t size, int64_t last) {
    int64_t layout[5] = {channels, height, width, size, last}, found = 0;
    int64_t n = images * channels * height * width;
    int64_t windows = images * channels * (height / size) * (width / size);
    REAL *zt = filled(n, -100, 100, 0), *zr = filled(n, -9, 9, 1);
    REAL *bt = filled(windows, -100, 100, 0), *br = filled(windows, -18, 18, 1);
    REAL *t = empty(windows), *r = empty(windows);
    max_pool_forward_all(images, layout, zt, zr, t, r);
    found += invalid(windows, t, r);
    t = calloc(n + 1, sizeof *t), r = calloc(n + 1, sizeof *r);
    max_pool_backward_all(images, layout, zt, zr, bt, br, t, r);
    free(zt), free(zr), free(bt), free(br);
    return found + invalid(n, t, r);
}

static int64_t sums(int64_t members, int64_t rows, int64_t inputs, int64_t outputs) {
    int64_t sizes[4] = {members, rows, inputs, outputs}, found = 0;
    int64_t a = members * rows * inputs, w = members * outputs * inputs;
    int64_t u = members * rows * outputs;
    REAL *m = filled(a, -2, 2, 0), *s = filled(a, -9, 0, 1);
    REAL *wm = filled(w, -2, 2, 0), *ws = filled(w, -9, 0, 1);
    REAL *g = filled(u, -9, -6, 1), *h = filled(u, -2, 2, 0), *t = empty(w), *r = empty(w);
    exact_weight_sums_all(sizes, m, NULL, wm, ws, g, h, t, r);
    exact_weight_sums_all(sizes, m, s, wm, ws, g, h, t, r);
    found += invalid(w, t, r), t = empty(a), r = empty(a);
    exact_input_sums_all(sizes, m, s, wm, ws, g, h, t, r);
    found += invalid(a, t, r), t = empty(u), r = empty(u);
    exact_first_forward_all(sizes, m, wm, ws, g, h, t, r);
    found += invalid(u, t, r), t = empty(w), r = empty(w);
    exact_first_weight_sums_all(sizes, m, wm, ws, g, h, g, h, t, r);
    free(m), free(s), free(wm), free(ws), free(g), free(h);
    return found + invalid(w, t, r);
}

// Rows with room between them, as of one of three tensors side by side.
static int64_t units(int64_t members, int64_t examples, int64_t positions, int64_t features) {
    int64_t n = members * examples * positions * features, biases = members * examples * features;
    int64_t apart[3] = {3 * examples * positions * features, 3 * positions * features, 3 * features};
    int64_t own[3] = {examples * features, features, 0}, found = 0, sizes[40];
    int64_t lengths[4] = {members, examples, positions, features};
    memcpy(sizes, lengths, sizeof lengths);
    REAL *x[10];
    for (int k = 0; k < 10; k++) x[k] = filled(3 * n, -9, 0, 1);
    REAL *b[4];
    for (int k = 0; k < 4; k++) b[k] = filled(biases, -9, -3, 1);
#define LAID(...)                                                               \
    do {                                                                        \
        int64_t *all[] = {__VA_ARGS__};                                         \
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)                   \
            memcpy(sizes + 4 + 3 * k, all[k], sizeof apart);                    \
    } while (0)
    LAID(apart, apart, apart, apart, apart, apart, apart);
    fill_moments_all(sizes, x[0], x[1], NULL, NULL, x[2], x[3], x[4]);
    fill_moments_all(sizes, x[0], x[1], x[2], x[3], x[4], x[5], x[6]);
    fill_pulls_all(sizes, x[0], x[1], x[2], x[3], NULL, x[5], x[6]);
    fill_pulls_all(sizes, x[0], x[1], x[2], x[3], x[4], x[5], x[6]);
    LAID(apart, apart, apart, apart, apart, apart, apart, apart, apart, apart);
    fill_pulls_without_own_all(sizes, x[0], x[1], x[2], x[3], x[7], x[8], x[9], NULL, x[5], x[6]);
    fill_pulls_without_own_all(sizes, x[0], x[1], x[2], x[3], x[7], x[8], x[9], x[4], x[5], x[6]);
    LAID(apart, apart, apart, own, own, apart, apart);
    output_messages_all(sizes, x[0], x[1], NULL, b[0], b[1], x[3], x[4]);
    output_messages_all(sizes, x[0], x[1], x[2], b[0], b[1], x[3], x[4]);
    LAID(apart, apart, apart, apart, apart, apart);
    input_messages_all(sizes, x[0], x[1], x[2], x[3], x[4], x[5]);
    finish_all(sizes, x[1], x[2], x[3]);
    LAID(apart, apart, own, own, own, own);
    bias_messages_all(sizes, x[6], x[7], b[0], b[1], b[2], b[3]);
    LAID(apart, apart, apart, apart, apart, own, apart, apart, apart, own);
    begin_all(sizes, x[6], x[7], NULL, x[1], NULL, b[0], x[2], x[3], x[4], b[2]);
    begin_all(sizes, x[6], x[7], x[0], x[1], x[8], b[0], x[2], x[3], x[4], b[2]);
    LAID(apart, own, apart, apart, apart, apart, apart, own, own);
    fill_residual_all(sizes, x[0], b[0], x[2], x[3], x[4], x[5], x[8], b[1], b[2]);
    LAID(apart, apart, own, apart, apart, apart, own);
    fill_image_all(sizes, x[8], x[0], b[0], x[2], x[3], x[9], b[2]);
    LAID(apart, own, apart, apart, apart, own);
    step_all(sizes, x[8], b[0], x[9], x[7], x[5], b[2]);
    LAID(apart, own, apart, apart, apart, own);
    turn_all(sizes, x[5], b[0], x[3], x[8], x[4], b[2]);
    for (int k = 0; k < 10; k++) {
        for (int64_t i = 0; i < 3 * n; i++) found += !is_finite(x[k][i]);
        free(x[k]);
    }
    for (int k = 0; k < 4; k++) free(b[k]);
    return found;
}

static int64_t dense(int64_t members, int64_t rows, int64_t inputs, int64_t outputs) {
    int64_t sizes[4] = {members, rows, inputs, outputs}, found = 0;
    int64_t a = 3 * members * rows * inputs, u = members * rows * outputs;
    int64_t w = members * outputs * inputs;
    REAL *t = filled(w, -2, 2, 0), *r = filled(w, -5, 5, 1), *x = filled(a, -9, 0, 1);
    REAL *g = filled(u, -9, -6, 1), *h = filled(u, -2, 2, 0), *z = empty(3 * u), *v = empty(w);
    REAL *m = empty(w), *s = empty(w), *nt = filled(w, -2, 2, 0), *nr = filled(w, -5, 5, 1);
    REAL *all_t = filled(w, -2, 2, 0), *all_r = filled(w, -5, 5, 1), *to_x = empty(a);
    REAL *kept_t = empty(w), *kept_r = empty(w);
    fill_weight_moments_all(w, t, r, m, v, s);
    dense_sums_all(sizes, t, r, x, NULL, z);
    dense_sums_all(sizes, t, r, x, v, z);
    exchange_all(w, 1.0, nt, nr, NULL, NULL, NULL, NULL, NULL, NULL, t, r);
    exchange_all(w, 0.5, nt, nr, nt, nr, kept_t, kept_r, all_t, all_r, t, r);
    exchange_all(w, 0.5, nt, nr, kept_t, kept_r, kept_t, kept_r, all_t, all_r, t, r);
    found += dense_messages_all(sizes, 1.0, x, h, g, NULL, NULL, NULL, NULL, NULL, NULL, t, r,
                                to_x);
    found += dense_messages_all(sizes, 0.5, x, h, g, nt, nr, kept_t, kept_r, all_t, all_r, t, r,
                                to_x);
    for (int64_t k = 0; k < 3 * u; k++) found += !is_finite(z[k]);
    for (int64_t k = 0; k < a; k++) found += !is_finite(to_x[k]);
    free(x), free(g), free(h), free(z), free(to_x);
    return found + invalid(w, m, v) + invalid(w, nt, s) + invalid(w, kept_t, kept_r) +
           invalid(w, t, r) + invalid(w, all_t, all_r) + invalid(0, nr, empty(0));
}

int main(void) {
    int64_t found = 0;
    for (int64_t count = 0; count < 70; count += 3)
        found += activations(3, count, count % 2 ? 0.1 : 0.0);
    found += activations(1, 777, 1.0) + activations(0, 5, 0.1);
    for (int64_t classes = 1; classes < 200; classes += 33) found += labels(5, classes);
    for (int64_t last = 0; last < 2; last++)
        for (int64_t size = 1; size < 12; size += 2)
            found += pooling(2, 3, 11 + size, 13, size, last) + pooling(1, 40, 11, 11, 11, last);
    found += sums(2, 1, 1, 1) + sums(1, 3, 13, 50) + sums(2, 131, 17, 5) + sums(1, 2, 133, 35);
    found += sums(1, 0, 4, 3) + sums(1, 3, 0, 2) + sums(1, 3, 2, 0);
    found += units(1, 2, 6, 8) + units(2, 3, 1, 17) + units(1, 1, 5, 33) + units(0, 1, 1, 1);
    found += dense(2, 1, 1, 1) + dense(1, 4, 16, 2) + dense(2, 7, 21, 5) + dense(1, 37, 1100, 3);
    found += dense(1, 0, 4, 3) + dense(1, 3, 0, 2) + dense(1, 3, 2, 0) + dense(0, 1, 1, 1);
    printf("%lld invalid\n", (long long)found);
    return found != 0;
}
