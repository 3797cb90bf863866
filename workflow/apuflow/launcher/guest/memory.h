/* Memory that the GPU sees, and what buffers hold before and after. */
#ifndef APUFLOW_MEMORY_H
#define APUFLOW_MEMORY_H

#include "list.h"

/* Pages for the GPU: plain memory on an APU; on a discrete GPU made known to its driver first. */
uint8_t *gpu_pages(int kfd, const struct device *device, uint64_t bytes);
/* Give a buffer its contents: with the CPU, but for FILL_LOADED. `data` is the data file of `data_path`, mapped, long enough
   for every buffer that is filled from it. */
void fill_buffer(struct buffer *buffer, const char *data_path, const struct span *data);
/* Write an address; all buffers have their contents and all code objects are loaded. */
void place_pointer(const struct pointer *pointer);
/* Exit with EXIT_CHECK if a float of the buffer is infinite or not a number. */
void check_finite(const struct list *list, const struct action *action);

/* The uniform contents: a 32-bit mix of seed and index (its top 24 bits over 2**24 are the float). */
uint32_t mix(uint32_t seed, uint32_t index);

#endif
