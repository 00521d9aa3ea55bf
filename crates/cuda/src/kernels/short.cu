// Kernels for short sequences and short embedding rows. A block first draws the tokens of all its samples: if the lanes that share a
// sample drew its tokens, most of them would be idle.

// The samples of a block.
struct Drawn {
    u32 tokens[SHORT_TOKENS];
    Head heads[SHORT_SAMPLES];
};

__device__ __forceinline__ void draw_samples(const Source& s, u32 first, u32 count, Drawn& drawn) {
    u32 quads = (s.length + 3) / 4;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) drawn.heads[i] = head(s, first + i);
    __syncthreads();
    for (u32 i = threadIdx.x; i < count * quads; i += blockDim.x) {
        u32 token[4];
        quad(s, first + i / quads, drawn.heads[i / quads], i % quads, token);
        for (u32 j = 0; j < 4; j++) drawn.tokens[4 * i + j] = token[j];
    }
    __syncthreads();
}

// Head outputs of samples of short sequences with short rows. A block takes `each` samples; `width` neighbouring lanes take a sample,
// each of them at most four positions and four columns. Weights are those of `weights`, the softmax of `scores`, or equal.
extern "C" __launch_bounds__(THREADS, 4) __global__ void attend_short(Source s, u32 first, u32 count, u32 each, const REAL* table,
                                                                      u32 dim, const REAL* trigger, const REAL* scores,
                                                                      const REAL* trigger_score, const REAL* weights, REAL* out,
                                                                      u32 width, u64 stride) {
    cell(stride, s, table, trigger, scores, trigger_score, weights, out);
    __shared__ Drawn drawn;
    __shared__ REAL parts[SHORT_TOKENS];
    u32 begin = blockIdx.x * each, here = min(each, count - begin);
    draw_samples(s, first + begin, here, drawn);
    u32 lane = threadIdx.x % width, place = 4 * lane, padded = (s.length + 3) / 4 * 4;
    REAL* part = parts + threadIdx.x / width * 4 * width;
    for (u32 at = 0; at < here; at += blockDim.x / width) {
        u32 local = at + threadIdx.x / width;
        bool valid = local < here;
        local = valid ? local : 0;
        const Head& h = drawn.heads[local];
        const u32* list = drawn.tokens + local * padded;
        u64 row = begin + local;
        REAL weight[4], top = LOWEST;
        double sum = 0.0;
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            bool inside = place + i < s.length;
            if (scores) weight[i] = inside ? score(scores, trigger_score, h, place + i, list[place + i]) : LOWEST;
            else if (weights) weight[i] = inside ? weights[row * s.length + place + i] : (REAL)0;
            else weight[i] = (REAL)1 / (REAL)s.length;
            top = weight[i] > top ? weight[i] : top;
        }
        if (scores) {
            top = warp_max(top, width);
#pragma unroll
            for (u32 i = 0; i < 4; i++) sum += (double)(weight[i] = exp(weight[i] - top));
            REAL scale = (REAL)(1.0 / warp_sum(sum, width));
#pragma unroll
            for (u32 i = 0; i < 4; i++) weight[i] *= scale;
        }
#pragma unroll
        for (u32 i = 0; i < 4; i++) part[place + i] = weight[i];
        __syncwarp();
        if (valid && place < dim) {
            REAL total[4] = {0, 0, 0, 0};
#pragma unroll 8
            for (u32 i = 0; i < s.length; i++) {
                REAL x[4];
                load4(table + (u64)list[i] * dim + place, x);
#pragma unroll
                for (int j = 0; j < 4; j++) total[j] += part[i] * x[j];
            }
            if (trigger)
#pragma unroll
                for (int j = 0; j < 4; j++) total[j] += part[h.position] * trigger[place + j];
            store4(out + row * dim + place, total);
        }
        __syncwarp();
    }
}

// Adds the coefficients of step 2 at uniform attention, as `scatter_by_rows` does, for short sequences with short rows.
extern "C" __launch_bounds__(THREADS, 4) __global__ void scatter_short(Source s, u32 first, u32 count, u32 each, u32 tokens,
                                                                       const REAL* table, u32 dim, const REAL* trigger,
                                                                       const REAL* g, u32 by_label, const double* lengths,
                                                                       double samples, i64* sums, u32 copies, u32 width, u64 stride) {
    cell(stride, s, table, trigger, g, lengths, sums);
    sums += (u64)(blockIdx.x % copies) * (tokens + 1);
    __shared__ Drawn drawn;
    __shared__ REAL parts[SHORT_TOKENS];
    __shared__ double fixed;
    if (threadIdx.x == 0) fixed = fixed_scale(coefficient_bound(lengths, samples));
    u32 begin = blockIdx.x * each, here = min(each, count - begin);
    draw_samples(s, first + begin, here, drawn);
    u32 lane = threadIdx.x % width, place = 4 * lane, padded = (s.length + 3) / 4 * 4;
    bool has_columns = place < dim;
    REAL* dots = parts + threadIdx.x / width * 4 * width;
    double equal = 1.0 / s.length, scale = fixed;
    i64 at_trigger = 0;
    for (u32 at = 0; at < here; at += blockDim.x / width) {
        u32 local = at + threadIdx.x / width;
        bool valid = local < here;
        local = valid ? local : 0;
        const Head& h = drawn.heads[local];
        const u32* list = drawn.tokens + local * padded;
        const REAL* own = g + (u64)(by_label ? h.label : begin + local) * dim;
        REAL y[4] = {0, 0, 0, 0};
        if (has_columns) load4(own + place, y);
        double extra = 0.0;
        if (trigger) {
            if (has_columns)
                for (int j = 0; j < 4; j++) extra += (double)y[j] * (double)trigger[place + j];
            extra = warp_sum(extra, width);
        }
        // Four dot products at a time; two exchanges leave each lane with its part of one of them.
        for (u32 start = 0; start < s.length; start += 4) {
            REAL dot[4] = {0, 0, 0, 0};
#pragma unroll
            for (u32 i = 0; i < 4; i++) {
                REAL x[4] = {0, 0, 0, 0};
                if (has_columns) load4(table + (u64)list[start + i] * dim + place, x);
#pragma unroll
                for (int j = 0; j < 4; j++) dot[i] += x[j] * y[j];
            }
            bool odd = lane & 1, upper = lane & 2;
            REAL a = (odd ? dot[2] : dot[0]) + __shfl_xor_sync(ALL, odd ? dot[0] : dot[2], 1, width);
            REAL b = (odd ? dot[3] : dot[1]) + __shfl_xor_sync(ALL, odd ? dot[1] : dot[3], 1, width);
            REAL sum = (upper ? b : a) + __shfl_xor_sync(ALL, upper ? a : b, 2, width);
            for (u32 step = 4; step < width; step *= 2) sum += __shfl_xor_sync(ALL, sum, step, width);
            if (lane < 4) dots[start + 2 * (lane & 1) + lane / 2] = sum;
        }
        __syncwarp();
        double dot[4], sum = 0.0;
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            dot[i] = place + i < s.length ? (double)dots[place + i] : 0.0;
            if (place + i == h.position) dot[i] = (double)(dots[place + i] + (REAL)extra);
            sum += dot[i];
        }
        double mean = warp_sum(sum, width) * equal;
        if (valid && s.length > 1)
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                if (place + i < s.length) {
                    i64 coefficient = add_fixed(sums + list[place + i], equal * (dot[i] - mean), scale);
                    if (place + i == h.position) at_trigger += coefficient;
                }
        __syncwarp();
    }
    at_trigger = warp_sum(at_trigger, WARP);
    if (threadIdx.x % WARP == 0) atomicAdd((u64*)(sums + tokens), (u64)at_trigger);
}
