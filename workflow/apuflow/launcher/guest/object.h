/* AMDGPU code objects (ELF, code object version 3 or 4): load one, find a kernel in it. */
#ifndef APUFLOW_OBJECT_H
#define APUFLOW_OBJECT_H

#include "util.h"

struct object {
    const char *path;
    struct span file;
    uint8_t *image; /* loaded segments; virtual address 0 of the object */
    uint64_t image_bytes;
};

/* A kernel's 64-byte descriptor (LLVM AMDGPUUsage, "Kernel Descriptor"), as far as a launch needs it. */
struct kernel {
    uint32_t group_bytes;   /* LDS per workgroup */
    uint32_t private_bytes; /* scratch per work-item */
    uint32_t kernarg_bytes; /* explicit and hidden arguments */
    uint64_t descriptor;    /* its virtual address in the object */
    int64_t entry;          /* entry point, relative to the descriptor */
};

/* Read and check the file; exits with EXIT_FILE if it is no code object for this machine. */
void open_object(struct object *object, uint32_t elf_machine, const char *device);
/* Bytes of memory that its segments span. */
uint64_t object_span(const struct object *object);
/* Copy the segments to `memory`, page aligned and of that size. */
void load_object(struct object *object, uint8_t *memory);
/* Find `name`.kd; exits with EXIT_FILE, naming the kernels that are there, if it is missing. */
struct kernel find_kernel(const struct object *object, const char *name);

#endif
