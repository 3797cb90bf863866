// Product of square matrices: a work-item computes 4 x 4 elements. A workgroup copies its block of the left matrix to
// memory of its own, not to the LDS: so does the measured program.
#include <hip/hip_runtime.h>

static __device__ void add(float4 &sum, float4 left, float4 a, float4 b, float4 c, float4 d)
{
    sum.x += left.x * a.x + left.y * b.x + left.z * c.x + left.w * d.x;
    sum.y += left.x * a.y + left.y * b.y + left.z * c.y + left.w * d.y;
    sum.z += left.x * a.z + left.y * b.z + left.z * c.z + left.w * d.z;
    sum.w += left.x * a.w + left.y * b.w + left.z * c.w + left.w * d.w;
}

extern "C" __global__ void matrixmultiplication(float4 *left, float4 *right, float4 *out, int n, float4 *copies)
{
    int x = threadIdx.x, y = threadIdx.y, side = blockDim.x, vectors = n / 4;
    int column = blockIdx.x * side + x, row = blockIdx.y * blockDim.y + y;
    float4 *copy = copies + (blockIdx.y * gridDim.x + blockIdx.x) * side * blockDim.y * 4;
    float4 sums[4] = {};
    for (int block = 0; block < vectors / side; block++) {
        for (int k = 0; k < 4; k++)
            copy[x + side * (4 * y + k)] = left[block * side + x + (4 * row + k) * vectors];
        __syncthreads();
        for (int j = 0; j < side; j++) {
            float4 *from = right + column + (block * side + j) * 4 * vectors;
            float4 a = from[0], b = from[vectors], c = from[2 * vectors], d = from[3 * vectors];
            for (int k = 0; k < 4; k++)
                add(sums[k], copy[j + side * (4 * y + k)], a, b, c, d);
        }
        __syncthreads();
    }
    for (int k = 0; k < 4; k++)
        out[column + (4 * row + k) * vectors] = sums[k];
}
