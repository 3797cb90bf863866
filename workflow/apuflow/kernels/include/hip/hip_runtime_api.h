/* The host side of a HIP program: what `apuflow build --hip` compiles, and the library in the runtime's place has. */
#ifndef APUFLOW_HIP_RUNTIME_API_H
#define APUFLOW_HIP_RUNTIME_API_H
#include "hip_runtime.h"
#include "hip_types.h"

#define hipDeviceProp hipDeviceProp_t

extern "C" {
hipError_t hipInit(unsigned int);
hipError_t hipDriverGetVersion(int *);
hipError_t hipRuntimeGetVersion(int *);
hipError_t hipGetDevice(int *);
hipError_t hipSetDevice(int);
hipError_t hipGetDeviceCount(int *);
hipError_t hipGetDeviceProperties(hipDeviceProp_t *, int);
hipError_t hipDeviceGetAttribute(int *, hipDeviceAttribute_t, int);
hipError_t hipDeviceGet(hipDevice_t *, int);
hipError_t hipDeviceGetName(char *, int, hipDevice_t);
hipError_t hipDeviceTotalMem(size_t *, hipDevice_t);
hipError_t hipDeviceCanAccessPeer(int *, int, int);
hipError_t hipDeviceSynchronize();
hipError_t hipDeviceReset();
hipError_t hipDeviceSetCacheConfig(hipFuncCache_t);
hipError_t hipDeviceSetSharedMemConfig(hipSharedMemConfig);
hipError_t hipDeviceGetCacheConfig(hipFuncCache_t *);
hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig *);
hipError_t hipDeviceGetStreamPriorityRange(int *, int *);
hipError_t hipDeviceComputeCapability(int *, int *, hipDevice_t);
hipError_t hipCtxSynchronize();
hipError_t hipProfilerStart();
hipError_t hipProfilerStop();
hipError_t hipSetDeviceFlags(unsigned int);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char *hipGetErrorString(hipError_t);
const char *hipGetErrorName(hipError_t);
hipError_t hipMalloc(void **, size_t);
hipError_t hipMallocManaged(void **, size_t, unsigned int);
hipError_t hipHostMalloc(void **, size_t, unsigned int);
hipError_t hipHostAlloc(void **, size_t, unsigned int);
hipError_t hipExtMallocWithFlags(void **, size_t, unsigned int);
hipError_t hipHostRegister(void *, size_t, unsigned int);
hipError_t hipHostUnregister(void *);
hipError_t hipHostGetFlags(unsigned int *, void *);
hipError_t hipMallocHost(void **, size_t);
hipError_t hipMallocPitch(void **, size_t *, size_t, size_t);
hipError_t hipMallocAsync(void **, size_t, hipStream_t);
hipError_t hipFree(void *);
hipError_t hipFreeAsync(void *, hipStream_t);
hipError_t hipHostFree(void *);
hipError_t hipFreeHost(void *);
hipError_t hipHostGetDevicePointer(void **, void *, unsigned int);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *, const void *);
hipError_t hipMemGetInfo(size_t *, size_t *);
hipError_t hipMemGetAddressRange(hipDeviceptr_t *, size_t *, hipDeviceptr_t);
hipError_t hipMemPtrGetInfo(void *, size_t *);
hipError_t hipMemAdvise(const void *, size_t, int, int);
hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind, hipStream_t = 0);
hipError_t hipMemcpyHtoD(hipDeviceptr_t, void *, size_t);
hipError_t hipMemcpyDtoH(void *, hipDeviceptr_t, size_t);
hipError_t hipMemcpyDtoD(hipDeviceptr_t, hipDeviceptr_t, size_t);
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t, void *, size_t, hipStream_t);
hipError_t hipMemcpyDtoHAsync(void *, hipDeviceptr_t, size_t, hipStream_t);
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t, hipDeviceptr_t, size_t, hipStream_t);
hipError_t hipMemcpyWithStream(void *, const void *, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, hipMemcpyKind, hipStream_t = 0);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t = 0);
hipError_t hipMemset2D(void *, size_t, int, size_t, size_t);
hipError_t hipMemset2DAsync(void *, size_t, int, size_t, size_t, hipStream_t = 0);
hipError_t hipMemsetD8(hipDeviceptr_t, unsigned char, size_t);
hipError_t hipMemsetD16(hipDeviceptr_t, unsigned short, size_t);
hipError_t hipMemsetD32(hipDeviceptr_t, int, size_t);
hipError_t hipMemPrefetchAsync(const void *, size_t, int, hipStream_t = 0);
hipError_t hipGetSymbolAddress(void **, const void *);
hipError_t hipGetSymbolSize(size_t *, const void *);
hipError_t hipMemcpyToSymbol(const void *, const void *, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpyFromSymbol(void *, const void *, size_t, size_t, hipMemcpyKind);
hipError_t hipMemcpyToSymbolAsync(const void *, const void *, size_t, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipMemcpyFromSymbolAsync(void *, const void *, size_t, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipStreamCreate(hipStream_t *);
hipError_t hipStreamCreateWithFlags(hipStream_t *, unsigned int);
hipError_t hipStreamCreateWithPriority(hipStream_t *, unsigned int, int);
hipError_t hipStreamDestroy(hipStream_t);
hipError_t hipStreamSynchronize(hipStream_t);
hipError_t hipStreamQuery(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned int = 0);
hipError_t hipStreamAddCallback(hipStream_t, hipStreamCallback_t, void *, unsigned int);
hipError_t hipStreamGetFlags(hipStream_t, unsigned int *);
hipError_t hipStreamGetPriority(hipStream_t, int *);
hipError_t hipLaunchHostFunc(hipStream_t, hipHostFn_t, void *);
hipError_t hipEventCreate(hipEvent_t *);
hipError_t hipEventCreateWithFlags(hipEvent_t *, unsigned int);
hipError_t hipEventDestroy(hipEvent_t);
hipError_t hipEventRecord(hipEvent_t, hipStream_t = 0);
hipError_t hipEventSynchronize(hipEvent_t);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipEventElapsedTime(float *, hipEvent_t, hipEvent_t);
hipError_t hipModuleLoad(hipModule_t *, const char *);
hipError_t hipModuleLoadData(hipModule_t *, const void *);
hipError_t hipModuleLoadDataEx(hipModule_t *, const void *, unsigned int, void *, void **);
hipError_t hipModuleUnload(hipModule_t);
hipError_t hipModuleGetFunction(hipFunction_t *, hipModule_t, const char *);
hipError_t hipModuleGetGlobal(hipDeviceptr_t *, size_t *, hipModule_t, const char *);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
                                 unsigned int, unsigned int, hipStream_t, void **, void **);
hipError_t hipFuncGetAttributes(hipFuncAttributes *, const void *);
hipError_t hipFuncSetCacheConfig(const void *, hipFuncCache_t);
hipError_t hipFuncSetSharedMemConfig(const void *, hipSharedMemConfig);
hipError_t hipFuncSetAttribute(const void *, int, int);
hipError_t hipExtLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t, hipEvent_t, hipEvent_t, int);
hipError_t hipLaunchCooperativeKernel(const void *, dim3, dim3, void **, unsigned int, hipStream_t);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, const void *, int, size_t, unsigned int);
hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *, hipFunction_t, int, size_t);
hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *, int *, hipFunction_t, size_t, int);
hipError_t hipOccupancyMaxPotentialBlockSize(int *, int *, const void *, size_t, int);
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = 0);
hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *);
hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
}

template <typename T> inline hipError_t hipMalloc(T **at, size_t bytes) { return hipMalloc((void **)at, bytes); }
template <typename T> inline hipError_t hipMallocManaged(T **at, size_t bytes, unsigned int flags = hipMemAttachGlobal)
{
    return hipMallocManaged((void **)at, bytes, flags);
}
template <typename T> inline hipError_t hipHostMalloc(T **at, size_t bytes, unsigned int flags = 0)
{
    return hipHostMalloc((void **)at, bytes, flags);
}
template <typename T> inline hipError_t hipMallocHost(T **at, size_t bytes) { return hipMallocHost((void **)at, bytes); }
template <typename T> inline hipError_t hipHostAlloc(T **at, size_t bytes, unsigned int flags)
{
    return hipHostAlloc((void **)at, bytes, flags);
}
template <typename T> inline hipError_t hipMallocAsync(T **at, size_t bytes, hipStream_t stream)
{
    return hipMallocAsync((void **)at, bytes, stream);
}
template <typename T> inline hipError_t hipFuncGetAttributes(hipFuncAttributes *found, T *kernel)
{
    return hipFuncGetAttributes(found, (const void *)kernel);
}
template <typename T> inline hipError_t hipLaunchCooperativeKernel(T *kernel, dim3 blocks, dim3 threads, void **args, unsigned int bytes, hipStream_t stream)
{
    return hipLaunchCooperativeKernel((const void *)kernel, blocks, threads, args, bytes, stream);
}
template <typename T> inline hipError_t hipMallocPitch(T **at, size_t *pitch, size_t width, size_t height)
{
    return hipMallocPitch((void **)at, pitch, width, height);
}
template <typename T> inline hipError_t hipHostGetDevicePointer(T **at, void *host, unsigned int flags)
{
    return hipHostGetDevicePointer((void **)at, host, flags);
}
template <typename T> inline hipError_t hipGetSymbolAddress(void **at, const T &symbol)
{
    return hipGetSymbolAddress(at, (const void *)&symbol);
}
template <typename T> inline hipError_t hipGetSymbolSize(size_t *bytes, const T &symbol)
{
    return hipGetSymbolSize(bytes, (const void *)&symbol);
}
template <typename T> inline hipError_t hipMemcpyToSymbol(const T &symbol, const void *in, size_t bytes, size_t offset = 0, hipMemcpyKind kind = hipMemcpyHostToDevice)
{
    return hipMemcpyToSymbol((const void *)&symbol, in, bytes, offset, kind);
}
template <typename T> inline hipError_t hipMemcpyFromSymbol(void *out, const T &symbol, size_t bytes, size_t offset = 0, hipMemcpyKind kind = hipMemcpyDeviceToHost)
{
    return hipMemcpyFromSymbol(out, (const void *)&symbol, bytes, offset, kind);
}
template <typename T> inline hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T kernel, int items, size_t lds)
{
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)kernel, items, lds);
}
template <typename T> inline hipError_t hipOccupancyMaxPotentialBlockSize(int *blocks, int *items, T kernel, size_t lds = 0, int most = 0)
{
    return hipOccupancyMaxPotentialBlockSize(blocks, items, (const void *)kernel, lds, most);
}
#define HIP_SYMBOL(name) name
#define hipLaunchKernelGGL(kernel, blocks, threads, bytes, stream, ...) kernel<<<blocks, threads, bytes, stream>>>(__VA_ARGS__)
#define hipLaunchKernel(kernel, blocks, threads, bytes, stream, ...) kernel<<<blocks, threads, bytes, stream>>>(0, ##__VA_ARGS__)

#endif
