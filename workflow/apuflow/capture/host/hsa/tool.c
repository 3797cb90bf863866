/* A tool of ROCm's runtime (HSA_TOOLS_LIB): tells apuflow of code objects, memory and launches of a running program.
 * hsa_places.h has the places of functions in the runtime's tables, from the machine's own hsa_api_trace.h. */
#include "device.h"
#include "hsa_places.h"

#include <hsa.h>
#include <hsa_ext_amd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Of hsa_api_trace.h, which is C++. */
typedef void (*packet_writer)(const void *packets, uint64_t count);
typedef void (*packet_handler)(const void *packets, uint64_t count, uint64_t index, void *data, packet_writer writer);
typedef hsa_status_t intercept_register(hsa_queue_t *queue, packet_handler handler, void *data);

/* A table begins with its version; its minor number is its size. */
struct table {
    uint32_t major, size, step, reserved;
};

struct tables {
    struct table version;
    struct table *core, *amd;
};

/* The runtime's own functions. */
#define FUNCTIONS(X) \
    X(core, hsa_queue_create) X(core, hsa_code_object_reader_create_from_memory) \
    X(core, hsa_code_object_reader_create_from_file) X(core, hsa_executable_load_agent_code_object) \
    X(core, hsa_executable_freeze) X(core, hsa_executable_iterate_agent_symbols) \
    X(core, hsa_executable_symbol_get_info) X(core, hsa_memory_allocate) X(core, hsa_memory_free) \
    X(core, hsa_memory_copy) X(core, hsa_signal_create) X(core, hsa_signal_destroy) \
    X(core, hsa_signal_wait_scacquire) X(amd, hsa_amd_memory_pool_allocate) X(amd, hsa_amd_memory_pool_free) \
    X(amd, hsa_amd_memory_lock) X(amd, hsa_amd_memory_unlock)
#define FIELD(table, name) __typeof__(name) *name;
static struct {
    FUNCTIONS(FIELD)
    __typeof__(hsa_queue_create) *hsa_amd_queue_intercept_create;
    intercept_register *hsa_amd_queue_intercept_register;
} real;

struct reader {
    uint64_t handle;
    const void *data;
    size_t bytes;
    struct reader *next;
};

struct loaded {
    uint64_t executable;
    hsa_agent_t agent;
    uint32_t module;
    struct loaded *next;
};

struct kernel_object {
    uint64_t object;
    uint32_t module;
    char *name;
    struct kernel *kernel; /* NULL: it has not been launched */
    struct kernel_object *next;
};

static struct reader *readers;
static struct loaded *all_loaded;
static struct kernel_object *kernels;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define ADD(list, ...) \
    do { \
        __typeof__(list) added = malloc(sizeof *added); \
        *added = (__typeof__(*added)){__VA_ARGS__, list}; \
        list = added; \
    } while (0)

static hsa_status_t read_memory(const void *data, size_t bytes, hsa_code_object_reader_t *reader)
{
    hsa_status_t status = real.hsa_code_object_reader_create_from_memory(data, bytes, reader);
    pthread_mutex_lock(&turn);
    if (status == HSA_STATUS_SUCCESS)
        ADD(readers, reader->handle, data, bytes);
    pthread_mutex_unlock(&turn);
    return status;
}

static hsa_status_t read_file(hsa_file_t file, hsa_code_object_reader_t *reader)
{
    hsa_status_t status = real.hsa_code_object_reader_create_from_file(file, reader);
    struct stat found;
    if (status != HSA_STATUS_SUCCESS || fstat(file, &found))
        return status;
    void *data = mmap(NULL, (size_t)found.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    pthread_mutex_lock(&turn);
    if (data != MAP_FAILED)
        ADD(readers, reader->handle, data, (size_t)found.st_size);
    pthread_mutex_unlock(&turn);
    return status;
}

static hsa_status_t load_code(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                              const char *options, hsa_loaded_code_object_t *loaded)
{
    hsa_status_t status = real.hsa_executable_load_agent_code_object(executable, agent, reader, options, loaded);
    pthread_mutex_lock(&turn);
    const struct reader *from = readers;
    while (from && from->handle != reader.handle)
        from = from->next;
    uint32_t module;
    if (status == HSA_STATUS_SUCCESS && from && device_load(from->data, from->bytes, &module) == OK)
        ADD(all_loaded, executable.handle, agent, module);
    pthread_mutex_unlock(&turn);
    return status;
}

static hsa_status_t add_kernel(hsa_executable_t executable, hsa_agent_t agent, hsa_executable_symbol_t symbol,
                               void *data)
{
    const uint32_t *module = data;
    hsa_symbol_kind_t kind;
    uint32_t length = 0;
    uint64_t object;
    (void)executable, (void)agent;
    real.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
    if (kind != HSA_SYMBOL_KIND_KERNEL)
        return HSA_STATUS_SUCCESS;
    real.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
    char *name = calloc(1, length + 1);
    real.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name);
    real.hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object);
    if (length > 3 && !strcmp(name + length - 3, ".kd"))
        name[length - 3] = '\0';
    ADD(kernels, object, *module, name, NULL);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t freeze(hsa_executable_t executable, const char *options)
{
    hsa_status_t status = real.hsa_executable_freeze(executable, options);
    pthread_mutex_lock(&turn);
    for (struct loaded *each = all_loaded; status == HSA_STATUS_SUCCESS && each; each = each->next)
        if (each->executable == executable.handle)
            real.hsa_executable_iterate_agent_symbols(executable, each->agent, add_kernel, &each->module);
    pthread_mutex_unlock(&turn);
    return status;
}

static hsa_status_t allocate(hsa_region_t region, size_t bytes, void **memory)
{
    hsa_status_t status = real.hsa_memory_allocate(region, bytes, memory);
    if (status == HSA_STATUS_SUCCESS)
        device_placed(*memory, bytes);
    return status;
}

static hsa_status_t release(void *memory)
{
    device_free(memory);
    return real.hsa_memory_free(memory);
}

static hsa_status_t allocate_in_pool(hsa_amd_memory_pool_t pool, size_t bytes, uint32_t flags, void **memory)
{
    hsa_status_t status = real.hsa_amd_memory_pool_allocate(pool, bytes, flags, memory);
    if (status == HSA_STATUS_SUCCESS)
        device_placed(*memory, bytes);
    return status;
}

static hsa_status_t release_of_pool(void *memory)
{
    device_free(memory);
    return real.hsa_amd_memory_pool_free(memory);
}

static hsa_status_t lock(void *host, size_t bytes, hsa_agent_t *agents, int count, void **memory)
{
    hsa_status_t status = real.hsa_amd_memory_lock(host, bytes, agents, count, memory);
    if (status == HSA_STATUS_SUCCESS)
        device_placed(*memory, bytes);
    return status;
}

static hsa_status_t unlock(void *host)
{
    device_free(host);
    return real.hsa_amd_memory_unlock(host);
}

/* Let everything end that was sent to a queue before. */
static void drain(packet_writer writer)
{
    hsa_signal_t ended;
    if (real.hsa_signal_create(1, 0, NULL, &ended) != HSA_STATUS_SUCCESS)
        refuse("hsa_signal_create", "free signals: none is left to wait for a launch");
    hsa_barrier_and_packet_t barrier = {
        .header = HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER
                  | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE
                  | HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE,
        .completion_signal = ended,
    };
    writer(&barrier, 1);
    while (real.hsa_signal_wait_scacquire(ended, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) > 0)
        ;
    real.hsa_signal_destroy(ended);
}

/* Tell apuflow what the memory holds that a launch can reach. */
static void tell(void)
{
    struct pieces missing;
    for (device_missing(&missing); missing.count; device_missing(&missing))
        for (uint32_t i = 0; i < missing.count; i++) {
            uint64_t address = missing.piece[i].address;
            size_t bytes = missing.piece[i].bytes;
            void *copy = malloc(bytes);
            if (!copy || real.hsa_memory_copy(copy, (void *)address, bytes) != HSA_STATUS_SUCCESS)
                refuse("hsa_memory_copy", "give the launch memory that the host can copy");
            device_snapshot(address, copy, bytes);
            free(copy);
        }
}

static void dispatch(const hsa_kernel_dispatch_packet_t *packet, packet_writer writer)
{
    struct kernel_object *found = kernels;
    while (found && found->object != packet->kernel_object)
        found = found->next;
    if (!found)
        refuse("hsa_executable_load_code_object", "load code by hsa_executable_load_agent_code_object");
    if (!found->kernel) {
        found->kernel = malloc(sizeof *found->kernel);
        if (device_kernel(found->module, found->name, found->kernel) != OK)
            refuse("hsa_executable_load_agent_code_object", "compile the code for code object V3 or later");
    }
    struct launch launch = {
        .kernel = found->kernel->number,
        .lds = packet->group_segment_size - found->kernel->lds,
        .grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
        .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
    };
    if (device_observe(&launch, packet->kernarg_address, found->kernel->block_bytes) != OK) {
        writer(packet, 1); /* one that is not recorded */
        return;
    }
    drain(writer);
    tell();
    writer(packet, 1);
    drain(writer);
    tell();
    device_observed();
}

static void handle(const void *packets, uint64_t count, uint64_t index, void *data, packet_writer writer)
{
    const hsa_kernel_dispatch_packet_t *packet = packets;
    (void)index, (void)data;
    pthread_mutex_lock(&turn);
    for (; count; count--, packet++)
        if ((packet->header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
            dispatch(packet, writer);
        else
            writer(packet, 1);
    pthread_mutex_unlock(&turn);
}

static hsa_status_t create_queue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t lds, hsa_queue_t **queue)
{
    hsa_status_t status =
        real.hsa_amd_queue_intercept_create(agent, size, type, callback, data, private_bytes, lds, queue);
    return status == HSA_STATUS_SUCCESS ? real.hsa_amd_queue_intercept_register(*queue, handle, NULL) : status;
}

static void *place(struct table *table, size_t offset)
{
    return (char *)table + offset;
}

__attribute__((visibility("default"))) bool OnLoad(void *table, uint64_t version, uint64_t failed,
                                                   const char *const *names)
{
    const struct tables *tables = table;
    struct table *core = tables->core, *amd = tables->amd;
    (void)version, (void)failed, (void)names;
    if (core->size != SIZE_OF_core || amd->size != SIZE_OF_amd) {
        fprintf(stderr, "apuflow capture: tables of %u and %u bytes, hsa_api_trace.h has %d and %d: name the headers "
                        "of this ROCm in ROCM_PATH\n", core->size, amd->size, SIZE_OF_core, SIZE_OF_amd);
        return false;
    }
    device();
#define TAKE(of, name) memcpy(&real.name, place(of, PLACE_OF_##name), sizeof real.name);
    FUNCTIONS(TAKE)
    TAKE(amd, hsa_amd_queue_intercept_create)
    TAKE(amd, hsa_amd_queue_intercept_register)
#define PUT(of, name, ours) \
    do { \
        __typeof__(name) *function = ours; \
        memcpy(place(of, PLACE_OF_##name), &function, sizeof function); \
    } while (0)
    PUT(core, hsa_queue_create, create_queue);
    PUT(core, hsa_code_object_reader_create_from_memory, read_memory);
    PUT(core, hsa_code_object_reader_create_from_file, read_file);
    PUT(core, hsa_executable_load_agent_code_object, load_code);
    PUT(core, hsa_executable_freeze, freeze);
    PUT(core, hsa_memory_allocate, allocate);
    PUT(core, hsa_memory_free, release);
    PUT(amd, hsa_amd_memory_pool_allocate, allocate_in_pool);
    PUT(amd, hsa_amd_memory_pool_free, release_of_pool);
    PUT(amd, hsa_amd_memory_lock, lock);
    PUT(amd, hsa_amd_memory_unlock, unlock);
    return true;
}

__attribute__((visibility("default"))) void OnUnload(void)
{
}
