/* Layer normalisation over the last dimension of a matrix of rows: a wavefront takes a row. */

#define LANES 64

/* The sum over the wavefront, in every lane. */
static float whole(float value, __local float *kept)
{
    const int lane = get_local_id(0);
    for (int step = LANES / 2; step > 0; step /= 2) {
        kept[lane] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        value += kept[lane ^ step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return value;
}

/* y = gamma (x - mean) / sqrt(variance + epsilon) + beta */
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void
layernorm_forward(const __global float *restrict x, const __global float *restrict gamma, const __global float *restrict beta,
                  __global float *restrict y, __global float *restrict means, __global float *restrict deviations, int width,
                  float epsilon)
{
    __local float kept[LANES];
    const int row = get_group_id(0), lane = get_local_id(0);
    x += (long)row * width;
    y += (long)row * width;
    float sum = 0.0f;
#pragma unroll 1
    for (int i = lane; i < width; i += LANES)
        sum += x[i];
    const float mean = whole(sum, kept) / width;
    sum = 0.0f;
#pragma unroll 1
    for (int i = lane; i < width; i += LANES) {
        const float apart = x[i] - mean;
        sum += apart * apart;
    }
    const float inverse = rsqrt(whole(sum, kept) / width + epsilon);
#pragma unroll 1
    for (int i = lane; i < width; i += LANES)
        y[i] = gamma[i] * (x[i] - mean) * inverse + beta[i];
    if (lane == 0) {
        means[row] = mean;
        deviations[row] = inverse;
    }
}

/* dx of a row, from the mean and the inverse deviation that the forward pass left. */
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void
layernorm_backward(const __global float *restrict x, const __global float *restrict dy, const __global float *restrict gamma,
                   const __global float *restrict means, const __global float *restrict deviations,
                   __global float *restrict dx, int width)
{
    __local float kept[LANES];
    const int row = get_group_id(0), lane = get_local_id(0);
    const float mean = means[row], inverse = deviations[row];
    x += (long)row * width;
    dy += (long)row * width;
    dx += (long)row * width;
    float plain = 0.0f, along = 0.0f;
#pragma unroll 1
    for (int i = lane; i < width; i += LANES) {
        const float slope = dy[i] * gamma[i];
        plain += slope;
        along += slope * (x[i] - mean) * inverse;
    }
    plain = whole(plain, kept) / width;
    along = whole(along, kept) / width;
#pragma unroll 1
    for (int i = lane; i < width; i += LANES)
        dx[i] = inverse * (dy[i] * gamma[i] - plain - (x[i] - mean) * inverse * along);
}

/* The gradients of gamma and beta: a work-item takes a column. */
__kernel void layernorm_weights(const __global float *restrict x, const __global float *restrict dy,
                                const __global float *restrict means, const __global float *restrict deviations,
                                __global float *restrict dgamma, __global float *restrict dbeta, int rows, int width)
{
    const int column = get_global_id(0);
    float scale = 0.0f, shift = 0.0f;
#pragma unroll 1
    for (int row = 0; row < rows; row++) {
        const long at = (long)row * width + column;
        shift += dy[at];
        scale += dy[at] * (x[at] - means[row]) * deviations[row];
    }
    dgamma[column] = scale;
    dbeta[column] = shift;
}
