/* Rows of a table by their numbers, and the gradient of the table. */

/* y[token] = table[index[token]]: dimension 0 along a row, 1 over the tokens. */
__kernel void embedding_forward(const __global int *restrict index, const __global float *restrict table,
                                __global float *restrict y, int rows, int width)
{
    const int column = get_global_id(0), token = get_global_id(1);
    y[(long)token * width + column] = table[(long)index[token] * width + column];
}

/* table_diff[index[token]] += dy[token], one token after the other: a work-item takes a column, so no two of them write to
 * one element and the sum has one order.
 */
__kernel void embedding_backward(const __global int *restrict index, const __global float *restrict dy,
                                 __global float *restrict table_diff, int rows, int width, int tokens)
{
    const int column = get_global_id(0);
#pragma unroll 1
    for (int token = 0; token < tokens; token++)
        table_diff[(long)index[token] * width + column] += dy[(long)token * width + column];
}
