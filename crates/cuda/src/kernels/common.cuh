// Random numbers and samples, shared by all kernels. REAL is float or double, COUNTER the unsigned integer of its size.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define WARP 32
#define ALL 0xffffffffu

// Philox 4x32 with ten rounds, the same bits as crates/core/src/random/philox.rs.
__device__ __forceinline__ uint4 philox(u64 index, u32 block, u32 stream, u32 key0, u32 key1) {
    u32 c0 = (u32)index, c1 = (u32)(index >> 32), c2 = block, c3 = stream;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        u32 a = __umulhi(0xD2511F53u, c0), a_low = 0xD2511F53u * c0;
        u32 b = __umulhi(0xCD9E8D57u, c2), b_low = 0xCD9E8D57u * c2;
        c0 = b ^ c1 ^ key0;
        c1 = b_low;
        c2 = a ^ c3 ^ key1;
        c3 = a_low;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return make_uint4(c0, c1, c2, c3);
}

__device__ __forceinline__ double unit(u32 low, u32 high) {
    u64 bits = ((u64)high << 32 | low) >> 12;
    return ((double)bits + 0.5) * (1.0 / 4503599627370496.0);
}

// A dataset: samples in memory if `tokens` is given, else drawn on demand as in crates/core/src/task/samples.rs.
// Alias tables are given for weighted distributions only. The keys of the random numbers are copied from `keys` by `cell`.
struct Source {
    const u32* facts;
    const u32* tokens;
    const u32* position;
    const u32* labels;
    const double* fact_keep;
    const u32* fact_alias;
    const double* noise_keep;
    const u32* noise_alias;
    const u32* keys;
    u32 key0, key1, stream, length, vocab, noise_size, noise_start, padding;
};

// The cells of a batch have memory of the same layout, `stride` bytes apart; a launch has a layer of blocks (z) for each.
// `cell` turns addresses of the first cell into those of the own one. Absent memory stays absent.
template <class X> __device__ __forceinline__ void shift(u64 stride, X*& p) {
    if (p) p = (X*)((u64)p + blockIdx.z * stride);
}

__device__ __forceinline__ void shift(u64 stride, Source& s) {
    shift(stride, s.facts);
    shift(stride, s.tokens);
    shift(stride, s.position);
    shift(stride, s.labels);
    shift(stride, s.fact_keep);
    shift(stride, s.fact_alias);
    shift(stride, s.noise_keep);
    shift(stride, s.noise_alias);
    shift(stride, s.keys);
    s.key0 = s.keys[0];
    s.key1 = s.keys[1];
}

template <class... P> __device__ __forceinline__ void cell(u64 stride, P&... addresses) { (shift(stride, addresses), ...); }

struct Head {
    u32 position, token, label;
};

__device__ __forceinline__ u32 draw(const double* keep, const u32* alias, u32 size, u32 word0, u32 word1) {
    u32 column = __umulhi(word0, size);
    if (!keep) return column;
    return unit(0, word1) < keep[column] ? column : alias[column];
}

// Position, informative token and label of a sample.
__device__ __forceinline__ Head head(const Source& s, u32 id) {
    Head h;
    if (s.tokens) {
        h.position = s.position[id];
        h.token = s.tokens[(u64)id * s.length + h.position];
        h.label = s.labels[id];
    } else {
        uint4 words = philox(id, 0, s.stream, s.key0, s.key1);
        h.position = __umulhi(words.x, s.length);
        h.token = draw(s.fact_keep, s.fact_alias, s.vocab, words.y, words.z);
        h.label = s.facts[h.token];
    }
    return h;
}

// Tokens at positions 4 q .. 4 q + 3. Entries past the end of the sequence are valid tokens that must not be used.
__device__ __forceinline__ void quad(const Source& s, u32 id, const Head& h, u32 q, u32 out[4]) {
    if (s.tokens) {
        for (u32 i = 0; i < 4; i++) {
            u32 place = min(4 * q + i, s.length - 1);
            out[i] = s.tokens[(u64)id * s.length + place];
        }
        return;
    }
    if (!s.noise_keep) {
        uint4 w = philox(id, 1 + q, s.stream, s.key0, s.key1);
        out[0] = s.noise_start + __umulhi(w.x, s.noise_size);
        out[1] = s.noise_start + __umulhi(w.y, s.noise_size);
        out[2] = s.noise_start + __umulhi(w.z, s.noise_size);
        out[3] = s.noise_start + __umulhi(w.w, s.noise_size);
    } else {
        for (u32 half = 0; half < 2; half++) {
            uint4 w = philox(id, 1 + 2 * q + half, s.stream, s.key0, s.key1);
            out[2 * half] = s.noise_start + draw(s.noise_keep, s.noise_alias, s.noise_size, w.x, w.y);
            out[2 * half + 1] = s.noise_start + draw(s.noise_keep, s.noise_alias, s.noise_size, w.z, w.w);
        }
    }
    // Indices are constants, so that the tokens stay in registers.
#pragma unroll
    for (u32 i = 0; i < 4; i++)
        if (4 * q + i == h.position) out[i] = h.token;
}

__device__ __forceinline__ u64 thread_number() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

// Row and column of a matrix entry. 64-bit division is many times slower than 32-bit division, which suffices for most matrices.
struct Place {
    u64 row;
    u32 column;
};

__device__ __forceinline__ Place place_of(u64 entry, u32 columns) {
    Place p;
    p.row = entry >> 32 ? entry / columns : (u32)entry / columns;
    p.column = (u32)(entry - p.row * columns);
    return p;
}

template <class X> __device__ __forceinline__ X warp_sum(X x, int width) {
    for (int step = width / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL, x, step, width);
    return x;
}

template <class X> __device__ __forceinline__ X warp_max(X x, int width) {
    for (int step = width / 2; step > 0; step /= 2) {
        X other = __shfl_xor_sync(ALL, x, step, width);
        x = other > x ? other : x;
    }
    return x;
}

// The sum over a block of at most 1024 threads, in a fixed order; every thread gets it.
__device__ double block_sum(double x) {
    __shared__ double parts[WARP];
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    x = warp_sum(x, WARP);
    __syncthreads();
    if (lane == 0) parts[warp] = x;
    __syncthreads();
    double total = 0.0;
    for (u32 i = 0; i < warps; i++) total += parts[i];
    return total;
}

template <class X> __device__ X block_max(X x) {
    __shared__ X parts[WARP];
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    x = warp_max(x, WARP);
    __syncthreads();
    if (lane == 0) parts[warp] = x;
    __syncthreads();
    X top = parts[0];
    for (u32 i = 1; i < warps; i++) top = parts[i] > top ? parts[i] : top;
    return top;
}

// A length as bits. Lengths are not negative, so that they are ordered like their bits, and a NaN is above all numbers.
__device__ __forceinline__ u64 length_bits(double length) { return (u64)__double_as_longlong(fabs(length)); }

// Raises *longest to the largest length of a block's threads, as bits. All threads of the block must call it.
__device__ void raise_to_longest(u64* longest, u64 length) {
    length = block_max(length);
    if (threadIdx.x == 0) atomicMax(longest, length);
}

// The power of two that turns numbers whose absolute values sum to at most `bound` into integers of 62 bits. Sums of
// integers do not depend on their order, so that they may be added atomically.
__device__ __forceinline__ double fixed_scale(double bound) {
    if (!(bound > 0.0) || isinf(bound)) return 1.0;
    int exponent;
    frexp(bound, &exponent);
    return ldexp(1.0, 62 - exponent);
}

// Adds x as an integer, and returns that integer.
__device__ __forceinline__ i64 add_fixed(i64* place, double x, double scale) {
    i64 scaled = __double2ll_rn(x * scale);
    atomicAdd((u64*)place, (u64)scaled);
    return scaled;
}

#ifdef SINGLE
#define LOWEST (-__int_as_float(0x7f800000))
__device__ __forceinline__ void load4(const REAL* p, REAL out[4]) {
    float4 v = *(const float4*)p;
    out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = v.w;
}
__device__ __forceinline__ void store4(REAL* p, const REAL x[4]) { *(float4*)p = make_float4(x[0], x[1], x[2], x[3]); }
#else
#define LOWEST (-__longlong_as_double(0x7ff0000000000000LL))
__device__ __forceinline__ void load4(const REAL* p, REAL out[4]) {
    double2 a = ((const double2*)p)[0], b = ((const double2*)p)[1];
    out[0] = a.x; out[1] = a.y; out[2] = b.x; out[3] = b.y;
}
__device__ __forceinline__ void store4(REAL* p, const REAL x[4]) {
    ((double2*)p)[0] = make_double2(x[0], x[1]);
    ((double2*)p)[1] = make_double2(x[2], x[3]);
}
#endif

// The score of a token at a position; the trigger adds to that of the informative one.
__device__ __forceinline__ REAL score(const REAL* scores, const REAL* trigger, const Head& h, u32 position, u32 token) {
    REAL x = scores[token];
    return position == h.position ? x + *trigger : x;
}

// The largest value that the coefficients of `count` samples may sum to, from the longest gradient and the longest value.
__device__ __forceinline__ double coefficient_bound(const double* lengths, double count) {
    return 2.0 * count * lengths[GRADIENTS] * lengths[VALUES];
}

// Numbers as integers in the same order, and back.
__device__ __forceinline__ u64 rank(double x) {
    u64 bits = (u64)__double_as_longlong(x);
    return bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
}

__device__ __forceinline__ double ranked(u64 rank) {
    return __longlong_as_double((i64)(rank >> 63 ? rank & 0x7fffffffffffffffull : ~rank));
}

// Softmax of a row of scores over its `keep` largest entries, the first of equal ones; the others become 0. A block takes the row.
// Returns whether the entry at `position` is kept.
__device__ bool softmax_of_largest(REAL* row, u32 length, u32 keep, u32 position) {
    // The limit is the smallest kept score; `ties` of the positions that have it are kept.
    REAL limit = LOWEST;
    u32 ties = 0;
    if (keep < length) {
        // Binary search over the ranks of numbers: at least `keep` scores rank above `low`, fewer above `high`.
        REAL most = LOWEST, least = LOWEST;
        for (u32 i = threadIdx.x; i < length; i += blockDim.x) {
            most = row[i] > most ? row[i] : most;
            least = -row[i] > least ? -row[i] : least;
        }
        u64 high = rank((double)block_max(most)), low = rank((double)-block_max(least)) - 1;
        while (high - low > 1) {
            u64 middle = low + (high - low) / 2;
            double above = 0.0;
            for (u32 i = threadIdx.x; i < length; i += blockDim.x) above += rank((double)row[i]) > middle ? 1.0 : 0.0;
            if (block_sum(above) >= (double)keep) low = middle;
            else high = middle;
        }
        limit = (REAL)ranked(high);
        double above = 0.0;
        for (u32 i = threadIdx.x; i < length; i += blockDim.x) above += row[i] > limit ? 1.0 : 0.0;
        ties = keep - (u32)block_sum(above);
        __syncthreads();
        if (threadIdx.x == 0) {
            for (u32 i = 0; i < length; i++) {
                bool stays = row[i] > limit || (row[i] == limit && ties > 0);
                if (row[i] == limit && ties > 0) ties--;
                if (!stays) row[i] = LOWEST;
            }
        }
        __syncthreads();
    }
    bool stays = row[position] > LOWEST;
    REAL most = LOWEST;
    for (u32 i = threadIdx.x; i < length; i += blockDim.x) most = row[i] > most ? row[i] : most;
    REAL top = block_max(most);
    double sum = 0.0;
    for (u32 i = threadIdx.x; i < length; i += blockDim.x) sum += row[i] > LOWEST ? (double)exp(row[i] - top) : 0.0;
    REAL scale = (REAL)(1.0 / block_sum(sum));
    for (u32 i = threadIdx.x; i < length; i += blockDim.x) row[i] = row[i] > LOWEST ? exp(row[i] - top) * scale : (REAL)0;
    return stays;
}
