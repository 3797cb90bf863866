/* Images enlarged, every pixel FACTOR times down and across, and the gradient. Dimension 0 goes along a row, 1 over the rows
 * of all channels and images.
 */
__kernel void upsample_forward(const __global float *restrict x, __global float *restrict y, int width)
{
    const uint column = get_global_id(0), row = get_global_id(1);
    y[(ulong)row * (width * FACTOR) + column] = x[(ulong)(row / FACTOR) * width + column / FACTOR];
}

/* dx = sum of the gradients of a pixel's copies, row by row */
__kernel void upsample_backward(const __global float *restrict dy, __global float *restrict dx, int width)
{
    const uint column = get_global_id(0), row = get_global_id(1);
    const __global float *from = dy + (ulong)row * FACTOR * (width * FACTOR) + column * FACTOR;
    float sum = 0.0f;
    for (int i = 0; i < FACTOR; i++)
        for (int j = 0; j < FACTOR; j++)
            sum += from[i * width * FACTOR + j];
    dx[(ulong)row * width + column] = sum;
}
