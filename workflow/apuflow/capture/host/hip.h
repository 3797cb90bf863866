/* HIP's C interface on the device of device.h. Work is done when it is asked for: streams are always at their end. */
#ifndef APUFLOW_HIP_H
#define APUFLOW_HIP_H
#include "device.h"

#include <hip/hip_types.h>

#define API __attribute__((visibility("default")))
/* A second name of a function: that of a program with a default stream for each thread. */
#define ALSO(name, other) extern __typeof(name) other __attribute__((alias(#name), visibility("default")));

typedef struct dim3 {
    uint32_t x, y, z;
} dim3;

/* Remembers an error for hipGetLastError. */
hipError_t done(hipError_t error);
hipError_t of_status(enum status status);
/* A kernel by its function in the program, or by a handle of a module's. */
hipError_t kernel_of(const void *function, const struct kernel **found);
/* The host's memory that the program has registered, and the GPU's in its place: equal before and after a launch. */
void registered_to_gpu(void);
void registered_to_host(void);
/* The GPU's address of registered memory of the host, and the host's of the GPU's; others stay as they are. */
void *registered_on_gpu(const void *host);
void *registered_on_host(const void *gpu);
/* How many workgroups of so many work-items a compute unit holds. */
uint32_t resident(const struct kernel *kernel, uint32_t items, size_t lds);

#endif
