/* The host side of a HIP program, declared alone: nothing of it is compiled here, `launches` in the workload's file say
 * what runs. */
#ifndef APUFLOW_HIP_RUNTIME_API_H
#define APUFLOW_HIP_RUNTIME_API_H
#include "hip_runtime.h"

typedef enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorUnknown = 999 } hipError_t;
typedef enum hipMemcpyKind {
    hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault
} hipMemcpyKind;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct hipDeviceProp_t {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int warpSize, maxThreadsPerBlock, multiProcessorCount, clockRate, major, minor, gcnArch;
} hipDeviceProp_t;
typedef hipDeviceProp_t hipDeviceProp;

hipError_t hipGetDevice(int *);
hipError_t hipSetDevice(int);
hipError_t hipGetDeviceCount(int *);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *, int);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char *hipGetErrorString(hipError_t);
const char *hipGetErrorName(hipError_t);
template <typename T> hipError_t hipMalloc(T **, size_t);
template <typename T> hipError_t hipMallocManaged(T **, size_t, unsigned int = 1);
template <typename T> hipError_t hipHostMalloc(T **, size_t, unsigned int = 0);
template <typename T> hipError_t hipHostGetDevicePointer(T **, void *, unsigned int);
hipError_t hipFree(void *);
hipError_t hipHostFree(void *);
hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind, hipStream_t = 0);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t = 0);
template <typename T> hipError_t hipMemcpyToSymbol(const T &, const void *, size_t, size_t = 0, hipMemcpyKind = hipMemcpyHostToDevice);
template <typename T> hipError_t hipMemcpyFromSymbol(void *, const T &, size_t, size_t = 0, hipMemcpyKind = hipMemcpyDeviceToHost);
hipError_t hipStreamCreate(hipStream_t *);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipEventCreate(hipEvent_t *);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t = 0);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventElapsedTime(float *, hipEvent_t, hipEvent_t);
extern "C" hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = 0);
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
#define HIP_SYMBOL(name) name
#define hipLaunchKernelGGL(kernel, blocks, threads, bytes, stream, ...) kernel<<<blocks, threads, bytes, stream>>>(__VA_ARGS__)
#define hipLaunchKernel(kernel, blocks, threads, bytes, stream, ...) kernel<<<blocks, threads, bytes, stream>>>(0, ##__VA_ARGS__)

#endif
