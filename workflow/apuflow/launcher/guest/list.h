/* The dispatch list: what the program is asked to do. Grammar: docs/gem5-kernels.md. */
#ifndef APUFLOW_LIST_H
#define APUFLOW_LIST_H

#include "object.h"
#include "util.h"

enum fill {
    FILL_ZERO, FILL_TOUCH, FILL_UNTOUCHED, FILL_CONSTANT, FILL_FILE, FILL_LOADED, FILL_UNIFORM, FILL_MODULO, FILL_INDICES
};

struct buffer {
    const char *name;
    uint64_t bytes;
    enum fill fill;
    uint64_t first;  /* constant, file offset or seed */
    uint64_t second; /* modulus */
    uint8_t *data;
};

enum argument_kind { ARGUMENT_U8, ARGUMENT_U16, ARGUMENT_U32, ARGUMENT_U64, ARGUMENT_BUFFER };

struct argument {
    enum argument_kind kind;
    uint64_t value; /* or the offset into the buffer */
    struct buffer *buffer;
};

enum action_kind { ACTION_DISPATCH, ACTION_DUMP, ACTION_CHECK_FINITE };

struct action {
    enum action_kind kind;
    unsigned line;
    struct object *object;
    const char *name; /* kernel or file */
    uint32_t grid[3];
    uint32_t workgroup[3];
    uint32_t lds; /* bytes of LDS per workgroup beside those that the kernel was compiled with */
    struct argument *arguments;
    uint64_t argument_count;
    struct kernel kernel;
    struct buffer *buffer;
};

/* The address of a buffer that stands in another buffer, or in a variable of a code object. */
struct pointer {
    struct buffer *buffer;
    struct object *object; /* in the buffer's place */
    uint64_t place;
    const struct buffer *to;
    uint64_t offset;
};

struct device { /* in the order of program.py */
    const char *name;
    uint32_t elf_machine; /* EF_AMDGPU_MACH of its code objects */
    uint32_t gpu_id;      /* gem5 configs/example/hsaTopology.py */
    int discrete;
    int wide_doorbell;    /* 8 bytes, holding the last packet's index, instead of 4 with the next index */
    int doubled_ring;     /* a ring is said to be twice as large as the packets it holds (hsa_packet_processor.hh) */
};

enum statistics {
    STATISTICS_RUN, /* left alone */
    STATISTICS_RESET, /* reset before each dispatch; gem5's script writes a block at its end */
    STATISTICS_DISPATCH, /* and written after it, by the guest */
};

struct list {
    const char *path;
    const struct device *device;
    const char *data_path;
    int poll;                /* wait by reading the signal instead of sleeping on a driver event */
    enum statistics statistics;
    struct object *objects;
    uint64_t object_count;
    struct buffer *buffers;
    uint64_t buffer_count;
    struct pointer *pointers;
    uint64_t pointer_count;
    struct action *actions;
    uint64_t action_count;
    uint64_t dispatch_count;
};

/* Whether a buffer's contents stand in the data file, at its offset. */
int from_file(enum fill fill);

/* Read and check a list; exits with EXIT_LIST and file:line on any mistake. */
struct list read_list(const char *path);

/* Bytes that the arguments take at their natural alignment, in order. */
uint64_t packed_size(const struct action *action);
/* Write them there; every buffer must have its memory. */
void pack_arguments(const struct action *action, uint8_t *block);

#endif
