/* The table through which the loader calls this library: what is recorded, and what ends the program. */
#include "icd.h"

#define RECORDED(X) \
    X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clRetainDevice) \
    X(clReleaseDevice) X(clCreateContext) X(clCreateContextFromType) X(clRetainContext) X(clReleaseContext) \
    X(clGetContextInfo) X(clCreateCommandQueue) X(clCreateCommandQueueWithProperties) \
    X(clRetainCommandQueue) X(clReleaseCommandQueue) X(clGetCommandQueueInfo) X(clCreateBuffer) \
    X(clCreateBufferWithProperties) X(clCreateSubBuffer) X(clRetainMemObject) X(clReleaseMemObject) \
    X(clGetMemObjectInfo) X(clSetMemObjectDestructorCallback) X(clGetSupportedImageFormats) \
    X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clRetainProgram) X(clReleaseProgram) \
    X(clBuildProgram) X(clUnloadCompiler) X(clUnloadPlatformCompiler) X(clGetProgramInfo) \
    X(clGetProgramBuildInfo) X(clCreateKernel) X(clCreateKernelsInProgram) X(clRetainKernel) \
    X(clReleaseKernel) X(clSetKernelArg) X(clGetKernelInfo) X(clGetKernelWorkGroupInfo) \
    X(clGetKernelArgInfo) X(clWaitForEvents) X(clGetEventInfo) X(clRetainEvent) X(clReleaseEvent) \
    X(clGetEventProfilingInfo) X(clCreateUserEvent) X(clSetUserEventStatus) X(clSetEventCallback) X(clFlush) \
    X(clFinish) X(clEnqueueReadBuffer) X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) \
    X(clEnqueueFillBuffer) X(clEnqueueReadBufferRect) X(clEnqueueWriteBufferRect) \
    X(clEnqueueCopyBufferRect) X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject) \
    X(clEnqueueMigrateMemObjects) X(clEnqueueNDRangeKernel) X(clEnqueueTask) X(clEnqueueMarker) \
    X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrier) X(clEnqueueBarrierWithWaitList) \
    X(clEnqueueWaitForEvents) X(clGetExtensionFunctionAddress) X(clGetExtensionFunctionAddressForPlatform)

#define REFUSED(X, IMAGE, SHARED) \
    IMAGE(clCreateImage2D) IMAGE(clCreateImage3D) IMAGE(clCreateImage) IMAGE(clCreateImageWithProperties) \
    IMAGE(clGetImageInfo) IMAGE(clCreateSampler) IMAGE(clCreateSamplerWithProperties) IMAGE(clRetainSampler) \
    IMAGE(clReleaseSampler) IMAGE(clGetSamplerInfo) IMAGE(clEnqueueReadImage) IMAGE(clEnqueueWriteImage) \
    IMAGE(clEnqueueCopyImage) IMAGE(clEnqueueCopyImageToBuffer) IMAGE(clEnqueueCopyBufferToImage) \
    IMAGE(clEnqueueMapImage) IMAGE(clEnqueueFillImage) IMAGE(clCreatePipe) IMAGE(clGetPipeInfo) \
    IMAGE(clCreateFromGLBuffer) IMAGE(clCreateFromGLTexture2D) IMAGE(clCreateFromGLTexture3D) \
    IMAGE(clCreateFromGLRenderbuffer) IMAGE(clCreateFromGLTexture) IMAGE(clGetGLObjectInfo) \
    IMAGE(clGetGLTextureInfo) IMAGE(clEnqueueAcquireGLObjects) IMAGE(clEnqueueReleaseGLObjects) \
    IMAGE(clGetGLContextInfoKHR) IMAGE(clCreateEventFromGLsyncKHR) IMAGE(clCreateFromEGLImageKHR) \
    IMAGE(clEnqueueAcquireEGLObjectsKHR) IMAGE(clEnqueueReleaseEGLObjectsKHR) \
    IMAGE(clCreateEventFromEGLSyncKHR) SHARED(clSVMAlloc) SHARED(clSVMFree) SHARED(clEnqueueSVMFree) \
    SHARED(clEnqueueSVMMemcpy) SHARED(clEnqueueSVMMemFill) SHARED(clEnqueueSVMMap) SHARED(clEnqueueSVMUnmap) \
    SHARED(clEnqueueSVMMigrateMem) SHARED(clSetKernelArgSVMPointer) SHARED(clSetKernelExecInfo) \
    X(clSetCommandQueueProperty, "give the properties to clCreateCommandQueue") \
    X(clCreateSubDevices, "use the whole device") X(clCreateSubDevicesEXT, "use the whole device") \
    X(clRetainDeviceEXT, "use the whole device") X(clReleaseDeviceEXT, "use the whole device") \
    X(clCreateProgramWithBuiltInKernels, "the device has none; use clCreateProgramWithSource") \
    X(clCreateProgramWithIL, "use clCreateProgramWithSource") \
    X(clCompileProgram, "use clBuildProgram") X(clLinkProgram, "use clBuildProgram") \
    X(clSetProgramReleaseCallback, "leave it out") \
    X(clSetProgramSpecializationConstant, "use clBuildProgram with -D") \
    X(clSetContextDestructorCallback, "leave it out") X(clCloneKernel, "use clCreateKernel") \
    X(clEnqueueNativeKernel, "call the function, after clFinish") \
    X(clGetDeviceAndHostTimer, "no clock of a GPU runs") X(clGetHostTimer, "no clock of a GPU runs") \
    X(clGetKernelSubGroupInfo, "a wavefront has 64 work-items") \
    X(clGetKernelSubGroupInfoKHR, "a wavefront has 64 work-items") \
    X(clSetDefaultDeviceCommandQueue, "kernels cannot launch kernels here")

#define DECLARE(name) extern __typeof__(name) ours_##name;
RECORDED(DECLARE)

#define STOP(name, remedy) \
    static void stop_##name(void) \
    { \
        refuse(#name, remedy); \
    }
#define STOP_IMAGE(name) STOP(name, "images, pipes and graphics are not recorded; use buffers")
#define STOP_SHARED(name) STOP(name, "shared virtual memory is not recorded; use buffers")
REFUSED(STOP, STOP_IMAGE, STOP_SHARED)

#define RECORDED_ENTRY(name) .name = ours_##name,
#define REFUSED_ENTRY(name, ...) .name = (void *)stop_##name,
const cl_icd_dispatch dispatch = {
    RECORDED(RECORDED_ENTRY) REFUSED(REFUSED_ENTRY, REFUSED_ENTRY, REFUSED_ENTRY)
};

/* What loaders look for. */
__attribute__((visibility("default"))) cl_int CL_API_CALL clIcdGetPlatformIDsKHR(
    cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    return ours_clGetPlatformIDs(room, platforms, count);
}

__attribute__((visibility("default"))) void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    return ours_clGetExtensionFunctionAddress(name);
}

__attribute__((visibility("default"))) cl_int CL_API_CALL clGetPlatformInfo(
    cl_platform_id of, cl_platform_info name, size_t room, void *out, size_t *size)
{
    return ours_clGetPlatformInfo(of, name, room, out, size);
}
