// CUDA's words for a processor. Kernels are compiled with -fsanitize=thread, which makes them report
// each access to memory to emulator.cpp.
#pragma once
#include <cstddef>
#include <utility>

struct Sides {
    unsigned x, y, z;
};

extern __thread Sides threadIdx, blockIdx;
extern Sides blockDim, gridDim;

#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static __attribute__((section("shared")))

void __syncthreads();
// All threads of a block must come here, which is more than CUDA demands.
int __shfl_down_sync(unsigned, int value, int distance);
unsigned long long atomicAdd(unsigned long long *counter, unsigned long long value);

// The arrays in shared memory, if there are any.
extern char __start_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char *shared_start() { return __start_shared; }
extern "C" std::size_t shared_bytes() { return __stop_shared - __start_shared; }

// Run a kernel for one thread, with the addresses of its arguments, as CUDA's driver takes them.
template <class... Arguments, std::size_t... I>
static void run(void (*kernel)(Arguments...), void **arguments, std::index_sequence<I...>) {
    kernel(*static_cast<Arguments *>(arguments[I])...);
}

template <class... Arguments>
static void run(void (*kernel)(Arguments...), void **arguments) {
    run(kernel, arguments, std::index_sequence_for<Arguments...>{});
}

#define EMULATED(name) \
    extern "C" void run_##name(void **arguments) { run(name, arguments); }
