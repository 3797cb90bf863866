/* What every OpenCL host program begins with. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(wanted) \
    do { \
        if (!(wanted)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #wanted); \
            exit(1); \
        } \
    } while (0)

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_int status;

static void begin(void)
{
    cl_platform_id platform;
    MUST(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL) == CL_SUCCESS);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    MUST(status == CL_SUCCESS);
    queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
    MUST(status == CL_SUCCESS);
}

static cl_kernel kernel_of(const char *source, const char *options, const char *name)
{
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    status = clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (status != CL_SUCCESS) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "status %d\n%s\n", status, log);
        exit(2);
    }
    cl_kernel kernel = clCreateKernel(program, name, &status);
    MUST(status == CL_SUCCESS);
    MUST(clReleaseProgram(program) == CL_SUCCESS);
    return kernel;
}

static cl_mem buffer_of(size_t bytes, void *contents)
{
    cl_mem buffer = clCreateBuffer(context, contents ? CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE, bytes, contents,
                                   &status);
    MUST(status == CL_SUCCESS);
    return buffer;
}
