/* Stand-in for rocBLAS's sgemm: C = alpha op(A) op(B) + beta C, column major, batched by strides.
 *
 * op(A) is m x k, op(B) is k x n; op is the transpose where TRANSPOSE_A, TRANSPOSE_B are 1. One work-item per element
 * of C in tiles of TILE x TILE; the tiles of A and B pass through the LDS, read in the order in which they lie in
 * memory. Dimension 0 runs along m, 1 along n, 2 over the batch. C is not read where beta is 0.
 */
#ifndef TILE
#define TILE 16
#endif

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void
sgemm(const __global float *restrict a, const __global float *restrict b, __global float *restrict c, int m, int n, int k,
      int lda, int ldb, int ldc, long stride_a, long stride_b, long stride_c, float alpha, float beta)
{
    /* One column more than a tile, so that a column's elements lie in different banks. */
    __local float tile_a[TILE][TILE + 1];
    __local float tile_b[TILE][TILE + 1];
    const int x = get_local_id(0), y = get_local_id(1);
    const int row0 = get_group_id(0) * TILE, column0 = get_group_id(1) * TILE;
    const int row = row0 + x, column = column0 + y;

    a += get_group_id(2) * stride_a;
    b += get_group_id(2) * stride_b;
    c += get_group_id(2) * stride_c;

    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        /* tile_a[i][l] = op(A)(row0 + i, start + l), tile_b[l][j] = op(B)(start + l, column0 + j) */
#if TRANSPOSE_A
        tile_a[y][x] = row0 + y < m && start + x < k ? a[start + x + (long)(row0 + y) * lda] : 0.0f;
#else
        tile_a[x][y] = row0 + x < m && start + y < k ? a[row0 + x + (long)(start + y) * lda] : 0.0f;
#endif
#if TRANSPOSE_B
        tile_b[y][x] = column0 + x < n && start + y < k ? b[column0 + x + (long)(start + y) * ldb] : 0.0f;
#else
        tile_b[x][y] = column0 + y < n && start + x < k ? b[start + x + (long)(column0 + y) * ldb] : 0.0f;
#endif
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = 0; l < TILE; l++)
            sum = fma(tile_a[x][l], tile_b[l][y], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n) {
        const long at = row + (long)column * ldc;
        c[at] = beta == 0.0f ? alpha * sum : alpha * sum + beta * c[at];
    }
}
