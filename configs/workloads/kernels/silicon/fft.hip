// Fourier transforms of 512 complex numbers in place, one by each wavefront: three steps of radix 8, between which the
// LDS transposes real and imaginary parts in turn.
#include <hip/hip_runtime.h>

#define HALF_ROOT 0.70710678118654752440f

static __device__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

static __device__ void butterfly(float2 &a, float2 &b)
{
    float2 sum = make_float2(a.x + b.x, a.y + b.y);
    b = make_float2(a.x - b.x, a.y - b.y);
    a = sum;
}

static __device__ float2 quarter(float2 a) { return make_float2(a.y, -a.x); }

static __device__ void of_four(float2 &a, float2 &b, float2 &c, float2 &d)
{
    butterfly(a, c);
    butterfly(b, d);
    d = quarter(d);
    butterfly(a, b);
    butterfly(c, d);
}

// Of eight numbers; number k of the result is at the place whose three bits are those of k from behind.
static __device__ void of_eight(float2 *a)
{
    for (int k = 0; k < 4; k++)
        butterfly(a[k], a[k + 4]);
    a[5] = times(a[5], make_float2(HALF_ROOT, -HALF_ROOT));
    a[6] = quarter(a[6]);
    a[7] = times(a[7], make_float2(-HALF_ROOT, -HALF_ROOT));
    of_four(a[0], a[1], a[2], a[3]);
    of_four(a[4], a[5], a[6], a[7]);
}

static __device__ int reversed(int k) { return (k & 1) << 2 | (k & 2) | k >> 2; }

static __device__ void twiddle(float2 *a, int at, int n)
{
    for (int k = 1; k < 8; k++) {
        float angle = -2.0f * reversed(k) / n * at; // in half turns: cosf would take private memory for large ones
        a[k] = times(a[k], make_float2(cospif(angle), sinpif(angle)));
    }
}

static __device__ void transpose(float2 *a, float *store, int apart, const float *load, int between)
{
    for (int k = 0; k < 8; k++)
        store[reversed(k) * apart] = a[k].x;
    __syncthreads();
    for (int k = 0; k < 8; k++)
        a[k].x = load[k * between];
    __syncthreads();
    for (int k = 0; k < 8; k++)
        store[reversed(k) * apart] = a[k].y;
    __syncthreads();
    for (int k = 0; k < 8; k++)
        a[k].y = load[k * between];
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(64) fft(float2 *work)
{
    __shared__ float lds[8 * 8 * 9];
    int lane = threadIdx.x, high = lane >> 3, low = lane & 7;
    float2 a[8];
    work += blockIdx.x * 512 + lane;
    for (int k = 0; k < 8; k++)
        a[k] = work[k * 64];
    of_eight(a);
    twiddle(a, lane, 512);
    transpose(a, &lds[high * 8 + low], 66, &lds[low * 66 + high], 8);
    of_eight(a);
    twiddle(a, high, 64);
    transpose(a, &lds[high * 8 + low], 72, &lds[high * 72 + low], 8);
    of_eight(a);
    for (int k = 0; k < 8; k++)
        work[reversed(k) * 64] = a[k];
}
