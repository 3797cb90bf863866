/* Transpose of a square matrix through a tile of 16 x 16 in LDS. PAD 0: a column of the tile lies in two banks of
   LDS, so that reading it takes many turns; PAD 1: in 16. Loads and stores of memory are the same. */
#define TILE 16

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void transpose(__global const float *in, __global float *out, uint n)
{
    __local float tile[TILE][TILE + PAD];
    uint column = get_local_id(0), row = get_local_id(1);
    uint from = get_group_id(0) * TILE, to = get_group_id(1) * TILE;
    tile[row][column] = in[(to + row) * n + from + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[(from + row) * n + to + column] = tile[column][row];
}
