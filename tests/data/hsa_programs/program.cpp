/* A program for ROCm's runtime, with a stand-in of that runtime: it loads the tool of HSA_TOOLS_LIB, and calls every
 * function through its tables as the real one does. Its "GPU" has memory that the host cannot read, and runs a launch
 * no sooner than something waits for it. What the real runtime answers with an error ends the program here.
 * program OBJECT KERNEL: launches KERNEL(a, b, out, scale), out = a + scale * b, twice. */
#define AMD_INTERNAL_BUILD
#include <hsa_api_trace.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MUST(wanted) \
    do { \
        if (!(wanted)) { \
            fprintf(stderr, "stand-in, line %d: %s\n", __LINE__, #wanted); \
            _exit(3); \
        } \
    } while (0)

enum { NUMBERS = 256, BYTES = NUMBERS * 4, PIECES = 8 };

static struct {
    char *device, *host; /* the same bytes; device: not for the host */
    size_t bytes;
} pieces[PIECES];
static int piece_count;

static char *reachable(const void *address, size_t bytes)
{
    const char *at = static_cast<const char *>(address);
    for (int i = 0; i < piece_count; i++)
        if (at >= pieces[i].device && at + bytes <= pieces[i].device + pieces[i].bytes)
            return pieces[i].host + (at - pieces[i].device);
    return nullptr;
}

static hsa_status_t allocate(hsa_amd_memory_pool_t, size_t bytes, uint32_t, void **memory)
{
    int file = memfd_create("device", 0);
    MUST(piece_count < PIECES && ftruncate(file, 4096) == 0 && bytes <= 4096);
    auto *device = static_cast<char *>(mmap(nullptr, 4096, PROT_NONE, MAP_SHARED, file, 0));
    auto *host = static_cast<char *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    pieces[piece_count++] = {device, host, bytes};
    *memory = device;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t copy(void *to, const void *from, size_t bytes)
{
    const char *source = reachable(from, bytes);
    char *target = reachable(to, bytes);
    memcpy(target ? target : to, source ? source : from, bytes);
    return HSA_STATUS_SUCCESS;
}

struct arguments {
    float *a, *b, *out;
    float scale;
};

static const uint64_t KERNEL = 0x1000;
static const char *kernel_name;
static bool loaded, frozen;
static hsa_kernel_dispatch_packet_t waiting[4];
static int waiting_count;
static uint64_t signals[64];
static uint64_t signal_count;
static hsa_amd_queue_intercept_handler handler;
static void *handler_data;
static hsa_queue_t queue;
static bool in_handler;

static hsa_status_t reader_from_memory(const void *data, size_t bytes, hsa_code_object_reader_t *reader)
{
    MUST(bytes > 64 && !memcmp(data, "\177ELF", 4));
    reader->handle = reinterpret_cast<uint64_t>(data);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t load(hsa_executable_t, hsa_agent_t, hsa_code_object_reader_t reader, const char *,
                         hsa_loaded_code_object_t *)
{
    MUST(reader.handle && !frozen);
    loaded = true;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t freeze(hsa_executable_t, const char *)
{
    MUST(loaded && !frozen);
    frozen = true;
    return HSA_STATUS_SUCCESS;
}

/* Symbol 1 is a variable, symbol 2 the kernel. */
static hsa_status_t iterate(hsa_executable_t executable, hsa_agent_t agent,
                            hsa_status_t (*call)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void *),
                            void *data)
{
    MUST(frozen);
    for (uint64_t handle = 1; handle <= 2; handle++)
        MUST(call(executable, agent, {handle}, data) == HSA_STATUS_SUCCESS);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t symbol_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what, void *value)
{
    char name[100];
    snprintf(name, sizeof name, "%s.kd", symbol.handle == 2 ? kernel_name : "variable");
    switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
        *static_cast<hsa_symbol_kind_t *>(value) = symbol.handle == 2 ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE;
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
        *static_cast<uint32_t *>(value) = static_cast<uint32_t>(strlen(name));
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
        memcpy(value, name, strlen(name)); /* without a 0 behind it */
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
        MUST(symbol.handle == 2);
        *static_cast<uint64_t *>(value) = KERNEL;
        return HSA_STATUS_SUCCESS;
    default:
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
}

static hsa_status_t signal_create(hsa_signal_value_t value, uint32_t, const hsa_agent_t *, hsa_signal_t *signal)
{
    MUST(signal_count + 1 < 64);
    signal->handle = ++signal_count;
    signals[signal_count] = static_cast<uint64_t>(value);
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t signal_destroy(hsa_signal_t signal)
{
    MUST(signal.handle && signals[signal.handle] == 0); /* nobody uses it */
    signals[signal.handle] = ~0ull;
    return HSA_STATUS_SUCCESS;
}

static hsa_signal_value_t signal_wait(hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t, uint64_t,
                                      hsa_wait_state_t)
{
    MUST(signals[signal.handle] == 0); /* else it waits for ever */
    return 0;
}

static void run_waiting(void)
{
    for (int i = 0; i < waiting_count; i++) {
        const hsa_kernel_dispatch_packet_t &packet = waiting[i];
        const auto *given = static_cast<const arguments *>(packet.kernarg_address);
        auto *a = reinterpret_cast<float *>(reachable(given->a, BYTES));
        auto *b = reinterpret_cast<float *>(reachable(given->b, BYTES));
        auto *out = reinterpret_cast<float *>(reachable(given->out, BYTES));
        MUST(packet.kernel_object == KERNEL && packet.grid_size_x == NUMBERS && a && b && out);
        for (int at = 0; at < NUMBERS; at++)
            out[at] = a[at] + given->scale * b[at];
        if (packet.completion_signal.handle)
            signals[packet.completion_signal.handle]--;
    }
    waiting_count = 0;
}

static void write(const void *packets, uint64_t count)
{
    MUST(in_handler && count == 1);
    const auto *packet = static_cast<const hsa_kernel_dispatch_packet_t *>(packets);
    if ((packet->header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
        waiting[waiting_count++] = *packet;
        return;
    }
    MUST((packet->header & 0xff) == HSA_PACKET_TYPE_BARRIER_AND);
    if (packet->header >> HSA_PACKET_HEADER_BARRIER & 1)
        run_waiting();
    const auto *barrier = static_cast<const hsa_barrier_and_packet_t *>(packets);
    if (barrier->completion_signal.handle)
        signals[barrier->completion_signal.handle]--;
}

static hsa_status_t plain_queue(hsa_agent_t, uint32_t, hsa_queue_type32_t,
                                void (*)(hsa_status_t, hsa_queue_t *, void *), void *, uint32_t, uint32_t,
                                hsa_queue_t **created)
{
    *created = &queue;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t intercepted_queue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                      void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                      uint32_t bytes, uint32_t lds, hsa_queue_t **created)
{
    MUST(size >= 3 && !(size & (size - 1)));
    handler = [](const void *packets, uint64_t count, uint64_t, void *, hsa_amd_queue_intercept_packet_writer writer) {
        writer(packets, count);
    };
    return plain_queue(agent, size, type, callback, data, bytes, lds, created);
}

static hsa_status_t intercept(hsa_queue_t *of, hsa_amd_queue_intercept_handler call, void *data)
{
    MUST(of == &queue && handler);
    handler = call;
    handler_data = data;
    return HSA_STATUS_SUCCESS;
}

static void ring(const void *packet, uint64_t index)
{
    in_handler = true;
    if (handler)
        handler(packet, 1, index, handler_data, write);
    else
        write(packet, 1);
    in_handler = false;
}

int main(int count, char **words)
{
    static HsaApiTableContainer tables;
    CoreApiTable &core = tables.core;
    AmdExtTable &amd = tables.amd_ext;
    core.hsa_queue_create_fn = plain_queue;
    core.hsa_code_object_reader_create_from_memory_fn = reader_from_memory;
    core.hsa_executable_load_agent_code_object_fn = load;
    core.hsa_executable_freeze_fn = freeze;
    core.hsa_executable_iterate_agent_symbols_fn = iterate;
    core.hsa_executable_symbol_get_info_fn = symbol_info;
    core.hsa_memory_copy_fn = copy;
    core.hsa_signal_create_fn = signal_create;
    core.hsa_signal_destroy_fn = signal_destroy;
    core.hsa_signal_wait_scacquire_fn = signal_wait;
    amd.hsa_amd_memory_pool_allocate_fn = allocate;
    amd.hsa_amd_queue_intercept_create_fn = intercepted_queue;
    amd.hsa_amd_queue_intercept_register_fn = intercept;
    if (getenv("STAND_IN_OF_ANOTHER_ROCM"))
        amd.version.minor_id += 16;
    const char *tool = getenv("HSA_TOOLS_LIB");
    void *library = tool ? dlopen(tool, RTLD_LAZY) : nullptr;
    if (tool && !library)
        fprintf(stderr, "Tool lib \"%s\" failed to load: %s\n", tool, dlerror());
    if (library) {
        auto *on_load = reinterpret_cast<bool (*)(HsaApiTable *, uint64_t, uint64_t, const char *const *)>(
            dlsym(library, "OnLoad"));
        MUST(on_load);
        on_load(&tables.root, 1, 0, nullptr);
    }

    MUST(count == 3);
    static char object[1 << 16];
    FILE *file = fopen(words[1], "rb");
    MUST(file);
    size_t bytes = fread(object, 1, sizeof object, file);
    fclose(file);
    kernel_name = words[2];
    hsa_code_object_reader_t reader;
    MUST(core.hsa_code_object_reader_create_from_memory_fn(object, bytes, &reader) == HSA_STATUS_SUCCESS);
    MUST(core.hsa_executable_load_agent_code_object_fn({7}, {1}, reader, "", nullptr) == HSA_STATUS_SUCCESS);
    MUST(core.hsa_executable_freeze_fn({7}, "") == HSA_STATUS_SUCCESS);
    hsa_queue_t *made;
    MUST(core.hsa_queue_create_fn({1}, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &made) == HSA_STATUS_SUCCESS);

    float numbers[NUMBERS], more[NUMBERS], *a, *b, *out;
    for (int i = 0; i < NUMBERS; i++) {
        numbers[i] = static_cast<float>(i);
        more[i] = static_cast<float>(i % 10);
    }
    float **all[] = {&a, &b, &out};
    for (float **memory : all)
        MUST(amd.hsa_amd_memory_pool_allocate_fn({1}, BYTES, 0, reinterpret_cast<void **>(memory)) == HSA_STATUS_SUCCESS);
    core.hsa_memory_copy_fn(a, numbers, BYTES);
    core.hsa_memory_copy_fn(b, more, BYTES);

    static arguments given[2];
    given[0] = {a, b, out, 2};
    given[1] = {out, a, out, 0.5};
    for (uint64_t i = 0; i < 2; i++) {
        hsa_signal_t ended;
        core.hsa_signal_create_fn(1, 0, nullptr, &ended);
        hsa_kernel_dispatch_packet_t packet = {};
        packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER;
        packet.setup = 1;
        packet.workgroup_size_x = 64;
        packet.workgroup_size_y = packet.workgroup_size_z = 1;
        packet.grid_size_x = NUMBERS;
        packet.grid_size_y = packet.grid_size_z = 1;
        packet.kernel_object = KERNEL;
        packet.kernarg_address = &given[i];
        packet.completion_signal = ended;
        ring(&packet, 2 * i);
        hsa_barrier_and_packet_t barrier = {};
        barrier.header = HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER;
        ring(&barrier, 2 * i + 1);
        core.hsa_signal_wait_scacquire_fn(ended, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    }
    core.hsa_memory_copy_fn(numbers, out, BYTES);
    printf("out[11] = %g\n", numbers[11]);
    return 0;
}
