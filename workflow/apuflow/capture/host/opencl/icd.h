/* Objects of the recording OpenCL implementation, and what its files share. */
#ifndef APUFLOW_ICD_H
#define APUFLOW_ICD_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include "device.h"

#include <CL/cl_icd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum kind { PLATFORM = 0x61707501, DEVICE, CONTEXT, QUEUE, MEMORY, PROGRAM, KERNEL, EVENT };

/* Begins every object; the loader reads the first member. */
struct object {
    const cl_icd_dispatch *dispatch;
    enum kind kind;
    cl_uint references;
    void (*end)(void *); /* what to do before it is freed */
};

struct _cl_platform_id { struct object object; };
struct _cl_device_id { struct object object; };

struct _cl_context {
    struct object object;
    cl_context_properties properties[32];
    size_t count;
};

struct _cl_command_queue {
    struct object object;
    cl_context context;
    cl_command_queue_properties properties;
};

/* A buffer: size bytes of device memory, which the host reaches at the same address. */
struct _cl_mem {
    struct object object;
    cl_context context;
    cl_mem_flags flags;
    size_t size;
    char *memory;
    char *host; /* of CL_MEM_USE_HOST_PTR: what a map shows */
    cl_mem parent;
    size_t origin;
    struct map *maps;
    struct destructor *destructors;
};

struct _cl_program {
    struct object object;
    cl_context context;
    char *source, *options, *log;
    unsigned char *binary;
    size_t binary_size;
    cl_build_status status;
    uint32_t module;
    char *kernels; /* names, joined by semicolons */
    cl_uint attached; /* kernels of it that are there */
};

struct argument {
    bool set;
    size_t local; /* bytes of LDS */
    unsigned char *data;
    cl_mem buffer;
};

struct _cl_kernel {
    struct object object;
    cl_program program;
    char *name;
    struct kernel described;
    struct argument *arguments;
};

struct _cl_event {
    struct object object;
    cl_context context;
    cl_command_queue queue;
    cl_command_type type;
    cl_int status;
};

extern const cl_icd_dispatch dispatch;
extern struct _cl_platform_id the_platform;
extern struct _cl_device_id the_device;

/* OpenCL's function of that name, as the table of platform.c has it. */
#define PUBLIC(type, name) type CL_API_CALL ours_##name
#define IS(each, wanted) ((each) && ((const struct object *)(each))->kind == (wanted))
#define RETURN_IF(wrong, code) \
    do { \
        if (wrong) \
            return code; \
    } while (0)
/* The same where the result is an object, and the code goes to *error. */
#define FAIL_IF(wrong, code) RETURN_IF(wrong, coded(error, code, NULL))
#define GIVE(object) return coded(error, CL_SUCCESS, object)
void *coded(cl_int *error, cl_int code, void *result);

/* A new object with one reference; zeroed. */
void *made(size_t bytes, enum kind kind, void (*end)(void *));
/* Add a reference; returns the object. */
void *kept(void *each);
/* Take one away, and the object with the last one; nothing is no object. */
void drop(void *each);
/* The functions clRetainNAME and clReleaseNAME. */
#define COUNTED(type, name, wanted, code) \
    PUBLIC(cl_int, clRetain##name)(type each) \
    { \
        RETURN_IF(!IS(each, wanted), code); \
        kept(each); \
        return CL_SUCCESS; \
    } \
    PUBLIC(cl_int, clRelease##name)(type each) \
    { \
        RETURN_IF(!IS(each, wanted), code); \
        drop(each); \
        return CL_SUCCESS; \
    }
/* Answer a query as every clGet...Info does. */
cl_int answer(const void *value, size_t bytes, size_t room, void *out, size_t *size);
cl_int answer_text(const char *value, size_t room, void *out, size_t *size);
#define ANSWER(type, value) answer(&(type){value}, sizeof(type), room, out, size)

/* Events. All commands end before their function returns. */
cl_int awaited(const char *function, cl_uint count, const cl_event *events);
cl_int finished(cl_command_queue queue, cl_command_type type, cl_event *event);
/* Check a queue and wait for events; what every clEnqueue... begins with. */
#define BEGIN(function) \
    do { \
        RETURN_IF(!IS(queue, QUEUE), CL_INVALID_COMMAND_QUEUE); \
        cl_int wrong = awaited(#function, count, events); \
        RETURN_IF(wrong != CL_SUCCESS, wrong); \
    } while (0)
#define WAITED cl_uint count, const cl_event *events, cl_event *event

#define SUB_BUFFER_ALIGNMENT 128 /* bytes */
#define QUEUE_PROPERTIES (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
#define EXTENSIONS \
    "cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics " \
    "cl_khr_local_int32_extended_atomics cl_khr_byte_addressable_store cl_khr_fp64 cl_khr_fp16"

#endif
