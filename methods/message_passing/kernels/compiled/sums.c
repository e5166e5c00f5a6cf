// Exact sums of messages of weighted sums; the innermost loops are vectorised.
//
// Axes: rows `members rows inputs` and `members rows outputs`, weights `members outputs inputs`.
// Every sum runs in the order of its index. Tiles keep values that are reread in the caches.
// `sizes` are members, rows, inputs, outputs. Observed inputs have no variance: NULL. Every
// function returns 0.
#include "dense.cuh"

#define TILE 128


static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static void clear(int64_t count, REAL *first, REAL *second) {
    for (int64_t k = 0; k < count; k++) first[k] = second[k] = 0;
}

// Add the messages through one unit to `count` factors; `own` are the other factors.
static void add_products(int64_t count, const REAL *restrict own_mean,
                         const REAL *restrict own_variance, const REAL *restrict mean,
                         const REAL *restrict variance, REAL g, REAL h, REAL *restrict tau,
                         REAL *restrict rho) {
    for (int64_t i = 0; i < count; i++) {
        Moments own = {own_mean[i], own_variance[i]}, target = {mean[i], variance[i]};
        Message sum = add_product_message(message(tau[i], rho[i]), own, target, g, h);
        tau[i] = sum.tau;
        rho[i] = sum.rho;
    }
}

static void add_observed(int64_t count, const REAL *restrict x, const REAL *restrict mean,
                         const REAL *restrict variance, REAL old_g, REAL old_h, REAL g, REAL h,
                         REAL *restrict tau, REAL *restrict rho) {
    for (int64_t i = 0; i < count; i++) {
        Moments weight = {mean[i], variance[i]};
        Message sum = message(tau[i], rho[i]);
        sum = add_observed_message(sum, x[i], weight, old_g, old_h, g, h);
        tau[i] = sum.tau;
        rho[i] = sum.rho;
    }
}

static void add_terms(int64_t count, REAL x, const REAL *restrict mean,
                      const REAL *restrict variance, const REAL *restrict g,
                      const REAL *restrict h, REAL *restrict out_mean,
                      REAL *restrict out_variance) {
    for (int64_t o = 0; o < count; o++) {
        Moments weight = {mean[o], variance[o]}, sum = {out_mean[o], out_variance[o]};
        sum = add_observed_term(sum, x, weight, g[o], h[o]);
        out_mean[o] = sum.mean;
        out_variance[o] = sum.variance;
    }
}

#define SIDE 32  // whole vectors; a tile of fewer inputs is filled up with 0
#define EACH(k) for (int k = 0; k < SIDE; k++)

typedef REAL Lanes[SIDE];

static void load(int64_t count, const REAL *from, REAL *to) {
    EACH(k) to[k] = k < count ? from[k] : 0;
}

// Add the messages of `count` rows to a tile of one output's weights.
static void add_rows(int64_t count, int64_t outputs, const Lanes *mean, const Lanes *variance,
                     const REAL *g, const REAL *h, const Lanes w_mean, const Lanes w_variance,
                     Lanes tau, Lanes rho) {
    for (int64_t n = 0; n < count; n++)
        EACH(k) {
            Moments own = {mean[n][k], variance[n][k]}, weight = {w_mean[k], w_variance[k]};
            Message sum = add_product_message(message(tau[k], rho[k]), own, weight,
                                              g[n * outputs], h[n * outputs]);
            tau[k] = sum.tau;
            rho[k] = sum.rho;
        }
}

static void add_known_rows(int64_t count, int64_t outputs, const Lanes *x, const REAL *g,
                           const REAL *h, const Lanes w_mean, const Lanes w_variance, Lanes tau,
                           Lanes rho) {
    for (int64_t n = 0; n < count; n++)
        EACH(k) {
            Moments weight = {w_mean[k], w_variance[k]};
            Message sum = add_known_message(message(tau[k], rho[k]), x[n][k], weight,
                                            g[n * outputs], h[n * outputs]);
            tau[k] = sum.tau;
            rho[k] = sum.rho;
        }
}

int exact_weight_sums_all(const int64_t *sizes, const REAL *mean, const REAL *variance,
                           const REAL *w_mean, const REAL *w_variance, const REAL *g,
                           const REAL *h, REAL *tau, REAL *rho) {
    int64_t members = sizes[0], rows = sizes[1], inputs = sizes[2], outputs = sizes[3];
    Lanes a_mean[TILE], a_variance[TILE], own_mean, own_variance, own_tau, own_rho;
    clear(members * outputs * inputs, tau, rho);
    for (int64_t member = 0; member < members; member++)
        for (int64_t tile = 0; tile < rows; tile += TILE)
            for (int64_t i = 0; i < inputs; i += SIDE) {
                int64_t deep = least(TILE, rows - tile), wide = least(SIDE, inputs - i);
                int64_t row = member * rows + tile;
                for (int64_t n = 0; n < deep; n++) {
                    load(wide, mean + (row + n) * inputs + i, a_mean[n]);
                    if (variance) load(wide, variance + (row + n) * inputs + i, a_variance[n]);
                }
                for (int64_t o = 0; o < outputs; o++) {
                    int64_t w = (member * outputs + o) * inputs + i, unit = row * outputs + o;
                    load(wide, w_mean + w, own_mean);
                    load(wide, w_variance + w, own_variance);
                    load(wide, tau + w, own_tau);
                    load(wide, rho + w, own_rho);
                    if (variance)
                        add_rows(deep, outputs, a_mean, a_variance, g + unit, h + unit, own_mean,
                                 own_variance, own_tau, own_rho);
                    else
                        add_known_rows(deep, outputs, a_mean, g + unit, h + unit, own_mean,
                                       own_variance, own_tau, own_rho);
                    for (int64_t k = 0; k < wide; k++) {
                        tau[w + k] = own_tau[k];
                        rho[w + k] = own_rho[k];
                    }
                }
            }
    return 0;
}

int exact_input_sums_all(const int64_t *sizes, const REAL *mean, const REAL *variance,
                          const REAL *w_mean, const REAL *w_variance, const REAL *g,
                          const REAL *h, REAL *tau, REAL *rho) {
    int64_t members = sizes[0], rows = sizes[1], inputs = sizes[2], outputs = sizes[3];
    clear(members * rows * inputs, tau, rho);
    for (int64_t member = 0; member < members; member++)
        for (int64_t tile = 0; tile < outputs; tile += TILE)
            for (int64_t i = 0; i < inputs; i += TILE)
                for (int64_t n = 0; n < rows; n++) {
                    int64_t row = member * rows + n, a = row * inputs + i;
                    for (int64_t o = tile; o < least(outputs, tile + TILE); o++) {
                        int64_t w = (member * outputs + o) * inputs + i;
                        add_products(least(TILE, inputs - i), w_mean + w, w_variance + w, mean + a,
                                     variance + a, g[row * outputs + o], h[row * outputs + o],
                                     tau + a, rho + a);
                    }
                }
    return 0;
}

int exact_first_weight_sums_all(const int64_t *sizes, const REAL *x, const REAL *w_mean,
                                 const REAL *w_variance, const REAL *old_g, const REAL *old_h,
                                 const REAL *g, const REAL *h, REAL *tau, REAL *rho) {
    int64_t members = sizes[0], rows = sizes[1], inputs = sizes[2], outputs = sizes[3];
    clear(members * outputs * inputs, tau, rho);
    for (int64_t member = 0; member < members; member++)
        for (int64_t tile = 0; tile < rows; tile += TILE)
            for (int64_t i = 0; i < inputs; i += TILE)
                for (int64_t o = 0; o < outputs; o++) {
                    int64_t w = (member * outputs + o) * inputs + i;
                    for (int64_t n = tile; n < least(rows, tile + TILE); n++) {
                        int64_t row = member * rows + n, unit = row * outputs + o;
                        add_observed(least(TILE, inputs - i), x + row * inputs + i, w_mean + w,
                                     w_variance + w, old_g[unit], old_h[unit], g[unit], h[unit],
                                     tau + w, rho + w);
                    }
                }
    return 0;
}

// Here vectors run over outputs, so weights are transposed, a tile at a time.
int exact_first_forward_all(const int64_t *sizes, const REAL *x, const REAL *w_mean,
                             const REAL *w_variance, const REAL *g, const REAL *h,
                             REAL *out_mean, REAL *out_variance) {
    int64_t members = sizes[0], rows = sizes[1], inputs = sizes[2], outputs = sizes[3];
    REAL mean[SIDE][SIDE], variance[SIDE][SIDE];
    clear(members * rows * outputs, out_mean, out_variance);
    for (int64_t member = 0; member < members; member++)
        for (int64_t o = 0; o < outputs; o += SIDE)
            for (int64_t i = 0; i < inputs; i += SIDE) {
                int64_t wide = least(SIDE, outputs - o), deep = least(SIDE, inputs - i);
                for (int64_t k = 0; k < wide; k++)
                    for (int64_t j = 0; j < deep; j++) {
                        int64_t w = (member * outputs + o + k) * inputs + i + j;
                        mean[j][k] = w_mean[w];
                        variance[j][k] = w_variance[w];
                    }
                for (int64_t n = 0; n < rows; n++) {
                    int64_t row = member * rows + n, unit = row * outputs + o;
                    for (int64_t j = 0; j < deep; j++)
                        add_terms(wide, x[row * inputs + i + j], mean[j], variance[j], g + unit,
                                  h + unit, out_mean + unit, out_variance + unit);
                }
            }
    return 0;
}
