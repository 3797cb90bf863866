// Products of a square matrix and a vector: a work-item adds up one row (`rows`) or one column (`columns`). The sum
// stays in memory all the time, which the compiler cannot keep in a register: `sums` may be where `matrix` is.
#include <hip/hip_runtime.h>

extern "C" __global__ void rows(float *matrix, float *vector, float *sums, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    sums[row] = 0.0f;
    for (int column = 0; column < n; column++)
        sums[row] += matrix[row * n + column] * vector[column];
}

extern "C" __global__ void columns(float *matrix, float *vector, float *sums, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n)
        return;
    sums[column] = 0.0f;
    for (int row = 0; row < n; row++)
        sums[column] += matrix[row * n + column] * vector[row];
}
