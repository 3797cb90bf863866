/* The kernel driver's interface, as far as a launch needs it (Linux include/uapi/linux/kfd_ioctl.h). */
#ifndef APUFLOW_KFD_H
#define APUFLOW_KFD_H

#include "list.h"

struct kfd_create_queue {
    uint64_t ring_base_address, write_pointer_address, read_pointer_address, doorbell_offset;
    uint32_t ring_size, gpu_id, queue_type, queue_percentage, queue_priority, queue_id;
    uint64_t eop_buffer_address, eop_buffer_size, ctx_save_restore_address;
    uint32_t ctx_save_restore_size, ctl_stack_size;
};

struct kfd_create_event {
    uint64_t event_page_offset;
    uint32_t event_trigger_data, event_type, auto_reset, node_id, event_id, event_slot_index;
};

struct kfd_event_data {
    uint8_t exception[32];
    uint64_t extension;
    uint32_t event_id, pad;
};

struct kfd_wait_events {
    uint64_t events_ptr;
    uint32_t num_events, wait_for_all, timeout, wait_result;
};

struct kfd_alloc_memory {
    uint64_t va_addr, size, handle, mmap_offset;
    uint32_t gpu_id, flags;
};

struct kfd_map_memory {
    uint64_t handle, device_ids_array_ptr;
    uint32_t n_devices, n_success;
};

#define KFD_IOWR(number, type) (3UL << 30 | sizeof(type) << 16 | 'K' << 8 | (number))
#define KFD_CREATE_QUEUE KFD_IOWR(0x02, struct kfd_create_queue)
#define KFD_CREATE_EVENT KFD_IOWR(0x08, struct kfd_create_event)
#define KFD_WAIT_EVENTS KFD_IOWR(0x0c, struct kfd_wait_events)
#define KFD_ALLOC_MEMORY KFD_IOWR(0x16, struct kfd_alloc_memory)
#define KFD_MAP_MEMORY KFD_IOWR(0x18, struct kfd_map_memory)

enum { KFD_QUEUE_AQL = 2, KFD_EVENT_SIGNAL = 0, KFD_MEMORY_GTT = 1 << 1 };

/* Open /dev/kfd; exits with EXIT_DEVICE where there is none. */
int kfd_open(void);
void kfd_ioctl(int kfd, unsigned long request, void *arguments, const char *what);
/* Tell a discrete GPU about pages of this process, untouched so far. */
void kfd_register(int kfd, const struct device *device, void *pages, uint64_t bytes);

#endif
