// One pass of the fast Walsh transform in place: a work-item adds and subtracts two elements `1 << pass` apart.
#include <hip/hip_runtime.h>

extern "C" __global__ void fastwalshtransform(float *data, int step)
{
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, apart = 1u << step;
    uint32_t first = 2 * apart * (at / apart) + at % apart;
    float left = data[first], right = data[first + apart];
    data[first] = left + right;
    data[first + apart] = left - right;
}
