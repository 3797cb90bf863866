/* Memory: host and GPU have the same, so a copy is memmove within the piece that an address is in. */
#include "hip.h"

#include <stdlib.h>
#include <string.h>

struct registered {
    char *host, *gpu;
    size_t bytes;
    struct registered *next;
};

static struct registered *registered;

static struct registered *registered_at(const void *address, int gpu)
{
    struct registered *each = registered;
    while (each && (size_t)((const char *)address - (gpu ? each->gpu : each->host)) >= each->bytes)
        each = each->next;
    return each;
}

void *registered_on_gpu(const void *host)
{
    struct registered *found = registered_at(host, 0);
    return found ? found->gpu + ((const char *)host - found->host) : (void *)host;
}

void *registered_on_host(const void *gpu)
{
    struct registered *found = registered_at(gpu, 1);
    return found ? found->host + ((const char *)gpu - found->gpu) : (void *)gpu;
}

void registered_to_gpu(void)
{
    for (struct registered *each = registered; each; each = each->next)
        memcpy(each->gpu, each->host, each->bytes);
}

void registered_to_host(void)
{
    for (struct registered *each = registered; each; each = each->next)
        if (memcmp(each->host, each->gpu, each->bytes)) /* it may be read-only */
            memcpy(each->host, each->gpu, each->bytes);
}

static hipError_t allocate(void **memory, size_t bytes, enum memory kind)
{
    if (!memory)
        return done(hipErrorInvalidValue);
    *memory = NULL;
    if (bytes && !(*memory = device_alloc(bytes, kind)))
        return done(hipErrorOutOfMemory);
    return done(hipSuccess);
}

API hipError_t hipMalloc(void **memory, size_t bytes) { return allocate(memory, bytes, DEVICE_MEMORY); }
API hipError_t hipMallocHost(void **memory, size_t bytes) { return allocate(memory, bytes, HOST_MEMORY); }
ALSO(hipMallocHost, hipMemAllocHost)

API hipError_t hipExtMallocWithFlags(void **memory, size_t bytes, unsigned int flags)
{
    (void)flags;
    return allocate(memory, bytes, DEVICE_MEMORY);
}

API hipError_t hipHostMalloc(void **memory, size_t bytes, unsigned int flags)
{
    (void)flags;
    return allocate(memory, bytes, HOST_MEMORY);
}
ALSO(hipHostMalloc, hipHostAlloc)

API hipError_t hipMallocManaged(void **memory, size_t bytes, unsigned int flags)
{
    (void)flags;
    return allocate(memory, bytes, MANAGED_MEMORY);
}

API hipError_t hipMallocAsync(void **memory, size_t bytes, hipStream_t stream)
{
    (void)stream;
    return allocate(memory, bytes, DEVICE_MEMORY);
}

API hipError_t hipMallocPitch(void **memory, size_t *pitch, size_t width, size_t height)
{
    *pitch = (width + 127) & ~(size_t)127;
    return allocate(memory, *pitch * height, DEVICE_MEMORY);
}

API hipError_t hipFree(void *memory)
{
    return done(!memory || device_free(memory) == OK ? hipSuccess : hipErrorInvalidDevicePointer);
}
ALSO(hipFree, hipHostFree)
ALSO(hipFree, hipFreeHost)

API hipError_t hipFreeAsync(void *memory, hipStream_t stream)
{
    (void)stream;
    return hipFree(memory);
}

API hipError_t hipHostRegister(void *host, size_t bytes, unsigned int flags)
{
    (void)flags;
    if (!host || !bytes)
        return done(hipErrorInvalidValue);
    if (registered_at(host, 0) || registered_at((char *)host + bytes - 1, 0))
        return done(hipErrorHostMemoryAlreadyRegistered);
    struct registered *made = calloc(1, sizeof *made);
    *made = (struct registered){host, device_alloc(bytes, HOST_MEMORY), bytes, registered};
    if (!made->gpu)
        return done(hipErrorOutOfMemory);
    registered = made;
    return done(hipSuccess);
}

API hipError_t hipHostUnregister(void *host)
{
    for (struct registered **at = &registered, *found; (found = *at); at = &found->next)
        if (found->host == host) {
            *at = found->next;
            device_free(found->gpu);
            free(found);
            return done(hipSuccess);
        }
    return done(hipErrorHostMemoryNotRegistered);
}

/* Whether so many bytes from an address are memory of the program: all of a piece of the GPU's, or the host's. */
static int usable(const void *address, size_t bytes)
{
    struct place found;
    if (!address)
        return !bytes;
    if (!device_find(address, &found))
        return 1;
    return (uint64_t)address - found.address + bytes <= found.bytes;
}

API hipError_t hipMemcpy(void *out, const void *in, size_t bytes, hipMemcpyKind kind)
{
    if ((unsigned int)kind > hipMemcpyDefault)
        return done(hipErrorInvalidMemcpyDirection);
    if (!usable(out, bytes) || !usable(in, bytes))
        return done(hipErrorInvalidValue);
    memmove(registered_on_host(out), registered_on_host(in), bytes);
    return done(hipSuccess);
}
ALSO(hipMemcpy, hipMemcpy_spt)

API hipError_t hipMemcpyAsync(void *out, const void *in, size_t bytes, hipMemcpyKind kind, hipStream_t stream)
{
    (void)stream;
    return hipMemcpy(out, in, bytes, kind);
}
ALSO(hipMemcpyAsync, hipMemcpyAsync_spt)
ALSO(hipMemcpyAsync, hipMemcpyWithStream)

#define COPY(name, kind) \
    API hipError_t name(void *out, void *in, size_t bytes) { return hipMemcpy(out, in, bytes, kind); } \
    API hipError_t name##Async(void *out, void *in, size_t bytes, hipStream_t stream) \
    { \
        (void)stream; \
        return hipMemcpy(out, in, bytes, kind); \
    }
COPY(hipMemcpyHtoD, hipMemcpyHostToDevice)
COPY(hipMemcpyDtoH, hipMemcpyDeviceToHost)
COPY(hipMemcpyDtoD, hipMemcpyDeviceToDevice)

API hipError_t hipMemcpy2D(void *out, size_t out_pitch, const void *in, size_t in_pitch, size_t width, size_t height,
                           hipMemcpyKind kind)
{
    if (width > out_pitch || width > in_pitch)
        return done(hipErrorInvalidValue);
    for (size_t row = 0; row < height; row++) {
        hipError_t error = hipMemcpy((char *)out + row * out_pitch, (const char *)in + row * in_pitch, width, kind);
        if (error)
            return error;
    }
    return done(hipSuccess);
}
ALSO(hipMemcpy2D, hipMemcpy2D_spt)

API hipError_t hipMemcpy2DAsync(void *out, size_t out_pitch, const void *in, size_t in_pitch, size_t width,
                                size_t height, hipMemcpyKind kind, hipStream_t stream)
{
    (void)stream;
    return hipMemcpy2D(out, out_pitch, in, in_pitch, width, height, kind);
}

static hipError_t fill(void *out, size_t pitch, const void *value, size_t size, size_t count, size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        char *at = (char *)out + row * pitch;
        if (!usable(at, size * count))
            return done(hipErrorInvalidValue);
        at = registered_on_host(at);
        for (size_t i = 0; i < count; i++)
            memcpy(at + i * size, value, size);
    }
    return done(hipSuccess);
}

API hipError_t hipMemset(void *out, int value, size_t bytes)
{
    if (!usable(out, bytes))
        return done(hipErrorInvalidValue);
    memset(registered_on_host(out), value, bytes);
    return done(hipSuccess);
}
ALSO(hipMemset, hipMemset_spt)

API hipError_t hipMemsetAsync(void *out, int value, size_t bytes, hipStream_t stream)
{
    (void)stream;
    return hipMemset(out, value, bytes);
}
ALSO(hipMemsetAsync, hipMemsetAsync_spt)

API hipError_t hipMemset2D(void *out, size_t pitch, int value, size_t width, size_t height)
{
    unsigned char byte = (unsigned char)value;
    return fill(out, pitch, &byte, 1, width, height);
}

API hipError_t hipMemset2DAsync(void *out, size_t pitch, int value, size_t width, size_t height, hipStream_t stream)
{
    (void)stream;
    return hipMemset2D(out, pitch, value, width, height);
}

#define FILL(name, type) \
    API hipError_t name(hipDeviceptr_t out, type value, size_t count) \
    { \
        return fill(out, 0, &value, sizeof value, count, 1); \
    } \
    API hipError_t name##Async(hipDeviceptr_t out, type value, size_t count, hipStream_t stream) \
    { \
        (void)stream; \
        return fill(out, 0, &value, sizeof value, count, 1); \
    }
FILL(hipMemsetD8, unsigned char)
FILL(hipMemsetD16, unsigned short)
FILL(hipMemsetD32, int)

API hipError_t hipPointerGetAttributes(hipPointerAttribute_t *found, const void *address)
{
    struct place place;
    void *gpu = registered_on_gpu(address);
    if (!device_find(gpu, &place))
        return done(hipErrorInvalidValue);
    *found = (hipPointerAttribute_t){
        .memoryType = place.kind == HOST_MEMORY ? hipMemoryTypeHost : hipMemoryTypeDevice,
        .devicePointer = gpu,
        .hostPointer = place.kind == DEVICE_MEMORY ? NULL : registered_on_host(address),
        .isManaged = place.kind == MANAGED_MEMORY,
    };
    return done(hipSuccess);
}

API hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes, hipDeviceptr_t address)
{
    struct place place;
    if (!device_find(address, &place))
        return done(hipErrorNotFound);
    if (base)
        *base = (void *)place.address;
    if (bytes)
        *bytes = place.bytes;
    return done(hipSuccess);
}

API hipError_t hipMemPtrGetInfo(void *address, size_t *bytes) { return hipMemGetAddressRange(NULL, bytes, address); }

API hipError_t hipHostGetDevicePointer(void **found, void *host, unsigned int flags)
{
    struct place place;
    (void)flags;
    *found = registered_on_gpu(host);
    if (!device_find(*found, &place) || place.kind == DEVICE_MEMORY)
        return done(hipErrorInvalidValue);
    return done(hipSuccess);
}

API hipError_t hipHostGetFlags(unsigned int *flags, void *host)
{
    struct place place;
    if (!device_find(registered_on_gpu(host), &place) || place.kind != HOST_MEMORY)
        return done(hipErrorInvalidValue);
    *flags = hipHostMallocMapped;
    return done(hipSuccess);
}

/* Hints about where memory should be: it is where it should be. */
API hipError_t hipMemAdvise(const void *memory, size_t bytes, int advice, int gpu)
{
    (void)advice, (void)gpu;
    return done(usable(memory, bytes) ? hipSuccess : hipErrorInvalidValue);
}

API hipError_t hipMemPrefetchAsync(const void *memory, size_t bytes, int gpu, hipStream_t stream)
{
    (void)gpu, (void)stream;
    return done(usable(memory, bytes) ? hipSuccess : hipErrorInvalidValue);
}
