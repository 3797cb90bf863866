/* Atomic additions: the work-items of all compute units take the counters in turn, each counter on a line of its own. */
#define ATOMICS(NAME) \
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) \
void NAME(__global uint *counters, uint lines, uint rounds) \
{ \
    __global uint *mine = counters + get_global_id(0) % lines * 16; \
    for (uint round = 0; round < rounds; round++) \
        atomic_inc(mine); \
}

ATOMICS(atomics_short)
ATOMICS(atomics_long)
