// A work-item computes one pixel: the weighted sum of the square of pixels whose corner it is. The input is wider.
#include <hip/hip_runtime.h>

extern "C" __global__ void simpleconvolution(int *out, const uint32_t *in, const float *mask, uint32_t size,
                                             uint32_t side, uint32_t pitch)
{
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, x = at % size, y = at / size;
    if (y >= size)
        return;
    float sum = 0.0f;
    for (uint32_t row = 0; row < side; row++)
        for (uint32_t column = 0; column < side; column++)
            sum += (float)in[(y + row) * pitch + x + column] * mask[row * side + column];
    out[at] = (int)(sum + 0.5f);
}
