/* Transfers of every shape around a launch with an offset, LDS by argument, sub-buffers and maps. */
#include "begin.h"

enum { SIDE = 32, GROUP = 8, HALF = SIDE * SIDE / 2 };

static const char *SOURCE =
    "kernel void rows(global const float *in, global float *out, local float *tile, float scale, int2 add)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1), here = get_local_id(0);\n"
    "    tile[here] = in[y * SIDE + x];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    out[y * SIDE + x] = scale * tile[get_local_size(0) - 1 - here] + add.x * get_global_offset(1) + add.y;\n"
    "}\n";

int main(void)
{
    static float first[SIDE * SIDE], second[SIDE * SIDE], back[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        first[i] = (float)i;
    begin();
    cl_kernel kernel = kernel_of(SOURCE, "-DSIDE=32 -cl-fast-relaxed-math", "rows");
    cl_mem in = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, sizeof first, first, &status);
    cl_mem out = clCreateBuffer(context, CL_MEM_ALLOC_HOST_PTR, sizeof second, NULL, &status);
    cl_buffer_region region = {HALF * sizeof(float), HALF * sizeof(float)};
    cl_mem half = clCreateSubBuffer(out, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    MUST(status == CL_SUCCESS);

    float minus = -1, *seen;
    cl_event filled, copied, shaped;
    MUST(clEnqueueFillBuffer(queue, out, &minus, sizeof minus, 0, sizeof second, 0, NULL, &filled) == 0);
    seen = clEnqueueMapBuffer(queue, in, CL_TRUE, CL_MAP_WRITE, 0, sizeof(float), 1, &filled, NULL, &status);
    MUST(seen == first && status == CL_SUCCESS);
    seen[0] = 100;
    MUST(clEnqueueUnmapMemObject(queue, in, seen, 0, NULL, NULL) == CL_SUCCESS);
    MUST(clEnqueueCopyBuffer(queue, in, half, 0, sizeof(float), 16, 0, NULL, &copied) == CL_SUCCESS);
    MUST(clEnqueueCopyBuffer(queue, in, in, 0, sizeof(float), 8, 0, NULL, NULL) == CL_MEM_COPY_OVERLAP);

    /* Rows 4 to 19 of the input become rows 4 to 19 of the output, each group of 8 turned round. */
    float scale = 2;
    cl_int add[2] = {1000, 1};
    size_t offset[2] = {0, 4}, global[2] = {SIDE, 16}, local[2] = {GROUP, 1};
    MUST(clSetKernelArg(kernel, 0, sizeof in, &in) == CL_SUCCESS);
    MUST(clSetKernelArg(kernel, 1, sizeof out, &out) == CL_SUCCESS);
    MUST(clEnqueueNDRangeKernel(queue, kernel, 2, offset, global, local, 0, NULL, NULL)
         == CL_INVALID_KERNEL_ARGS);
    MUST(clSetKernelArg(kernel, 2, GROUP * sizeof(float), NULL) == CL_SUCCESS);
    MUST(clSetKernelArg(kernel, 3, sizeof(double), &scale) == CL_INVALID_ARG_SIZE);
    MUST(clSetKernelArg(kernel, 3, sizeof scale, &scale) == CL_SUCCESS);
    MUST(clSetKernelArg(kernel, 4, sizeof add, add) == CL_SUCCESS);
    MUST(clSetKernelArg(kernel, 5, sizeof add, add) == CL_INVALID_ARG_INDEX);
    MUST(clEnqueueNDRangeKernel(queue, kernel, 2, offset, global, local, 1, &copied, &shaped) == CL_SUCCESS);
    MUST(clWaitForEvents(1, &shaped) == CL_SUCCESS);

    /* A box of 2 rows of 3 numbers, from row 4, column 1. */
    size_t from[3] = {sizeof(float), 4, 0}, to[3] = {0, 0, 0}, box[3] = {3 * sizeof(float), 2, 1};
    MUST(clEnqueueReadBufferRect(queue, out, CL_TRUE, from, to, box, SIDE * sizeof(float), 0, 0, 0, back, 0, NULL,
                                 NULL) == CL_SUCCESS);
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 3; column++)
            MUST(back[3 * row + column] == 2 * ((4 + row) * SIDE + 6 - column) + 4001);
    MUST(clEnqueueReadBuffer(queue, half, CL_FALSE, 0, sizeof back / 2, back, 0, NULL, NULL) == CL_SUCCESS);
    MUST(clFinish(queue) == CL_SUCCESS);
    MUST(back[0] == 2 * (HALF + 7) + 4001 && back[4 * SIDE + 1] == -1);
    MUST(clEnqueueReadBuffer(queue, half, CL_TRUE, 4, sizeof back / 2, back, 0, NULL, NULL) == CL_INVALID_VALUE);

    cl_ulong time;
    MUST(clGetEventProfilingInfo(shaped, CL_PROFILING_COMMAND_START, sizeof time, &time, NULL)
         == CL_PROFILING_INFO_NOT_AVAILABLE);
    clReleaseMemObject(out);
    cl_uint references;
    MUST(clGetMemObjectInfo(half, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL) == CL_SUCCESS);
    MUST(references == 1);
    clReleaseMemObject(half);
    clReleaseMemObject(in);
    clReleaseKernel(kernel);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    puts("all as OpenCL says");
    return 0;
}
