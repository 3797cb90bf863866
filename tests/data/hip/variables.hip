// Variables that the GPU's code has addresses in; a source of the program beside it.
#include <hip/hip_runtime.h>
#include <cstdlib>

#define CHECK(call) do { hipError_t e_ = (call); if (e_) { std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_)); std::exit(2); } } while (0)
#define EXPECT(condition) do { if (!(condition)) { std::fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); std::exit(3); } } while (0)

__managed__ int total = 5;
__managed__ float halves[64];
__device__ int *where;
__device__ int first[4], second[4];
__device__ int *const table[2] = {first, second + 1};
__global__ void managed(float *all, int *sum)
{
    atomicAdd(sum, (int)threadIdx.x);
    halves[threadIdx.x] = all[threadIdx.x] / 2;
    if (threadIdx.x == 0)
        total += 10;
}
__global__ void by_variable(int n)
{
    table[n & 1][1] = n;
    where[threadIdx.x] = second[2] + first[1];
}

// The host changes variables that it shares with the GPU; one is an argument, too.
void shared()
{
    total += 2;
    for (int i = 0; i < 64; i++)
        halves[i] = i;
    managed<<<1, 64>>>(halves, &total);
    CHECK(hipDeviceSynchronize());
    EXPECT(total == 5 + 2 + 64 * 63 / 2 + 10 && halves[7] == 3.5f);
    managed<<<1, 64>>>(halves, &total);
    EXPECT(halves[7] == 1.75f);
}

// A variable holds an address that the host gave it, others hold addresses of variables.
void variables()
{
    int *x, zeros[4] = {}, all[64];
    CHECK(hipMalloc(&x, sizeof all));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(where), &x, sizeof x));
    by_variable<<<1, 64>>>(8);
    by_variable<<<1, 64>>>(9);
    CHECK(hipMemcpy(all, x, sizeof all, hipMemcpyDeviceToHost));
    EXPECT(all[63] == 17);
    CHECK(hipMemcpyToSymbol(second, zeros, sizeof zeros));
    by_variable<<<1, 64>>>(10);
    CHECK(hipMemcpy(all, x, sizeof all, hipMemcpyDeviceToHost));
    EXPECT(all[0] == 10);
}
