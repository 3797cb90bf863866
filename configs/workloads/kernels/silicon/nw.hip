// Needleman and Wunsch's alignment: a wavefront fills a block of 64 x 64 scores, one diagonal after the other, in the
// LDS. `first` is the number of the diagonal's first block row from above, blocks go up and to the right.
#include <hip/hip_runtime.h>

#define SIDE 64

static __device__ void score(int (*scores)[SIDE + 1], int (*similar)[SIDE], int x, int y, int penalty)
{
    int diagonal = scores[y - 1][x - 1] + similar[y - 1][x - 1];
    int left = scores[y][x - 1] - penalty, above = scores[y - 1][x] - penalty;
    scores[y][x] = max(diagonal, max(left, above));
}

extern "C" __global__ void __launch_bounds__(SIDE) nw(const int *similarity, int *matrix, int pitch, int penalty,
                                                      int column, int row)
{
    __shared__ int scores[SIDE + 1][SIDE + 1], similar[SIDE][SIDE];
    int lane = threadIdx.x;
    int corner = (row - (int)blockIdx.x) * SIDE * pitch + (column + (int)blockIdx.x) * SIDE;
    int first = corner + pitch + lane + 1;
    for (int y = 0; y < SIDE; y++)
        similar[y][lane] = similarity[first + y * pitch];
    if (lane == 0)
        scores[0][0] = matrix[corner];
    scores[lane + 1][0] = matrix[corner + (lane + 1) * pitch];
    scores[0][lane + 1] = matrix[corner + lane + 1];
    __syncthreads();
    for (int step = 0; step < SIDE; step++) {
        if (lane <= step)
            score(scores, similar, lane + 1, step - lane + 1, penalty);
        __syncthreads();
    }
    for (int step = SIDE - 2; step >= 0; step--) {
        if (lane <= step)
            score(scores, similar, lane + SIDE - step, SIDE - lane, penalty);
        __syncthreads();
    }
    for (int y = 0; y < SIDE; y++)
        matrix[first + y * pitch] = scores[y + 1][lane + 1];
}
