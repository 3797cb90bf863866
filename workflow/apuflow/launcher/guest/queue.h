/* One user-mode AQL queue (HSA System Architecture 1.1) and dispatches on it. */
#ifndef APUFLOW_QUEUE_H
#define APUFLOW_QUEUE_H

#include "list.h"

struct queue {
    int kfd;
    const struct device *device;
    int poll;
    uint8_t *control; /* amd_queue_t: what the packet processor reads about the queue */
    uint8_t *ring;
    uint64_t packets; /* a power of two */
    volatile uint8_t *doorbell;
    uint64_t next; /* index of the next packet */
    uint8_t *signal;
    uint8_t *descriptor; /* the running kernel's, followed by zeros */
    uint8_t *kernarg; /* where the next dispatch's arguments go; zeros from there on */
    uint32_t event;
};

/* Make the queue, with scratch for all dispatches of the list. */
struct queue create_queue(const struct list *list, int kfd);
/* Dispatch a kernel and wait until its completion signal has fallen to zero. */
void dispatch(struct queue *queue, const struct action *action);
/* Scratch bytes that one wavefront of this dispatch needs, in whole kilobytes as the hardware counts them. */
uint64_t wave_scratch(const struct action *action);

#endif
