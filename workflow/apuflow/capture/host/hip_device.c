/* The one device, its streams and events, errors, occupancy. */
#include "hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VERSION = 50200000, LARGEST_GRID = 0x7fffffff, SIMDS = 4 };

struct ihipStream_t {
    unsigned int flags;
    int priority;
};

struct ihipEvent_t {
    double ms;
    int recorded;
};

static _Thread_local hipError_t last;

hipError_t done(hipError_t error)
{
    if (error)
        last = error;
    return error;
}

hipError_t of_status(enum status status)
{
    static const hipError_t errors[] = {
        [OK] = hipSuccess, [INVALID] = hipErrorInvalidValue, [OUT_OF_MEMORY] = hipErrorOutOfMemory,
        [NOT_FOUND] = hipErrorNotFound, [NO_BINARY] = hipErrorNoBinaryForGpu,
        [BAD_GEOMETRY] = hipErrorInvalidConfiguration,
    };
    return errors[status];
}

API hipError_t hipGetLastError(void)
{
    hipError_t error = last;
    last = hipSuccess;
    return error;
}
API hipError_t hipPeekAtLastError(void) { return last; }

static const struct {
    hipError_t number;
    const char *name, *text;
} errors[] = {
#define ERROR(name, number, text) {name, #name, text},
    APUFLOW_HIP_ERRORS(ERROR)
};

API const char *hipGetErrorName(hipError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error)
            return errors[i].name;
    return "hipErrorUnknown";
}

API const char *hipGetErrorString(hipError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == error)
            return errors[i].text;
    return "unknown error";
}

/* What has nothing to do here: work is done when it is asked for, and there is one device. */
#define NOTHING(name, ...) API hipError_t name(__VA_ARGS__) { return done(hipSuccess); }
NOTHING(hipInit, unsigned int flags __attribute__((unused)))
NOTHING(hipDeviceSynchronize, void)
NOTHING(hipDeviceReset, void)
NOTHING(hipCtxSynchronize, void)
NOTHING(hipSetDeviceFlags, unsigned int flags __attribute__((unused)))
NOTHING(hipDeviceSetCacheConfig, hipFuncCache_t config __attribute__((unused)))
NOTHING(hipDeviceSetSharedMemConfig, hipSharedMemConfig config __attribute__((unused)))
NOTHING(hipFuncSetCacheConfig, const void *function __attribute__((unused)),
        hipFuncCache_t config __attribute__((unused)))
NOTHING(hipFuncSetSharedMemConfig, const void *function __attribute__((unused)),
        hipSharedMemConfig config __attribute__((unused)))
NOTHING(hipFuncSetAttribute, const void *function __attribute__((unused)), int attribute __attribute__((unused)),
        int value __attribute__((unused)))
NOTHING(hipProfilerStart, void)
NOTHING(hipProfilerStop, void)
NOTHING(hipStreamSynchronize, hipStream_t stream __attribute__((unused)))
NOTHING(hipStreamQuery, hipStream_t stream __attribute__((unused)))
NOTHING(hipStreamWaitEvent, hipStream_t stream __attribute__((unused)), hipEvent_t event __attribute__((unused)),
        unsigned int flags __attribute__((unused)))
ALSO(hipStreamSynchronize, hipStreamSynchronize_spt)
ALSO(hipStreamQuery, hipStreamQuery_spt)
ALSO(hipStreamWaitEvent, hipStreamWaitEvent_spt)

static hipError_t number(int *out, int value)
{
    if (!out)
        return done(hipErrorInvalidValue);
    *out = value;
    return done(hipSuccess);
}

static hipError_t known(int gpu) { return gpu ? hipErrorInvalidDevice : hipSuccess; }

API hipError_t hipGetDeviceCount(int *count) { return number(count, 1); }
API hipError_t hipGetDevice(int *gpu) { return number(gpu, 0); }
API hipError_t hipSetDevice(int gpu) { return done(known(gpu)); }
API hipError_t hipDriverGetVersion(int *version) { return number(version, VERSION); }
API hipError_t hipRuntimeGetVersion(int *version) { return number(version, VERSION); }

API hipError_t hipDeviceGet(hipDevice_t *gpu, int ordinal)
{
    return known(ordinal) ? done(hipErrorInvalidDevice) : number(gpu, 0);
}

API hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    number(least, 0);
    return number(greatest, 0);
}

API hipError_t hipDeviceCanAccessPeer(int *can, int gpu, int peer)
{
    (void)gpu, (void)peer;
    return number(can, 0);
}

API hipError_t hipDeviceGetCacheConfig(hipFuncCache_t *config)
{
    *config = hipFuncCachePreferNone;
    return done(hipSuccess);
}

API hipError_t hipDeviceGetSharedMemConfig(hipSharedMemConfig *config)
{
    *config = hipSharedMemBankSizeFourByte;
    return done(hipSuccess);
}

API hipError_t hipDeviceGetName(char *name, int bytes, hipDevice_t gpu)
{
    snprintf(name, (size_t)bytes, "%s", device()->gfx);
    return done(known(gpu));
}

API hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t gpu)
{
    *bytes = device()->memory;
    return done(known(gpu));
}

API hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t gpu)
{
    number(major, (int)strtol(device()->gfx + 3, NULL, 16) >> 8);
    number(minor, (int)strtol(device()->gfx + 3, NULL, 16) >> 4 & 15);
    return done(known(gpu));
}

API hipError_t hipMemGetInfo(size_t *left, size_t *all)
{
    *left = *all = device()->memory;
    return done(hipSuccess);
}

API hipError_t hipGetDeviceProperties(hipDeviceProp_t *found, int gpu)
{
    const struct properties *of = device();
    if (known(gpu))
        return done(hipErrorInvalidDevice);
    int group = (int)of->largest_workgroup, code = (int)strtol(of->gfx + 3, NULL, 16), clock = (int)of->clock_khz;
    *found = (hipDeviceProp_t){
        .totalGlobalMem = of->memory, .sharedMemPerBlock = of->lds, .regsPerBlock = (int)(of->registers * of->wave * SIMDS),
        .warpSize = (int)of->wave, .maxThreadsPerBlock = group, .maxThreadsDim = {group, group, group},
        .maxGridSize = {LARGEST_GRID, LARGEST_GRID, LARGEST_GRID}, .clockRate = clock,
        .totalConstMem = LARGEST_GRID, .major = code >> 8, .minor = code >> 4 & 15,
        .multiProcessorCount = (int)of->units, .l2CacheSize = 256 << 10, .clockInstructionRate = clock,
        .maxThreadsPerMultiProcessor = (int)(of->wave * SIMDS * (of->registers > 256 ? 8 : 10)),
        .arch = {.hasGlobalInt32Atomics = 1, .hasGlobalFloatAtomicExch = 1, .hasSharedInt32Atomics = 1,
                 .hasSharedFloatAtomicExch = 1, .hasFloatAtomicAdd = 1, .hasGlobalInt64Atomics = 1,
                 .hasSharedInt64Atomics = 1, .hasDoubles = 1, .hasWarpVote = 1, .hasWarpBallot = 1,
                 .hasWarpShuffle = 1, .hasThreadFenceSystem = 1, .has3dGrid = 1},
        .concurrentKernels = 1, .maxSharedMemoryPerMultiProcessor = of->lds, .canMapHostMemory = 1, .integrated = 1,
        .gcnArch = (int)strtol(of->gfx + 3, NULL, 10), .cooperativeLaunch = 1, .memPitch = LARGEST_GRID,
        .managedMemory = 1, .directManagedMemAccessFromHost = 1, .concurrentManagedAccess = 1,
    };
    snprintf(found->name, sizeof found->name, "apuflow %s", of->gfx);
    snprintf(found->gcnArchName, sizeof found->gcnArchName, "%s", of->gfx);
    return done(hipSuccess);
}

API hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int gpu)
{
    hipDeviceProp_t of;
    hipError_t error = hipGetDeviceProperties(&of, gpu);
    if (error)
        return error;
    switch (attribute) {
    case hipDeviceAttributeCanMapHostMemory: return number(value, of.canMapHostMemory);
    case hipDeviceAttributeClockRate: return number(value, of.clockRate);
    case hipDeviceAttributeConcurrentKernels: return number(value, of.concurrentKernels);
    case hipDeviceAttributeConcurrentManagedAccess: return number(value, of.concurrentManagedAccess);
    case hipDeviceAttributeCooperativeLaunch: return number(value, of.cooperativeLaunch);
    case hipDeviceAttributeIntegrated: return number(value, of.integrated);
    case hipDeviceAttributeComputeCapabilityMajor: return number(value, of.major);
    case hipDeviceAttributeComputeCapabilityMinor: return number(value, of.minor);
    case hipDeviceAttributeManagedMemory: return number(value, of.managedMemory);
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ: return number(value, of.maxThreadsPerBlock);
    case hipDeviceAttributeMaxGridDimX:
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ: return number(value, LARGEST_GRID);
    case hipDeviceAttributeMaxThreadsPerMultiProcessor: return number(value, of.maxThreadsPerMultiProcessor);
    case hipDeviceAttributeMultiprocessorCount: return number(value, of.multiProcessorCount);
    case hipDeviceAttributeMaxRegistersPerBlock: return number(value, of.regsPerBlock);
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor: return number(value, (int)of.sharedMemPerBlock);
    case hipDeviceAttributeWarpSize: return number(value, of.warpSize);
    }
    char call[80];
    snprintf(call, sizeof call, "hipDeviceGetAttribute for attribute %d", (int)attribute);
    refuse(call, "leave it out, or ask hipGetDeviceProperties");
}

API hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned int flags, int priority)
{
    *stream = calloc(1, sizeof **stream);
    **stream = (struct ihipStream_t){flags, priority};
    return done(hipSuccess);
}
API hipError_t hipStreamCreate(hipStream_t *stream) { return hipStreamCreateWithPriority(stream, 0, 0); }
API hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags)
{
    return hipStreamCreateWithPriority(stream, flags, 0);
}

API hipError_t hipStreamDestroy(hipStream_t stream)
{
    free(stream);
    return done(stream ? hipSuccess : hipErrorInvalidHandle);
}

API hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int *flags)
{
    *flags = stream ? stream->flags : 0;
    return done(hipSuccess);
}

API hipError_t hipStreamGetPriority(hipStream_t stream, int *priority)
{
    return number(priority, stream ? stream->priority : 0);
}

API hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t called, void *given, unsigned int flags)
{
    (void)flags;
    called(stream, hipSuccess, given);
    return done(hipSuccess);
}

API hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t called, void *given)
{
    (void)stream;
    called(given);
    return done(hipSuccess);
}

API hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned int flags)
{
    (void)flags;
    *event = calloc(1, sizeof **event);
    return done(hipSuccess);
}
API hipError_t hipEventCreate(hipEvent_t *event) { return hipEventCreateWithFlags(event, 0); }

API hipError_t hipEventDestroy(hipEvent_t event)
{
    free(event);
    return done(event ? hipSuccess : hipErrorInvalidHandle);
}

API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    struct timespec at;
    (void)stream;
    if (!event)
        return done(hipErrorInvalidHandle);
    clock_gettime(CLOCK_MONOTONIC, &at);
    *event = (struct ihipEvent_t){(double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6, 1};
    return done(hipSuccess);
}

API hipError_t hipEventQuery(hipEvent_t event) { return done(event ? hipSuccess : hipErrorInvalidHandle); }
ALSO(hipEventQuery, hipEventSynchronize)

/* The host's time: a simulator says later how long kernels take. */
API hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    if (!start || !stop || !start->recorded || !stop->recorded)
        return done(hipErrorInvalidHandle);
    *ms = (float)(stop->ms - start->ms);
    return done(hipSuccess);
}

uint32_t resident(const struct kernel *kernel, uint32_t items, size_t lds)
{
    const struct properties *of = device();
    uint32_t granule = of->registers > 256 ? 8 : 4, slots = of->registers > 256 ? 8 : 10;
    uint32_t registers = (kernel->registers + granule - 1) / granule * granule;
    uint32_t waves = (items + of->wave - 1) / of->wave;
    if (registers && of->registers / registers < slots)
        slots = of->registers / registers;
    if (!waves || items > kernel->largest_workgroup)
        return 0;
    uint32_t groups = slots * SIMDS / waves, memory = kernel->lds + (uint32_t)lds;
    return memory && of->lds / memory < groups ? of->lds / memory : groups;
}

API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int items, size_t lds)
{
    const struct kernel *kernel;
    hipError_t error = kernel_of(function, &kernel);
    return error ? done(error) : number(blocks, (int)resident(kernel, (uint32_t)items, lds));
}
ALSO(hipOccupancyMaxActiveBlocksPerMultiprocessor, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)

API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int items,
                                                                     size_t lds, unsigned int flags)
{
    (void)flags;
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, items, lds);
}
ALSO(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
     hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)

/* The largest workgroup with which a compute unit holds most work-items, and workgroups that fill the GPU. */
API hipError_t hipOccupancyMaxPotentialBlockSize(int *blocks, int *items, const void *function, size_t lds, int most)
{
    const struct kernel *kernel;
    hipError_t error = kernel_of(function, &kernel);
    if (error)
        return done(error);
    uint32_t wave = device()->wave, best = 0, limit = kernel->largest_workgroup;
    if (most > 0 && (uint32_t)most < limit)
        limit = (uint32_t)most;
    *items = *blocks = 0;
    for (uint32_t size = limit / wave * wave; size; size -= wave) {
        uint32_t held = resident(kernel, size, lds);
        if (held * size > best) {
            best = held * size;
            *items = (int)size;
            *blocks = (int)(held * device()->units);
        }
    }
    return done(best ? hipSuccess : hipErrorInvalidValue);
}
ALSO(hipOccupancyMaxPotentialBlockSize, hipModuleOccupancyMaxPotentialBlockSize)
