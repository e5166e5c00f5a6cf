// A dense layer's sums to zeroth order: products of few rows with all weights.
//
// With a library's products, the moments of weights and their messages need further passes over the
// weights, which cost more than the products of a few rows. Here the weights pass through memory
// once in each direction.
//
// Axes: moments of inputs `3 members rows inputs` (mean, its square, variance), sums likewise;
// weights `members outputs inputs`. `sizes` are members, rows, inputs, outputs. Every sum runs in a
// fixed order, whatever the other rows. Functions return 0, or 1 if memory is exhausted.
#include <stdlib.h>

#include "weights.cuh"

// All calls with vectors are inlined, so the calling convention for vectors does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"
typedef REAL Vector __attribute__((vector_size(64)));

#define LANES ((int64_t)(sizeof(Vector) / sizeof(REAL)))
#define PARTS 3      // moments of a factor, or sums of a unit
#define TOGETHER 4   // rows and
#define UNITS 2      // outputs whose sums are in registers at once
#define ACROSS 64    // vectors of inputs and
#define MOST_ROWS 16 // rows in a tile of sums over inputs
#define CACHE 65536  // bytes of moments in a tile of sums over rows

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

FUNCTION Vector everywhere(REAL value) {
    Vector v;
    for (int64_t k = 0; k < LANES; k++) v[k] = value;
    return v;
}

FUNCTION Vector fused(Vector a, Vector b, Vector c) {
    for (int64_t k = 0; k < LANES; k++) c[k] = multiply_add(a[k], b[k], c[k]);
    return c;
}

FUNCTION REAL sum(Vector v) {
    for (int64_t half = LANES / 2; half > 0; half /= 2)
        for (int64_t k = 0; k < half; k++) v[k] += v[k + half];
    return v[0];
}

// Return the `left` numbers at an address, filled up with `missing`.
FUNCTION Vector loaded(const REAL *from, int64_t left, REAL missing) {
    Vector v = everywhere(missing);
    if (left >= LANES)
        __builtin_memcpy(&v, from, sizeof v);
    else
        for (int64_t k = 0; k < left; k++) v[k] = from[k];
    return v;
}

FUNCTION void store(REAL *to, Vector v, int64_t left) {
    if (left >= LANES)
        __builtin_memcpy(to, &v, sizeof v);
    else
        for (int64_t k = 0; k < left; k++) to[k] = v[k];
}

typedef struct {
    Vector mean, variance, second;
} Factor;

FUNCTION Factor factor(const REAL *tau, const REAL *rho, int64_t left) {
    Vector t = loaded(tau, left, 0), r = loaded(rho, left, 1);
    Factor f;
    for (int64_t k = 0; k < LANES; k++) {
        WeightMoments w = weight_moments(message(t[k], r[k]));
        f.mean[k] = w.mean;
        f.variance[k] = w.variance;
        f.second[k] = w.second;
    }
    return f;
}

// Interleave the moments of rows, one vector of inputs after another.
static void pack(int64_t rows, int64_t count, int64_t inputs, int64_t part, const REAL *from,
                 Vector *to) {
    for (int64_t i = 0; i < count; i += LANES)
        for (int64_t n = 0; n < rows; n++)
            for (int64_t k = 0; k < PARTS; k++)
                *to++ = loaded(from + k * part + n * inputs + i, count - i, 0);
}

// Add the products of `rows` packed rows and the weights of `units` outputs to the sums.
FUNCTION void add_block(int64_t rows, int64_t units, int64_t stride, const Vector *x,
                        const Factor *w, int64_t across, int64_t outputs, int64_t part,
                        REAL *sums) {
    Vector total[TOGETHER][UNITS][PARTS] = {0};
    for (int64_t v = 0; v < across; v++, x += stride)
#pragma GCC unroll 4
        for (int64_t n = 0; n < rows; n++)
#pragma GCC unroll 2
            for (int64_t u = 0; u < units; u++) {
                const Factor *own = w + u * ACROSS + v;
                total[n][u][0] = fused(x[PARTS * n], own->mean, total[n][u][0]);
                total[n][u][1] = fused(x[PARTS * n + 1], own->variance, total[n][u][1]);
                total[n][u][2] = fused(x[PARTS * n + 2], own->second, total[n][u][2]);
            }
    for (int64_t n = 0; n < rows; n++)
        for (int64_t u = 0; u < units; u++)
            for (int64_t k = 0; k < PARTS; k++)
                sums[k * part + n * outputs + u] += sum(total[n][u][k]);
}

FUNCTION void add_rows(int64_t units, int64_t rows, const Vector *x, const Factor *w,
                       int64_t across, int64_t outputs, int64_t part, REAL *sums) {
    int64_t n = 0, stride = PARTS * rows;
    for (; n + TOGETHER <= rows; n += TOGETHER)
        add_block(TOGETHER, units, stride, x + PARTS * n, w, across, outputs, part,
                  sums + n * outputs);
    for (; n < rows; n++)
        add_block(1, units, stride, x + PARTS * n, w, across, outputs, part, sums + n * outputs);
}

// Fill Σ a w of every output, and its variances due to weights and due to inputs.
int dense_sums_all(const int64_t *sizes, const REAL *tau, const REAL *rho, const REAL *moments,
                   REAL *variances, REAL *sums) {
    int64_t members = sizes[0], rows = sizes[1], inputs = sizes[2], outputs = sizes[3];
    int64_t given = members * rows * inputs, part = members * rows * outputs;
    Vector x[ACROSS * MOST_ROWS * PARTS];
    for (int64_t k = 0; k < PARTS * part; k++) sums[k] = 0;
    for (int64_t m = 0; m < members; m++)
        for (int64_t first = 0; first < rows; first += MOST_ROWS)
            for (int64_t i = 0; i < inputs; i += ACROSS * LANES) {
                int64_t some = least(MOST_ROWS, rows - first), row = m * rows + first;
                int64_t count = least(ACROSS * LANES, inputs - i);
                int64_t across = (count + LANES - 1) / LANES;
                pack(some, count, inputs, given, moments + row * inputs + i, x);
                for (int64_t o = 0; o < outputs; o += UNITS) {
                    int64_t units = least(UNITS, outputs - o);
                    Factor w[UNITS][ACROSS];
                    for (int64_t u = 0; u < units; u++)
                        for (int64_t v = 0; v < across; v++) {
                            int64_t k = (m * outputs + o + u) * inputs + i + v * LANES;
                            w[u][v] = factor(tau + k, rho + k, count - v * LANES);
                            if (variances)
                                store(variances + k, w[u][v].variance, count - v * LANES);
                        }
                    REAL *to = sums + row * outputs + o;
                    if (units == UNITS)
                        add_rows(UNITS, some, x, w[0], across, outputs, part, to);
                    else
                        add_rows(1, some, x, w[0], across, outputs, part, to);
                }
            }
    return 0;
}

// The addresses of the weights' messages, as in weights.c.
typedef struct {
    const REAL *old_tau, *old_rho;
    REAL *kept_tau, *kept_rho, *total_tau, *total_rho, *tau, *rho;
    REAL damping;
} Books;

FUNCTION void enter(const Books *books, int64_t k, int64_t left, Vector tau, Vector rho) {
    Vector own_tau = loaded(books->tau + k, left, 0), own_rho = loaded(books->rho + k, left, 0);
    Vector old_tau = {0}, old_rho = {0};
    if (books->old_tau) {
        old_tau = loaded(books->old_tau + k, left, 0);
        old_rho = loaded(books->old_rho + k, left, 0);
    }
    for (int64_t j = 0; j < LANES; j++) {
        Exchange out = exchanged(message(own_tau[j], own_rho[j]), message(old_tau[j], old_rho[j]),
                                 message(tau[j], rho[j]), books->damping);
        tau[j] = out.kept.tau;
        rho[j] = out.kept.rho;
        own_tau[j] = out.marginal.tau;
        own_rho[j] = out.marginal.rho;
    }
    if (books->kept_tau) {
        store(books->kept_tau + k, tau, left);
        store(books->kept_rho + k, rho, left);
    }
    store(books->tau + k, own_tau, left);
    store(books->rho + k, own_rho, left);
    if (books->total_tau) {
        store(books->total_tau + k, loaded(books->total_tau + k, left, 0) + tau, left);
        store(books->total_rho + k, loaded(books->total_rho + k, left, 0) + rho, left);
    }
}

// Send the messages between packed rows and the weights of `units` outputs in both directions.
FUNCTION void send(int64_t units, int64_t rows, const Vector *a, const REAL *pulls, Vector *to_a,
                   const Books *books, int64_t k, int64_t inputs, int64_t left) {
    Factor w[UNITS];
    Vector force[UNITS] = {0}, of_square[UNITS] = {0}, of_variance[UNITS] = {0};
    for (int64_t u = 0; u < units; u++)
        w[u] = factor(books->tau + k + u * inputs, books->rho + k + u * inputs, left);
    for (int64_t n = 0; n < rows; n++, a += PARTS, to_a += PARTS) {
        Vector by_mean = to_a[0], by_variance = to_a[1], by_second = to_a[2];
#pragma GCC unroll 2
        for (int64_t u = 0; u < units; u++) {
            Vector h = everywhere(*pulls++), g = everywhere(*pulls++);
            force[u] = fused(h, a[0], force[u]);
            of_square[u] = fused(g, a[1], of_square[u]);
            of_variance[u] = fused(g, a[2], of_variance[u]);
            by_mean = fused(h, w[u].mean, by_mean);
            by_variance = fused(g, w[u].variance, by_variance);
            by_second = fused(g, w[u].second, by_second);
        }
        to_a[0] = by_mean;
        to_a[1] = by_variance;
        to_a[2] = by_second;
    }
    for (int64_t u = 0; u < units; u++)
        enter(books, k + u * inputs, left, fused(w[u].mean, of_square[u], force[u]),
              of_square[u] + of_variance[u]);
}

// Exchange the weights' messages (weights.c), and fill every input's sums of h w, g s_w and
// g E[w²].
int dense_messages_all(const int64_t *sizes, double damping, const REAL *moments, const REAL *h,
                       const REAL *g, const REAL *old_tau, const REAL *old_rho, REAL *kept_tau,
                       REAL *kept_rho, REAL *total_tau, REAL *total_rho, REAL *tau, REAL *rho,
                       REAL *sums) {
    int64_t members = sizes[0], rows = sizes[1], inputs = sizes[2], outputs = sizes[3];
    int64_t part = members * rows * inputs, row_bytes = PARTS * (int64_t)sizeof(Vector) * rows;
    int64_t most = least(ACROSS, CACHE / (row_bytes + 1)), packed = PARTS * rows * (most += !most);
    const Books books = {old_tau, old_rho, kept_tau, kept_rho, total_tau, total_rho, tau, rho,
                         (REAL)damping};
    Vector *x = aligned_alloc(sizeof *x, (2 * packed + 2 * UNITS * rows + 1) * sizeof *x);
    if (!x) return 1;
    Vector *to_x = x + packed;
    REAL *pulls = (REAL *)(to_x + packed);
    for (int64_t m = 0; m < members; m++)
        for (int64_t i = 0; i < inputs; i += most * LANES) {
            int64_t count = least(most * LANES, inputs - i), row = m * rows;
            pack(rows, count, inputs, part, moments + row * inputs + i, x);
            for (int64_t k = 0; k < packed; k++) to_x[k] = everywhere(0);
            for (int64_t o = 0; o < outputs; o += UNITS) {
                int64_t units = least(UNITS, outputs - o);
                REAL *to = pulls;
                for (int64_t n = row; n < row + rows; n++)
                    for (int64_t u = o; u < o + units; u++) {
                        *to++ = h[n * outputs + u];
                        *to++ = g[n * outputs + u];
                    }
                for (int64_t j = 0, at = 0; j < count; j += LANES, at += PARTS * rows) {
                    int64_t k = (m * outputs + o) * inputs + i + j;
                    if (units == UNITS)
                        send(UNITS, rows, x + at, pulls, to_x + at, &books, k, inputs, count - j);
                    else
                        send(1, rows, x + at, pulls, to_x + at, &books, k, inputs, count - j);
                }
            }
            const Vector *from = to_x;
            for (int64_t j = 0; j < count; j += LANES)
                for (int64_t n = row; n < row + rows; n++)
                    for (int64_t k = 0; k < PARTS; k++)
                        store(sums + k * part + n * inputs + i + j, *from++, count - j);
        }
    free(x);
    return 0;
}
