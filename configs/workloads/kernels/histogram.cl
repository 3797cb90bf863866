/* How often each of 256 values occurs among n bytes, by atomic additions in memory. The counters exist COPIES times, and
   workgroups take turns among the copies: atomic additions to one line of memory wait for each other. */
__kernel void histogram(__global const uchar *data, __global uint *counts, uint n)
{
    __global uint *mine = counts + get_group_id(0) % COPIES * 256;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&mine[data[i]]);
}
