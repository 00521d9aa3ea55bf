// Embedding rows, with the bits of crates/core/src/embedding. Compiled without fused multiply-add.

__device__ double horner(const double* c, double x) {
    double sum = 0.0;
    for (int i = 7; i >= 0; i--) sum = sum * x + c[i];
    return sum;
}

// The natural logarithm of a normal number below 1, as in the Rust crate libm (FreeBSD's e_log.c).
__device__ double natural_log(double x) {
    u64 bits = (u64)__double_as_longlong(x);
    u32 hx = (u32)(bits >> 32);
    hx += 0x3ff00000u - 0x3fe6a09eu;
    int k = (int)(hx >> 20) - 0x3ff;
    hx = (hx & 0x000fffffu) + 0x3fe6a09eu;
    x = __longlong_as_double((i64)((u64)hx << 32 | (bits & 0xffffffffu)));
    double f = x - 1.0, hfsq = 0.5 * f * f, s = f / (2.0 + f), z = s * s, w = z * z;
    double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double t2 = z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double r = t2 + t1, dk = (double)k;
    return s * (hfsq + r) + dk * 1.90821492927058770002e-10 - hfsq + f + dk * 6.93147180369123816490e-01;
}

// Algorithm AS 241, as in crates/core/src/random/normal.rs.
__constant__ double CENTRE[2][8] = {
    {3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946, 45921.95393154987, 67265.7709270087,
     33430.57558358813, 2509.0809287301227},
    {1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271,
     28729.085735721943, 5226.495278852854}};
__constant__ double TAIL[2][8] = {
    {1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684, 0.2417807251774506,
     0.022723844989269184, 7.745450142783414e-4},
    {1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
     5.475938084995345e-4, 1.0507500716444169e-9}};
__constant__ double FAR_TAIL[2][8] = {
    {6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
     0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7},
    {1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 7.868691311456133e-4, 1.8463183175100547e-5,
     1.421511758316446e-7, 2.0442631033899398e-15}};

__device__ double normal_quantile(double p) {
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double x = 0.180625 - q * q;
        return q * (horner(CENTRE[0], x) / horner(CENTRE[1], x));
    }
    double r = sqrt(-natural_log(q < 0.0 ? p : 1.0 - p));
    double z = r <= 5.0 ? horner(TAIL[0], r - 1.6) / horner(TAIL[1], r - 1.6)
                        : horner(FAR_TAIL[0], r - 5.0) / horner(FAR_TAIL[1], r - 5.0);
    return q < 0.0 ? -z : z;
}

// Rows of normal numbers times `scale`, or times the row's own scale if `scales` is given.
extern "C" __global__ void draw_normals(REAL* out, u64 rows, u32 dim, u32 stream, const u32* keys, double scale,
                                        const double* scales, u64 stride) {
    cell(stride, out, keys, scales);
    u32 pairs = (dim + 1) / 2;
    for (u64 t = thread_number(); t < rows * pairs; t += thread_count()) {
        auto [row, pair] = place_of(t, pairs);
        uint4 w = philox(row, pair, stream, keys[0], keys[1]);
        double factor = scales ? scales[row] : scale;
        out[row * dim + 2 * pair] = (REAL)(factor * normal_quantile(unit(w.x, w.y)));
        if (2 * pair + 1 < dim) out[row * dim + 2 * pair + 1] = (REAL)(factor * normal_quantile(unit(w.z, w.w)));
    }
}

// One over the length of each row of normal numbers, summed in order.
extern "C" __global__ void inverse_lengths(double* scales, u64 rows, u32 dim, u32 stream, const u32* keys, u64 stride) {
    cell(stride, scales, keys);
    for (u64 row = thread_number(); row < rows; row += thread_count()) {
        double sum = 0.0;
        for (u32 pair = 0; 2 * pair < dim; pair++) {
            uint4 w = philox(row, pair, stream, keys[0], keys[1]);
            double x = normal_quantile(unit(w.x, w.y));
            sum += x * x;
            if (2 * pair + 1 < dim) {
                double y = normal_quantile(unit(w.z, w.w));
                sum += y * y;
            }
        }
        scales[row] = 1.0 / sqrt(sum);
    }
}

// Rows of +scale and -scale.
extern "C" __global__ void draw_signs(REAL* out, u64 rows, u32 dim, u32 stream, const u32* keys, double scale, u64 stride) {
    cell(stride, out, keys);
    u32 blocks = (dim + 127) / 128;
    for (u64 t = thread_number(); t < rows * blocks; t += thread_count()) {
        auto [row, block] = place_of(t, blocks);
        uint4 w = philox(row, block, stream, keys[0], keys[1]);
        u32 bits[4] = {w.x, w.y, w.z, w.w};
        u32 end = min(dim - 128 * block, 128u);
        for (u32 i = 0; i < end; i++)
            out[row * dim + 128 * block + i] = (REAL)((bits[i / 32] >> (i % 32) & 1) ? scale : -scale);
    }
}
