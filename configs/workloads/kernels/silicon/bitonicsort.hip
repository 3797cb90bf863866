// One pass of a bitonic sort in place, ascending: a work-item puts two elements `1 << (stage - pass)` apart in order.
#include <hip/hip_runtime.h>

extern "C" __global__ void bitonicsort(uint32_t *data, uint32_t stage, uint32_t pass)
{
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, apart = 1u << (stage - pass);
    uint32_t first = at % apart + at / apart * 2 * apart, second = first + apart;
    uint32_t left = data[first], right = data[second];
    uint32_t low = left < right ? left : right, high = left < right ? right : left;
    bool ascending = (at / (1u << stage)) % 2 == 0;
    data[first] = ascending ? low : high;
    data[second] = ascending ? high : low;
}
