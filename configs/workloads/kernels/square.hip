// Squares of n floats, as gem5-resources' square does it: a grid that is smaller than the data walks over it.
#include <hip/hip_runtime.h>

extern "C" __global__ void square(float *out, const float *in, uint32_t n)
{
    uint32_t step = blockDim.x * gridDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        out[i] = in[i] * in[i];
}
