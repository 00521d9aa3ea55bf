// Products of the matrices of small cells, whose bits do not depend on how many cells share a launch.

#define OPERANDS REAL *out, const REAL *a, const REAL *b, u32 m, u32 k, u32 n, u32 part, u32 a_transposed, u32 b_transposed

// A tile of SIZE rows of the left matrix, or columns of the right one, and DEPTH inner indices, on its way to shared memory.
template <int SIZE, int DEPTH> struct Tile {
    static const int COUNT = SIZE * DEPTH / THREADS;
    const REAL* from;
    u32 jump, step, outer, inner, by_outer, by_inner, local;
    // Whether neighbours in memory have neighbouring inner indices, and whether four of them are read at once.
    bool inner_first, wide;
    REAL held[COUNT];

    // The matrix has k inner indices and `size` outer ones, of which the tile has those from `first` on.
    __device__ __forceinline__ Tile(const REAL* matrix, u32 size, u32 k, u32 first, u32 begin, bool inner_first)
        : inner_first(inner_first) {
        wide = COUNT % 4 == 0 && sizeof(REAL) == 4 && (inner_first ? k : size) % 4 == 0;
        u32 pack = wide ? 4 : 1, across = (inner_first ? DEPTH : SIZE) / pack;
        u32 near = threadIdx.x % across * pack, far = threadIdx.x / across;
        local = inner_first ? far : near;
        outer = first + local;
        inner = inner_first ? near : far;
        by_outer = inner_first ? (u32)THREADS / across : 0;
        by_inner = inner_first ? 0 : (u32)THREADS / across;
        u32 outer_step = inner_first ? k : 1, inner_step = inner_first ? 1 : size;
        from = matrix + (u64)outer * outer_step + (u64)(begin + inner) * inner_step;
        jump = by_outer * outer_step + by_inner * inner_step;
        step = DEPTH * inner_step;
    }

    __device__ __forceinline__ bool inside(int i, u32 size, u32 left) const {
        return outer + i * by_outer < size && inner + i * by_inner < left;
    }

    // Reads a tile, of whose inner indices `left` are left, and moves on.
    __device__ __forceinline__ void load(u32 size, u32 left) {
        if (wide) {
#pragma unroll
            for (int i = 0; i < COUNT / 4; i++) {
                if (inside(i, size, left)) load4(from + i * jump, held + 4 * i);
                else held[4 * i] = held[4 * i + 1] = held[4 * i + 2] = held[4 * i + 3] = (REAL)0;
            }
        } else {
#pragma unroll
            for (int i = 0; i < COUNT; i++) held[i] = inside(i, size, left) ? from[i * jump] : (REAL)0;
        }
        from += step;
    }

    __device__ __forceinline__ void store(REAL (*tile)[SIZE + 4]) const {
        if (wide) {
#pragma unroll
            for (int i = 0; i < COUNT / 4; i++) {
                REAL* place = &tile[inner + i * by_inner][local + i * by_outer];
                if (inner_first)
                    for (int j = 0; j < 4; j++) place[j * (SIZE + 4)] = held[4 * i + j];
                else store4(place, held + 4 * i);
            }
        } else {
#pragma unroll
            for (int i = 0; i < COUNT; i++) tile[inner + i * by_inner][local + i * by_outer] = held[i];
        }
    }
};

// out = a b for matrices of m x k and k x n numbers; either may be given transposed. The inner sum is cut into parts of `part`
// terms, whose results follow one another (y). A block of THREADS threads takes ROWS x COLUMNS entries; a thread takes up to 8 x 8.
template <int ROWS, int COLUMNS, int DEPTH>
__device__ __forceinline__ void product(OPERANDS) {
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
    left.store(a_tile[0]);
    right.store(b_tile[0]);
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
            left.store(a_tile[now]);
            right.store(b_tile[now]);
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

// Blocks that share a multiprocessor, which bounds the registers of a thread.
#define BLOCKS (sizeof(REAL) == 4 ? 2 : 1)

extern "C" __launch_bounds__(THREADS, BLOCKS) __global__ void product_large(OPERANDS, u64 stride) {
    cell(stride, out, a, b);
    product<128, 128, 8>(out, a, b, m, k, n, part, a_transposed, b_transposed);
}

extern "C" __launch_bounds__(THREADS, BLOCKS) __global__ void product_narrow(OPERANDS, u64 stride) {
    cell(stride, out, a, b);
    product<128, 64, sizeof(REAL) == 4 ? 16 : 8>(out, a, b, m, k, n, part, a_transposed, b_transposed);
}

extern "C" __launch_bounds__(THREADS, 2 * BLOCKS) __global__ void product_small(OPERANDS, u64 stride) {
    cell(stride, out, a, b);
    product<64, 64, 16>(out, a, b, m, k, n, part, a_transposed, b_transposed);
}
