// Messages of class labels to outputs; the loop over a row's classes is vectorised.
#include "argmax.cuh"

#define CLASSES 64  // compared with the true one at once

// Return 0, or 1 if a label is invalid. The regulariser's `precision` may be 0.
int argmax_backward_all(int64_t rows, int64_t classes, double noise_variance, double precision,
                         const REAL *z_tau, const REAL *z_rho, const int64_t *labels, REAL *out_tau,
                         REAL *out_rho) {
    REAL true_tau[CLASSES], true_rho[CLASSES], noise = noise_variance, regular = precision;
    for (int64_t row = 0; row < rows; row++) {
        if (labels[row] < 0 || labels[row] >= classes) return 1;
        int64_t start = row * classes, label = start + labels[row];
        Moments truth = moments(message(z_tau[label], z_rho[label]));
        Message total = message(regular, regular);
        for (int64_t first = start; first < start + classes; first += CLASSES) {
            int64_t left = start + classes - first;
            int n = left < CLASSES ? (int)left : CLASSES;
            const REAL *restrict tau = z_tau + first, *restrict rho = z_rho + first;
            REAL *restrict other_tau = out_tau + first, *restrict other_rho = out_rho + first;
            for (int k = 0; k < n; k++) {
                Pair pair = argmax_pair(truth, moments(message(tau[k], rho[k])), noise);
                true_tau[k] = pair.to_true.tau;
                true_rho[k] = pair.to_true.rho;
                other_tau[k] = pair.to_other.tau - regular;
                other_rho[k] = pair.to_other.rho + regular;
            }
            for (int k = 0; k < n; k++) {
                if (first + k != label) {
                    total.tau += true_tau[k];
                    total.rho += true_rho[k];
                }
            }
        }
        out_tau[label] = total.tau;
        out_rho[label] = total.rho;
    }
    return 0;
}
