// Convolution as im2col and a product: a work-item of im2col copies the pixels of one output; the product takes tiles
// of 16 x 16 through the LDS.
#include <hip/hip_runtime.h>

// Whole numbers of the layer, as the measured kernel takes them: it computes with them at run time.
extern "C" __global__ void im2col(const float *in, float *columns, uint2 size, uint2 mask, uint2 stride, uint2 pad,
                                  uint2 dilation, uint32_t channels, uint32_t images)
{
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    int width = size.x, height = size.y;
    int field_height = (height - ((mask.y - 1) * dilation.y + 1) + 2 * pad.y) / stride.y + 1;
    int field_width = (width - ((mask.x - 1) * dilation.x + 1) + 2 * pad.x) / stride.x + 1;
    int field = field_width * field_height, image = at / field, place = at % field;
    if (image >= (int)images)
        return;
    int left = place % field_width * stride.x - pad.x, top = place / field_width * stride.y - pad.y;
    for (int row = 0; row < (int)(mask.x * mask.y * channels); row++) {
        int channel = row / (int)(mask.x * mask.y);
        int y = top + (int)dilation.y * (row % (int)(mask.x * mask.y) / (int)mask.x);
        int x = left + (int)dilation.x * (row % (int)mask.x);
        float value = 0.0f;
        if (x >= 0 && y >= 0 && x < width && y < height)
            value = in[((image * (int)channels + channel) * height + y) * width + x];
        columns[row * field * (int)images + at] = value;
    }
}

#define SIDE 16

extern "C" __global__ void product(int m, int n, int k, const float *a, const float *b, const float *c, float *d,
                                   float alpha, float beta)
{
    __shared__ float left[SIDE][SIDE], right[SIDE][SIDE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * SIDE + y, column = blockIdx.x * SIDE + x;
    float sum = 0.0f;
    for (int first = 0; first < k; first += SIDE) {
        left[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
        right[y][x] = column < n && first + y < k ? b[(first + y) * n + column] : 0.0f;
        __syncthreads();
        for (int one = 0; one < SIDE; one++)
            if (first + one < k)
                sum += left[y][one] * right[one][x];
        __syncthreads();
    }
    if (row < m && column < n)
        d[row * n + column] = alpha * sum + beta * c[row * n + column];
}
