// One iteration of PageRank on a sparse matrix: a wavefront adds up the products of one row, through the LDS.
#include <hip/hip_runtime.h>

extern "C" __global__ void pagerank(float *next, const float *rank, const uint32_t *begins, const uint32_t *columns,
                                    const float *values, uint32_t rows)
{
    __shared__ float sums[64];
    uint32_t lane = threadIdx.x, row = blockIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (uint32_t at = begins[row] + lane; at < begins[row + 1]; at += 64)
        sum += values[at] * rank[columns[at]];
    sums[lane] = sum;
    for (uint32_t half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (lane < half)
            sums[lane] += sums[lane + half];
    }
    if (lane == 0)
        next[row] = sums[0];
}
