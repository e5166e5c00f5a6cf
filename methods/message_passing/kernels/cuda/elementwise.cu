// Elementwise messages: one thread per message, one row of blocks per member.
#include "leaky_relu.cuh"

#define MESSAGES(i, count)                                              \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (count); \
         i += (long long)gridDim.x * blockDim.x)

// Add the counts of all threads of a warp to a counter. For integers the order does not matter.
__device__ static void add_up(int found, unsigned long long *counter) {
    for (int distance = 16; distance > 0; distance /= 2)
        found += __shfl_down_sync(0xffffffffu, found, distance);
    if (threadIdx.x % 32 == 0 && found) atomicAdd(counter, (unsigned long long)found);
}

extern "C" __global__ void leaky_relu_direct_all(long long count, double slope,
                                                 const REAL *z_tau, const REAL *z_rho,
                                                 REAL *out_tau, REAL *out_rho) {
    MESSAGES(i, count) {
        Message out = leaky_relu_direct(message(z_tau[i], z_rho[i]), (REAL)slope);
        out_tau[i] = out.tau;
        out_rho[i] = out.rho;
    }
}

extern "C" __global__ void leaky_relu_forward_all(long long members, long long count, double slope,
                                                  const REAL *z_tau, const REAL *z_rho,
                                                  const REAL *a_tau, const REAL *a_rho,
                                                  REAL *out_tau, REAL *out_rho,
                                                  unsigned long long *counts) {
    for (long long member = blockIdx.y; member < members; member += gridDim.y) {
        int found = 0;
        MESSAGES(k, count) {
            long long i = member * count + k;
            Message z = message(z_tau[i], z_rho[i]), a = message(a_tau[i], a_rho[i]);
            Guarded out = leaky_relu_marginal_forward(z, a, (REAL)slope);
            if (out.replaced != 0) out.message = leaky_relu_direct(z, (REAL)slope);
            out_tau[i] = out.message.tau;
            out_rho[i] = out.message.rho;
            found += out.counted != 0;
        }
        add_up(found, counts + member);
    }
}

extern "C" __global__ void leaky_relu_backward_all(long long members, long long count,
                                                   double slope, const REAL *z_tau,
                                                   const REAL *z_rho, const REAL *a_tau,
                                                   const REAL *a_rho, REAL *out_tau, REAL *out_rho,
                                                   unsigned long long *counts) {
    for (long long member = blockIdx.y; member < members; member += gridDim.y) {
        int found = 0;
        MESSAGES(k, count) {
            long long i = member * count + k;
            Guarded out = leaky_relu_backward(message(z_tau[i], z_rho[i]),
                                              message(a_tau[i], a_rho[i]), (REAL)slope);
            out_tau[i] = out.message.tau;
            out_rho[i] = out.message.rho;
            found += out.counted != 0;
        }
        add_up(found, counts + member);
    }
}
