/* Workgroups that stay: each does a part of every round, and all wait for each other between rounds. It ends only where
   all workgroups are on the GPU at once, so the launch has one for each compute unit.
   The barrier is a counter in memory: the last one in opens the next round. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void grid_barrier(__global uint *values, __global uint *arrived, uint rounds)
{
    uint groups = get_num_groups(0), group = get_group_id(0), item = get_local_id(0);
    for (uint round = 0; round < rounds; round++) {
        /* Each round reads what the neighbour wrote in the round before. */
        __global uint *from = values + (round & 1) * groups * 64, *to = values + (~round & 1) * groups * 64;
        uint seen = atomic_add(&from[(group + 1) % groups * 64 + item], 0);
        atomic_xchg(&to[group * 64 + item], seen + 1);
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (item == 0) {
            atomic_inc(&arrived[0]);
            while (atomic_add(&arrived[0], 0) < (round + 1) * groups)
                ;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}
