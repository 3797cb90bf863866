#include "queue.h"
#include "kfd.h"
#include "memory.h"

enum { LANES = 64, LINE = 64, PACKET_BYTES = 64, LEAST_PACKETS = 64, WAIT_FOREVER = 0xfffffffe };

/*
 * gem5 before v24.0 does not invalidate the scalar cache when a kernel starts. Kernels read their arguments and their
 * dispatch packet through it, so both lie where no kernel has read before: the ring has a packet for each dispatch,
 * and each has lines of its own for its arguments.
 */

/* Offsets in amd_queue_t (ROCR amd_hsa_queue.h; gem5 src/dev/hsa/hsa_queue.hh). */
enum {
    QUEUE_WRITE_INDEX = 0x38, QUEUE_READ_INDEX = 0x80, QUEUE_READ_INDEX_OFFSET = 136, QUEUE_TMPRING = 140,
    QUEUE_SCRATCH_DESCRIPTOR = 144, QUEUE_SCRATCH_SIZE = 168, QUEUE_SCRATCH_LANE_BYTES = 176,
};
/* amd_signal_t: a value, and a mailbox that is not null when an event of the driver is to be raised as well. */
enum { SIGNAL_VALUE = 8, SIGNAL_MAILBOX = 16, SIGNAL_EVENT = 24 };
enum { PACKET_INVALID = 1, PACKET_DISPATCH = 2, SYSTEM_FENCES = 2 << 9 | 2 << 11 };

static void store32(uint8_t *at, uint64_t value)
{
    *(volatile uint32_t *)at = (uint32_t)value;
}

static void store64(uint8_t *at, uint64_t value)
{
    *(volatile uint64_t *)at = value;
}

uint64_t wave_scratch(const struct action *action)
{
    return ROUND_UP((uint64_t)action->kernel.private_bytes * LANES, 1024);
}

/* gem5 gives every wavefront of a grid a place of its own (wavefront.cc: global workgroup number, not the slot). */
static uint64_t grid_waves(const struct list *list, const struct action *action)
{
    uint64_t groups = 1, items = 1;
    for (unsigned i = 0; i < 3; i++) {
        groups *= (action->grid[i] + (uint64_t)action->workgroup[i] - 1) / action->workgroup[i];
        items *= action->workgroup[i];
    }
    if (items % LANES)
        fail(EXIT_LIST, list->path, ":", decimal(action->line), ": ", action->name, " uses private memory, so its "
             "workgroups must be whole wavefronts (gem5 would place them over each other), not ", decimal(items),
             " work-items", NULL);
    return groups * items / LANES;
}

static void set_scratch(struct queue *queue, const struct list *list)
{
    uint64_t wave = 0, total = 0, lane = 0;
    for (uint64_t i = 0; i < list->action_count; i++) {
        const struct action *action = &list->actions[i];
        if (action->kind == ACTION_DISPATCH && action->kernel.private_bytes) {
            wave = wave_scratch(action) > wave ? wave_scratch(action) : wave;
            lane = action->kernel.private_bytes > lane ? action->kernel.private_bytes : lane;
        }
    }
    for (uint64_t i = 0; i < list->action_count; i++) {
        const struct action *action = &list->actions[i];
        if (action->kind == ACTION_DISPATCH && action->kernel.private_bytes) {
            uint64_t waves = grid_waves(list, action);
            total = waves * wave > total ? waves * wave : total;
        }
    }
    if (!total)
        return;
    if (total > UINT32_MAX || wave / 1024 >= 1 << 13)
        fail(EXIT_MEMORY, "scratch of ", decimal(total), " bytes is more than a buffer descriptor can describe", NULL);
    uint64_t base = (uint64_t)gpu_pages(queue->kfd, queue->device, total);
    uint8_t *descriptor = queue->control + QUEUE_SCRATCH_DESCRIPTOR;
    /* Buffer resource, swizzled: 4-byte elements (1), 64 lanes interleaved (3), add the lane number; GCN3 ISA 8.1.8. */
    store32(descriptor, base);
    store32(descriptor + 4, (base >> 32 & 0xffff) | 1U << 31);
    store32(descriptor + 8, total);
    store32(descriptor + 12, 4 | 5 << 3 | 6 << 6 | 7 << 9 | 4 << 12 | 4 << 15 | 1 << 19 | 3 << 21 | 1 << 23);
    store32(queue->control + QUEUE_TMPRING, wave / 1024 << 12 | 0xfff);
    store64(queue->control + QUEUE_SCRATCH_SIZE, total);
    store32(queue->control + QUEUE_SCRATCH_LANE_BYTES, lane);
}

struct queue create_queue(const struct list *list, int kfd)
{
    struct queue queue = { .kfd = kfd, .device = list->device, .poll = list->poll, .packets = LEAST_PACKETS };
    uint64_t kernarg = 0;
    for (uint64_t i = 0; i < list->action_count; i++)
        if (list->actions[i].kind == ACTION_DISPATCH)
            kernarg += ROUND_UP(list->actions[i].kernel.kernarg_bytes, LINE);
    while (queue.packets < list->dispatch_count)
        queue.packets *= 2;
    if (queue.packets * PACKET_BYTES * 2 > UINT32_MAX)
        fail(EXIT_MEMORY, "too many dispatches for one queue: ", decimal(list->dispatch_count), NULL);
    queue.control = gpu_pages(kfd, queue.device, PAGE);
    queue.ring = gpu_pages(kfd, queue.device, queue.packets * PACKET_BYTES);
    queue.signal = gpu_pages(kfd, queue.device, PAGE);
    queue.descriptor = gpu_pages(kfd, queue.device, PAGE);
    queue.kernarg = gpu_pages(kfd, queue.device, kernarg + 1);
    for (uint64_t i = 0; i < queue.packets; i++)
        store32(queue.ring + i * PACKET_BYTES, PACKET_INVALID);
    store32(queue.control + QUEUE_READ_INDEX_OFFSET, QUEUE_READ_INDEX);
    set_scratch(&queue, list);

    struct kfd_create_queue request = {
        .ring_base_address = (uint64_t)queue.ring,
        .ring_size = (uint32_t)(queue.packets * PACKET_BYTES * (queue.device->doubled_ring ? 2 : 1)),
        .write_pointer_address = (uint64_t)(queue.control + QUEUE_WRITE_INDEX),
        .read_pointer_address = (uint64_t)(queue.control + QUEUE_READ_INDEX),
        .gpu_id = queue.device->gpu_id,
        .queue_type = KFD_QUEUE_AQL,
        .queue_percentage = 100,
        .queue_priority = 7,
    };
    kfd_ioctl(kfd, KFD_CREATE_QUEUE, &request, "creating a queue");
    /* gfx900 returns the doorbell's place in its page with the offset; the others count queues. */
    uint64_t within = queue.device->wide_doorbell ? request.doorbell_offset % PAGE : 4UL * request.queue_id;
    long page = sys_call(SYS_MMAP, 0, (long)PAGE, 3, 1, kfd, (long)(request.doorbell_offset / PAGE * PAGE));
    if (page < 0 && page > -4096)
        fail(EXIT_DEVICE, "/dev/kfd: cannot map the doorbell (errno ", decimal((uint64_t)-page), ")", NULL);
    queue.doorbell = (volatile uint8_t *)page + within;

    if (!queue.poll) {
        struct kfd_create_event event = { .event_type = KFD_EVENT_SIGNAL, .auto_reset = 1 };
        kfd_ioctl(kfd, KFD_CREATE_EVENT, &event, "creating an event");
        queue.event = event.event_id;
        store64(queue.signal + SIGNAL_MAILBOX, (uint64_t)(queue.signal + 64));
        store32(queue.signal + SIGNAL_EVENT, event.event_id);
    }
    return queue;
}

static void wait_for_signal(struct queue *queue)
{
    volatile uint64_t *value = (volatile uint64_t *)(queue->signal + SIGNAL_VALUE);
    while (*value) {
        if (queue->poll) {
            __asm__ volatile("pause");
            continue;
        }
        struct kfd_event_data event = { .event_id = queue->event };
        struct kfd_wait_events request = { .events_ptr = (uint64_t)&event, .num_events = 1, .timeout = WAIT_FOREVER };
        kfd_ioctl(queue->kfd, KFD_WAIT_EVENTS, &request, "waiting for the kernel");
        /* The event comes with the write of the signal, not after it. */
        for (unsigned turn = 0; *value && turn < 100000; turn++)
            __asm__ volatile("pause");
    }
}

void dispatch(struct queue *queue, const struct action *action)
{
    /* A copy of the descriptor with zeros behind it: gem5 reads 256 bytes there (kernel_code.hh), the format has 64. */
    const uint8_t *descriptor = action->object->image + action->kernel.descriptor;
    memcpy(queue->descriptor, descriptor, 64);
    store64(queue->descriptor + 16, (uint64_t)(descriptor + action->kernel.entry - queue->descriptor));
    uint8_t *kernarg = queue->kernarg;
    queue->kernarg += ROUND_UP(action->kernel.kernarg_bytes, LINE);
    pack_arguments(action, kernarg);
    store64(queue->signal + SIGNAL_VALUE, 1);

    uint8_t *packet = queue->ring + queue->next % queue->packets * PACKET_BYTES;
    unsigned dimensions = action->grid[2] > 1 ? 3 : action->grid[1] > 1 ? 2 : 1;
    for (unsigned i = 0; i < 3; i++) {
        *(volatile uint16_t *)(packet + 4 + 2 * i) = (uint16_t)action->workgroup[i];
        store32(packet + 12 + 4 * i, action->grid[i]);
    }
    store32(packet + 24, action->kernel.private_bytes);
    store32(packet + 28, (uint64_t)action->kernel.group_bytes + action->lds);
    store64(packet + 32, (uint64_t)queue->descriptor);
    store64(packet + 40, (uint64_t)kernarg);
    store64(packet + 56, (uint64_t)queue->signal);
    store32(packet, (uint32_t)dimensions << 16 | PACKET_DISPATCH | SYSTEM_FENCES);
    queue->next++;
    store64(queue->control + QUEUE_WRITE_INDEX, queue->next);
    if (queue->device->wide_doorbell)
        *(volatile uint64_t *)queue->doorbell = queue->next - 1;
    else
        *(volatile uint32_t *)queue->doorbell = (uint32_t)queue->next;
    wait_for_signal(queue);
}
