/* Sums of n floats in two launches: each workgroup of the first leaves one sum, one workgroup adds those up.
   In LDS, with a barrier after each halving. */
#define ITEMS 256

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void reduction(__global const float *in, __global float *sums, uint n)
{
    __local float part[ITEMS];
    uint item = get_local_id(0);
    float sum = 0;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    part[item] = sum;
    for (uint half_way = ITEMS / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_way)
            part[item] += part[item + half_way];
    }
    if (item == 0)
        sums[get_group_id(0)] = part[0];
}
