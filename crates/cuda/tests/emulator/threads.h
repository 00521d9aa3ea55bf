// Runs CUDA C on the CPU, one block after another. Each thread of a block is a coroutine that runs until it waits for its warp or
// its block. A warp runs until all of its threads wait for the block or are done; then the next warp runs. The order of blocks, warps
// and threads can be reversed, so that each of two threads that do not wait for each other runs first in one of the two orders.
// Threads that wait for each other must do so at the same line.
// Kernels are compiled with this file in front of them.
#include <math.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __constant__ static const
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

// Aligned as on a GPU, so that the compiler's sanitizer finds other addresses.
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }

enum State { READY, AT_WARP, AT_BLOCK, DONE };
struct Index { unsigned x, y, z; };
struct Thread {
    void* top;  // of its stack, while another one runs
    std::vector<char> stack;
    State state;
    Index index;
    unsigned exchanges;
    int line;  // at which it waits
};
static const unsigned WARP_SIZE = 32, STACK = 1 << 17;
static Thread threads[1024];
static Thread* current;
static void* scheduler;
static std::function<void()> body;
static double* dynamic_shared;
static Index blockIdx, gridDim, blockDim;
#define threadIdx (current->index)

// Saves the registers that a call keeps and the stack, and continues on another stack.
extern "C" void switch_stack(void** from, void* to);
asm(".text\n.local switch_stack\nswitch_stack:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");

static void wait_as(State state, int line) {
    current->state = state;
    current->line = line;
    switch_stack(&current->top, scheduler);
}
static void run_thread() {
    body();
    wait_as(DONE, 0);
}
static void __syncthreads(int line = __builtin_LINE()) { wait_as(AT_BLOCK, line); }
static void __syncwarp(int line = __builtin_LINE()) { wait_as(AT_WARP, line); }

// Every exchange of a warp uses the other of two sets of places, so that no value is overwritten before it is read.
template <class X> static X __shfl_xor_sync(unsigned, X x, int step, int width, int line = __builtin_LINE()) {
    static uint64_t places[32][2][WARP_SIZE];
    unsigned lane = threadIdx.x % WARP_SIZE;
    uint64_t* place = places[threadIdx.x / WARP_SIZE][current->exchanges++ % 2];
    memcpy(place + lane, &x, sizeof x);
    wait_as(AT_WARP, line);
    unsigned from = lane ^ step;
    memcpy(&x, place + (from / width == lane / width ? from : lane), sizeof x);
    return x;
}

// Lets threads first..end that wait as `state` go on, if all that are not done do so.
static bool release(unsigned first, unsigned end, State state) {
    bool waits = false, same = true;
    int line = 0;
    for (unsigned i = first; i < end; i++) {
        if (threads[i].state != state && threads[i].state != DONE) return false;
        if (threads[i].state != state) continue;
        same = same && (!waits || threads[i].line == line);
        waits = true;
        line = threads[i].line;
    }
    if (!same) {
        fprintf(stderr, "emulator: threads wait for each other at different lines\n");
        abort();
    }
    for (unsigned i = first; i < end; i++)
        if (threads[i].state == state) threads[i].state = READY;
    return waits;
}

static bool reversed;
// The i-th of `count` in the order of this run.
static unsigned in_order(unsigned i, unsigned count) { return reversed ? count - 1 - i : i; }

// Runs threads first..end, a warp, until none of them can go on alone.
static void run_warp(unsigned first, unsigned end) {
    do
        for (unsigned i = 0; i < end - first; i++) {
            Thread& thread = threads[first + in_order(i, end - first)];
            if (thread.state != READY) continue;
            current = &thread;
            switch_stack(&scheduler, current->top);
        }
    while (release(first, end, AT_WARP));
}

static void run_block(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        Thread& thread = threads[i];
        thread.stack.resize(STACK);
        // The function that begins the thread, below it the registers; the stack is aligned as after a call.
        uintptr_t end = ((uintptr_t)thread.stack.data() + STACK) / 16 * 16;
        void** top = (void**)(end - 16);
        *top = (void*)run_thread;
        thread.top = top - 6;
        thread.state = READY;
        thread.index = {i, 0, 0};
        thread.exchanges = 0;
    }
    const unsigned warps = (count + WARP_SIZE - 1) / WARP_SIZE;
    do
        for (unsigned i = 0; i < warps; i++) {
            unsigned first = in_order(i, warps) * WARP_SIZE;
            run_warp(first, first + WARP_SIZE < count ? first + WARP_SIZE : count);
        }
    while (release(0, count, AT_BLOCK));
    for (unsigned i = 0; i < count; i++)
        if (threads[i].state != DONE) {
            fprintf(stderr, "emulator: threads of a block wait for each other\n");
            abort();
        }
}

template <class X> static inline X min(X a, X b) { return a < b ? a : b; }
template <class To, class From> static inline To bits(From x) {
    To y;
    static_assert(sizeof x == sizeof y, "sizes");
    memcpy(&y, &x, sizeof y);
    return y;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (uint64_t)a * b >> 32; }
static inline long long __double_as_longlong(double x) { return bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return bits<double>(x); }
static inline float __int_as_float(int x) { return bits<float>(x); }
static inline long long __double2ll_rn(double x) { return llrint(x); }
template <class X, class Y> static inline void atomicAdd(X* place, Y x) { *place += (X)x; }
template <class X, class Y> static inline void atomicMax(X* place, Y x) { *place = (X)x > *place ? (X)x : *place; }

// Half-precision numbers, and the product of tensor cores for a warp. With this macro, softmax.cu leaves them to the emulator.
#define EMULATOR
static inline float half_of(unsigned pair, int place) {
    uint16_t x = pair >> 16 * place;
    return (float)bits<_Float16>(x);
}
static inline float low_half(unsigned pair) { return half_of(pair, 0); }
static inline float high_half(unsigned pair) { return half_of(pair, 1); }
static inline unsigned pack_halves(float x, float y) {
    return bits<uint16_t>((_Float16)x) | (unsigned)bits<uint16_t>((_Float16)y) << 16;
}
// x without what is below 2^exponent.
static inline double truncated(double x, int exponent) { return ldexp(trunc(ldexp(x, -exponent)), exponent); }
// A sum as tensor cores may compute it: terms and result lose what is below the last place of the largest term, and are not rounded.
static float sum_truncated(float c, const double* terms, int count) {
    double plain = c, largest = fabs(c);
    for (int k = 0; k < count; k++) plain += terms[k], largest = fmax(largest, fabs(terms[k]));
    if (!isfinite(plain) || largest == 0.0) return (float)plain;
    const int last = ilogb(largest) - 23;
    double sum = truncated(c, last);
    for (int k = 0; k < count; k++) sum += truncated(terms[k], last);
    return sum == 0.0 ? 0.0f : (float)truncated(sum, ilogb(sum) - 23);
}
static void multiply_halves(float* c, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    struct Part { float a[16][16], b[16][8]; };
    static Part parts[32][2];
    unsigned lane = threadIdx.x % WARP_SIZE, g = lane / 4, t = lane % 4;
    Part& part = parts[threadIdx.x / WARP_SIZE][current->exchanges++ % 2];
    for (int i = 0; i < 2; i++) {
        part.a[g][2 * t + i] = half_of(a0, i), part.a[g + 8][2 * t + i] = half_of(a1, i);
        part.a[g][2 * t + 8 + i] = half_of(a2, i), part.a[g + 8][2 * t + 8 + i] = half_of(a3, i);
        part.b[2 * t + i][g] = half_of(b0, i), part.b[2 * t + 8 + i][g] = half_of(b1, i);
    }
    wait_as(AT_WARP, __LINE__);
    for (int i = 0; i < 4; i++) {
        double terms[16];
        for (int k = 0; k < 16; k++) terms[k] = (double)part.a[g + i / 2 * 8][k] * part.b[k][2 * t + i % 2];
        c[i] = sum_truncated(c[i], terms, 16);
    }
}

// A kernel as a function of the addresses of its arguments.
using Kernel = std::function<void(void**)>;
template <class... A, size_t... I> static void call(void (*kernel)(A...), void** from, std::index_sequence<I...>) {
    kernel(*(std::remove_reference_t<A>*)from[I]...);
}
template <class... A> static Kernel by_address(void (*kernel)(A...)) {
    return [kernel](void** from) { call(kernel, from, std::index_sequence_for<A...>()); };
}

static void launch_kernel(const Kernel& kernel, unsigned x, unsigned y, unsigned z, unsigned block, unsigned shared, void** from,
                          bool backwards) {
    std::unique_ptr<char[]> memory(new char[shared]);
    dynamic_shared = (double*)memory.get();
    reversed = backwards;
    body = [&] { kernel(from); };
    gridDim = {x, y, z};
    blockDim = {block, 1, 1};
    for (unsigned k = 0; k < z; k++)
        for (unsigned j = 0; j < y; j++)
            for (unsigned i = 0; i < x; i++) {
                blockIdx = {in_order(i, x), in_order(j, y), in_order(k, z)};
                memset(memory.get(), 0xff, shared);  // NaN
                run_block(block);
            }
}
