/* How often each of 256 values occurs among n bytes, by atomic additions in memory. SPREAD 1: every byte adds to one
   of 256 counters; more: to one of 256 / SPREAD, so that work-items meet more often. */
__kernel void histogram(__global const uchar *data, __global uint *counts, uint n)
{
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[data[i] / SPREAD]);
}
