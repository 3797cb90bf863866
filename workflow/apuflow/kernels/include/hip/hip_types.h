/* Types of HIP's C interface as of ROCm 5, in C: programs and the library in the runtime's place agree on them. */
#ifndef APUFLOW_HIP_TYPES_H
#define APUFLOW_HIP_TYPES_H

/* name, number, text */
#define APUFLOW_HIP_ERRORS(X) \
    X(hipSuccess, 0, "no error") \
    X(hipErrorInvalidValue, 1, "invalid argument") \
    X(hipErrorOutOfMemory, 2, "out of memory") \
    X(hipErrorNotInitialized, 3, "not initialized") \
    X(hipErrorInvalidConfiguration, 9, "invalid configuration of a launch") \
    X(hipErrorInvalidSymbol, 13, "invalid device symbol") \
    X(hipErrorInvalidDevicePointer, 17, "invalid device pointer") \
    X(hipErrorInvalidMemcpyDirection, 21, "invalid direction of a copy") \
    X(hipErrorMissingConfiguration, 52, "missing configuration of a launch") \
    X(hipErrorInvalidDeviceFunction, 98, "invalid device function") \
    X(hipErrorNoDevice, 100, "no device") \
    X(hipErrorInvalidDevice, 101, "invalid device") \
    X(hipErrorInvalidImage, 200, "invalid code object") \
    X(hipErrorInvalidContext, 201, "invalid context") \
    X(hipErrorNoBinaryForGpu, 209, "no code for this GPU") \
    X(hipErrorPeerAccessUnsupported, 217, "no peer to access") \
    X(hipErrorFileNotFound, 301, "file not found") \
    X(hipErrorInvalidHandle, 400, "invalid handle") \
    X(hipErrorNotFound, 500, "not found") \
    X(hipErrorNotReady, 600, "not ready") \
    X(hipErrorIllegalAddress, 700, "illegal address") \
    X(hipErrorHostMemoryAlreadyRegistered, 712, "the host's memory is registered already") \
    X(hipErrorHostMemoryNotRegistered, 713, "the host's memory is not registered") \
    X(hipErrorLaunchFailure, 719, "launch failure") \
    X(hipErrorCooperativeLaunchTooLarge, 720, "too many blocks for a cooperative launch") \
    X(hipErrorNotSupported, 801, "not supported") \
    X(hipErrorUnknown, 999, "unknown error")
#define APUFLOW_NUMBER(name, number, text) name = number,
typedef enum hipError_t { APUFLOW_HIP_ERRORS(APUFLOW_NUMBER) } hipError_t;
#undef APUFLOW_NUMBER
#define hipErrorMemoryAllocation hipErrorOutOfMemory
#define hipErrorInitializationError hipErrorNotInitialized
#define hipErrorInvalidResourceHandle hipErrorInvalidHandle

typedef enum hipMemcpyKind {
    hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault
} hipMemcpyKind;
typedef enum hipMemoryType {
    hipMemoryTypeHost, hipMemoryTypeDevice, hipMemoryTypeArray, hipMemoryTypeUnified, hipMemoryTypeManaged
} hipMemoryType;
typedef enum hipFuncCache_t {
    hipFuncCachePreferNone, hipFuncCachePreferShared, hipFuncCachePreferL1, hipFuncCachePreferEqual
} hipFuncCache_t;
typedef enum hipSharedMemConfig {
    hipSharedMemBankSizeDefault, hipSharedMemBankSizeFourByte, hipSharedMemBankSizeEightByte
} hipSharedMemConfig;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipCtx_t *hipCtx_t;
typedef void *hipDeviceptr_t;
typedef int hipDevice_t;
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void *given);
typedef void (*hipHostFn_t)(void *given);

typedef struct hipDeviceArch_t {
    unsigned hasGlobalInt32Atomics : 1, hasGlobalFloatAtomicExch : 1, hasSharedInt32Atomics : 1,
        hasSharedFloatAtomicExch : 1, hasFloatAtomicAdd : 1, hasGlobalInt64Atomics : 1, hasSharedInt64Atomics : 1,
        hasDoubles : 1, hasWarpVote : 1, hasWarpBallot : 1, hasWarpShuffle : 1, hasFunnelShift : 1,
        hasThreadFenceSystem : 1, hasSyncThreadsExt : 1, hasSurfaceFuncs : 1, has3dGrid : 1, hasDynamicParallelism : 1;
} hipDeviceArch_t;
typedef struct hipDeviceProp_t {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, memoryClockRate,
        memoryBusWidth;
    size_t totalConstMem;
    int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode, clockInstructionRate;
    hipDeviceArch_t arch;
    int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
    size_t maxSharedMemoryPerMultiProcessor;
    int isMultiGpuBoard, canMapHostMemory, gcnArch;
    char gcnArchName[256];
    int integrated, cooperativeLaunch, cooperativeMultiDeviceLaunch, maxTexture1DLinear, maxTexture1D, maxTexture2D[2],
        maxTexture3D[3];
    unsigned int *hdpMemFlushCntl, *hdpRegFlushCntl;
    size_t memPitch, textureAlignment, texturePitchAlignment;
    int kernelExecTimeoutEnabled, ECCEnabled, tccDriver, cooperativeMultiDeviceUnmatchedFunc,
        cooperativeMultiDeviceUnmatchedGridDim, cooperativeMultiDeviceUnmatchedBlockDim,
        cooperativeMultiDeviceUnmatchedSharedMem, isLargeBar, asicRevision, managedMemory,
        directManagedMemAccessFromHost, concurrentManagedAccess, pageableMemoryAccess,
        pageableMemoryAccessUsesHostPageTables;
} hipDeviceProp_t;
typedef struct hipPointerAttribute_t {
    enum hipMemoryType memoryType;
    int device;
    void *devicePointer, *hostPointer;
    int isManaged;
    unsigned int allocationFlags;
} hipPointerAttribute_t;
typedef struct hipFuncAttributes {
    int binaryVersion, cacheModeCA;
    size_t constSizeBytes, localSizeBytes;
    int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
    size_t sharedSizeBytes;
} hipFuncAttributes;
typedef enum hipDeviceAttribute_t {
    hipDeviceAttributeCanMapHostMemory = 3,
    hipDeviceAttributeClockRate = 5,
    hipDeviceAttributeConcurrentKernels = 8,
    hipDeviceAttributeConcurrentManagedAccess = 9,
    hipDeviceAttributeCooperativeLaunch = 10,
    hipDeviceAttributeIntegrated = 16,
    hipDeviceAttributeComputeCapabilityMajor = 23,
    hipDeviceAttributeManagedMemory = 24,
    hipDeviceAttributeMaxBlockDimX = 26,
    hipDeviceAttributeMaxBlockDimY = 27,
    hipDeviceAttributeMaxBlockDimZ = 28,
    hipDeviceAttributeMaxGridDimX = 29,
    hipDeviceAttributeMaxGridDimY = 30,
    hipDeviceAttributeMaxGridDimZ = 31,
    hipDeviceAttributeMaxThreadsPerBlock = 56,
    hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
    hipDeviceAttributeComputeCapabilityMinor = 61,
    hipDeviceAttributeMultiprocessorCount = 63,
    hipDeviceAttributeMaxRegistersPerBlock = 71,
    hipDeviceAttributeMaxSharedMemoryPerBlock = 74,
    hipDeviceAttributeWarpSize = 87,
    hipDeviceAttributeMaxSharedMemoryPerMultiprocessor = 10002
} hipDeviceAttribute_t;

enum { hipHostMallocDefault, hipHostMallocPortable, hipHostMallocMapped, hipHostMallocWriteCombined = 4 };
enum { hipHostMallocNumaUser = 0x20000000, hipHostMallocCoherent = 0x40000000, hipHostMallocNonCoherent = 0x80000000 };
enum { hipHostRegisterDefault, hipHostRegisterPortable, hipHostRegisterMapped, hipHostRegisterIoMemory = 4 };
enum { hipDeviceScheduleAuto, hipDeviceScheduleSpin, hipDeviceScheduleYield, hipDeviceScheduleBlockingSync = 4,
       hipDeviceMapHost = 8 };
enum { hipMemAdviseSetReadMostly = 1, hipMemAdviseUnsetReadMostly, hipMemAdviseSetPreferredLocation,
       hipMemAdviseUnsetPreferredLocation, hipMemAdviseSetAccessedBy, hipMemAdviseUnsetAccessedBy };
enum { hipCpuDeviceId = -1, hipInvalidDeviceId = -2 };
enum { hipFuncAttributeMaxDynamicSharedMemorySize = 8, hipFuncAttributePreferredSharedMemoryCarveout };
enum { hipMemAttachGlobal = 1, hipMemAttachHost, hipMemAttachSingle = 4 };
enum { hipStreamDefault, hipStreamNonBlocking };
enum { hipEventDefault, hipEventBlockingSync, hipEventDisableTiming };
enum { hipOccupancyDefault };

#endif
