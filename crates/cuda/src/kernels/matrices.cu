// Matrices: sums over rows and columns, softmax, activations, and the answers of a row of logits.

extern "C" __global__ void counts_to_real(COUNTER* counts, u64 size, double scale, u64 stride) {
    cell(stride, counts);
    for (u64 t = thread_number(); t < size; t += thread_count()) ((REAL*)counts)[t] = (REAL)((double)counts[t] * scale);
}

// Integers that sum to at most `bound` times the scale of `fixed_scale`, as numbers.
extern "C" __global__ void fixed_to_real(const i64* in, REAL* out, u64 size, double bound, u64 stride) {
    cell(stride, in, out);
    double scale = fixed_scale(bound);
    for (u64 t = thread_number(); t < size; t += thread_count()) out[t] = (REAL)((double)in[t] / scale);
}

extern "C" __global__ void scale_counts(const u32* counts, REAL* out, u64 size, double scale, u64 stride) {
    cell(stride, counts, out);
    for (u64 t = thread_number(); t < size; t += thread_count()) out[t] = (REAL)((double)counts[t] * scale);
}

// rows[r] += weights[r] vector
extern "C" __global__ void add_outer(REAL* rows, u64 count, u32 dim, const REAL* weights, const REAL* vector, u64 stride) {
    cell(stride, rows, weights, vector);
    for (u64 t = thread_number(); t < count * dim; t += thread_count()) {
        auto [row, column] = place_of(t, dim);
        rows[t] += weights[row] * vector[column];
    }
}

// partial[chunk] = sum over the chunk's rows of weights[row] rows[row], in 64 bits; without weights, of the rows.
extern "C" __global__ void column_sums(const REAL* rows, u64 count, u32 dim, const double* weights, double* partial, u64 chunk,
                                       u64 stride) {
    cell(stride, rows, weights, partial);
    u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= dim) return;
    u64 begin = blockIdx.y * chunk, end = begin + chunk < count ? begin + chunk : count;
    double sum = 0.0;
    for (u64 row = begin; row < end; row++) sum += (weights ? weights[row] : 1.0) * (double)rows[row * dim + column];
    partial[(u64)blockIdx.y * dim + column] = sum;
}

// out = scale times the sum of the parts
extern "C" __global__ void add_parts(const double* parts, u32 count, u64 size, double scale, double* out, u64 stride) {
    cell(stride, parts, out);
    for (u64 t = thread_number(); t < size; t += thread_count()) {
        double sum = 0.0;
        for (u32 i = 0; i < count; i++) sum += parts[(u64)i * size + t];
        out[t] = sum * scale;
    }
}

extern "C" __global__ void centre(const REAL* rows, u64 count, u32 dim, const double* mean, REAL* out, u64 stride) {
    cell(stride, rows, mean, out);
    for (u64 t = thread_number(); t < count * dim; t += thread_count()) out[t] = (REAL)((double)rows[t] - mean[place_of(t, dim).column]);
}

// The length of the longest row plus `extra`, which may be absent. Warps take rows in turn.
extern "C" __global__ void longest_row(const REAL* rows, u64 count, u32 dim, const double* extra, u64* longest, u64 stride) {
    cell(stride, rows, extra, longest);
    u64 longest_here = 0, warps = thread_count() / WARP;
    for (u64 row = thread_number() / WARP; row < count; row += warps) {
        double sum = 0.0;
        for (u32 c = threadIdx.x % WARP; c < dim; c += WARP) sum += (double)rows[row * dim + c] * (double)rows[row * dim + c];
        u64 length = length_bits(sqrt(warp_sum(sum, WARP)) + (extra ? *extra : 0.0));
        longest_here = length > longest_here ? length : longest_here;
    }
    raise_to_longest(longest, longest_here);
}

// out[r] = rows[r] . vector. A warp takes a row.
extern "C" __global__ void row_dots(const REAL* rows, u64 count, u32 dim, const REAL* vector, REAL* out, u64 stride) {
    cell(stride, rows, vector, out);
    u64 row = thread_number() / WARP;
    if (row >= count) return;
    double sum = 0.0;
    for (u32 c = threadIdx.x % WARP; c < dim; c += WARP) sum += (double)rows[row * dim + c] * (double)vector[c];
    sum = warp_sum(sum, WARP);
    if (threadIdx.x % WARP == 0) out[row] = (REAL)sum;
}

// partial[block] = sum of squares of the block's entries
extern "C" __global__ void square_sums(const REAL* x, u64 size, double* partial, u64 stride) {
    cell(stride, x, partial);
    double sum = 0.0;
    for (u64 t = thread_number(); t < size; t += thread_count()) sum += (double)x[t] * (double)x[t];
    sum = block_sum(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// x divided by the square root of *square; an array of zeros stays so.
extern "C" __global__ void normalise(REAL* x, u64 size, const double* square, u64 stride) {
    cell(stride, x, square);
    double length = sqrt(*square);
    for (u64 t = thread_number(); t < size; t += thread_count()) x[t] = length == 0.0 ? (REAL)0 : (REAL)((double)x[t] / length);
}

// sum += the parts of x, each of `size` numbers
extern "C" __global__ void accumulate(double* sum, const REAL* x, u64 size, u32 parts, u64 stride) {
    cell(stride, sum, x);
    for (u64 t = thread_number(); t < size; t += thread_count()) {
        double total = sum[t];
        for (u32 i = 0; i < parts; i++) total += (double)x[i * size + t];
        sum[t] = total;
    }
}

// out = a x + b y in 64 bits, rounded; y may be absent, and so may a factor of b.
extern "C" __global__ void combine(double a, const double* x, double b, const double* factor, const double* y, REAL* out,
                                   u64 size, u64 stride) {
    cell(stride, x, factor, y, out);
    if (factor) b *= *factor;
    for (u64 t = thread_number(); t < size; t += thread_count()) out[t] = (REAL)(y ? a * x[t] + b * y[t] : a * x[t]);
}

// out[r] = rows[index[r]] times weights[r], which may be absent; with `subtract`, rows[index[r]] - out[r].
extern "C" __global__ void pick_rows(const REAL* rows, u32 dim, const u32* index, u64 count, const REAL* weights, u32 subtract,
                                     REAL* out, u64 stride) {
    cell(stride, rows, index, weights, out);
    for (u64 t = thread_number(); t < count * dim; t += thread_count()) {
        auto [row, column] = place_of(t, dim);
        REAL x = rows[(u64)index[row] * dim + column];
        out[t] = subtract ? x - out[t] : weights ? x * weights[row] : x;
    }
}

// rows[r] *= weights[r]. A row with weight 0 becomes 0, even if it is not finite. Warps take rows in turn.
extern "C" __global__ void scale_rows(REAL* rows, u64 count, u32 dim, const REAL* weights, u64 stride) {
    cell(stride, rows, weights);
    for (u64 row = thread_number() / WARP; row < count; row += thread_count() / WARP) {
        REAL weight = weights[row];
        for (u32 c = threadIdx.x % WARP; c < dim; c += WARP) rows[row * dim + c] = weight == (REAL)0 ? (REAL)0 : rows[row * dim + c] * weight;
    }
}

// out[r] = rows[index[r]] + vector, which may be absent; without an index, rows from `first` on
extern "C" __global__ void place(const REAL* rows, u32 dim, const u32* index, u64 first, u64 count, const REAL* vector,
                                 REAL* out, u64 stride) {
    cell(stride, rows, index, vector, out);
    for (u64 t = thread_number(); t < count * dim; t += thread_count()) {
        auto [row, column] = place_of(t, dim);
        REAL x = rows[(index ? index[row] : first + row) * dim + column];
        out[t] = vector ? x + vector[column] : x;
    }
}

// Entries that a thread holds of a row of a block.
#define HELD 16

// The column of an entry: four neighbours where the row has a multiple of four columns.
__device__ __forceinline__ u32 held_column(u32 i, bool wide) {
    return wide ? 4 * (i / 4 * blockDim.x + threadIdx.x) + i % 4 : i * blockDim.x + threadIdx.x;
}

// Logits to residuals, one-hot label minus softmax, in place, and the cross-entropies, which may be left out. A block takes a row.
// The residual of the label is the sum of the other shares, which keeps the digits that one minus its share would lose.
extern "C" __global__ void residual(REAL* logits, u32 columns, const u32* labels, double* losses, u64 stride) {
    cell(stride, logits, labels, losses);
    REAL* row = logits + (u64)blockIdx.x * columns;
    u32 label = labels[blockIdx.x];
    REAL right = row[label];
    REAL most = LOWEST;
    if (columns > HELD * blockDim.x) {
        for (u32 c = threadIdx.x; c < columns; c += blockDim.x) most = row[c] > most ? row[c] : most;
        REAL top = block_max(most);
        double others = 0.0;
        for (u32 c = threadIdx.x; c < columns; c += blockDim.x) others += c == label ? 0.0 : (double)exp(row[c] - top);
        others = block_sum(others);
        double own = (double)exp(right - top), share = others / (own + others);
        if (losses && threadIdx.x == 0) losses[blockIdx.x] = (double)(top - right) + log1p((own - 1.0) + others);
        REAL scale = (REAL)(-1.0 / (own + others));
        for (u32 c = threadIdx.x; c < columns; c += blockDim.x) row[c] = c == label ? (REAL)share : exp(row[c] - top) * scale;
        return;
    }
    REAL x[HELD];
    bool wide = columns % 4 == 0;
#pragma unroll
    for (u32 i = 0; i < HELD; i++) x[i] = LOWEST;
    if (wide) {
#pragma unroll
        for (u32 i = 0; i < HELD; i += 4)
            if (held_column(i, true) < columns) load4(row + held_column(i, true), x + i);
    } else {
#pragma unroll
        for (u32 i = 0; i < HELD; i++)
            if (held_column(i, false) < columns) x[i] = row[held_column(i, false)];
    }
#pragma unroll
    for (u32 i = 0; i < HELD; i++) most = x[i] > most ? x[i] : most;
    REAL top = block_max(most), sum = 0;
    // Few terms, in the precision of the entries; those past the end are 0.
#pragma unroll
    for (u32 i = 0; i < HELD; i++) sum += x[i] = held_column(i, wide) == label ? (REAL)0 : exp(x[i] - top);
    double others = block_sum((double)sum), own = (double)exp(right - top), share = others / (own + others);
    if (losses && threadIdx.x == 0) losses[blockIdx.x] = (double)(top - right) + log1p((own - 1.0) + others);
    REAL scale = (REAL)(-1.0 / (own + others));
#pragma unroll
    for (u32 i = 0; i < HELD; i++) x[i] = held_column(i, wide) == label ? (REAL)share : x[i] * scale;
    if (wide) {
#pragma unroll
        for (u32 i = 0; i < HELD; i += 4)
            if (held_column(i, true) < columns) store4(row + held_column(i, true), x + i);
    } else {
#pragma unroll
        for (u32 i = 0; i < HELD; i++)
            if (held_column(i, false) < columns) row[held_column(i, false)] = x[i];
    }
}

// For each row: the credit of the right entry, its credit among the five largest, and its margin, from `place` on in rows of
// `width` numbers. A block takes a row.
extern "C" __global__ void answers(const REAL* rows, u32 columns, const u32* right, double* out, u32 width, u32 place,
                                   u64 stride) {
    cell(stride, rows, right, out);
    const REAL* row = rows + (u64)blockIdx.x * columns;
    u32 label = right[blockIdx.x];
    REAL own = row[label], most = LOWEST;
    u32 above = 0, same = 0;
    for (u32 c = threadIdx.x; c < columns; c += blockDim.x) {
        REAL x = row[c];
        above += x > own;
        same += x == own;
        if (c != label && x > most) most = x;
    }
    REAL rival = block_max(most);
    double larger = block_sum((double)above), equal = block_sum((double)same);
    if (threadIdx.x == 0) {
        double* found = out + (u64)width * blockIdx.x + place;
        found[0] = own > rival ? 1.0 : own == rival ? 1.0 / equal : 0.0;
        double places = 5.0 - larger;
        places = places < 0.0 ? 0.0 : places > equal ? equal : places;
        found[1] = places / (equal < 1.0 ? 1.0 : equal);
        found[2] = (double)own - (double)rival;
    }
}

// Sums of weights times values and of weights times squared values of a column of a matrix. A block takes a
// column; without weights they are 1.
extern "C" __global__ void tally(const double* rows, u64 count, u32 columns, const double* weights, double* out, u64 stride) {
    cell(stride, rows, weights, out);
    double sum = 0.0, squares = 0.0;
    for (u64 row = threadIdx.x; row < count; row += blockDim.x) {
        double value = rows[row * columns + blockIdx.x], part = (weights ? weights[row] : 1.0) * value;
        sum += part;
        squares += part * value;
    }
    sum = block_sum(sum);
    squares = block_sum(squares);
    if (threadIdx.x == 0) {
        out[2 * blockIdx.x] = sum;
        out[2 * blockIdx.x + 1] = squares;
    }
}

// *found = 1 if a number is not finite
extern "C" __global__ void find_not_finite(const REAL* x, u64 size, double* found, u64 stride) {
    cell(stride, x, found);
    for (u64 t = thread_number(); t < size; t += thread_count())
        if (!isfinite(x[t])) *found = 1.0;
}

extern "C" __global__ void pick_entries(const REAL* rows, u32 columns, const u32* index, u64 count, double* out, u32 width,
                                        u32 place, u64 stride) {
    cell(stride, rows, index, out);
    for (u64 t = thread_number(); t < count; t += thread_count()) out[t * width + place] = (double)rows[t * columns + index[t]];
}

extern "C" __global__ void sample_positions(Source s, u32 first, u32 count, u32* positions, u64 stride) {
    cell(stride, s, positions);
    for (u64 t = thread_number(); t < count; t += thread_count()) positions[t] = head(s, first + (u32)t).position;
}

// Activations by number: relu, gelu, tanh, softplus, abs, he2, he3, identity.
__device__ double activation(u32 kind, double x) {
    switch (kind) {
        case 0: return x > 0.0 ? x : 0.0;
        case 1: return 0.5 * x * erfc(-x * 0.70710678118654752440);
        case 2: return tanh(x);
        case 3: return fmax(x, 0.0) + log1p(exp(-fabs(x)));
        case 4: return fabs(x);
        case 5: return (x * x - 1.0) * 0.70710678118654752440;
        case 6: return x * (x * x - 3.0) * 0.40824829046386301637;
        default: return x;
    }
}

__device__ double slope(u32 kind, double x) {
    switch (kind) {
        case 0: return x > 0.0 ? 1.0 : 0.0;
        case 1: return 0.5 * erfc(-x * 0.70710678118654752440) + x * exp(-0.5 * x * x) * 0.39894228040143267794;
        case 2: { double y = tanh(x); return 1.0 - y * y; }
        case 3: return 1.0 / (1.0 + exp(-x));
        case 4: return x == 0.0 ? 0.0 : copysign(1.0, x);
        case 5: return x * 1.41421356237309504880;
        case 6: return (x * x - 1.0) * 1.22474487139158904910;
        default: return 1.0;
    }
}

extern "C" __global__ void activate(const REAL* x, REAL* out, u64 size, u32 kind, double scale, u64 stride) {
    cell(stride, x, out);
    for (u64 t = thread_number(); t < size; t += thread_count()) out[t] = (REAL)(scale * activation(kind, (double)x[t]));
}

extern "C" __global__ void multiply_slope(const REAL* x, REAL* out, u64 size, u32 kind, double scale, u64 stride) {
    cell(stride, x, out);
    for (u64 t = thread_number(); t < size; t += thread_count()) out[t] = (REAL)((double)out[t] * scale * slope(kind, (double)x[t]));
}
