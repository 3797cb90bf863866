/* The device behind every front end (HIP, OpenCL): memory that the program shares with apuflow, and requests that
 * apuflow answers. apuflow/capture/protocol.py has the other side of what is declared here. */
#ifndef APUFLOW_DEVICE_H
#define APUFLOW_DEVICE_H
#include <stddef.h>
#include <stdint.h>

enum { MOST_PARAMETERS = 256, LONGEST_NAME = 64 };

enum status { OK, INVALID, OUT_OF_MEMORY, NOT_FOUND, NO_BINARY, BAD_GEOMETRY };

enum memory { DEVICE_MEMORY = 1, HOST_MEMORY, MANAGED_MEMORY };

struct properties {
    char gfx[LONGEST_NAME];
    uint64_t memory;
    uint32_t units, wave, largest_workgroup, lds, registers, clock_khz;
};

/* What an address belongs to. */
struct place {
    uint64_t address, bytes;
    uint32_t kind, padding;
};

enum parameter { VALUE_PARAMETER, BUFFER_PARAMETER, LOCAL_PARAMETER, OTHER_PARAMETER };

/* A kernel of a code object, and where its arguments lie in the argument block. */
struct kernel {
    uint32_t number, block_bytes, lds, private_bytes, registers, largest_workgroup, parameters;
    uint32_t required[3]; /* the only workgroup that it runs in; 0: any */
    struct {
        uint32_t offset, bytes, kind, alignment; /* alignment: of the LDS that a LOCAL_PARAMETER points to */
    } parameter[MOST_PARAMETERS];
};

struct launch {
    uint32_t kernel, lds, grid[3], workgroup[3]; /* grid and workgroup in work-items */
    uint64_t offset[3];                          /* of the first work-item's numbers */
};

/* Properties of the GPU. The first call connects the program to apuflow, or ends it where there is none. */
const struct properties *device(void);

/* Memory at one address for host and GPU; NULL: none is left. */
void *device_alloc(size_t bytes, enum memory kind);
enum status device_free(void *memory);
/* Whether an address is in such memory, and in which piece. */
int device_find(const void *address, struct place *found);

/* What device_program made of a program: in `memory`, which the caller frees, names of kernels, messages, each with
 * a 0 behind it, and `code_bytes` of its code object, none where it failed. */
struct program {
    uint32_t module, padding;
    uint64_t code_bytes;
    char *memory;
};

/* A code object, or a bundle of several. */
enum status device_load(const void *data, size_t bytes, uint32_t *module);
/* A source in OpenCL C, compiled with `options` for a program in `directory`, or a code object. */
enum status device_program(const char *directory, const char *options, const void *data, size_t bytes,
                           struct program *made);
/* Bytes of a code object (ELF) or of a bundle in memory; 0: it is neither. */
size_t code_bytes(const void *data);
enum status device_kernel(uint32_t module, const char *name, struct kernel *found);
enum status device_variable(uint32_t module, const char *name, struct place *found);
/* Runs a kernel; `block`: its arguments as its parameters place them. */
enum status device_launch(const struct launch *launch, const void *block, size_t bytes);

/* Of a program whose GPU executes its launches itself. */

enum { MOST_PIECES = 256 };

/* Pieces of memory that a launch can reach. */
struct pieces {
    uint32_t count, padding;
    struct {
        uint64_t address, bytes;
    } piece[MOST_PIECES];
};

/* The program has memory at that address; device_free: no longer. */
void device_placed(const void *memory, size_t bytes);
/* A launch will begin; NOT_FOUND: it is not recorded. */
enum status device_observe(const struct launch *launch, const void *block, size_t bytes);
/* Pieces that apuflow has not seen, before the launch and then after it; none: it has seen all. */
void device_missing(struct pieces *missing);
/* What a piece holds. */
void device_snapshot(uint64_t address, const void *data, size_t bytes);
/* The launch has ended. */
void device_observed(void);

/* End the program: it calls something that is not there. */
_Noreturn void refuse(const char *function, const char *remedy);

#endif
