/* Bandwidth: all compute units read, write or copy a set of `vectors` elements of 16 bytes, each workgroup its own part of
   it, `passes` times. Each loop has several names, so that the statistics of its launches have different names. */
#define ITEMS 256

#define EACH(INDEX) \
    uint groups = get_num_groups(0), part = (vectors + groups - 1) / groups, first = get_group_id(0) * part; \
    uint end = min(first + part, vectors); \
    for (uint pass = 0; pass < passes; pass++) \
        _Pragma("unroll 4") \
        for (uint INDEX = first + get_local_id(0); INDEX < end; INDEX += ITEMS)

#define STREAM __kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void

STREAM fill(__global uint4 *set, uint vectors, uint passes)
{
    EACH(i)
        set[i] = (uint4)(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
}

#define READ(NAME) \
STREAM NAME(__global const uint4 *set, __global uint *sums, uint vectors, uint passes) \
{ \
    uint4 sum = 0; \
    EACH(i) \
        sum += set[i]; \
    sums[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w; \
}

#define WRITE(NAME) \
STREAM NAME(__global uint4 *set, uint vectors, uint passes) \
{ \
    EACH(i) \
        set[i] = (uint4)(i, i, i, pass); \
}

#define COPY(NAME) \
STREAM NAME(__global const uint4 *set, __global uint4 *copy, uint vectors, uint passes) \
{ \
    EACH(i) \
        copy[i] = set[i]; \
}

READ(read_warm)
READ(read_short)
READ(read_long)
WRITE(write_short)
WRITE(write_long)
COPY(copy_warm)
COPY(copy_short)
COPY(copy_long)
