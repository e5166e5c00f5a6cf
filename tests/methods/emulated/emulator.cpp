// Kernels on a processor: every thread of a block is a thread, blocks run one after another in a
// shuffled order. A shadow of each array remembers which blocks touched its words: the first two
// blocks per kind of access are enough to find one that is not the present block.
#include "emulator.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

__thread Sides threadIdx, blockIdx;
Sides blockDim, gridDim;
static std::barrier<> *all_threads;
static int lanes[1024];

enum Access { READ, WRITE, ATOMIC, KINDS };

// Blocks are numbered from 1; 0 is none.
struct Word {
    std::atomic<unsigned> blocks[KINDS][2];
};

struct Array {
    char *start;
    std::size_t bytes;
    std::vector<Word> words;
};

struct Race {
    int access, earlier;  // what the block did, and the earlier block had done
    unsigned block, earlier_block;
    void *at;  // NULL: there is no race
};

static const std::size_t WORD = 4;
static std::vector<Array> arrays;  // the first is the shared memory
static Race race;
static std::atomic_flag raced;

static unsigned present_block() {
    return 1 + blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

static void report(Access access, unsigned block, int earlier, unsigned other, void *at) {
    if (!raced.test_and_set()) race = {access, earlier, block, other, at};
}

// All threads that run at the same time are of one block, so they store the same numbers.
static void mark(Word &word, Access access, unsigned block, void *at) {
    for (int kind = 0; kind < KINDS; kind++) {
        if (kind == access && access != WRITE) continue;
        for (std::atomic<unsigned> &other : word.blocks[kind])
            if (other && other != block) report(access, block, kind, other, at);
    }
    std::atomic<unsigned> *own = word.blocks[access];
    if (!own[0]) own[0] = block;
    if (own[0] != block && !own[1]) own[1] = block;
}

// Shared memory starts anew in each block: to read it, the block must have written it.
static void mark_shared(Word &word, Access access, unsigned block, void *at) {
    std::atomic<unsigned> &writer = word.blocks[WRITE][0];
    if (access == WRITE)
        writer = block;
    else if (writer != block)
        report(access, block, WRITE, writer, at);
}

static void touch(void *at, std::size_t bytes, Access access) {
    for (Array &array : arrays) {
        std::size_t offset = static_cast<char *>(at) - array.start;
        if (offset >= array.bytes) continue;
        auto *marked = &array == &arrays[0] ? mark_shared : mark;
        for (std::size_t k = offset / WORD; k <= (offset + bytes - 1) / WORD; k++)
            marked(array.words[k], access, present_block(), array.start + k * WORD);
        return;
    }
}

void __syncthreads() { all_threads->arrive_and_wait(); }

int __shfl_down_sync(unsigned, int value, int distance) {
    unsigned lane = threadIdx.x;
    lanes[lane] = value;
    __syncthreads();
    int found = lanes[lane % 32 + distance < 32 ? lane + distance : lane];
    __syncthreads();
    return found;
}

unsigned long long atomicAdd(unsigned long long *counter, unsigned long long value) {
    touch(counter, sizeof *counter, ATOMIC);
    return __atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
}

// Run a kernel on a grid of blocks of threads; return the first race. `starts` and `bytes` are of
// the shared memory and of all arrays that the kernel may touch, apart from each other.
extern "C" Race emulate(void (*kernel)(void **), void **arguments, const unsigned *sides,
                        unsigned seed, unsigned count, char **starts, const std::size_t *bytes) {
    gridDim = {sides[0], sides[1], sides[2]};
    blockDim = {sides[3], sides[4], sides[5]};
    race = {};
    raced.clear();
    arrays.clear();
    for (unsigned k = 0; k < count; k++)
        arrays.push_back({starts[k], bytes[k], std::vector<Word>((bytes[k] + WORD - 1) / WORD)});
    std::vector<unsigned> order(gridDim.x * gridDim.y * gridDim.z);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    unsigned width = blockDim.x * blockDim.y * blockDim.z;
    std::barrier<> barrier(width);
    all_threads = &barrier;
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < width; k++)
        threads.emplace_back([=, &order] {
            threadIdx = {k % blockDim.x, k / blockDim.x % blockDim.y, k / blockDim.x / blockDim.y};
            for (unsigned block : order) {
                blockIdx = {block % gridDim.x, block / gridDim.x % gridDim.y,
                            block / gridDim.x / gridDim.y};
                kernel(arguments);
                __syncthreads();
            }
        });
    for (std::thread &thread : threads) thread.join();
    return race;
}

// What -fsanitize=thread calls, in place of the sanitizer's library.
#define ACCESSES(kind, bytes)                                                                     \
    extern "C" void __tsan_##kind##read##bytes(void *at) { touch(at, bytes, READ); }              \
    extern "C" void __tsan_##kind##write##bytes(void *at) { touch(at, bytes, WRITE); }
#define OF_EVERY_SIZE(kind) \
    ACCESSES(kind, 1) ACCESSES(kind, 2) ACCESSES(kind, 4) ACCESSES(kind, 8) ACCESSES(kind, 16)
OF_EVERY_SIZE()
OF_EVERY_SIZE(unaligned_)
OF_EVERY_SIZE(volatile_)
extern "C" void __tsan_read_range(void *at, std::size_t bytes) { touch(at, bytes, READ); }
extern "C" void __tsan_write_range(void *at, std::size_t bytes) { touch(at, bytes, WRITE); }
extern "C" void __tsan_func_entry(void *) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_init() {}
