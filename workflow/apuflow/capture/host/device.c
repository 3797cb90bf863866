#define _GNU_SOURCE
#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum request { HELLO, ALLOCATE, FREE, FIND, LOAD, KERNEL, VARIABLE, LAUNCH, REFUSE, PROGRAM,
               PLACED, OBSERVE, MISSING, SNAPSHOT, OBSERVED };

struct head {
    int32_t kind; /* of a reply: its status */
    uint32_t padding;
    uint64_t bytes;
};

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t connected = PTHREAD_ONCE_INIT;
static int channel = -1;
static pid_t owner;
static struct properties gpu;

/* apuflow says what went wrong; the program has nothing to add. */
static _Noreturn void gone(void)
{
    fflush(NULL);
    _exit(125);
}

static void send_all(struct iovec *parts, int count)
{
    while (count) {
        ssize_t sent = writev(channel, parts, count);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            gone();
        while (count && (size_t)sent >= parts->iov_len) {
            sent -= (ssize_t)parts->iov_len;
            parts++, count--;
        }
        if (count) {
            parts->iov_base = (char *)parts->iov_base + sent;
            parts->iov_len -= (size_t)sent;
        }
    }
}

static void receive_all(void *data, size_t bytes)
{
    for (char *at = data; bytes;) {
        ssize_t got = read(channel, at, bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            gone();
        at += got;
        bytes -= (size_t)got;
    }
}

static enum status ask(enum request kind, const void *first, size_t first_bytes, const void *second,
                       size_t second_bytes, void *reply, size_t reply_bytes)
{
    struct head head = {kind, 0, first_bytes + second_bytes};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)first, first_bytes}, {(void *)second, second_bytes}};

    pthread_mutex_lock(&turn);
    if (getpid() != owner)
        gone(); /* a child of the program: the device is its parent's */
    send_all(parts, 3);
    receive_all(&head, sizeof head);
    if (head.bytes > reply_bytes)
        gone();
    receive_all(reply, head.bytes);
    pthread_mutex_unlock(&turn);
    return (enum status)head.kind;
}

static void connect_to_apuflow(void)
{
    const char *text = getenv("APUFLOW_DEVICE");
    unsigned long long base, bytes;
    int arena;
    if (!text || sscanf(text, "%d %d %llx %llx", &channel, &arena, &base, &bytes) != 4) {
        fprintf(stderr, "%s: its GPU is apuflow's; start it by: apuflow capture NAME -- PROGRAM ARGUMENTS\n",
                program_invocation_name);
        _exit(125);
    }
    owner = getpid();
    void *at = mmap((void *)base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE,
                    arena, 0);
    if (at != (void *)base) {
        fprintf(stderr, "apuflow capture: no room for the GPU's memory at %#llx: %s\n", base, strerror(errno));
        _exit(125);
    }
    ask(HELLO, NULL, 0, NULL, 0, &gpu, sizeof gpu);
}

const struct properties *device(void)
{
    pthread_once(&connected, connect_to_apuflow);
    return &gpu;
}

void *device_alloc(size_t bytes, enum memory kind)
{
    uint64_t wanted[] = {bytes, kind}, address = 0;
    device();
    return ask(ALLOCATE, wanted, sizeof wanted, NULL, 0, &address, sizeof address) == OK ? (void *)address : NULL;
}

enum status device_free(void *memory)
{
    device();
    return ask(FREE, &memory, sizeof memory, NULL, 0, NULL, 0);
}

int device_find(const void *address, struct place *found)
{
    device();
    return ask(FIND, &address, sizeof address, NULL, 0, found, sizeof *found) == OK;
}

size_t code_bytes(const void *data)
{
    static const char bundle[] = "__CLANG_OFFLOAD_BUNDLE__";
    const unsigned char *at = data;
    uint64_t number, offset, bytes, end = 0;
    if (!memcmp(at, "\177ELF", 4)) {
        uint16_t size, count;
        memcpy(&offset, at + 40, sizeof offset);
        memcpy(&size, at + 58, sizeof size);
        memcpy(&count, at + 60, sizeof count);
        return offset + (size_t)size * count;
    }
    if (memcmp(at, bundle, sizeof bundle - 1))
        return 0;
    at += sizeof bundle - 1;
    memcpy(&number, at, sizeof number);
    at += sizeof number;
    while (number--) {
        uint64_t name;
        memcpy(&offset, at, sizeof offset);
        memcpy(&bytes, at + 8, sizeof bytes);
        memcpy(&name, at + 16, sizeof name);
        if (offset + bytes > end)
            end = offset + bytes;
        at += 24 + name;
    }
    return end;
}

enum status device_load(const void *data, size_t bytes, uint32_t *module)
{
    device();
    return ask(LOAD, data, bytes, NULL, 0, module, sizeof *module);
}

enum status device_program(const char *directory, const char *options, const void *data, size_t bytes,
                           struct program *made)
{
    size_t first = strlen(directory) + 1, second = strlen(options) + 1;
    char *words = malloc(first + second);
    memcpy(words, directory, first);
    memcpy(words + first, options, second);
    device();
    enum status done = ask(PROGRAM, words, first + second, data, bytes, made, sizeof *made);
    free(words);
    return done;
}

enum status device_kernel(uint32_t module, const char *name, struct kernel *found)
{
    device();
    return ask(KERNEL, &module, sizeof module, name, strlen(name), found, sizeof *found);
}

enum status device_variable(uint32_t module, const char *name, struct place *found)
{
    device();
    return ask(VARIABLE, &module, sizeof module, name, strlen(name), found, sizeof *found);
}

enum status device_launch(const struct launch *launch, const void *block, size_t bytes)
{
    device();
    return ask(LAUNCH, launch, sizeof *launch, block, bytes, NULL, 0);
}

void device_placed(const void *memory, size_t bytes)
{
    uint64_t place[] = {(uint64_t)memory, bytes};
    device();
    ask(PLACED, place, sizeof place, NULL, 0, NULL, 0);
}

enum status device_observe(const struct launch *launch, const void *block, size_t bytes)
{
    device();
    return ask(OBSERVE, launch, sizeof *launch, block, bytes, NULL, 0);
}

void device_missing(struct pieces *missing)
{
    device();
    ask(MISSING, NULL, 0, NULL, 0, missing, sizeof *missing);
}

void device_snapshot(uint64_t address, const void *data, size_t bytes)
{
    device();
    ask(SNAPSHOT, &address, sizeof address, data, bytes, NULL, 0);
}

void device_observed(void)
{
    device();
    ask(OBSERVED, NULL, 0, NULL, 0, NULL, 0);
}

void refuse(const char *function, const char *remedy)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%s\n%s", function, remedy);
    device();
    ask(REFUSE, text, (size_t)length, NULL, 0, NULL, 0);
    gone();
}
