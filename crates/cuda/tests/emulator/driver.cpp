// The functions of the CUDA driver, NVRTC and cuBLAS that this crate calls, on the CPU. NVRTC compiles kernels with the C++ compiler.
// New memory holds NaN. Every kernel runs twice, the first time with blocks, warps and threads in the reverse order; a result that
// depends on the order is a race. Sanitizers end the program at an access outside of a piece of memory or at an address that is not
// aligned.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

// Copies and products share the lock; everything else has it alone.
static std::shared_mutex device_lock;
using Exclusive = std::lock_guard<std::shared_mutex>;
using Shared = std::shared_lock<std::shared_mutex>;

static std::map<uint64_t, size_t> memory;
static uint64_t used, most_used;

// Calls `apply(piece, copy, size)` for all pieces of memory and their places in a copy of them.
template <class Apply> static void with_copy(std::vector<char>& copy, Apply apply) {
    if (copy.size() < used) copy.resize(used);
    char* place = copy.data();
    for (const auto& [address, size] : memory) apply((char*)address, place, size), place += size;
}

// A program before and after it is compiled.
struct Program { std::string source, library; };

static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
    return text;
}

struct Function {
    void (*launch)(const char*, unsigned, unsigned, unsigned, unsigned, unsigned, void**, bool);
    std::string name;
    // Bytes of dynamic shared memory that a launch may ask for. The static memory of a kernel is not known here.
    unsigned shared;
};

// Shared memory of a block: what every kernel may use, and what it may ask for.
static const int DEFAULT_SHARED = 48 << 10, MAX_SHARED = 232448;
// The largest distance between rows of a copy, in bytes.
static const size_t MAX_PITCH = 0x7fffffff;
static const int INVALID_VALUE = 1, OUT_OF_MEMORY = 2;

template <class X> static int multiply(bool a_transposed, bool b_transposed, int m, int n, int k, const X* a, int lda, const X* b,
                                       int ldb, X* c, int ldc) {
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0.0;
            for (int l = 0; l < k; l++)
                sum += (double)(a_transposed ? a[(size_t)i * lda + l] : a[(size_t)l * lda + i]) *
                       (double)(b_transposed ? b[(size_t)l * ldb + j] : b[(size_t)j * ldb + l]);
            c[(size_t)j * ldc + i] = (X)sum;
        }
    return 0;
}

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDeviceGetName(char* name, int, int) { return strcpy(name, "emulator"), 0; }
// Compute capability 9.0, or another one from the environment; shared memory of a block; everything else is 1.
int cuDeviceGetAttribute(int* value, int kind, int) {
    const char* major = getenv("EMULATOR_CAPABILITY");
    return *value = kind == 75 ? major ? atoi(major) : 9 : kind == 76 ? 0 : kind == 97 ? MAX_SHARED : 1, 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &memory, 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxGetCurrent(void** context) { return *context = &memory, 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = *total = (size_t)8 << 30, 0; }
int cuStreamCreate(void** stream, unsigned) { return *stream = &memory, 0; }
int cuStreamDestroy_v2(void*) { return 0; }
int cuStreamSynchronize(void*) { return 0; }
int cuDeviceGetDefaultMemPool(void** pool, int) { return *pool = &memory, 0; }
int cuMemPoolSetAttribute(void*, int, void*) { return 0; }
int cuMemPoolGetAttribute(void*, int, void* value) { return *(uint64_t*)value = most_used, 0; }
int cuMemAllocAsync(uint64_t* address, size_t size, void*) {
    Exclusive lock(device_lock);
    void* start;
    if (posix_memalign(&start, 512, size)) return OUT_OF_MEMORY;
    memset(start, 0xff, size);
    memory[*address = (uint64_t)start] = size;
    used += size;
    most_used = used > most_used ? used : most_used;
    return 0;
}
int cuMemFreeAsync(uint64_t address, void*) {
    Exclusive lock(device_lock);
    used -= memory[address];
    memory.erase(address);
    free((void*)address);
    return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t size, void*) {
    Shared lock(device_lock);
    return memcpy((void*)to, from, size), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t size, void*) {
    Shared lock(device_lock);
    return memcpy(to, (void*)from, size), 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void*) {
    Shared lock(device_lock);
    return memmove((void*)to, (void*)from, size), 0;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void*) {
    Shared lock(device_lock);
    return memset((void*)to, value, size), 0;
}
int cuMemsetD2D8Async(uint64_t to, size_t pitch, unsigned char value, size_t width, size_t height, void*) {
    if (pitch > MAX_PITCH) return INVALID_VALUE;
    Shared lock(device_lock);
    for (size_t row = 0; row < height; row++) memset((void*)(to + row * pitch), value, width);
    return 0;
}
struct Copy {
    size_t from_x, from_y; int from_kind; const void* from_host; uint64_t from_device; void* from_array; size_t from_pitch;
    size_t to_x, to_y; int to_kind; void* to_host; uint64_t to_device; void* to_array; size_t to_pitch;
    size_t width, height;
};
int cuMemcpy2DAsync_v2(const Copy* copy, void*) {
    if (copy->from_pitch > MAX_PITCH || copy->to_pitch > MAX_PITCH) return INVALID_VALUE;
    Shared lock(device_lock);
    const int HOST = 1;
    const char* from = copy->from_kind == HOST ? (const char*)copy->from_host : (const char*)copy->from_device;
    char* to = copy->to_kind == HOST ? (char*)copy->to_host : (char*)copy->to_device;
    for (size_t row = 0; row < copy->height; row++) memmove(to + row * copy->to_pitch, from + row * copy->from_pitch, copy->width);
    return 0;
}
int cuModuleLoadData(void** module, const void* path) {
    *module = dlopen((const char*)path, RTLD_NOW | RTLD_LOCAL);
    if (!*module) fprintf(stderr, "emulator: %s\n", dlerror());
    return *module ? 0 : 200;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
    auto launch = (decltype(Function::launch))dlsym(module, "launch");
    return *function = new Function{launch, name, DEFAULT_SHARED}, launch ? 0 : 500;
}
int cuFuncSetAttribute(Function* function, int kind, int value) {
    const int MAX_DYNAMIC_SHARED = 8;
    if (kind != MAX_DYNAMIC_SHARED || value < 0 || value > MAX_SHARED) return INVALID_VALUE;
    return function->shared = value, 0;
}
int cuLaunchKernel(Function* function, unsigned x, unsigned y, unsigned z, unsigned block, unsigned block_y, unsigned block_z,
                   unsigned shared, void*, void** arguments, void**) {
    const unsigned MAX_GRID_X = 0x7fffffff, MAX_GRID_YZ = 65535, MAX_THREADS = 1024;
    bool grid = 0 < x && x <= MAX_GRID_X && 0 < y && y <= MAX_GRID_YZ && 0 < z && z <= MAX_GRID_YZ;
    if (!grid || block == 0 || block > MAX_THREADS || block_y != 1 || block_z != 1 || shared > function->shared) {
        fprintf(stderr, "emulator: %s cannot be launched: grid %u %u %u, block %u %u %u, %u bytes of shared memory\n",
                function->name.c_str(), x, y, z, block, block_y, block_z, shared);
        return INVALID_VALUE;
    }
    Exclusive lock(device_lock);
    auto run = [&](bool backwards) {
        function->launch(function->name.c_str(), x, y, z, block, shared, arguments, backwards);
    };
    static std::vector<char> before, after;
    bool equal = true;
    with_copy(before, [](char* piece, char* copy, size_t size) { memcpy(copy, piece, size); });
    run(true);
    with_copy(after, [](char* piece, char* copy, size_t size) { memcpy(copy, piece, size); });
    with_copy(before, [](char* piece, char* copy, size_t size) { memcpy(piece, copy, size); });
    run(false);
    with_copy(after, [&](char* piece, char* copy, size_t size) { equal = equal && memcmp(piece, copy, size) == 0; });
    if (!equal) {
        fprintf(stderr, "emulator: the result of %s depends on the order of its threads\n", function->name.c_str());
        abort();
    }
    return 0;
}
int cuGetErrorName(int, const char** name) { return *name = "emulated error", 0; }
int cuGetErrorString(int, const char** text) { return *text = "emulated error", 0; }

int cublasCreate_v2(void** handle) { return *handle = &memory, 0; }
int cublasDestroy_v2(void*) { return 0; }
int cublasSetStream_v2(void*, void*) { return 0; }
// Always called to overwrite the result with the plain product.
int cublasSgemm_v2(void*, int first, int second, int m, int n, int k, const float*, const float* a, int lda, const float* b, int ldb,
                   const float*, float* c, int ldc) {
    Shared lock(device_lock);
    return multiply(first, second, m, n, k, a, lda, b, ldb, c, ldc);
}
int cublasDgemm_v2(void*, int first, int second, int m, int n, int k, const double*, const double* a, int lda, const double* b, int ldb,
                   const double*, double* c, int ldc) {
    Shared lock(device_lock);
    return multiply(first, second, m, n, k, a, lda, b, ldb, c, ldc);
}

int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char**, const char**) {
    return *program = new Program{source, ""}, 0;
}
int nvrtcCompileProgram(Program* program, int, const char**) {
    Exclusive lock(device_lock);
    std::string folder = getenv("EMULATOR_FOLDER"), source = program->source, table;
    std::string name = folder + "/kernels" + std::to_string(std::hash<std::string>()(source));
    const std::string mark = "__global__ void ";
    for (size_t at = 0; (at = source.find(mark, at)) != std::string::npos;) {
        at += mark.size();
        std::string kernel = source.substr(at, source.find('(', at) - at);
        table += "{\"" + kernel + "\", by_address(" + kernel + ")},";
    }
    source = replaced(source, "extern __shared__ __align__(16) double memory[];", "double* memory = dynamic_shared;");
    std::ofstream(name + ".cpp") << "#include \"threads.h\"\n" << source
        << "\nstatic std::map<std::string, Kernel> table = {" << table << "};\n"
        << "extern \"C\" void launch(const char* name, unsigned x, unsigned y, unsigned z, unsigned block, unsigned shared, void** from, "
        << "bool backwards) {\n    launch_kernel(table.at(name), x, y, z, block, shared, from, backwards);\n}\n";
    program->library = name + ".so";
    std::string options = " -std=c++17 -O2 -g1 -fsanitize=address,alignment -fsanitize-undefined-trap-on-error -ffp-contract=off -fno-gnu-unique -fPIC -shared -w -I " + std::string(getenv("EMULATOR_SOURCES"));
    return system(("env -u LD_PRELOAD g++" + options + " -o " + program->library + " " + name + ".cpp").c_str()) ? 6 : 0;
}
int nvrtcGetCUBINSize(Program* program, size_t* size) { return *size = program->library.size() + 1, 0; }
int nvrtcGetCUBIN(Program* program, char* code) { return strcpy(code, program->library.c_str()), 0; }
int nvrtcGetProgramLogSize(Program*, size_t* size) { return *size = 1, 0; }
int nvrtcGetProgramLog(Program*, char* log) { return *log = 0, 0; }
int nvrtcDestroyProgram(Program** program) { return delete *program, 0; }
}
