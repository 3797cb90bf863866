// Transpose in tiles of 64 x 64 through the LDS: a work-item moves 4 x 4 elements, as four vectors of four.
#include <hip/hip_runtime.h>

extern "C" __global__ void matrixtranspose(float4 *out, const float4 *in, uint32_t vectors, uint32_t groups)
{
    __shared__ float4 tile[16 * 4 * 16];
    uint32_t x = threadIdx.x, y = threadIdx.y;
    uint32_t row = blockIdx.x, column = (blockIdx.x + blockIdx.y) % groups;
    uint32_t from = column * 16 + x + (row * 16 + y) * vectors * 4;
    for (int line = 0; line < 4; line++)
        tile[y * 64 + x + line * 16] = in[from + line * vectors];
    __syncthreads();
    float4 a = tile[x * 64 + y], b = tile[x * 64 + y + 16], c = tile[x * 64 + y + 32], d = tile[x * 64 + y + 48];
    uint32_t to = row * 16 + x + (column * 16 + y) * vectors * 4;
    out[to] = make_float4(a.x, b.x, c.x, d.x);
    out[to + vectors] = make_float4(a.y, b.y, c.y, d.y);
    out[to + 2 * vectors] = make_float4(a.z, b.z, c.z, d.z);
    out[to + 3 * vectors] = make_float4(a.w, b.w, c.w, d.w);
}
