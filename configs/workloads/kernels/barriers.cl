/* Barriers over all workgroups (Xiao and Feng, IPDPS 2010). A launch has a workgroup for each compute unit, so that all are
   on the GPU at once. In each round a workgroup takes what its neighbour wrote in the round before. */
#define LINE 16                 /* words of a cache line: no two workgroups write one */
#define FAN 8                   /* workgroups that meet in a leaf of the tree */
#define KERNEL __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
typedef volatile __global uint *words_t;

/* volatile: past the caches of the compute unit */
void work(words_t values, uint round)
{
    uint groups = get_num_groups(0), group = get_group_id(0);
    words_t from = values + (round & 1) * groups * LINE, to = values + (~round & 1) * groups * LINE;
    if (get_local_id(0) == 0)
        to[group * LINE] = from[(group + 1) % groups * LINE] + 1;
    barrier(CLK_GLOBAL_MEM_FENCE);
}

/* A counter that all raise and watch. */
KERNEL barrier_counter(words_t values, words_t counter, uint rounds)
{
    for (uint round = 0; round < rounds; round++) {
        work(values, round);
        if (get_local_id(0) == 0) {
            atomic_inc(counter);
            while (atomic_or(counter, 0) < (round + 1) * get_num_groups(0))
                ;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* A counter for FAN workgroups each; the last one of these raises the counter that all watch. */
KERNEL barrier_tree(words_t values, words_t counters, uint rounds)
{
    uint groups = get_num_groups(0), leaf = get_group_id(0) / FAN;
    uint leaves = (groups + FAN - 1) / FAN, here = min((uint)FAN, groups - leaf * FAN);
    for (uint round = 0; round < rounds; round++) {
        work(values, round);
        if (get_local_id(0) == 0) {
            if (atomic_inc(counters + (1 + leaf) * LINE) == (round + 1) * here - 1)
                atomic_inc(counters);
            while (atomic_or(counters, 0) < (round + 1) * leaves)
                ;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* No atomics: each workgroup raises a flag of its own; the work-items of the first watch one each, and answer. */
KERNEL barrier_flags(words_t values, words_t flags, uint rounds)
{
    uint groups = get_num_groups(0), group = get_group_id(0), item = get_local_id(0);
    words_t here = flags, there = flags + groups * LINE;
    for (uint round = 1; round <= rounds; round++) {
        work(values, round - 1);
        if (item == 0)
            here[group * LINE] = round;
        if (group == 0) {
            if (item < groups)
                while (here[item * LINE] < round)
                    ;
            barrier(CLK_GLOBAL_MEM_FENCE);
            if (item < groups)
                there[item * LINE] = round;
        }
        if (item == 0)
            while (there[group * LINE] < round)
                ;
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

/* No barrier: a launch is a round. */
KERNEL barrier_launch(words_t values, uint round)
{
    work(values, round);
}
