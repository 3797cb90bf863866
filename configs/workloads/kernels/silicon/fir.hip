// A work-item computes one sample of a filtered signal; samples before the first one are in `before`.
#include <hip/hip_runtime.h>

extern "C" __global__ void fir(float *out, const float *weights, const float *in, const float *before, uint32_t taps)
{
    uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (uint32_t tap = 0; tap < taps; tap++) {
        float sample = tap <= at ? in[at - tap] : before[taps - (tap - at)];
        sum += weights[tap] * sample;
    }
    out[at] = sum;
}
