/* LDS: each work-item reads the place that its last read gave, its own one. Neighbours are `ways` words apart, so that
   `ways` work-items want the same bank. One wavefront a compute unit measures the latency, many measure the bandwidth. */
#define WORDS 2048

#define READS(NAME) \
__kernel __attribute__((amdgpu_flat_work_group_size(1, 1024))) \
void NAME(__global uint *sums, uint ways, uint reads) \
{ \
    __local uint table[WORDS]; \
    for (uint i = get_local_id(0); i < WORDS; i += get_local_size(0)) \
        table[i] = i; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    uint place = get_local_id(0) % 64 * ways % WORDS, sum = 0; \
    for (uint n = 0; n < reads; n++) { \
        place = table[place]; \
        sum += place; \
    } \
    sums[get_global_id(0)] = sum; \
}

READS(lds_short)
READS(lds_long)
