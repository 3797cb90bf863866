kernel void add(global const float *a, global const float *b, global float *out, float scale)
{
    int i = get_global_id(0);
    out[i] = a[i] + scale * b[i];
}
