// The softmax of small cells with its product, without a matrix of samples by labels in device memory, for 32-bit numbers.
//
// Both products run on tensor cores, which multiply numbers of 11 significant bits (tf32). A number is split into the nearest one and
// the truncated rest, which leaves out at most 2^-21 |x|. A product of two numbers is high high + high low + low high, which leaves
// out low low, at most 2^-22 of the product: in all an error of at most 1.25 * 2^-20 of it. Terms are exact and are added in 32 bits.

#ifdef SINGLE
// Samples and labels of a tile of a block of four warps, and tiles of 16 samples of a warp.
#define SAMPLES 128
#define LABELS 32
#define ROWS 2
// Columns whose products take turns, so that none waits for the one before it.
#define TURNS 4

// A tile of the left matrix of 16 x 8 numbers. In its group of four threads t, the g-th group of the warp holds a[g, t], a[g + 8, t],
// a[g, t + 4], a[g + 8, t + 4].
struct Left {
    u32 high[4], low[4];
};

// A tile of the right matrix of 8 x 8 numbers: b[t, g] and b[t + 4, g].
struct Right {
    u32 high[2], low[2];
};

__device__ __forceinline__ void split(float x, u32& high, u32& low) {
    high = ((u32)__float_as_int(x) + 0x1000u) & 0xffffe000u;
    // A NaN stays one here. The tensor cores truncate.
    low = (u32)__float_as_int(x - __int_as_float((int)high));
}

// c[i] += a[i] b for tiles of c of 16 x 8 numbers: c[g, 2 t], c[g, 2 t + 1], and both of row g + 8.
__device__ __forceinline__ void multiply(float c[4], const u32 a[4], const u32 b[2]) {
    multiply_tf32(c, a[0], a[1], a[2], a[3], b[0], b[1]);
}

// c += a b for ROWS x TURNS tiles, the smallest terms first. The tiles of b are pairs of numbers at `place`, `step` pairs apart.
template <int N>
__device__ __forceinline__ void multiply(float (*c)[N][4], u32 n, const Left* a, const float2* place, u32 step) {
    Right b[TURNS];
#pragma unroll
    for (u32 i = 0; i < TURNS; i++) {
        float2 pair = place[i * step];
        split(pair.x, b[i].high[0], b[i].low[0]);
        split(pair.y, b[i].high[1], b[i].low[1]);
    }
#pragma unroll
    for (u32 term = 0; term < 3; term++)
#pragma unroll
        for (u32 i = 0; i < TURNS; i++)
#pragma unroll
            for (u32 m = 0; m < ROWS; m++)
                multiply(c[m][n + i], term == 0 ? a[m].low : a[m].high, term == 1 ? b[i].low : b[i].high);
}

// Four numbers of a row of a matrix from a column on; zeros outside.
__device__ __forceinline__ void load_inside(const float* matrix, u32 rows, u32 columns, u32 row, u32 column, float out[4]) {
    out[0] = out[1] = out[2] = out[3] = 0.0f;
    if (row < rows && column < columns) load4(matrix + (u64)row * columns + column, out);
}

// The place of columns 8 k + t and 8 k + t + 4 of a row in shared memory. With these distances from row to row, the threads of half a
// warp read from different banks.
template <int COLUMNS> __device__ __forceinline__ u32 row_place(u32 row, u32 k, u32 t) {
    return row * (COLUMNS / 2 + 4) + 4 * k + t;
}

// The place of a column of rows 2 `pair` and 2 `pair` + 1.
template <int COLUMNS> __device__ __forceinline__ u32 pair_place(u32 pair, u32 column) { return pair * (COLUMNS + 4) + column; }

// Copies SIZE rows of a matrix from `first` on to shared memory, in pairs of columns.
template <int COLUMNS, int SIZE>
__device__ __forceinline__ void fill_rows(const float* matrix, u32 rows, u32 columns, u32 first, float2* to) {
#pragma unroll
    for (u32 i = threadIdx.x; i < SIZE * COLUMNS / 8; i += 128) {
        u32 row = i % SIZE, k = i / SIZE;
        float x[4], y[4];
        load_inside(matrix, rows, columns, first + row, 8 * k, x);
        load_inside(matrix, rows, columns, first + row, 8 * k + 4, y);
        float4* place = (float4*)(to + row_place<COLUMNS>(row, k, 0));
        place[0] = make_float4(x[0], y[0], x[1], y[1]);
        place[1] = make_float4(x[2], y[2], x[3], y[3]);
    }
}

// The same for a tile of labels, in pairs of rows.
template <int COLUMNS>
__device__ __forceinline__ void fill_pairs(const float* matrix, u32 rows, u32 columns, u32 first, float2* to) {
#pragma unroll
    for (u32 i = threadIdx.x; i < LABELS / 2 * COLUMNS / 4; i += 128) {
        u32 pair = i % (LABELS / 2), column = i / (LABELS / 2) * 4;
        float x[4], y[4];
        load_inside(matrix, rows, columns, first + 2 * pair, column, x);
        load_inside(matrix, rows, columns, first + 2 * pair + 1, column, y);
        float4* place = (float4*)(to + pair_place<COLUMNS>(pair, column));
        place[0] = make_float4(x[0], y[0], x[1], y[1]);
        place[1] = make_float4(x[2], y[2], x[3], y[3]);
    }
}

template <int COLUMNS>
__device__ __forceinline__ void softmax_tiles(const float* features, u32 count, const float* keys, u32 labels, const float* values,
                                              u32 dim, const u32* right, float* out) {
    extern __shared__ double memory[];
    float2* feature = (float2*)memory;
    float2* key = feature + row_place<COLUMNS>(SAMPLES, 0, 0);
    float2* value = key + row_place<COLUMNS>(LABELS, 0, 0);
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u32 begin = blockIdx.x * SAMPLES, mine = threadIdx.x / WARP * 16 * ROWS + g;
    fill_rows<COLUMNS, SAMPLES>(features, count, dim, begin, feature);
    // Of rows g and g + 8 of each tile.
    float most[ROWS][2], sum[ROWS][2], result[ROWS][COLUMNS / 8][4];
#pragma unroll
    for (u32 m = 0; m < ROWS; m++) {
        most[m][0] = most[m][1] = LOWEST;
        sum[m][0] = sum[m][1] = 0.0f;
#pragma unroll
        for (u32 n = 0; n < COLUMNS / 8; n++) result[m][n][0] = result[m][n][1] = result[m][n][2] = result[m][n][3] = 0.0f;
    }
    for (u32 tile = 0; tile < labels; tile += LABELS) {
        __syncthreads();
        fill_rows<COLUMNS, LABELS>(keys, labels, dim, tile, key);
        fill_pairs<COLUMNS>(values, labels, dim, tile, value);
        __syncthreads();
        float logit[ROWS][LABELS / 8][4];
#pragma unroll
        for (u32 m = 0; m < ROWS; m++)
#pragma unroll
            for (u32 n = 0; n < LABELS / 8; n++) logit[m][n][0] = logit[m][n][1] = logit[m][n][2] = logit[m][n][3] = 0.0f;
#pragma unroll
        for (u32 k = 0; k < COLUMNS / 8; k++) {
            Left a[ROWS];
#pragma unroll
            for (u32 m = 0; m < ROWS; m++)
#pragma unroll
                for (u32 i = 0; i < 2; i++) {
                    float2 pair = feature[row_place<COLUMNS>(mine + 16 * m + 8 * i, k, t)];
                    split(pair.x, a[m].high[i], a[m].low[i]);
                    split(pair.y, a[m].high[i + 2], a[m].low[i + 2]);
                }
#pragma unroll
            for (u32 n = 0; n < LABELS / 8; n += TURNS)
                multiply(logit, n, a, key + row_place<COLUMNS>(8 * n + g, k, t), row_place<COLUMNS>(8, 0, 0));
        }
#pragma unroll
        for (u32 m = 0; m < ROWS; m++)
#pragma unroll
            for (u32 i = 0; i < 2; i++) {
                if (tile + LABELS > labels)
#pragma unroll
                    for (u32 n = 0; n < LABELS / 8; n++)
#pragma unroll
                        for (u32 j = 0; j < 2; j++)
                            if (tile + 8 * n + 2 * t + j >= labels) logit[m][n][2 * i + j] = LOWEST;
                float top = most[m][i];
#pragma unroll
                for (u32 n = 0; n < LABELS / 8; n++) top = fmaxf(top, fmaxf(logit[m][n][2 * i], logit[m][n][2 * i + 1]));
                top = warp_max(top, 4);
                float shrink = exp(most[m][i] - top);
                most[m][i] = top;
                sum[m][i] *= shrink;
#pragma unroll
                for (u32 n = 0; n < COLUMNS / 8; n++) {
                    result[m][n][2 * i] *= shrink;
                    result[m][n][2 * i + 1] *= shrink;
                }
            }
        // The threads that hold a row's weights of labels 2 t and 2 t + 1 use them as numbers t and t + 4 of the inner sum.
#pragma unroll
        for (u32 k = 0; k < LABELS / 8; k++) {
            Left a[ROWS];
#pragma unroll
            for (u32 m = 0; m < ROWS; m++)
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    float x = exp(logit[m][k][i] - most[m][i / 2]);
                    sum[m][i / 2] += x;
                    split(x, a[m].high[i / 2 + i % 2 * 2], a[m].low[i / 2 + i % 2 * 2]);
                }
#pragma unroll
            for (u32 n = 0; n < COLUMNS / 8; n += TURNS)
                multiply(result, n, a, value + pair_place<COLUMNS>(4 * k + t, 8 * n + g), 8);
        }
    }
#pragma unroll
    for (u32 m = 0; m < ROWS; m++)
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            u32 row = begin + mine + 16 * m + 8 * i;
            float scale = (float)(1.0 / warp_sum((double)sum[m][i], 4));
            if (row >= count) continue;
            const float* own = values + (u64)right[row] * dim;
#pragma unroll
            for (u32 n = 0; n < COLUMNS / 8; n++)
#pragma unroll
                for (u32 j = 0; j < 2; j++) {
                    u32 column = 8 * n + 2 * t + j;
                    if (column < dim) out[(u64)row * dim + column] = own[column] - result[m][n][2 * i + j] * scale;
                }
        }
}
#endif

// out = values[label] - sum_j q_j values[j] for the softmax q of the logits features . keys[j]: X^T r for the rows of a block, where r
// is the residual and X the matrix `values`. All rows have `dim` columns, a multiple of 4 and at most 64. A warp takes 32 samples; the
// sum over labels is taken tile by tile, relative to the largest logit so far. Rows from *total on, if it is given, become zero.
extern "C" __launch_bounds__(128, 3) __global__ void softmax_product(const REAL* features, u32 count, const REAL* keys, u32 labels,
                                                                     const REAL* values, u32 dim, const u32* right,
                                                                     const u32* total, REAL* out, u64 stride) {
#ifdef SINGLE
    cell(stride, features, keys, values, right, total, out);
    u32 begin = blockIdx.x * SAMPLES;
    if (total && begin >= *total) {
        u64 end = min((u64)count, (u64)begin + SAMPLES) * dim;
        for (u64 i = (u64)begin * dim + threadIdx.x; i < end; i += blockDim.x) out[i] = 0.0f;
    } else if (dim <= 32) {
        softmax_tiles<32>(features, count, keys, labels, values, dim, right, out);
    } else {
        softmax_tiles<64>(features, count, keys, labels, values, dim, right, out);
    }
#endif
}
