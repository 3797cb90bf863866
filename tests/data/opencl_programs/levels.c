/* Distances in a ring of rooms from room 0, level by level, until the kernel says that nothing changed. */
#include "begin.h"

enum { ROOMS = 200, STEP = 64 };

static const char *SOURCE =
    "kernel void spread(global const int *next, global int *level, global int *changed, int depth, int rooms)\n"
    "{\n"
    "    int room = get_global_id(0);\n"
    "    if (room >= rooms || level[room] != depth)\n"
    "        return;\n"
    "    for (int door = 0; door < 2; door++) {\n"
    "        int other = next[2 * room + door];\n"
    "        if (level[other] < 0) {\n"
    "            level[other] = depth + 1;\n"
    "            *changed = 1;\n"
    "        }\n"
    "    }\n"
    "}\n";

int main(void)
{
    static int next[2 * ROOMS], level[ROOMS];
    for (int i = 0; i < ROOMS; i++) {
        next[2 * i] = (i + STEP) % ROOMS;
        next[2 * i + 1] = (i + ROOMS - STEP) % ROOMS;
        level[i] = i ? -1 : 0;
    }
    begin();
    cl_kernel kernel = kernel_of(SOURCE, "", "spread");
    cl_mem doors = buffer_of(sizeof next, next), levels = buffer_of(sizeof level, level);
    cl_mem flag = buffer_of(sizeof(int), NULL);
    int rooms = ROOMS, changed = 1, depth = 0;
    size_t global = 256, local = 64;
    for (; changed; depth++) {
        changed = 0;
        MUST(clEnqueueWriteBuffer(queue, flag, CL_TRUE, 0, sizeof changed, &changed, 0, NULL, NULL) == 0);
        clSetKernelArg(kernel, 0, sizeof doors, &doors);
        clSetKernelArg(kernel, 1, sizeof levels, &levels);
        clSetKernelArg(kernel, 2, sizeof flag, &flag);
        clSetKernelArg(kernel, 3, sizeof depth, &depth);
        clSetKernelArg(kernel, 4, sizeof rooms, &rooms);
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL) == CL_SUCCESS);
        MUST(clEnqueueReadBuffer(queue, flag, CL_TRUE, 0, sizeof changed, &changed, 0, NULL, NULL) == 0);
    }
    MUST(clEnqueueReadBuffer(queue, levels, CL_TRUE, 0, sizeof level, level, 0, NULL, NULL) == CL_SUCCESS);
    printf("%d launches; level of room 0: %d, 64: %d, 8: %d, 1: %d\n", depth, level[0], level[64], level[8],
           level[1]);
    return 0;
}
