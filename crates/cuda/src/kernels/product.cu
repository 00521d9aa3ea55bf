// Products of the matrices of small cells, whose bits do not depend on how many cells share a launch.

// A tile of SIZE rows of the left matrix, or columns of the right one, and DEPTH inner indices, on its way to shared memory.
template <int SIZE, int DEPTH> struct Tile {
    static const int COUNT = SIZE * DEPTH / 256;
    const REAL* from;
    u64 jump, step;
    u32 outer, inner, by_outer, by_inner;
    REAL held[COUNT];

    // `inner_first`: neighbours in memory have neighbouring inner indices, of which there are k; else outer ones, of which there
    // are `size`.
    __device__ __forceinline__ Tile(const REAL* matrix, u32 size, u32 k, u32 first, u32 begin, bool inner_first) {
        u32 t = threadIdx.x;
        outer = first + (inner_first ? t / DEPTH : t % SIZE);
        inner = inner_first ? t % DEPTH : t / SIZE;
        by_outer = inner_first ? 256 / DEPTH : 0;
        by_inner = inner_first ? 0 : 256 / SIZE;
        u64 outer_step = inner_first ? k : 1, inner_step = inner_first ? 1 : size;
        from = matrix + outer * outer_step + (begin + inner) * inner_step;
        jump = by_outer * outer_step + by_inner * inner_step;
        step = DEPTH * inner_step;
    }

    // Reads `left` inner indices, of which the tile may have fewer, and moves on.
    __device__ __forceinline__ void load(u32 size, u32 left) {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            held[i] = outer + i * by_outer < size && inner + i * by_inner < left ? from[i * jump] : (REAL)0;
        from += step;
    }

    __device__ __forceinline__ void store(REAL (*tile)[SIZE + 4], u32 first) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) tile[inner + i * by_inner][outer - first + i * by_outer] = held[i];
    }
};

// out = a b for matrices of m x k and k x n numbers; either may be given transposed. The inner sum is cut into parts of `part`
// terms, whose results follow one another (y). A block of 256 threads takes ROWS x COLUMNS entries; a thread takes up to 8 x 8.
template <int ROWS, int COLUMNS, int DEPTH>
__device__ __forceinline__ void product(REAL* out, const REAL* a, const REAL* b, u32 m, u32 k, u32 n, u32 part, u32 a_transposed,
                                        u32 b_transposed) {
    const int M = ROWS / 16, N = COLUMNS / 16;
    __shared__ __align__(16) REAL a_tile[2][DEPTH][ROWS + 4];
    __shared__ __align__(16) REAL b_tile[2][DEPTH][COLUMNS + 4];
    u32 across = (n + COLUMNS - 1) / COLUMNS;
    u32 row = blockIdx.x / across * ROWS, column = blockIdx.x % across * COLUMNS;
    u32 begin = blockIdx.y * part, end = min(k, begin + part);
    u32 x = 4 * (threadIdx.x % 16), y = 4 * (threadIdx.x / 16), now = 0;
    Tile<ROWS, DEPTH> left(a, m, k, row, begin, !a_transposed);
    Tile<COLUMNS, DEPTH> right(b, n, k, column, begin, b_transposed);
    REAL sum[M][N];
#pragma unroll
    for (int i = 0; i < M; i++)
#pragma unroll
        for (int j = 0; j < N; j++) sum[i][j] = (REAL)0;
    left.load(m, end - begin);
    right.load(n, end - begin);
    left.store(a_tile[0], row);
    right.store(b_tile[0], column);
    __syncthreads();
    for (u32 at = begin; at < end; at += DEPTH) {
        bool more = at + DEPTH < end;
        if (more) {
            left.load(m, end - at - DEPTH);
            right.load(n, end - at - DEPTH);
        }
#pragma unroll
        for (int l = 0; l < DEPTH; l++) {
            REAL u[M], v[N];
#pragma unroll
            for (int i = 0; i < M; i += 4) load4(&a_tile[now][l][16 * i + y], u + i);
#pragma unroll
            for (int j = 0; j < N; j += 4) load4(&b_tile[now][l][16 * j + x], v + j);
#pragma unroll
            for (int i = 0; i < M; i++)
#pragma unroll
                for (int j = 0; j < N; j++) sum[i][j] += u[i] * v[j];
        }
        if (more) {
            now ^= 1;
            left.store(a_tile[now], row);
            right.store(b_tile[now], column);
            __syncthreads();
        }
    }
    out += (u64)blockIdx.y * m * n;
#pragma unroll
    for (int i = 0; i < M; i++) {
        u32 r = row + 16 * (i / 4 * 4) + y + i % 4;
        if (r >= m) continue;
#pragma unroll
        for (int j = 0; j < N; j += 4) {
            u32 c = column + 16 * j + x;
            REAL* place = out + (u64)r * n + c;
            if (n % 4 == 0 && c < n) store4(place, sum[i] + j);
            else
                for (u32 l = 0; l < 4 && c + l < n; l++) place[l] = sum[i][j + l];
        }
    }
}

extern "C" __launch_bounds__(256) __global__ void product_large(REAL* out, const REAL* a, const REAL* b, u32 m, u32 k, u32 n, u32 part,
                                                                u32 a_transposed, u32 b_transposed, u64 stride) {
    cell(stride, out, a, b);
    product<128, 128, 8>(out, a, b, m, k, n, part, a_transposed, b_transposed);
}

extern "C" __launch_bounds__(256) __global__ void product_narrow(REAL* out, const REAL* a, const REAL* b, u32 m, u32 k, u32 n, u32 part,
                                                                 u32 a_transposed, u32 b_transposed, u64 stride) {
    cell(stride, out, a, b);
    product<128, 64, 8>(out, a, b, m, k, n, part, a_transposed, b_transposed);
}

extern "C" __launch_bounds__(256) __global__ void product_small(REAL* out, const REAL* a, const REAL* b, u32 m, u32 k, u32 n, u32 part,
                                                                u32 a_transposed, u32 b_transposed, u64 stride) {
    cell(stride, out, a, b);
    product<64, 64, 16>(out, a, b, m, k, n, part, a_transposed, b_transposed);
}
