/* What clang writes into a program: its code and its variables; launches; modules. */
#include "hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRAPPER_MAGIC = 0x48495046, MOST_NESTED = 16 };

struct ihipModule_t {
    const void *data;
    void *file;
    uint32_t number;
    int loaded;
};

/* A kernel or a variable of a module. */
struct ihipModuleSymbol_t {
    const void *host;
    char *name;
    struct ihipModule_t *module;
    int found, managed;
    struct kernel kernel;
    struct place place;
    struct ihipModuleSymbol_t *next;
};

static struct ihipModuleSymbol_t *functions, *variables;

static struct ihipModuleSymbol_t *named(struct ihipModuleSymbol_t *next, const void *host, const char *name,
                                        struct ihipModule_t *module)
{
    struct ihipModuleSymbol_t *made = calloc(1, sizeof *made);
    *made = (struct ihipModuleSymbol_t){.host = host, .name = strdup(name), .module = module, .next = next};
    return made;
}

API void **__hipRegisterFatBinary(const void *data)
{
    const struct {
        uint32_t magic, version;
        const void *binary;
    } *wrapper = data;
    struct ihipModule_t *module = calloc(1, sizeof *module);
    module->data = wrapper->magic == WRAPPER_MAGIC ? wrapper->binary : NULL;
    return (void **)module;
}

API void __hipUnregisterFatBinary(void **module)
{
    (void)module; /* the process ends */
}

API void __hipRegisterFunction(void **module, const void *host, char *shown, const char *name, unsigned int limit,
                               void *thread, void *block, void *blocks, void *grid, int *size)
{
    (void)shown, (void)limit, (void)thread, (void)block, (void)blocks, (void)grid, (void)size;
    functions = named(functions, host, name, (struct ihipModule_t *)module);
}

API void __hipRegisterVar(void **module, void *host, char *shown, char *name, int external, size_t size, int constant,
                          int global)
{
    (void)shown, (void)external, (void)size, (void)constant, (void)global;
    variables = named(variables, host, name, (struct ihipModule_t *)module);
}

/* A variable that host and GPU share: `*host` is where the program finds it, the code's variable of this name points
 * to it. */
API void __hipRegisterManagedVar(void *module, void **host, void *value, const char *name, size_t size, unsigned int align)
{
    (void)align;
    *host = device_alloc(size, MANAGED_MEMORY);
    if (!*host)
        refuse("__managed__ variables", "there is no memory left for them");
    memcpy(*host, value, size);
    variables = named(variables, *host, name, module);
    variables->found = 1;
    variables->place = (struct place){(uint64_t)*host, size, MANAGED_MEMORY, 0};
    variables->managed = 1;
}

static hipError_t place_managed(const struct ihipModule_t *module)
{
    struct place pointer;
    for (const struct ihipModuleSymbol_t *each = variables; each; each = each->next)
        if (each->managed && each->module == module) {
            if (device_variable(module->number, each->name, &pointer) != OK)
                return hipErrorInvalidSymbol;
            *(const void **)pointer.address = each->host;
        }
    return hipSuccess;
}

static hipError_t load(struct ihipModule_t *module)
{
    size_t bytes = module->data ? code_bytes(module->data) : 0;
    if (!module->loaded && !bytes)
        return hipErrorInvalidImage;
    if (!module->loaded) {
        enum status status = device_load(module->data, bytes, &module->number);
        if (status != OK)
            return of_status(status);
        module->loaded = 1;
        return place_managed(module);
    }
    return hipSuccess;
}

static struct ihipModuleSymbol_t *registered(struct ihipModuleSymbol_t *list, const void *host)
{
    while (list && list->host != host && (const void *)list != host)
        list = list->next;
    return list;
}

hipError_t kernel_of(const void *function, const struct kernel **found)
{
    struct ihipModuleSymbol_t *symbol = registered(functions, function);
    if (!symbol)
        return hipErrorInvalidDeviceFunction;
    if (!symbol->found) {
        hipError_t error = load(symbol->module);
        if (error)
            return error;
        if (device_kernel(symbol->module->number, symbol->name, &symbol->kernel) != OK)
            return hipErrorInvalidDeviceFunction;
        symbol->found = 1;
    }
    *found = &symbol->kernel;
    return hipSuccess;
}

static hipError_t variable_of(const void *host, const struct place **found)
{
    struct ihipModuleSymbol_t *symbol = registered(variables, host);
    for (symbol = symbol ? symbol : variables; symbol && symbol->host != host && strcmp(symbol->name, host);)
        symbol = symbol->next; /* older programs name it */
    if (!symbol)
        return hipErrorInvalidSymbol;
    if (!symbol->found) {
        hipError_t error = load(symbol->module);
        if (error)
            return error;
        if (device_variable(symbol->module->number, symbol->name, &symbol->place) != OK)
            return hipErrorInvalidSymbol;
        symbol->found = 1;
    }
    *found = &symbol->place;
    return hipSuccess;
}

/* `grid` in work-items; arguments by `args`, or `extra` with one block of all. */
static hipError_t launch(const void *function, dim3 grid, dim3 block, void **args, void **extra, size_t lds)
{
    const struct kernel *kernel = NULL;
    hipError_t error = kernel_of(function, &kernel);
    if (error)
        return done(error);
    struct launch wanted = {
        kernel->number, (uint32_t)lds, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, {0, 0, 0},
    };
    size_t bytes = kernel->block_bytes;
    unsigned char *given = calloc(1, bytes + 1);
    for (; extra && *extra; extra += 2) { /* 1: the block; 2: its size */
        if (extra[0] == (void *)1)
            memcpy(given, extra[1], extra[2] == (void *)2 && *(size_t *)extra[3] < bytes ? *(size_t *)extra[3] : bytes);
    }
    for (uint32_t i = 0; args && i < kernel->parameters; i++)
        memcpy(given + kernel->parameter[i].offset, args[i], kernel->parameter[i].bytes);
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        void *word;
        memcpy(&word, given + at, sizeof word);
        word = registered_on_gpu(word);
        memcpy(given + at, &word, sizeof word);
    }
    registered_to_gpu();
    enum status status = device_launch(&wanted, given, bytes);
    registered_to_host();
    free(given);
    return done(of_status(status));
}

static hipError_t launch_blocks(const void *function, dim3 blocks, dim3 block, void **args, void **extra, size_t lds)
{
    return launch(function, (dim3){blocks.x * block.x, blocks.y * block.y, blocks.z * block.z}, block, args, extra, lds);
}

static _Thread_local struct {
    dim3 blocks, block;
    size_t lds;
    hipStream_t stream;
} pushed[MOST_NESTED];
static _Thread_local int pushes;

API hipError_t __hipPushCallConfiguration(dim3 blocks, dim3 block, size_t lds, hipStream_t stream)
{
    if (pushes == MOST_NESTED)
        return done(hipErrorMissingConfiguration);
    pushed[pushes].blocks = blocks, pushed[pushes].block = block;
    pushed[pushes].lds = lds, pushed[pushes++].stream = stream;
    return hipSuccess;
}

API hipError_t __hipPopCallConfiguration(dim3 *blocks, dim3 *block, size_t *lds, hipStream_t *stream)
{
    if (!pushes)
        return done(hipErrorMissingConfiguration);
    *blocks = pushed[--pushes].blocks, *block = pushed[pushes].block;
    *lds = pushed[pushes].lds, *stream = pushed[pushes].stream;
    return hipSuccess;
}

API hipError_t hipLaunchKernel(const void *function, dim3 blocks, dim3 block, void **args, size_t lds,
                               hipStream_t stream)
{
    (void)stream;
    return launch_blocks(function, blocks, block, args, NULL, lds);
}
ALSO(hipLaunchKernel, hipLaunchKernel_spt)

API hipError_t hipExtLaunchKernel(const void *function, dim3 blocks, dim3 block, void **args, size_t lds,
                                  hipStream_t stream, hipEvent_t start, hipEvent_t stop, int flags)
{
    extern hipError_t hipEventRecord(hipEvent_t, hipStream_t);
    (void)flags;
    if (start)
        hipEventRecord(start, stream);
    hipError_t error = launch_blocks(function, blocks, block, args, NULL, lds);
    if (stop)
        hipEventRecord(stop, stream);
    return error;
}

API hipError_t hipLaunchCooperativeKernel(const void *function, dim3 blocks, dim3 block, void **args, unsigned int lds,
                                          hipStream_t stream)
{
    (void)stream;
    const struct kernel *kernel = NULL;
    hipError_t error = kernel_of(function, &kernel);
    if (error)
        return done(error);
    uint64_t most = (uint64_t)resident(kernel, block.x * block.y * block.z, lds) * device()->units;
    if ((uint64_t)blocks.x * blocks.y * blocks.z > most)
        return done(hipErrorCooperativeLaunchTooLarge);
    return launch_blocks(function, blocks, block, args, NULL, lds);
}
ALSO(hipLaunchCooperativeKernel, hipLaunchCooperativeKernel_spt)

API hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int x, unsigned int y, unsigned int z,
                                     unsigned int of_x, unsigned int of_y, unsigned int of_z, unsigned int lds,
                                     hipStream_t stream, void **args, void **extra)
{
    (void)stream;
    return launch_blocks(function, (dim3){x, y, z}, (dim3){of_x, of_y, of_z}, args, extra, lds);
}

/* A function of C++: this is its name in a library. Its sizes are work-items. */
API hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t of_x,
                                        uint32_t of_y, uint32_t of_z, size_t lds, hipStream_t stream, void **args,
                                        void **extra, hipEvent_t start, hipEvent_t stop, uint32_t flags)
    __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP13ihipStream_tPPvS4_P11ihipEvent_tS6_j");
API hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t x, uint32_t y, uint32_t z, uint32_t of_x,
                                        uint32_t of_y, uint32_t of_z, size_t lds, hipStream_t stream, void **args,
                                        void **extra, hipEvent_t start, hipEvent_t stop, uint32_t flags)
{
    (void)stream, (void)start, (void)stop, (void)flags;
    return launch(function, (dim3){x, y, z}, (dim3){of_x, of_y, of_z}, args, extra, lds);
}

API hipError_t hipModuleLoadData(hipModule_t *module, const void *data)
{
    *module = calloc(1, sizeof **module);
    (*module)->data = data;
    return done(load(*module));
}

API hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *data, unsigned int count, void *options,
                                   void **values)
{
    (void)count, (void)options, (void)values;
    return hipModuleLoadData(module, data);
}

API hipError_t hipModuleLoad(hipModule_t *module, const char *name)
{
    FILE *file = fopen(name, "rb");
    long bytes = file && !fseek(file, 0, SEEK_END) ? ftell(file) : -1;
    char *data = bytes > 0 ? calloc(1, (size_t)bytes + 64) : NULL;
    size_t got = 0;
    if (data) {
        rewind(file);
        got = fread(data, 1, (size_t)bytes, file);
    }
    if (file)
        fclose(file);
    if (!data || got != (size_t)bytes)
        return done(hipErrorFileNotFound);
    hipError_t error = hipModuleLoadData(module, data);
    (*module)->file = data;
    return error;
}

API hipError_t hipModuleUnload(hipModule_t module)
{
    free(module->file); /* kernels of it may be launched still: the device keeps its code */
    module->file = NULL;
    return hipSuccess;
}

API hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
    const struct kernel *kernel;
    struct ihipModuleSymbol_t *made = named(functions, NULL, name, module);
    functions = made;
    hipError_t error = kernel_of(made, &kernel);
    *function = error ? NULL : made;
    return done(error ? hipErrorNotFound : hipSuccess);
}

API hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *bytes, hipModule_t module, const char *name)
{
    struct place found;
    if (device_variable(module->number, name, &found) != OK)
        return done(hipErrorNotFound);
    if (address)
        *address = (void *)found.address;
    if (bytes)
        *bytes = found.bytes;
    return done(hipSuccess);
}

API hipError_t hipGetSymbolAddress(void **address, const void *symbol)
{
    const struct place *found;
    hipError_t error = variable_of(symbol, &found);
    if (!error)
        *address = (void *)found->address;
    return done(error);
}

API hipError_t hipGetSymbolSize(size_t *bytes, const void *symbol)
{
    const struct place *found;
    hipError_t error = variable_of(symbol, &found);
    if (!error)
        *bytes = found->bytes;
    return done(error);
}

static hipError_t symbol_copy(const void *symbol, void *out, const void *in, size_t bytes, size_t offset)
{
    const struct place *found;
    hipError_t error = variable_of(symbol, &found);
    if (!error && (offset > found->bytes || bytes > found->bytes - offset))
        error = hipErrorInvalidValue;
    if (!error) {
        char *at = (char *)found->address + offset;
        memmove(out ? out : at, in ? in : at, bytes);
    }
    return done(error);
}

API hipError_t hipMemcpyToSymbol(const void *symbol, const void *in, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    (void)kind;
    return symbol_copy(symbol, NULL, in, bytes, offset);
}
ALSO(hipMemcpyToSymbol, hipMemcpyToSymbol_spt)

API hipError_t hipMemcpyFromSymbol(void *out, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind)
{
    (void)kind;
    return symbol_copy(symbol, out, NULL, bytes, offset);
}
ALSO(hipMemcpyFromSymbol, hipMemcpyFromSymbol_spt)

API hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *in, size_t bytes, size_t offset,
                                      hipMemcpyKind kind, hipStream_t stream)
{
    (void)stream;
    return hipMemcpyToSymbol(symbol, in, bytes, offset, kind);
}

API hipError_t hipMemcpyFromSymbolAsync(void *out, const void *symbol, size_t bytes, size_t offset, hipMemcpyKind kind,
                                        hipStream_t stream)
{
    (void)stream;
    return hipMemcpyFromSymbol(out, symbol, bytes, offset, kind);
}

API hipError_t hipFuncGetAttributes(hipFuncAttributes *found, const void *function)
{
    const struct kernel *kernel;
    hipError_t error = kernel_of(function, &kernel);
    if (!error)
        *found = (hipFuncAttributes){
            .localSizeBytes = kernel->private_bytes,
            .sharedSizeBytes = kernel->lds,
            .maxDynamicSharedSizeBytes = (int)(device()->lds - kernel->lds),
            .maxThreadsPerBlock = (int)kernel->largest_workgroup,
            .numRegs = (int)kernel->registers,
        };
    return done(error);
}
