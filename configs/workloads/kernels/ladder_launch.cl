/* A launch that does nothing, and one that says that it ran. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void nothing(void)
{
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void mark(__global uint *marks)
{
    marks[get_global_id(0)] = get_group_id(0) + 1;
}
