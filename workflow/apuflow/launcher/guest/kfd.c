#include "kfd.h"

enum { READ_WRITE = 2 };

int kfd_open(void)
{
    long kfd = sys_call(SYS_OPEN, (long)"/dev/kfd", READ_WRITE, 0, 0, 0, 0);
    if (kfd < 0)
        fail(EXIT_DEVICE, "/dev/kfd: cannot open (errno ", decimal((uint64_t)-kfd),
             "): this program runs under gem5's apu_se.py, which provides it", NULL);
    return (int)kfd;
}

void kfd_ioctl(int kfd, unsigned long request, void *arguments, const char *what)
{
    long result = sys_call(SYS_IOCTL, kfd, (long)request, (long)arguments, 0, 0, 0);
    if (result < 0)
        fail(EXIT_DEVICE, "/dev/kfd: ", what, " failed (errno ", decimal((uint64_t)-result), ")", NULL);
}

void kfd_register(int kfd, const struct device *device, void *pages, uint64_t bytes)
{
    uint32_t gpu_id = device->gpu_id;
    struct kfd_alloc_memory memory = {
        .va_addr = (uint64_t)pages, .size = bytes, .gpu_id = gpu_id, .flags = KFD_MEMORY_GTT,
    };
    kfd_ioctl(kfd, KFD_ALLOC_MEMORY, &memory, "registering memory");
    struct kfd_map_memory mapping = {
        .handle = memory.handle, .device_ids_array_ptr = (uint64_t)&gpu_id, .n_devices = 1,
    };
    kfd_ioctl(kfd, KFD_MAP_MEMORY, &mapping, "mapping memory");
}
