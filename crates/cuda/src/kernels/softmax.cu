// The softmax of small cells with its product, without a matrix of samples by labels in device memory, for 32-bit numbers.
//
// Both products run on tensor cores, which multiply half-precision numbers and add in 32 bits. A number is scaled, so that the largest
// possible one is below 2^10, and split into the nearest half-precision number and the nearest one to the rest: x = high + low up to
// 2^-22 |x|, or 2^-34 of the largest number if that is more. A product is high high + high low + low high, which leaves out low low,
// at most 2^-22 of it. The error of a product is thus at most 3 * 2^-22 of it, if its factors are above 2^-12 of the largest ones.
// Tensor cores truncate instead of rounding: each of the 17 terms of an addition loses up to 2^-23 of the largest one. Truncation is
// towards zero, so that errors do not average out over many tiles. Tensor cores therefore add the products of one tile only, and
// ordinary additions, which round, add the tiles.
//
// The right label is left out of the sums and of the largest logit: with w_j = 2^9 exp(l_j - max), the maximum over the other labels,
// and the sum S of these, X^T r = (S x_y - sum_j w_j x_j) / (S + w_y). A softmax close to the right label thus keeps its digits. The
// factor 2^9 bounds the error of a split weight by 2^-22 of it, or 2^-34 of the largest weight if that is more.

// GPUs before compute capability 8.0 lack the instructions below. The emulator has functions of its own.
#if defined(EMULATOR) || __CUDA_ARCH__ >= 800
#define TENSOR_CORES
#endif
#if defined(TENSOR_CORES) && !defined(EMULATOR)
// The nearest half-precision numbers, x in the lower half.
__device__ __forceinline__ u32 pack_halves(float x, float y) {
    u32 pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(y), "f"(x));
    return pair;
}

__device__ __forceinline__ float low_half(u32 pair) {
    float x;
    asm("{ .reg .b16 a, b; mov.b32 {a, b}, %1; cvt.f32.f16 %0, a; }" : "=f"(x) : "r"(pair));
    return x;
}

__device__ __forceinline__ float high_half(u32 pair) {
    float x;
    asm("{ .reg .b16 a, b; mov.b32 {a, b}, %1; cvt.f32.f16 %0, b; }" : "=f"(x) : "r"(pair));
    return x;
}

// c += a b on the tensor cores of a warp, for tiles of 16 x 16 and 16 x 8 half-precision numbers.
__device__ __forceinline__ void multiply_halves(float c[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
#endif

#if defined(SINGLE) && defined(TENSOR_CORES)
// A block of four warps takes SAMPLES samples and LABELS labels at a time; a warp takes ROWS tiles of 16 samples.
#define SAMPLES SOFTMAX_SAMPLES
#define LABELS SOFTMAX_LABELS
#define ROWS 2
static_assert(16 * ROWS == WARP && SAMPLES % WARP == 0, "a warp takes as many samples as it has threads");
// Tiles of 8 columns whose products are interleaved, so that none waits for the one before.
#define INTERLEAVED 2
// The factor of all weights.
#define WEIGHT_SCALE 512.0f

// The power of two that scales numbers of absolute values up to `bound` to less than 2^10.
__device__ __forceinline__ float scale_below(double bound) {
    if (!(bound > 0.0) || isinf(bound)) return 1.0f;
    int exponent;
    frexp(bound, &exponent);
    // Not above 2^126, whose inverse is a normal number.
    return (float)ldexp(1.0, min(10 - exponent, 126));
}

// High parts of x and y, of u and v, then their low parts.
__device__ __forceinline__ uint4 split(float x, float y, float u, float v) {
    u32 first = pack_halves(x, y), second = pack_halves(u, v);
    return make_uint4(first, second, pack_halves(x - low_half(first), y - high_half(first)),
                      pack_halves(u - low_half(second), v - high_half(second)));
}

// c += a b for ROWS x INTERLEAVED tiles of c of 16 x 8 numbers, the smallest terms first. Thread 4 g + t of a warp holds
// - of c: columns 2 t and 2 t + 1 of rows g and g + 8;
// - of a: columns 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of the same rows;
// - of b: rows 2 t, 2 t + 1, 2 t + 8 and 2 t + 9 of column g.
// The tiles of b are at `place`, `step` apart.
template <int N>
__device__ __forceinline__ void multiply(float (*c)[N][4], u32 n, const uint4 (*a)[2], const uint4* place, u32 step) {
    uint4 b[INTERLEAVED];
#pragma unroll
    for (u32 i = 0; i < INTERLEAVED; i++) b[i] = place[i * step];
#pragma unroll
    for (u32 term = 0; term < 3; term++)
#pragma unroll
        for (u32 i = 0; i < INTERLEAVED; i++)
#pragma unroll
            for (u32 m = 0; m < ROWS; m++) {
                const uint4 &upper = a[m][0], &lower = a[m][1];
                if (term == 0) multiply_halves(c[m][n + i], upper.z, lower.z, upper.w, lower.w, b[i].x, b[i].y);
                if (term == 1) multiply_halves(c[m][n + i], upper.x, lower.x, upper.y, lower.y, b[i].z, b[i].w);
                if (term == 2) multiply_halves(c[m][n + i], upper.x, lower.x, upper.y, lower.y, b[i].x, b[i].y);
            }
}

// Four numbers of a row of a matrix from a column on, scaled; zeros outside.
__device__ __forceinline__ void load_inside(const float* matrix, u32 rows, u32 columns, u32 row, u32 column, float scale, float out[4]) {
    out[0] = out[1] = out[2] = out[3] = 0.0f;
    if (row < rows && column < columns) load4(matrix + (u64)row * columns + column, out);
#pragma unroll
    for (u32 i = 0; i < 4; i++) out[i] *= scale;
}

// The 16-byte elements that a row takes in shared memory. The padding, and the order of columns, let eight neighbouring threads read
// different banks.
template <int COLUMNS> __device__ __forceinline__ constexpr u32 row_size() { return COLUMNS / 4 + 4; }

// The place of columns 16 k + 2 t, the next one, and those 8 later of a row.
template <int COLUMNS> __device__ __forceinline__ u32 row_place(u32 row, u32 k, u32 t) {
    return row * row_size<COLUMNS>() + 4 * k + (t ^ row / 2 % 4);
}

// The place of a column of labels 16 k + 2 t, the next one, and those 8 later.
template <int COLUMNS> __device__ __forceinline__ constexpr u32 label_place(u32 k, u32 t, u32 column) {
    return (4 * k + t) * (COLUMNS + 2) + column;
}

// Copies SIZE rows of a matrix from `first` on to shared memory, split.
template <int COLUMNS, int SIZE>
__device__ __forceinline__ void fill_rows(const float* matrix, u32 rows, u32 columns, u32 first, float scale, uint4* to) {
#pragma unroll
    for (u32 i = threadIdx.x; i < SIZE * COLUMNS / 16; i += SAMPLES) {
        u32 row = i % SIZE, k = i / SIZE;
        float x[16];
#pragma unroll
        for (u32 j = 0; j < 16; j += 4) load_inside(matrix, rows, columns, first + row, 16 * k + j, scale, x + j);
#pragma unroll
        for (u32 t = 0; t < 4; t++)
            to[row_place<COLUMNS>(row, k, t)] = split(x[2 * t], x[2 * t + 1], x[2 * t + 8], x[2 * t + 9]);
    }
}

// The same for a tile of labels, whose rows are the inner index.
template <int COLUMNS>
__device__ __forceinline__ void fill_labels(const float* matrix, u32 rows, u32 columns, u32 first, float scale, uint4* to) {
#pragma unroll
    for (u32 i = threadIdx.x; i < LABELS / 4 * COLUMNS / 4; i += SAMPLES) {
        u32 k = i % (LABELS / 4) / 4, t = i % 4, column = i / (LABELS / 4) * 4, label = first + 16 * k + 2 * t;
        float x[4], y[4], u[4], v[4];
        load_inside(matrix, rows, columns, label, column, scale, x);
        load_inside(matrix, rows, columns, label + 1, column, scale, y);
        load_inside(matrix, rows, columns, label + 8, column, scale, u);
        load_inside(matrix, rows, columns, label + 9, column, scale, v);
#pragma unroll
        for (u32 j = 0; j < 4; j++) to[label_place<COLUMNS>(k, t, column + j)] = split(x[j], y[j], u[j], v[j]);
    }
}

template <int COLUMNS>
__device__ __forceinline__ void softmax_tiles(const float* features, u32 count, const float* readout, u32 labels, const float* matrix,
                                              u32 dim, const u32* right, const double* feature_bound, const double* readout_bound,
                                              const double* matrix_bound, u64* longest, float* out) {
    extern __shared__ __align__(16) double memory[];
    uint4* feature_tile = (uint4*)memory;
    uint4* readout_tile = feature_tile + SAMPLES * row_size<COLUMNS>();
    uint4* matrix_tile = readout_tile + LABELS * row_size<COLUMNS>();
    const u32 matrix_size = label_place<COLUMNS>(LABELS / 16, 0, 0);
    u32* label = (u32*)(matrix_tile + matrix_size);
    static_assert(16 * ((SAMPLES + LABELS) * row_size<COLUMNS>() + matrix_size) + 4 * SAMPLES <= SOFTMAX_BYTES, "shared memory");
    const float LOG2_E = 1.4426950408889634f;
    float feature_scale = scale_below(*feature_bound), readout_scale = scale_below(*readout_bound);
    float matrix_scale = scale_below(*matrix_bound);
    float by_logit = LOG2_E / feature_scale / readout_scale, by_result = 1.0f / matrix_scale;
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u32 begin = blockIdx.x * SAMPLES, own_row = threadIdx.x / WARP * 16 * ROWS + g;
    fill_rows<COLUMNS, SAMPLES>(features, count, dim, begin, feature_scale, feature_tile);
    label[threadIdx.x] = begin + threadIdx.x < count ? right[begin + threadIdx.x] : 0;
    // Of rows g and g + 8 of each tile: the largest logit of other labels so far, in units of log 2, and the sum of their weights.
    float largest[ROWS][2], sum[ROWS][2], result[ROWS][COLUMNS / 8][4];
#pragma unroll
    for (u32 m = 0; m < ROWS; m++) {
        largest[m][0] = largest[m][1] = LOWEST;
        sum[m][0] = sum[m][1] = 0.0f;
#pragma unroll
        for (u32 n = 0; n < COLUMNS / 8; n++) result[m][n][0] = result[m][n][1] = result[m][n][2] = result[m][n][3] = 0.0f;
    }
    for (u32 tile = 0; tile < labels; tile += LABELS) {
        __syncthreads();
        fill_rows<COLUMNS, LABELS>(readout, labels, dim, tile, readout_scale, readout_tile);
        fill_labels<COLUMNS>(matrix, labels, dim, tile, matrix_scale, matrix_tile);
        __syncthreads();
        float logit[ROWS][LABELS / 8][4];
#pragma unroll
        for (u32 m = 0; m < ROWS; m++)
#pragma unroll
            for (u32 n = 0; n < LABELS / 8; n++) logit[m][n][0] = logit[m][n][1] = logit[m][n][2] = logit[m][n][3] = 0.0f;
#pragma unroll
        for (u32 k = 0; k < COLUMNS / 16; k++) {
            uint4 a[ROWS][2];
#pragma unroll
            for (u32 m = 0; m < ROWS; m++)
#pragma unroll
                for (u32 i = 0; i < 2; i++) a[m][i] = feature_tile[row_place<COLUMNS>(own_row + 16 * m + 8 * i, k, t)];
#pragma unroll
            for (u32 n = 0; n < LABELS / 8; n += INTERLEAVED)
                multiply(logit, n, a, readout_tile + row_place<COLUMNS>(8 * n + g, k, t), 8 * row_size<COLUMNS>());
        }
#pragma unroll
        for (u32 m = 0; m < ROWS; m++)
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                float top = largest[m][i];
                u32 own_label = label[own_row + 16 * m + 8 * i];
#pragma unroll
                for (u32 n = 0; n < LABELS / 8; n++)
#pragma unroll
                    for (u32 j = 0; j < 2; j++) {
                        float& x = logit[m][n][2 * i + j];
                        u32 place = tile + 8 * n + 2 * t + j;
                        x *= by_logit;
                        if (place == own_label || place >= labels) x = LOWEST;
                        top = fmaxf(top, x);
                    }
                top = warp_max(top, 4);
                float shrink = exp2f(largest[m][i] - top);
                largest[m][i] = top;
                sum[m][i] *= shrink;
#pragma unroll
                for (u32 n = 0; n < COLUMNS / 8; n++) {
                    result[m][n][2 * i] *= shrink;
                    result[m][n][2 * i + 1] *= shrink;
                }
            }
        uint4 weight[LABELS / 16][ROWS][2];
#pragma unroll
        for (u32 k = 0; k < LABELS / 16; k++)
#pragma unroll
            for (u32 m = 0; m < ROWS; m++)
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    float x[4];
#pragma unroll
                    for (u32 j = 0; j < 4; j++) {
                        x[j] = WEIGHT_SCALE * exp2f(logit[m][2 * k + j / 2][2 * i + j % 2] - largest[m][i]);
                        sum[m][i] += x[j];
                    }
                    weight[k][m][i] = split(x[0], x[1], x[2], x[3]);
                }
#pragma unroll
        for (u32 n = 0; n < COLUMNS / 8; n += INTERLEAVED) {
            float part[ROWS][INTERLEAVED][4] = {};
#pragma unroll
            for (u32 k = 0; k < LABELS / 16; k++)
                multiply(part, 0, weight[k], matrix_tile + label_place<COLUMNS>(k, t, 8 * n + g), 8);
#pragma unroll
            for (u32 m = 0; m < ROWS; m++)
#pragma unroll
                for (u32 i = 0; i < INTERLEAVED; i++)
#pragma unroll
                    for (u32 j = 0; j < 4; j++) result[m][n + i][j] += part[m][i][j];
        }
    }
    u64 longest_here = 0;
#pragma unroll
    for (u32 m = 0; m < ROWS; m++)
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            u32 row = begin + own_row + 16 * m + 8 * i;
            u64 own = label[own_row + 16 * m + 8 * i];
            const float *x = matrix + own * dim, *h = features + (u64)min(row, count - 1) * dim;
            float logit = 0.0f;
            // In 64 bits, because squares of small gradients are zero in 32.
            double square = 0.0;
            for (u32 c = t; c < dim; c += 4) logit += h[c] * readout[own * dim + c];
            float others = (float)warp_sum((double)sum[m][i], 4);
            // 1 / (others + weight of the right label), without overflow where that weight is large.
            // A NaN makes the result NaN.
            float above = LOG2_E * (float)warp_sum((double)logit, 4) - largest[m][i], shrink = above > 0.0f ? exp2f(-above) : 1.0f;
            float scale = shrink / (others * shrink + WEIGHT_SCALE * (above > 0.0f ? 1.0f : exp2f(above)));
#pragma unroll
            for (u32 n = 0; n < COLUMNS / 8; n++)
#pragma unroll
                for (u32 j = 0; j < 2; j++) {
                    u32 column = 8 * n + 2 * t + j;
                    if (row >= count || column >= dim) continue;
                    float y = (others * x[column] - result[m][n][2 * i + j] * by_result) * scale;
                    square += (double)y * (double)y;
                    out[(u64)row * dim + column] = y;
                }
            u64 length = length_bits(sqrt(warp_sum(square, 4)));
            longest_here = length > longest_here ? length : longest_here;
        }
    if (longest) raise_to_longest(longest, longest_here);
}
#endif

// out = matrix[label] - sum_j q_j matrix[j] for the softmax q of the logits features . readout[j]: X^T r for the rows of a block, where
// r is the residual and X the matrix. All rows have `dim` columns, a multiple of 4 and at most SOFTMAX_COLUMNS, and are at most as long
// as the bounds of the three matrices. There are at least two labels. The sum over labels is computed tile by tile, relative to the
// largest logit so far. If `longest` is given, it gets the length of the longest row of the result. If `used` is given, blocks of rows
// from *used on are set to zero; the caller multiplies the remaining unused rows by their weight 0.
extern "C" __launch_bounds__(SOFTMAX_SAMPLES, 3) __global__ void softmax_product(const REAL* features, u32 count, const REAL* readout,
                                                                                 u32 labels, const REAL* matrix, u32 dim,
                                                                                 const u32* right, const double* feature_bound,
                                                                                 const double* readout_bound,
                                                                                 const double* matrix_bound, const u32* used,
                                                                                 u64* longest, REAL* out, u64 stride) {
#if defined(SINGLE) && defined(TENSOR_CORES)
    cell(stride, features, readout, matrix, right, feature_bound, readout_bound, matrix_bound, used, longest, out);
    u32 begin = blockIdx.x * SAMPLES;
    if (used && begin >= *used) {
        u64 end = min((u64)count, (u64)begin + SAMPLES) * dim;
        for (u64 i = (u64)begin * dim + threadIdx.x; i < end; i += blockDim.x) out[i] = 0.0f;
    } else if (dim <= 32) {
        softmax_tiles<32>(features, count, readout, labels, matrix, dim, right, feature_bound, readout_bound, matrix_bound, longest, out);
    } else {
        softmax_tiles<SOFTMAX_COLUMNS>(features, count, readout, labels, matrix, dim, right, feature_bound, readout_bound, matrix_bound, longest, out);
    }
#endif
}
