// Groups of samples of one fact with nearly equal head outputs, whose softmax is computed once (crates/core/src/early_phase/grouped.rs).

// limits[2 v] is the tolerance of fact v: the largest squared distance of a member's head output to the value of the token alone. The
// theory derives it (setting: exact regime) from the length of that value, the rounding error, the longest rows of Z_out M (`readout`)
// and of Z_out (OUTPUTS of `lengths`), and the mean squared length of a row of Z_out (`typical`).
// limits[2 v + 1] is the scale of the fact's sum as integers. There are counts[v] samples of it, whose head outputs are at most as long
// as VALUES of `lengths`. A warp takes a fact.
extern "C" __global__ void group_limits(const REAL* table, u32 vocab, u32 dim, const REAL* trigger, const double* lengths,
                                        const double* readout, const double* typical, double rounding, const u32* counts,
                                        double* limits, u64 stride) {
    cell(stride, table, trigger, lengths, readout, typical, counts, limits);
    u64 fact = thread_number() / WARP;
    if (fact >= vocab) return;
    double square = 0.0;
    for (u32 c = threadIdx.x % WARP; c < dim; c += WARP) {
        REAL value = trigger ? table[fact * dim + c] + trigger[c] : table[fact * dim + c];
        square += (double)value * (double)value;
    }
    square = warp_sum(square, WARP);
    if (threadIdx.x % WARP > 0) return;
    double length = sqrt(square), slope = *readout;
    double bound = rounding * sqrt(*typical) / lengths[OUTPUTS] * length / (slope * (1.0 + 2.0 * slope * length));
    // At a distance of at most their length, other features are at most twice as long. A NaN bound stays NaN, and no sample joins.
    limits[2 * fact] = bound > square ? square : bound;
    limits[2 * fact + 1] = fixed_scale((double)counts[fact] * lengths[VALUES]);
}

// Adds the head outputs of samples that join the group of their fact to its sum, as integers, and marks the other samples in
// `single`. `width` neighbouring lanes take a sample.
extern "C" __global__ void join_groups(Source s, u32 first, u32 count, const REAL* heads, const REAL* table, u32 dim,
                                       const REAL* trigger, const double* limits, i64* sums, u32* members, u32* single, u32 width,
                                       u64 stride) {
    cell(stride, s, heads, table, trigger, limits, sums, members, single);
    u32 lane = threadIdx.x % width;
    u64 sample = thread_number() / width;
    bool valid = sample < count;
    sample = valid ? sample : 0;
    Head h = head(s, first + (u32)sample);
    valid = valid && h.token < s.vocab && h.label == s.facts[h.token];
    u64 fact = valid ? h.token : 0;
    const REAL *own = heads + sample * dim, *row = table + fact * dim;
    double apart = 0.0;
    for (u32 c = lane; c < dim; c += width) {
        double difference = (double)own[c] - (double)(trigger ? row[c] + trigger[c] : row[c]);
        apart += difference * difference;
    }
    bool joins = warp_sum(apart, width) <= limits[2 * fact] && valid;
    if (lane == 0 && thread_number() / width < count) {
        single[sample] = joins ? 0 : 1;
        if (joins) atomicAdd(members + fact, 1u);
    }
    if (!joins) return;
    double scale = limits[2 * fact + 1];
    for (u32 c = lane; c < dim; c += width) add_fixed(sums + fact * dim + c, (double)own[c], scale);
}

// The indices of numbers that are not zero, in order, and how many there are. One block.
extern "C" __launch_bounds__(SCAN_THREADS) __global__ void find_nonzero(const u32* numbers, u32 count, u32* list, u32* found, u64 stride) {
    cell(stride, numbers, list, found);
    __shared__ u32 ends[SCAN_THREADS];
    u32 each = (count + blockDim.x - 1) / blockDim.x, thread = threadIdx.x;
    u32 begin = min(count, each * thread), end = min(count, begin + each), nonzero = 0;
    for (u32 i = begin; i < end; i++) nonzero += numbers[i] != 0;
    ends[thread] = nonzero;
    __syncthreads();
    for (u32 step = 1; step < blockDim.x; step *= 2) {
        u32 before = thread >= step ? ends[thread - step] : 0;
        __syncthreads();
        ends[thread] += before;
        __syncthreads();
    }
    u32 place = ends[thread] - nonzero;
    for (u32 i = begin; i < end; i++)
        if (numbers[i] != 0) list[place++] = i;
    if (thread == blockDim.x - 1) *found = ends[thread];
}

// Rows `start` to `start + rows` of a cell: the head outputs of samples that are in no group, then the mean head outputs of groups,
// with their labels and numbers of samples. The lists have found[0] samples and found[1] facts. The cells of a batch have as many rows
// as the one that needs most; unused rows are zero, and found[2] is the number of used ones. Warps take rows in turn.
extern "C" __global__ void grouped_rows(Source s, u32 first, const REAL* heads, const i64* sums, const u32* members,
                                        const double* limits, u32 dim, const u32* samples, const u32* facts, u32* found, u32 start,
                                        u32 rows, REAL* out, u32* labels, REAL* weights, u64 stride) {
    cell(stride, s, heads, sums, members, limits, samples, facts, found, out, labels, weights);
    u32 singles = found[0], all = singles + found[1], lane = threadIdx.x % WARP;
    if (thread_number() == 0) found[2] = all > start ? all - start : 0;
    for (u64 row = thread_number() / WARP; row < rows; row += thread_count() / WARP) {
        u32 place = start + (u32)row, label = 0, weight = 0;
        const REAL* own = 0;
        const i64* sum = 0;
        double scale = 0.0;
        if (place < singles) {
            own = heads + (u64)samples[place] * dim;
            label = head(s, first + samples[place]).label;
            weight = 1;
        } else if (place < all) {
            u32 fact = facts[place - singles];
            sum = sums + (u64)fact * dim;
            label = s.facts[fact];
            weight = members[fact];
            scale = 1.0 / (limits[2 * (u64)fact + 1] * (double)weight);
        }
        for (u32 c = lane; c < dim; c += WARP) out[row * dim + c] = own ? own[c] : sum ? (REAL)((double)sum[c] * scale) : (REAL)0;
        if (lane == 0) {
            labels[row] = label;
            weights[row] = (REAL)weight;
        }
    }
}
