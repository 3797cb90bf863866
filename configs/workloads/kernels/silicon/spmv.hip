// A work-item adds up the products of one row of a sparse matrix (CSR) and a vector.
#include <hip/hip_runtime.h>

extern "C" __global__ void spmv(const float *__restrict__ values, const float *__restrict__ vector,
                                const int *__restrict__ columns, const int *__restrict__ begins, int rows,
                                float *__restrict__ out)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    int end = begins[row + 1];
    for (int at = begins[row]; at < end; at++)
        sum += values[at] * vector[columns[at]];
    out[row] = sum;
}
