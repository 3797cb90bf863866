// What programs do with a GPU, one thing for each word that the first argument may be; each checks its own results.
#include <hip/hip_runtime.h>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) do { hipError_t e_ = (call); if (e_) { std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_)); std::exit(2); } } while (0)
#define EXPECT(condition) do { if (!(condition)) { std::fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); std::exit(3); } } while (0)

enum { N = 300 };

template <typename T> __global__ void scale(T *x, T by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}

// Doubles until all are above the limit; the host reads the flag.
__global__ void grow(int *x, int *again, int limit)
{
    int i = threadIdx.x;
    x[i] *= 2;
    if (x[i] <= limit)
        *again = 1;
}

__constant__ float weights[4];
__device__ int counter;
__global__ void weigh(float *x)
{
    x[threadIdx.x] = weights[threadIdx.x % 4];
    if (threadIdx.x == 0)
        counter += 5;
}

__global__ void reversed(int *x, int n)
{
    extern __shared__ int tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

__global__ void past_the_end(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i + n] = 1.0f; // line 47: n is the size
}

struct Node { int *values; int count; };
__global__ void through(Node *node) { node->values[threadIdx.x] += node->count; }
__global__ void by_value(Node node, int *none)
{
    if (!none)
        node.values[threadIdx.x] -= node.count;
}

// As printf does in HIP's own header.
extern "C" __device__ unsigned long long __ockl_printf_begin(unsigned long long);
__global__ void tell(unsigned long long *x) { *x = __ockl_printf_begin(0); }

extern "C" hipError_t hipGraphCreate(void **, unsigned int);

static void templates()
{
    float *f;
    double *d;
    CHECK(hipMallocManaged(&f, N * sizeof *f));
    CHECK(hipMallocManaged(&d, N * sizeof *d));
    for (int i = 0; i < N; i++)
        f[i] = i, d[i] = -i;
    scale<float><<<5, 64>>>(f, 3.0f, N);
    hipLaunchKernelGGL(scale<double>, dim3(5), dim3(64), 0, 0, d, 0.5, N);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EXPECT(f[i] == 3.0f * i && d[i] == -0.5 * i);
    CHECK(hipFree(f));
    EXPECT(hipFree(f) == hipErrorInvalidDevicePointer);
}

static void flag()
{
    int x[64], *gpu, *again, host = 1, launches = 0;
    for (int i = 0; i < 64; i++)
        x[i] = i + 1;
    CHECK(hipMalloc(&gpu, sizeof x));
    CHECK(hipHostMalloc(&again, sizeof *again));
    CHECK(hipMemcpy(gpu, x, sizeof x, hipMemcpyHostToDevice));
    for (; host; launches++) {
        *again = 0;
        grow<<<1, 64>>>(gpu, again, 8);
        CHECK(hipGetLastError());
        host = *again;
    }
    CHECK(hipMemcpy(x, gpu, sizeof x, hipMemcpyDeviceToHost));
    EXPECT(launches == 4 && x[0] == 16 && x[63] == 1024);
}

static void symbols()
{
    const float given[4] = {1, 2, 4, 8};
    float *x, all[64];
    int count = 2;
    CHECK(hipMalloc(&x, sizeof all));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(weights), given, sizeof given));
    CHECK(hipMemcpyToSymbol(counter, &count, sizeof count));
    for (int i = 0; i < 3; i++)
        weigh<<<1, 64>>>(x);
    CHECK(hipMemcpyFromSymbol(&count, counter, sizeof count));
    CHECK(hipMemcpy(all, x, sizeof all, hipMemcpyDefault));
    EXPECT(count == 17 && all[6] == 4 && all[63] == 8);
}

static void streams()
{
    hipStream_t one, two;
    hipEvent_t done;
    int x[64], *gpu;
    size_t pitch;
    CHECK(hipStreamCreate(&one));
    CHECK(hipStreamCreateWithFlags(&two, hipStreamNonBlocking));
    CHECK(hipEventCreate(&done));
    CHECK(hipMallocPitch(&gpu, &pitch, sizeof x / 2, 2));
    EXPECT(pitch >= sizeof x / 2);
    for (int i = 0; i < 64; i++)
        x[i] = i;
    CHECK(hipMemcpy2DAsync(gpu, pitch, x, sizeof x / 2, sizeof x / 2, 2, hipMemcpyHostToDevice, one));
    reversed<<<1, 32, 32 * sizeof(int), one>>>(gpu, 32);
    CHECK(hipEventRecord(done, one));
    CHECK(hipStreamWaitEvent(two, done, 0));
    scale<int><<<1, 64, 0, two>>>(gpu, 10, 32);
    CHECK(hipMemcpy2D(x, sizeof x / 2, gpu, pitch, sizeof x / 2, 2, hipMemcpyDeviceToHost));
    EXPECT(x[0] == 310 && x[31] == 0 && x[32] == 32);
}

static void queries()
{
    hipDeviceProp_t of;
    hipPointerAttribute_t about;
    hipFuncAttributes kernel;
    int *gpu, *host, inside, blocks;
    char local[64];
    CHECK(hipGetDeviceProperties(&of, 0));
    std::printf("%s %d %d %d %zu\n", of.gcnArchName, of.warpSize, of.multiProcessorCount, of.maxThreadsPerBlock, of.sharedMemPerBlock);
    CHECK(hipMalloc(&gpu, 4096));
    CHECK(hipHostMalloc(&host, 64));
    CHECK(hipPointerGetAttributes(&about, gpu + 3));
    EXPECT(about.memoryType == hipMemoryTypeDevice && about.devicePointer == gpu + 3);
    EXPECT(hipPointerGetAttributes(&about, local) == hipErrorInvalidValue && hipGetLastError() == hipErrorInvalidValue);
    CHECK(hipHostGetDevicePointer(&gpu, host, 0));
    EXPECT(hipMemset(gpu, 0, 65) == hipErrorInvalidValue && hipMemcpy(local, host + 8, 64, hipMemcpyDefault) == hipErrorInvalidValue);
    CHECK(hipFuncGetAttributes(&kernel, (const void *)reversed));
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reversed, 256, 32768));
    EXPECT(blocks == 2); // LDS of 65,536 bytes
    CHECK(hipDeviceGetAttribute(&inside, hipDeviceAttributeWarpSize, 0));
    EXPECT(inside == 64 && hipSetDevice(1) == hipErrorInvalidDevice);
}

static void pointers()
{
    Node host, *node;
    int *values, x[64];
    CHECK(hipMalloc(&values, sizeof x));
    CHECK(hipMalloc(&node, sizeof host));
    CHECK(hipMemset(values, 0, sizeof x));
    host = {values, 7};
    CHECK(hipMemcpy(node, &host, sizeof host, hipMemcpyHostToDevice));
    through<<<1, 64>>>(node);
    host.count = 2;
    by_value<<<1, 64>>>(host, nullptr);
    CHECK(hipMemcpy(x, values, sizeof x, hipMemcpyDeviceToHost));
    EXPECT(x[0] == 5 && x[63] == 5);
}

void shared();
void variables();

static void registered()
{
    std::vector<int> x(64, 3);
    int *gpu;
    CHECK(hipHostRegister(x.data(), 64 * sizeof(int), hipHostRegisterMapped));
    EXPECT(hipHostRegister(&x[9], 4, 0) == hipErrorHostMemoryAlreadyRegistered);
    CHECK(hipHostGetDevicePointer(&gpu, &x[32], 0));
    scale<int><<<1, 64>>>(x.data(), 5, 64); // by the host's address, as on GPUs that share the host's page table
    x[33] += 1;
    scale<int><<<1, 64>>>(gpu, 2, 32);
    EXPECT(x[0] == 15 && x[33] == 32);
    CHECK(hipMemcpy(gpu, x.data(), sizeof(int), hipMemcpyDefault));
    EXPECT(x[32] == 15);
    CHECK(hipHostUnregister(x.data()));
    EXPECT(hipHostUnregister(x.data()) == hipErrorHostMemoryNotRegistered);
}

int main(int, char **words)
{
    const char *word = words[1];
    if (!std::strcmp(word, "templates"))
        templates();
    else if (!std::strcmp(word, "flag"))
        flag();
    else if (!std::strcmp(word, "symbols"))
        symbols();
    else if (!std::strcmp(word, "streams"))
        streams();
    else if (!std::strcmp(word, "queries"))
        queries();
    else if (!std::strcmp(word, "pointers"))
        pointers();
    else if (!std::strcmp(word, "shared"))
        shared();
    else if (!std::strcmp(word, "variables"))
        variables();
    else if (!std::strcmp(word, "registered"))
        registered();
    else if (!std::strcmp(word, "nothing"))
        std::puts("no kernel");
    else if (!std::strcmp(word, "graph"))
        hipGraphCreate(nullptr, 0);
    else if (!std::strcmp(word, "crash"))
        templates(), *(volatile int *)8 = 1;
    else if (!std::strcmp(word, "fails"))
        templates(), std::exit(7);
    else if (!std::strcmp(word, "bounds")) {
        float *x;
        CHECK(hipMalloc(&x, N * sizeof *x));
        past_the_end<<<5, 64>>>(x, N);
    } else if (!std::strcmp(word, "freed")) {
        float *x;
        CHECK(hipMalloc(&x, N * sizeof *x));
        CHECK(hipFree(x));
        scale<float><<<5, 64>>>(x, 1, N);
    } else if (!std::strcmp(word, "host")) {
        static float x[N];
        scale<float><<<5, 64>>>(x, 1, N);
    } else if (!std::strcmp(word, "null")) {
        scale<float><<<5, 64>>>(nullptr, 1, N);
    } else if (!std::strcmp(word, "many")) {
        float *x;
        CHECK(hipMalloc(&x, N * sizeof *x));
        scale<float><<<1000000, 64>>>(x, 1, N);
    } else if (!std::strcmp(word, "printf")) {
        unsigned long long *x;
        CHECK(hipMalloc(&x, sizeof *x));
        tell<<<1, 64>>>(x);
    } else if (!std::strcmp(word, "large")) {
        float *x;
        CHECK(hipMalloc(&x, N * sizeof *x));
        scale<float><<<1, 2048>>>(x, 1, N);
        EXPECT(hipGetLastError() == hipErrorInvalidConfiguration);
    }
    return 0;
}
