/* What the recorder does not have: the word behind the program's name says what to try. */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_TARGET_OPENCL_VERSION 200
#include "begin.h"

static const char *SOURCE = "kernel void one(global int *out) {\n#ifdef PRINTS\n    printf(\"%d\", out[0]);\n#endif\n"
                            "#ifdef WRONG\n    out[0] = nothing;\n#endif\n    out[0] = 1;\n}\n";

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    begin();
    if (!strcmp(what, "image")) {
        cl_image_format format = {CL_R, CL_FLOAT};
        clCreateImage2D(context, CL_MEM_READ_ONLY, &format, 8, 8, 0, NULL, &status);
    } else if (!strcmp(what, "native")) {
        clEnqueueNativeKernel(queue, NULL, NULL, 0, 0, NULL, NULL, 0, NULL, NULL);
    } else if (!strcmp(what, "shared")) {
        clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
    } else if (!strcmp(what, "prints") || !strcmp(what, "wrong")) {
        cl_kernel kernel = kernel_of(SOURCE, !strcmp(what, "wrong") ? "-DWRONG" : "-DPRINTS", "one");
        cl_mem out = buffer_of(4, NULL);
        clSetKernelArg(kernel, 0, sizeof out, &out);
        clEnqueueTask(queue, kernel, 0, NULL, NULL);
    }
    puts("went on");
    return 0;
}
