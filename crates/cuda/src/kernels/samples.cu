// Passes over samples: histograms, attention, sums of embedding rows, and the coefficients of step 2.

// counts[label, token] += 1 and by_label[label] += 1; `tokens` columns. A thread takes four positions of a sample.
extern "C" __global__ void count_tokens(Source s, u32 first, u32 count, u32 tokens, COUNTER* counts, u32* by_label,
                                        u64 stride) {
    cell(stride, s, counts, by_label);
    u32 quads = (s.length + 3) / 4;
    for (u64 t = thread_number(); t < (u64)count * quads; t += thread_count()) {
        auto [sample, q] = place_of(t, quads);
        u32 id = first + (u32)sample;
        Head h = head(s, id);
        u32 token[4];
        quad(s, id, h, q, token);
        COUNTER* row = counts + (u64)h.label * tokens;
        u32 end = min(s.length - 4 * q, 4u);
        for (u32 i = 0; i < end; i++) atomicAdd(row + token[i], (COUNTER)1);
        if (q == 0) atomicAdd(by_label + h.label, 1u);
    }
}

// counts[informative token] += 1, noise tokens left out.
extern "C" __global__ void count_facts(Source s, u32 first, u32 count, u32* counts, u64 stride) {
    cell(stride, s, counts);
    for (u64 t = thread_number(); t < count; t += thread_count()) {
        u32 token = head(s, first + (u32)t).token;
        if (token < s.vocab) atomicAdd(counts + token, 1u);
    }
}

extern "C" __global__ void sample_labels(Source s, const u32* order, u32 first, u32 count, u32* labels, u64 stride) {
    cell(stride, s, order, labels);
    for (u64 t = thread_number(); t < count; t += thread_count())
        labels[t] = head(s, order ? order[first + t] : first + (u32)t).label;
}

// Largest score and one over the sum of exponentials of the samples that `width` neighbouring lanes share.
__device__ __forceinline__ void softmax_of(const Source& s, u32 id, const Head& h, const REAL* scores, const REAL* trigger, u32 lane,
                                           u32 width, REAL& top, REAL& scale) {
    u32 quads = (s.length + 3) / 4;
    REAL most = LOWEST;
    for (u32 q = lane; q < quads; q += width) {
        u32 token[4];
        quad(s, id, h, q, token);
        for (u32 i = 0; i < 4 && 4 * q + i < s.length; i++) {
            REAL x = score(scores, trigger, h, 4 * q + i, token[i]);
            most = x > most ? x : most;
        }
    }
    top = warp_max(most, width);
    double sum = 0.0;
    for (u32 q = lane; q < quads; q += width) {
        u32 token[4];
        quad(s, id, h, q, token);
        for (u32 i = 0; i < 4 && 4 * q + i < s.length; i++)
            sum += (double)exp(score(scores, trigger, h, 4 * q + i, token[i]) - top);
    }
    scale = (REAL)(1.0 / warp_sum(sum, width));
}

// Two numbers per sample: the largest score, and one over the sum of exponentials.
extern "C" __global__ void softmax_stats(Source s, const u32* order, u32 first, u32 count, const REAL* scores,
                                         const REAL* trigger, REAL* stats, u32 width, u64 stride) {
    cell(stride, s, order, scores, trigger, stats);
    u32 lane = threadIdx.x % width;
    u64 sample = thread_number() / width;
    bool valid = sample < count;
    u32 place = valid ? (u32)sample : 0;
    u32 id = order ? order[first + place] : first + place;
    Head h = head(s, id);
    REAL top, scale;
    softmax_of(s, id, h, scores, trigger, lane, width, top, scale);
    if (valid && lane == 0) {
        stats[2 * sample] = top;
        stats[2 * sample + 1] = scale;
    }
}

// sums[label, token] += attention weight, and by_label[label] += weight of the informative position, as integers.
extern "C" __global__ void weigh_tokens(Source s, u32 first, u32 count, u32 tokens, const REAL* scores, const REAL* trigger,
                                        double samples, i64* sums, i64* by_label, u32 width, u64 stride) {
    cell(stride, s, scores, trigger, sums, by_label);
    u32 lane = threadIdx.x % width, quads = (s.length + 3) / 4;
    u64 sample = thread_number() / width;
    bool valid = sample < count;
    u32 id = first + (valid ? (u32)sample : 0);
    Head h = head(s, id);
    REAL top, scale;
    softmax_of(s, id, h, scores, trigger, lane, width, top, scale);
    if (!valid) return;
    double fixed = fixed_scale(samples);
    i64* row = sums + (u64)h.label * tokens;
    for (u32 q = lane; q < quads; q += width) {
        u32 token[4];
        quad(s, id, h, q, token);
        for (u32 i = 0; i < 4 && 4 * q + i < s.length; i++) {
            double weight = (double)(exp(score(scores, trigger, h, 4 * q + i, token[i]) - top) * scale);
            add_fixed(row + token[i], weight, fixed);
            if (4 * q + i == h.position) add_fixed(by_label + h.label, weight, fixed);
        }
    }
}

// Attention weights, a row per sample. With fewer than all positions kept, those of largest score, the first of equal ones.
extern "C" __global__ void weigh(Source s, u32 first, u32 count, const REAL* scores, const REAL* trigger, u32 keep,
                                 REAL* weights, double* kept, u32 columns, u32 place, u64 stride) {
    cell(stride, s, scores, trigger, weights, kept);
    u32 row = blockIdx.x, id = first + row;
    Head h = head(s, id);
    REAL* out = weights + (u64)row * s.length;
    u32 quads = (s.length + 3) / 4;
    for (u32 q = threadIdx.x; q < quads; q += blockDim.x) {
        u32 token[4];
        quad(s, id, h, q, token);
        for (u32 i = 0; i < 4 && 4 * q + i < s.length; i++)
            out[4 * q + i] = scores ? score(scores, trigger, h, 4 * q + i, token[i]) : (REAL)0;
    }
    __syncthreads();
    bool stays = softmax_of_largest(out, s.length, keep, h.position);
    if (threadIdx.x == 0) kept[(u64)row * columns + place] = stays ? 1.0 : 0.0;
}

// Sums of embedding rows under attention: the head outputs of samples, or their sums over segments of `order`. A warp takes
// 128 columns of a row of the result. Weights are those of `weights`, those of `stats` and `scores`, or equal.
extern "C" __global__ void attend(Source s, const u32* order, const u64* starts, u64 first, u32 count, const REAL* table,
                                  u32 dim, const REAL* trigger, const REAL* scores, const REAL* trigger_score,
                                  const REAL* stats, const REAL* weights, REAL* out, u64 stride) {
    cell(stride, s, order, starts, table, trigger, scores, trigger_score, stats, weights, out);
    __shared__ u32 token_parts[THREADS / WARP][128];
    __shared__ REAL weight_parts[THREADS / WARP][128];
    u32 lane = threadIdx.x % WARP, local = threadIdx.x / WARP, slabs = (dim + 127) / 128;
    u64 warp = thread_number() / WARP;
    if (warp >= (u64)count * slabs) return;
    u32* tokens = token_parts[local];
    REAL* parts = weight_parts[local];
    u64 row = warp / slabs;
    u32 column = (u32)(warp % slabs) * 128 + 4 * lane;
    bool wide = dim % 4 == 0 && column + 4 <= dim;
    u64 base = starts ? starts[first] : first;
    u64 begin = starts ? starts[first + row] : first + row, end = starts ? starts[first + row + 1] : begin + 1;
    REAL equal = (REAL)1 / (REAL)s.length;
    double total[4] = {0.0, 0.0, 0.0, 0.0};
    for (u64 k = begin; k < end; k++) {
        u32 id = order ? order[k] : (u32)k;
        Head h = head(s, id);
        REAL top = stats ? stats[2 * (k - base)] : (REAL)0, scale = stats ? stats[2 * (k - base) + 1] : (REAL)0;
        const REAL* given = weights ? weights + (k - base) * s.length : 0;
        REAL sum[4] = {0, 0, 0, 0}, at_trigger = equal;
        for (u32 start = 0; start < s.length; start += 128) {
            if (start + 4 * lane < s.length) {
                u32 token[4];
                quad(s, id, h, start / 4 + lane, token);
                for (u32 i = 0; i < 4 && start + 4 * lane + i < s.length; i++) {
                    u32 place = start + 4 * lane + i;
                    tokens[4 * lane + i] = token[i];
                    parts[4 * lane + i] = given ? given[place]
                                         : stats ? exp(score(scores, trigger_score, h, place, token[i]) - top) * scale
                                                 : equal;
                }
            }
            __syncwarp();
            u32 size = min(s.length - start, 128u);
            if (h.position >= start && h.position < start + size) at_trigger = parts[h.position - start];
            if (wide) {
#pragma unroll 8
                for (u32 i = 0; i < size; i++) {
                    REAL x[4];
                    load4(table + (u64)tokens[i] * dim + column, x);
                    REAL w = parts[i];
                    for (int j = 0; j < 4; j++) sum[j] += w * x[j];
                }
            } else {
                for (u32 i = 0; i < size; i++)
                    for (u32 j = 0; j < 4 && column + j < dim; j++)
                        sum[j] += parts[i] * table[(u64)tokens[i] * dim + column + j];
            }
            __syncwarp();
        }
        for (u32 j = 0; j < 4 && column + j < dim; j++) {
            if (trigger) sum[j] += at_trigger * trigger[column + j];
            total[j] += (double)sum[j];
        }
    }
    for (u32 j = 0; j < 4 && column + j < dim; j++) out[row * dim + column + j] = (REAL)total[j];
}

// Step 2 at uniform attention: adds every position's coefficient to its token's sum and, at the informative position, to
// sums[tokens]. `table` holds g . z for every label and token, `by_trigger` g . z_trig for every label or nothing.
extern "C" __global__ void scatter_by_table(Source s, u32 first, u32 count, u32 tokens, const REAL* table,
                                            const REAL* by_trigger, const double* lengths, double samples, i64* sums, u32 copies, u32 width,
                                            u64 stride) {
    cell(stride, s, table, by_trigger, lengths, sums);
    sums += (u64)(blockIdx.x % copies) * (tokens + 1);
    __shared__ i64 at_trigger;
    if (threadIdx.x == 0) at_trigger = 0;
    __syncthreads();
    u32 lane = threadIdx.x % width, quads = (s.length + 3) / 4;
    u64 sample = thread_number() / width;
    bool valid = sample < count;
    u32 id = first + (valid ? (u32)sample : 0);
    Head h = head(s, id);
    const REAL* row = table + (u64)h.label * tokens;
    REAL extra = by_trigger ? by_trigger[h.label] : (REAL)0;
    double sum = 0.0, equal = 1.0 / s.length;
    for (u32 q = lane; q < quads; q += width) {
        u32 token[4];
        quad(s, id, h, q, token);
        for (u32 i = 0; i < 4 && 4 * q + i < s.length; i++)
            sum += (double)(4 * q + i == h.position ? row[token[i]] + extra : row[token[i]]);
    }
    double mean = warp_sum(sum, width) * equal, scale = fixed_scale(coefficient_bound(lengths, samples));
    if (valid && s.length > 1) {
        for (u32 q = lane; q < quads; q += width) {
            u32 token[4];
            quad(s, id, h, q, token);
            for (u32 i = 0; i < 4 && 4 * q + i < s.length; i++) {
                bool informative = 4 * q + i == h.position;
                double coefficient = equal * ((double)(informative ? row[token[i]] + extra : row[token[i]]) - mean);
                add_fixed(sums + token[i], coefficient, scale);
                if (informative) add_fixed(&at_trigger, coefficient, scale);
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd((u64*)(sums + tokens), (u64)at_trigger);
}

// The same without a table: `g` has a row per label, or a row per sample. A block takes a sample.
extern "C" __global__ void scatter_by_rows(Source s, u32 first, u32 tokens, const REAL* table, u32 dim, const REAL* trigger,
                                           const REAL* g, u32 by_label, const double* lengths, double samples, i64* sums, u32 copies,
                                           u64 stride) {
    cell(stride, s, table, trigger, g, lengths, sums);
    sums += (u64)(blockIdx.x % copies) * (tokens + 1);
    extern __shared__ __align__(16) double memory[];
    REAL* gradient = (REAL*)memory;
    REAL* dots = gradient + dim;
    u32* list = (u32*)(dots + s.length);
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    u32 id = first + blockIdx.x;
    Head h = head(s, id);
    const REAL* own = g + (u64)(by_label ? h.label : blockIdx.x) * dim;
    for (u32 c = threadIdx.x; c < dim; c += blockDim.x) gradient[c] = own[c];
    for (u32 q = threadIdx.x; 4 * q < s.length; q += blockDim.x) {
        u32 token[4];
        quad(s, id, h, q, token);
        for (u32 i = 0; i < 4 && 4 * q + i < s.length; i++) list[4 * q + i] = token[i];
    }
    __syncthreads();
    for (u32 start = 4 * warp; start < s.length; start += 4 * warps) {
        REAL dot[4] = {0, 0, 0, 0};
        u32 size = min(s.length - start, 4u);
        if (dim % 4 == 0) {
            for (u32 c = 4 * lane; c < dim; c += 4 * WARP) {
                REAL y[4];
                load4(gradient + c, y);
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    REAL x[4];
                    load4(table + (u64)list[min(start + i, s.length - 1)] * dim + c, x);
                    for (int j = 0; j < 4; j++) dot[i] += x[j] * y[j];
                }
            }
        } else {
            for (u32 i = 0; i < size; i++)
                for (u32 c = lane; c < dim; c += WARP) dot[i] += table[(u64)list[start + i] * dim + c] * gradient[c];
        }
        for (u32 i = 0; i < size; i++) {
            REAL x = dot[i];
            for (int step = WARP / 2; step > 0; step /= 2) x += __shfl_xor_sync(ALL, x, step, WARP);
            if (lane == 0) dots[start + i] = x;
        }
    }
    double extra = 0.0;
    if (trigger)
        for (u32 c = threadIdx.x; c < dim; c += blockDim.x) extra += (double)gradient[c] * (double)trigger[c];
    extra = block_sum(extra);
    if (threadIdx.x == 0) dots[h.position] += (REAL)extra;
    __syncthreads();
    double sum = 0.0, equal = 1.0 / s.length;
    for (u32 i = threadIdx.x; i < s.length; i += blockDim.x) sum += (double)dots[i];
    double mean = block_sum(sum) * equal, scale = fixed_scale(coefficient_bound(lengths, samples));
    if (s.length == 1) return;
    for (u32 i = threadIdx.x; i < s.length; i += blockDim.x) {
        double coefficient = equal * ((double)dots[i] - mean);
        add_fixed(sums + list[i], coefficient, scale);
        if (i == h.position) add_fixed(sums + tokens, coefficient, scale);
    }
}

// total += sums as numbers, and sums = 0. Blocks add to different copies of the sums, so that fewer atomic additions collide. A bound
// that is not finite gives NaN.
extern "C" __global__ void flush_coefficients(i64* sums, u32 copies, u64 size, const double* lengths, double samples, double* total,
                                              u64 stride) {
    cell(stride, sums, lengths, total);
    double bound = coefficient_bound(lengths, samples), scale = fixed_scale(bound);
    for (u64 t = thread_number(); t < size; t += thread_count()) {
        i64 sum = 0;
        for (u32 copy = 0; copy < copies; copy++) {
            sum += sums[copy * size + t];
            sums[copy * size + t] = 0;
        }
        total[t] += isfinite(bound) ? (double)sum / scale : __longlong_as_double(0x7ff8000000000000LL);
    }
}
