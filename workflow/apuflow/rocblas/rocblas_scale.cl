/* Stand-in for rocBLAS' Cijk_S: D = beta C, or 0, before the workgroups of a split sum add to it.
 *
 * One work-item per element, as Tensile's KernelWriterBetaOnly has it: indices are 64 bits wide and are divided.
 */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
Cijk_S(__global float *d, const __global float *c, uint stride_d1, uint stride_d2, uint stride_c1, uint stride_c2,
       uint m, uint n, uint batch, float beta)
{
    ulong id = get_global_id(0);
    if (id >= m * n * batch)
        return;
    const ulong i = id % m;
    id /= m;
    const ulong j = id % n;
    id /= n;
    const ulong l = id % batch;
    const ulong at_d = i + j * stride_d1 + l * stride_d2;
    const ulong at_c = i + j * stride_c1 + l * stride_c2;
    d[at_d] = beta == 0.0f ? 0.0f : c[at_c] * beta;
}
