/* Element by element: GELU and the update of weights by momentum. A work-item takes UNIT elements; the grid covers the
 * buffers exactly.
 */
#if UNIT == 4
typedef float4 unit;
#elif UNIT == 2
typedef float2 unit;
#else
typedef float unit;
#endif

/* GELU by the hyperbolic tangent: x * (1 + tanh(u)) / 2 = x * logistic(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3). */
#define LINEAR 1.5957691216057308f /* 2 sqrt(2 / pi) */
#define CUBIC 0.07135481627f       /* that times 0.044715 */

static unit logistic(unit t)
{
    return 1.0f / (1.0f + exp(-t));
}

__kernel void gelu_forward(const __global unit *restrict x, __global unit *restrict y)
{
    const size_t i = get_global_id(0);
    const unit v = x[i];
    y[i] = v * logistic(v * (LINEAR + CUBIC * v * v));
}

__kernel void gelu_backward(const __global unit *restrict x, const __global unit *restrict dy, __global unit *restrict dx)
{
    const size_t i = get_global_id(0);
    const unit v = x[i], square = v * v;
    const unit s = logistic(v * (LINEAR + CUBIC * square));
    dx[i] = dy[i] * (s + v * s * (1.0f - s) * (LINEAR + 3.0f * CUBIC * square));
}

/* velocity = momentum velocity + gradient + decay weight; weight = weight - rate velocity */
__kernel void sgd_momentum(__global unit *restrict weights, __global unit *restrict velocity,
                           const __global unit *restrict gradient, float rate, float momentum, float decay)
{
    const size_t i = get_global_id(0);
    const unit w = weights[i];
    const unit v = momentum * velocity[i] + gradient[i] + decay * w;
    velocity[i] = v;
    weights[i] = w - rate * v;
}
