// CUDA's words for a processor: every thread of a block is a thread, blocks run one after another.
#pragma once
#include <barrier>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

struct Sides {
    unsigned x, y, z;
};

static thread_local Sides threadIdx, blockIdx;
static Sides blockDim, gridDim;
static std::barrier<> *all_threads;
static int lanes[1024];

#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static
#define __syncthreads() all_threads->arrive_and_wait()

// All threads of a block must come here, which is more than CUDA demands.
static int __shfl_down_sync(unsigned, int value, int distance) {
    unsigned lane = threadIdx.x;
    lanes[lane] = value;
    __syncthreads();
    int found = lanes[lane % 32 + distance < 32 ? lane + distance : lane];
    __syncthreads();
    return found;
}

static void atomicAdd(unsigned long long *counter, unsigned long long value) {
    __atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
}

// Run a kernel on a grid, with the addresses of its arguments, as CUDA's driver takes them.
template <class... Arguments, std::size_t... I>
static void run(void (*kernel)(Arguments...), const unsigned *sides, void **arguments,
                std::index_sequence<I...>) {
    gridDim = {sides[0], sides[1], sides[2]};
    blockDim = {sides[3], sides[4], sides[5]};
    unsigned count = blockDim.x * blockDim.y * blockDim.z;
    std::barrier<> barrier(count);
    all_threads = &barrier;
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < count; k++)
        threads.emplace_back([=] {
            threadIdx = {k % blockDim.x, k / blockDim.x % blockDim.y, k / blockDim.x / blockDim.y};
            for (unsigned z = 0; z < gridDim.z; z++)
                for (unsigned y = 0; y < gridDim.y; y++)
                    for (unsigned x = 0; x < gridDim.x; x++) {
                        blockIdx = {x, y, z};
                        kernel(*static_cast<Arguments *>(arguments[I])...);
                        __syncthreads();
                    }
        });
    for (std::thread &thread : threads) thread.join();
}

template <class... Arguments>
static void run_kernel(void (*kernel)(Arguments...), const unsigned *sides, void **arguments) {
    run(kernel, sides, arguments, std::index_sequence_for<Arguments...>{});
}

#define EMULATED(name)                                                       \
    extern "C" void run_##name(const unsigned *sides, void **arguments) { \
        run_kernel(name, sides, arguments);                                  \
    }
