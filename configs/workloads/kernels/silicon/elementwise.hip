// A work-item computes one element: sum of two vectors, ReLU.
#include <hip/hip_runtime.h>

extern "C" __global__ void vectoradd(float *out, const float *left, const float *right, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        out[at] = left[at] + right[at];
}

extern "C" __global__ void relu(float *out, const float *in, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) {
        float value = in[at];
        out[at] = value > 0.0f ? value : 0.0f;
    }
}
