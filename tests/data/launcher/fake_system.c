/* Stands in for guest/sys.c in tests: real system calls, and a /dev/kfd played by a thread.
 *
 * The "GPU" appends what it was given to the file $FAKE_TRACE, per dispatch: the packet's address, its 64 bytes, 256 bytes from the
 * kernel object, 256 bytes of the queue's amd_queue_t, and the kernel arguments (their size is in the descriptor).
 * Then it plays a kernel: y[i] = 2 * x[i] for every work-item, x and y being the first two arguments; none if
 * $FAKE_IDLE is set.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kfd.h"
#include "sys.h"

enum { KFD = 1000 };

static struct kfd_create_queue queue;
static volatile uint8_t doorbells[4096];
static FILE *trace;
static unsigned resets, dumps;

static void run_packet(const uint8_t *packet)
{
    uint64_t object, kernarg, signal;
    uint32_t grid, bytes;
    memcpy(&object, packet + 32, 8);
    memcpy(&kernarg, packet + 40, 8);
    memcpy(&signal, packet + 56, 8);
    memcpy(&grid, packet + 12, 4);
    memcpy(&bytes, (void *)(object + 8), 4);
    fwrite(&packet, 8, 1, trace);
    fwrite(packet, 64, 1, trace);
    fwrite((void *)object, 256, 1, trace);
    fwrite((void *)(queue.read_pointer_address - 0x80), 256, 1, trace);
    fwrite((void *)kernarg, bytes, 1, trace);
    fflush(trace);
    float **pointers = (float **)kernarg;
    for (uint32_t i = 0; i < grid && !getenv("FAKE_IDLE"); i++)
        pointers[1][i] = 2.0F * pointers[0][i];
    __atomic_store_n((uint64_t *)(signal + 8), 0, __ATOMIC_SEQ_CST);
}

static void *gpu(void *unused)
{
    uint64_t done = 0;
    (void)unused;
    for (;;) {
        /* Wide doorbells hold the last packet's index (all ones before the first), narrow ones the next. */
        uint64_t rung = queue.gpu_id == 22124 ? *(volatile uint64_t *)doorbells + 1 : *(volatile uint32_t *)doorbells;
        if (rung <= done) {
            usleep(50);
            continue;
        }
        /* gem5 takes half of a GFX8 ring for a second view of the same memory (HSAQueueDescriptor::ptr). */
        uint64_t packets = queue.ring_size / 64 / (queue.gpu_id == 22124 || getenv("FAKE_GFX9") ? 1 : 2);
        run_packet((uint8_t *)queue.ring_base_address + done++ % packets * 64);
    }
    return NULL;
}

static long kfd_call(unsigned long request, void *arguments)
{
    static pthread_t thread;
    if (request == KFD_CREATE_QUEUE) {
        struct kfd_create_queue *created = arguments;
        created->queue_id = 0;
        created->doorbell_offset = 3UL << 62 | 0xabcUL << 46;
        queue = *created;
        memset((void *)doorbells, queue.gpu_id == 22124 ? 0xff : 0, 8);
        trace = fopen(getenv("FAKE_TRACE"), "wb");
        return pthread_create(&thread, NULL, gpu, NULL) ? -EAGAIN : 0;
    }
    if (request == KFD_CREATE_EVENT) {
        ((struct kfd_create_event *)arguments)->event_id = 5;
        return 0;
    }
    if (request == KFD_WAIT_EVENTS) {
        const struct kfd_wait_events *wait = arguments;
        return ((const struct kfd_event_data *)wait->events_ptr)->event_id == 5 ? (usleep(1000), 0) : -EINVAL;
    }
    if (request == KFD_ALLOC_MEMORY || request == KFD_MAP_MEMORY) {
        if (request == KFD_ALLOC_MEMORY)
            printf("registered %lu bytes\n", ((struct kfd_alloc_memory *)arguments)->size), fflush(stdout);
        return 0;
    }
    return -ENOTTY;
}

long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == SYS_OPEN && !strcmp((const char *)a, "/dev/kfd"))
        return KFD;
    if (number == SYS_IOCTL && a == KFD)
        return kfd_call((unsigned long)b, (void *)c);
    if (number == SYS_MMAP && e == KFD)
        return (unsigned long)f == (3UL << 62 | 0xabcUL << 46) ? (long)doorbells : -EINVAL;
    if (number == SYS_EXIT_GROUP && trace) {
        printf("statistics: %u reset, %u written\n", resets, dumps);
        fflush(stdout);
    }
    long result = syscall(number, a, b, c, d, e, f);
    return result == -1 ? -errno : result;
}

void sys_reset_statistics(void)
{
    resets++;
}

void sys_dump_reset_statistics(void)
{
    dumps++;
}

int main(int argc, char **argv)
{
    launcher_main(argc, argv);
}
