// Training beyond the early phase. A row is a head of a sample; the rows of a sample follow each other.

// A block of samples: tokens by sample, the informative position by row. Scores come from one query per head, or from one for
// each position (`queries` is 1 or the length); `vocab` is the number of tokens.
struct Rows {
    const u32* tokens;
    const u32* position;
    u32 length, heads, queries, vocab;
};

__device__ __forceinline__ u64 query_of(const Rows& r, u64 row, u32 place) {
    return row % r.heads * r.queries + (r.queries > 1 ? place : 0);
}

// Tokens and labels of the samples `ids` from `first` on, and the informative positions of their rows. Without `ids` the samples
// themselves are counted. A thread takes four positions.
extern "C" __global__ void fill_block(Source s, const u32* ids, u32 first, u32 count, u32 heads, u32* tokens, u32* position,
                                      u32* labels, u64 stride) {
    cell(stride, s);
    u32 quads = (s.length + 3) / 4;
    for (u64 t = thread_number(); t < (u64)count * quads; t += thread_count()) {
        auto [sample, q] = place_of(t, quads);
        u32 id = ids ? ids[first + sample] : first + (u32)sample;
        Head h = head(s, id);
        u32 token[4];
        quad(s, id, h, q, token);
        for (u32 i = 0; i < 4 && 4 * q + i < s.length; i++) tokens[sample * s.length + 4 * q + i] = token[i];
        if (q > 0) continue;
        labels[sample] = h.label;
        for (u32 k = 0; k < heads; k++) position[sample * heads + k] = h.position;
    }
}

// Attention weights from the scores of tokens, of the trigger and of positions, which may be absent. A block takes a row.
extern "C" __global__ void weigh_rows(Rows r, const REAL* by_token, const REAL* by_trigger, const REAL* by_position, u32 keep,
                                      REAL* weights, double* kept, u32 stride, u32 place) {
    u64 row = blockIdx.x;
    const u32* tokens = r.tokens + row / r.heads * r.length;
    REAL* out = weights + row * r.length;
    u32 position = r.position[row];
    for (u32 i = threadIdx.x; i < r.length; i += blockDim.x) {
        u64 query = query_of(r, row, i);
        REAL x = by_token[query * r.vocab + tokens[i]];
        if (by_position) x += by_position[row % r.heads * r.length + i];
        out[i] = i == position ? x + by_trigger[query] : x;
    }
    __syncthreads();
    bool stays = softmax_of_largest(out, r.length, keep, position);
    if (kept && threadIdx.x == 0) kept[row * stride + place] = stays ? 1.0 : 0.0;
}

// Head outputs: sums of table rows under attention, plus the trigger, which may be absent. A warp takes 128 columns of a row.
extern "C" __global__ void mix_rows(Rows r, u64 count, const REAL* weights, const REAL* table, u32 dim, const REAL* trigger,
                                    REAL* out) {
    u32 slabs = (dim + 127) / 128;
    u64 warp = thread_number() / WARP, row = warp / slabs;
    if (row >= count) return;
    u32 column = (u32)(warp % slabs) * 128 + 4 * (threadIdx.x % WARP);
    const u32* tokens = r.tokens + row / r.heads * r.length;
    const REAL* own = weights + row * r.length;
    REAL sum[4] = {0, 0, 0, 0};
    if (dim % 4 == 0 && column + 4 <= dim) {
#pragma unroll 8
        for (u32 i = 0; i < r.length; i++) {
            REAL x[4], weight = own[i];
            load4(table + (u64)tokens[i] * dim + column, x);
            for (int j = 0; j < 4; j++) sum[j] += weight * x[j];
        }
    } else {
        for (u32 i = 0; i < r.length; i++)
            for (u32 j = 0; j < 4 && column + j < dim; j++) sum[j] += own[i] * table[(u64)tokens[i] * dim + column + j];
    }
    REAL at_trigger = own[r.position[row]];
    for (u32 j = 0; j < 4 && column + j < dim; j++)
        out[row * dim + column + j] = trigger ? sum[j] + at_trigger * trigger[column + j] : sum[j];
}

// -dL/ds_i = a_i (g . v_i - sum_j a_j g . v_j) of every position, and the largest sum of their sizes in a row. `extra` is what
// positions add to g . v_i. A block takes a row.
extern "C" __global__ void coefficients(Rows r, const REAL* g, const REAL* table, u32 dim, const REAL* trigger, const REAL* extra,
                                        const REAL* weights, REAL* out, u64* largest) {
    extern __shared__ __align__(16) double memory[];
    REAL* gradient = (REAL*)memory;
    REAL* dots = gradient + dim;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    u64 row = blockIdx.x, start = row * r.length;
    const u32* tokens = r.tokens + row / r.heads * r.length;
    for (u32 c = threadIdx.x; c < dim; c += blockDim.x) gradient[c] = g[row * dim + c];
    __syncthreads();
    for (u32 first = 4 * warp; first < r.length; first += 4 * warps) {
        REAL dot[4] = {0, 0, 0, 0};
        u32 size = min(r.length - first, 4u);
        if (dim % 4 == 0) {
            for (u32 c = 4 * lane; c < dim; c += 4 * WARP) {
                REAL y[4];
                load4(gradient + c, y);
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    REAL x[4];
                    load4(table + (u64)tokens[min(first + i, r.length - 1)] * dim + c, x);
                    for (int j = 0; j < 4; j++) dot[i] += x[j] * y[j];
                }
            }
        } else {
            for (u32 i = 0; i < size; i++)
                for (u32 c = lane; c < dim; c += WARP) dot[i] += table[(u64)tokens[first + i] * dim + c] * gradient[c];
        }
        for (u32 i = 0; i < size; i++) {
            REAL x = warp_sum(dot[i], WARP);
            if (lane == 0) dots[first + i] = extra ? x + extra[start + first + i] : x;
        }
    }
    double at_trigger = 0.0;
    if (trigger)
        for (u32 c = threadIdx.x; c < dim; c += blockDim.x) at_trigger += (double)gradient[c] * (double)trigger[c];
    at_trigger = block_sum(at_trigger);
    if (threadIdx.x == 0) dots[r.position[row]] += (REAL)at_trigger;
    __syncthreads();
    double sum = 0.0, size = 0.0;
    for (u32 i = threadIdx.x; i < r.length; i += blockDim.x) sum += (double)(weights[start + i] * dots[i]);
    double mean = block_sum(sum);
    for (u32 i = threadIdx.x; i < r.length; i += blockDim.x) {
        // With one position the coefficient is exactly zero.
        double x = r.length == 1 ? 0.0 : (double)weights[start + i] * ((double)dots[i] - mean);
        out[start + i] = (REAL)x;
        size += fabs(x);
    }
    size = block_sum(size);
    if (threadIdx.x == 0) atomicMax(largest, length_bits(size));
}

// Adds coefficients as integers to the sums of their query and token, and after these, at informative positions, to those of
// their query.
extern "C" __global__ void scatter_rows(Rows r, u64 count, const REAL* coefficients, const double* largest, i64* sums) {
    double scale = fixed_scale(*largest * (double)count);
    i64* at_trigger = sums + (u64)r.heads * r.queries * r.vocab;
    for (u64 t = thread_number(); t < count * r.length; t += thread_count()) {
        auto [row, i] = place_of(t, r.length);
        u64 query = query_of(r, row, i);
        double x = (double)coefficients[t];
        add_fixed(sums + query * r.vocab + r.tokens[row / r.heads * r.length + i], x, scale);
        if (i == r.position[row]) add_fixed(at_trigger + query, x, scale);
    }
}

// total += sums as numbers, and sums = 0. Coefficients that are not finite give NaN.
extern "C" __global__ void flush_rows(i64* sums, u64 size, const double* largest, u64 count, double* total) {
    double bound = *largest * (double)count, scale = fixed_scale(bound);
    for (u64 t = thread_number(); t < size; t += thread_count()) {
        total[t] += isfinite(bound) ? (double)sums[t] / scale : __longlong_as_double(0x7ff8000000000000LL);
        sums[t] = 0;
    }
}

// out[row, token] += weight, for a product with the gradients of rows. A thread takes a row.
extern "C" __global__ void spread_rows(Rows r, u64 count, const REAL* weights, REAL* out) {
    for (u64 row = thread_number(); row < count; row += thread_count())
        for (u32 i = 0; i < r.length; i++)
            out[row * r.vocab + r.tokens[row / r.heads * r.length + i]] += weights[row * r.length + i];
}

// A matrix of 64 bits (`wide`) or of REAL with any strides. The left one may be without data: then all its entries are 1.
struct Factor {
    const void* data;
    u64 row, column, wide;
};

// The sum over every `warps`-th k from `warp` on of a[i, k] b[k, j]. The types are known, so that loads overlap.
template <class A, class B>
__device__ __forceinline__ double strided_dot(const Factor& a, const Factor& b, u64 i, u64 j, u64 inner, u32 warp, u32 warps) {
    const A* left = (const A*)a.data + i * a.row;
    const B* right = (const B*)b.data + j * b.column;
    double sum = 0.0;
#pragma unroll 8
    for (u64 k = warp; k < inner; k += warps) sum += (a.data ? (double)left[k * a.column] : 1.0) * (double)right[k * b.row];
    return sum;
}

// A small product in 64 bits: out = a b, or out += a b. A block takes 32 columns of a row; its warps share the sum.
extern "C" __global__ void contract(Factor a, Factor b, u64 inner, u32 columns, void* out, u32 wide, u32 add) {
    __shared__ double parts[WARP][WARP];
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    // Blocks of a row are neighbours; the second dimension of a grid would hold too few for long sequences.
    u32 across = (columns + WARP - 1) / WARP, j = blockIdx.x % across * WARP + lane;
    u64 i = blockIdx.x / across;
    double sum = 0.0;
    if (j < columns)
        sum = a.wide ? b.wide ? strided_dot<double, double>(a, b, i, j, inner, warp, warps)
                              : strided_dot<double, REAL>(a, b, i, j, inner, warp, warps)
              : b.wide ? strided_dot<REAL, double>(a, b, i, j, inner, warp, warps)
                       : strided_dot<REAL, REAL>(a, b, i, j, inner, warp, warps);
    parts[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || j >= columns) return;
    u64 place = i * columns + j;
    sum = !add ? 0.0 : wide ? ((double*)out)[place] : (double)((REAL*)out)[place];
    for (u32 w = 0; w < warps; w++) sum += parts[w][lane];
    if (wide) ((double*)out)[place] = sum;
    else ((REAL*)out)[place] = (REAL)sum;
}

// total += the sum of x. One block.
extern "C" __global__ void add_sum(const double* x, u64 size, double* total) {
    double sum = 0.0;
    for (u64 t = threadIdx.x; t < size; t += blockDim.x) sum += x[t];
    sum = block_sum(sum);
    if (threadIdx.x == 0) *total += sum;
}

// Entry `c` of a vector whose pairs are turned by the angles with the given cosines and sines.
__device__ double turned(const double* x, u32 c, u32 size, const double* turns, double sense) {
    u32 pair = c / 2;
    if (pair >= size / 2) return x[c];
    double cosine = turns[2 * pair], sine = sense * turns[2 * pair + 1];
    return c % 2 ? sine * x[c - 1] + cosine * x[c] : cosine * x[c] - sine * x[c + 1];
}

// out[k, i] = in[k] turned as at position i
extern "C" __global__ void turn(const double* in, u32 heads, u32 length, u32 size, const double* turns, double* out) {
    for (u64 t = thread_number(); t < (u64)heads * length * size; t += thread_count()) {
        u64 row = t / size;
        out[t] = turned(in + row / length * size, (u32)(t % size), size, turns + row % length * (size / 2 * 2), 1.0);
    }
}

// out[k] = sum over positions i of in[k, i] turned back
extern "C" __global__ void turn_back(const double* in, u32 heads, u32 length, u32 size, const double* turns, double* out) {
    for (u64 t = thread_number(); t < (u64)heads * size; t += thread_count()) {
        double sum = 0.0;
        for (u32 i = 0; i < length; i++)
            sum += turned(in + (t / size * length + i) * size, (u32)(t % size), size, turns + (u64)i * (size / 2 * 2), -1.0);
        out[t] = sum;
    }
}

// rows[r] += bias
extern "C" __global__ void add_bias(REAL* rows, u64 size, u32 columns, const REAL* bias) {
    for (u64 t = thread_number(); t < size; t += thread_count()) rows[t] += bias[t % columns];
}

// x = a x + b y
extern "C" __global__ void blend(REAL a, REAL* x, REAL b, const REAL* y, u64 size) {
    for (u64 t = thread_number(); t < size; t += thread_count()) x[t] = a * x[t] + b * y[t];
}

// partial[block] = sum of squares of the block's entries
extern "C" __global__ void wide_square_sums(const double* x, u64 size, double* partial) {
    double sum = 0.0;
    for (u64 t = thread_number(); t < size; t += thread_count()) sum += x[t] * x[t];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// Gradients times `scale`, and shortened to the length `max` if they are longer. `square` is the sum of squares before.
extern "C" __global__ void scale_gradients(double* x, u64 size, double scale, const double* square, double max) {
    double length = square ? sqrt(*square) * fabs(scale) : 0.0, factor = length > max ? scale * (max / length) : scale;
    for (u64 t = thread_number(); t < size; t += thread_count()) x[t] *= factor;
}

// The optimisers, as in crates/core/src/train/optimiser.rs.
extern "C" __global__ void sgd(REAL* x, const double* gradient, double* first, u64 size, double rate, double momentum, double decay) {
    for (u64 t = thread_number(); t < size; t += thread_count()) {
        double wide = (double)x[t], step = gradient[t] + decay * wide;
        if (first) step = first[t] = momentum * first[t] + step;
        x[t] = (REAL)(wide - rate * step);
    }
}

struct Adam {
    double first_decay, second_decay, epsilon, inside, outside, step, root;
};

extern "C" __global__ void adam(REAL* x, const double* gradient, double* first, double* second, u64 size, Adam a) {
    for (u64 t = thread_number(); t < size; t += thread_count()) {
        double wide = (double)x[t], g = gradient[t] + a.inside * wide;
        first[t] = a.first_decay * first[t] + (1.0 - a.first_decay) * g;
        second[t] = a.second_decay * second[t] + (1.0 - a.second_decay) * g * g;
        x[t] = (REAL)(wide * (1.0 - a.outside) - a.step * first[t] / (sqrt(second[t]) / a.root + a.epsilon));
    }
}

// The direction of Muon before it is orthogonalised, in place of the gradient.
extern "C" __global__ void muon_direction(double* gradient, double* first, u64 size, double kept) {
    for (u64 t = thread_number(); t < size; t += thread_count()) {
        double g = gradient[t];
        first[t] = kept * first[t] + (1.0 - kept) * g;
        gradient[t] = kept * first[t] + (1.0 - kept) * g;
    }
}

// out = x over its length, which is at least `min`
extern "C" __global__ void shorten(const double* x, REAL* out, u64 size, const double* square, double min) {
    double length = fmax(sqrt(*square), min);
    for (u64 t = thread_number(); t < size; t += thread_count()) out[t] = (REAL)(x[t] / length);
}

extern "C" __global__ void muon_step(REAL* x, const REAL* direction, u64 size, double kept, double step) {
    for (u64 t = thread_number(); t < size; t += thread_count()) x[t] = (REAL)((double)x[t] * kept - step * (double)direction[t]);
}

// wrong = 1 if an entry is not finite
extern "C" __global__ void find_infinite(const REAL* x, u64 size, u64* wrong) {
    for (u64 t = thread_number(); t < size; t += thread_count())
        if (!isfinite((double)x[t])) atomicMax(wrong, (u64)1);
}
