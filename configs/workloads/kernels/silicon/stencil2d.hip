// Nine-point stencil of a square with a border of one: a wavefront computes 16 rows of 64 columns through the LDS.
#include <hip/hip_runtime.h>

#define ROWS 16
#define COLUMNS 64

extern "C" __global__ void stencil2d(float *out, const float *in, int pitch, float centre, float cardinal, float diagonal)
{
    __shared__ float tile[ROWS + 2][COLUMNS + 2];
    int lane = threadIdx.y;
    int first = blockIdx.x * ROWS * pitch + blockIdx.y * COLUMNS;
    for (int row = 0; row < ROWS + 2; row++)
        tile[row][lane + 1] = in[first + row * pitch + lane + 1];
    if (lane == 0 || lane == COLUMNS - 1) {
        int edge = lane == 0 ? 0 : COLUMNS + 1;
        for (int row = 0; row < ROWS + 2; row++)
            tile[row][edge] = in[first + row * pitch + edge];
    }
    __syncthreads();
    for (int row = 1; row <= ROWS; row++) {
        int at = lane + 1;
        float beside = tile[row - 1][at] + tile[row + 1][at] + tile[row][at - 1] + tile[row][at + 1];
        float corners = tile[row - 1][at - 1] + tile[row - 1][at + 1] + tile[row + 1][at - 1] + tile[row + 1][at + 1];
        out[first + row * pitch + at] = centre * tile[row][at] + cardinal * beside + diagonal * corners;
    }
}
