/* Latency: one work-item follows pointers. Elements lie STRIDE bytes apart.
   STRIDE 64: all 64 lines of a page one after the other, LEAP lines at a time, then the next page: caches are measured,
   one access of 64 needs a new page. STRIDE 4096: one line a page, which spreads over the sets of the caches: TLBs are
   measured. Element k of the walk is a function of k, so that `touch` reads elements in the order of the walk. */
#define LEAP 27
#define PAGE_LINES 64

uint word_of(uint k)
{
#if STRIDE == 64
    return (k / PAGE_LINES * PAGE_LINES + k % PAGE_LINES * LEAP % PAGE_LINES) * 16;
#else
    return k * (STRIDE / 4) + k / 4 % PAGE_LINES * 16;
#endif
}

/* Each element gets the place of the next one in words; the last one that of the first. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void build(__global uint *next, uint count)
{
    uint k = get_global_id(0);
    if (k < count)
        next[word_of(k)] = word_of(k + 1 < count ? k + 1 : 0);
}

/* Every element is read once, so that the caches hold what they can. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void touch(__global const uint *next, __global uint *seen, uint count)
{
    uint k = get_global_id(0);
    if (k < count)
        seen[k] = next[word_of(k)];
}

/* One walk under several names, so that the statistics of the launches have different names. The buffer with the first
   place makes the compiler load by the vector memory: what is the same for all work-items it loads by the scalar cache. */
#define WALK(NAME) \
__kernel void NAME(__global const uint *next, __global const uint *from, __global uint *last, uint hops) \
{ \
    uint place = from[get_local_id(0)]; \
    for (uint hop = 0; hop < hops; hop++) \
        place = next[place]; \
    last[get_local_id(0)] = place; \
}

WALK(walk_short)
WALK(walk_long)
WALK(walk_once)
