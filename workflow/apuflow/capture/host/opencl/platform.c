/* The platform with its one device, contexts, queues, and the table that the loader calls. */
#include "icd.h"

#include <stdio.h>

struct _cl_platform_id the_platform = {{&dispatch, PLATFORM, 1, NULL}};
struct _cl_device_id the_device = {{&dispatch, DEVICE, 1, NULL}};

void *made(size_t bytes, enum kind kind, void (*end)(void *))
{
    struct object *each = calloc(1, bytes);
    if (!each)
        abort();
    *each = (struct object){&dispatch, kind, 1, end};
    return each;
}

void *kept(void *each)
{
    __atomic_add_fetch(&((struct object *)each)->references, 1, __ATOMIC_SEQ_CST);
    return each;
}

void drop(void *each)
{
    struct object *object = each;
    if (!object || __atomic_sub_fetch(&object->references, 1, __ATOMIC_SEQ_CST))
        return;
    if (object->end)
        object->end(object);
    free(object);
}

void *coded(cl_int *error, cl_int code, void *result)
{
    if (error)
        *error = code;
    return result;
}

cl_int answer(const void *value, size_t bytes, size_t room, void *out, size_t *size)
{
    RETURN_IF(out && room < bytes, CL_INVALID_VALUE);
    if (out)
        memcpy(out, value, bytes);
    if (size)
        *size = bytes;
    return CL_SUCCESS;
}

cl_int answer_text(const char *value, size_t room, void *out, size_t *size)
{
    return answer(value, strlen(value) + 1, room, out, size);
}

PUBLIC(cl_int, clGetPlatformIDs)(cl_uint room, cl_platform_id *platforms, cl_uint *count)
{
    RETURN_IF((platforms && !room) || (!platforms && !count), CL_INVALID_VALUE);
    if (platforms)
        platforms[0] = &the_platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

PUBLIC(cl_int, clGetPlatformInfo)
(cl_platform_id of, cl_platform_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(of && of != &the_platform, CL_INVALID_PLATFORM);
    switch (name) {
    case CL_PLATFORM_PROFILE: return answer_text("FULL_PROFILE", room, out, size);
    case CL_PLATFORM_VERSION: return answer_text("OpenCL 1.2 apuflow", room, out, size);
    case CL_PLATFORM_NAME: return answer_text("apuflow", room, out, size);
    case CL_PLATFORM_VENDOR: return answer_text("apuflow", room, out, size);
    case CL_PLATFORM_EXTENSIONS: return answer_text("cl_khr_icd", room, out, size);
    case CL_PLATFORM_ICD_SUFFIX_KHR: return answer_text("APUFLOW", room, out, size);
    default: return CL_INVALID_VALUE;
    }
}

PUBLIC(cl_int, clGetDeviceIDs)
(cl_platform_id of, cl_device_type type, cl_uint room, cl_device_id *devices, cl_uint *count)
{
    RETURN_IF(of && of != &the_platform, CL_INVALID_PLATFORM);
    RETURN_IF((devices && !room) || (!devices && !count), CL_INVALID_VALUE);
    bool wanted = type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT);
    if (count)
        *count = wanted;
    RETURN_IF(!wanted, CL_DEVICE_NOT_FOUND);
    if (devices)
        devices[0] = &the_device;
    return CL_SUCCESS;
}

/* Whole numbers of a device that hold for every GPU, with their sizes in bytes. */
static const struct {
    cl_device_info name;
    unsigned char bytes;
    uint64_t value;
} NUMBERS[] = {
    {CL_DEVICE_TYPE, 8, CL_DEVICE_TYPE_GPU}, {CL_DEVICE_VENDOR_ID, 4, 0x1002},
    {CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, 4, 3}, {CL_DEVICE_MAX_WORK_GROUP_SIZE, 8, 1024},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, 4, 4}, {CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT, 4, 2},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, 4, 1}, {CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG, 4, 1},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 4, 1}, {CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, 4, 1},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, 4, 1}, {CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, 4, 4},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, 4, 2}, {CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, 4, 1},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, 4, 1}, {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 4, 1},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, 4, 1}, {CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, 4, 1},
    {CL_DEVICE_ADDRESS_BITS, 4, 64}, {CL_DEVICE_MAX_PARAMETER_SIZE, 8, 1024},
    {CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4, 8 * SUB_BUFFER_ALIGNMENT},
    {CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, 4, 128}, {CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, 4, CL_READ_WRITE_CACHE},
    {CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 4, 64}, {CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 8, 16384},
    {CL_DEVICE_MAX_CONSTANT_ARGS, 4, 8}, {CL_DEVICE_LOCAL_MEM_TYPE, 4, CL_LOCAL},
    {CL_DEVICE_HOST_UNIFIED_MEMORY, 4, CL_TRUE}, {CL_DEVICE_PROFILING_TIMER_RESOLUTION, 8, 1},
    {CL_DEVICE_ENDIAN_LITTLE, 4, CL_TRUE}, {CL_DEVICE_AVAILABLE, 4, CL_TRUE},
    {CL_DEVICE_COMPILER_AVAILABLE, 4, CL_TRUE}, {CL_DEVICE_EXECUTION_CAPABILITIES, 8, CL_EXEC_KERNEL},
    {CL_DEVICE_QUEUE_PROPERTIES, 8, QUEUE_PROPERTIES},
    {CL_DEVICE_SINGLE_FP_CONFIG, 8, CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA | CL_FP_DENORM},
    {CL_DEVICE_HALF_FP_CONFIG, 8, CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_DENORM},
    {CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, 4, CL_TRUE}, {CL_DEVICE_REFERENCE_COUNT, 4, 1},
    {CL_DEVICE_IMAGE_SUPPORT, 4, 0}, {CL_DEVICE_MAX_READ_IMAGE_ARGS, 4, 0},
    {CL_DEVICE_MAX_WRITE_IMAGE_ARGS, 4, 0}, {CL_DEVICE_IMAGE2D_MAX_WIDTH, 8, 0},
    {CL_DEVICE_IMAGE2D_MAX_HEIGHT, 8, 0}, {CL_DEVICE_IMAGE3D_MAX_WIDTH, 8, 0},
    {CL_DEVICE_IMAGE3D_MAX_HEIGHT, 8, 0}, {CL_DEVICE_IMAGE3D_MAX_DEPTH, 8, 0},
    {CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, 8, 0}, {CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, 8, 0},
    {CL_DEVICE_MAX_SAMPLERS, 4, 0}, {CL_DEVICE_ERROR_CORRECTION_SUPPORT, 4, 0},
    {CL_DEVICE_LINKER_AVAILABLE, 4, 0}, {CL_DEVICE_PRINTF_BUFFER_SIZE, 8, 0},
    {CL_DEVICE_PARTITION_MAX_SUB_DEVICES, 4, 0}, {CL_DEVICE_PARTITION_PROPERTIES, 8, 0},
    {CL_DEVICE_PARTITION_AFFINITY_DOMAIN, 8, 0}, {CL_DEVICE_SVM_CAPABILITIES, 8, 0},
};

PUBLIC(cl_int, clGetDeviceInfo)(cl_device_id of, cl_device_info name, size_t room, void *out, size_t *size)
{
    static const size_t items[3] = {1024, 1024, 1024};
    RETURN_IF(of != &the_device, CL_INVALID_DEVICE);
    const struct properties *gpu = device();
    switch (name) {
    case CL_DEVICE_NAME: return answer_text(gpu->gfx, room, out, size);
    case CL_DEVICE_MAX_COMPUTE_UNITS: return ANSWER(cl_uint, gpu->units);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY: return ANSWER(cl_uint, gpu->clock_khz / 1000);
    case CL_DEVICE_GLOBAL_MEM_SIZE: return ANSWER(cl_ulong, gpu->memory);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return ANSWER(cl_ulong, gpu->memory / 2);
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE: return ANSWER(cl_ulong, gpu->memory / 2);
    case CL_DEVICE_LOCAL_MEM_SIZE: return ANSWER(cl_ulong, gpu->lds);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return answer(items, sizeof items, room, out, size);
    case CL_DEVICE_VENDOR: return answer_text("Advanced Micro Devices, Inc.", room, out, size);
    case CL_DRIVER_VERSION: return answer_text("1", room, out, size);
    case CL_DEVICE_PROFILE: return answer_text("FULL_PROFILE", room, out, size);
    case CL_DEVICE_VERSION: return answer_text("OpenCL 1.2 apuflow", room, out, size);
    case CL_DEVICE_OPENCL_C_VERSION: return answer_text("OpenCL C 1.2 ", room, out, size);
    case CL_DEVICE_BUILT_IN_KERNELS: return answer_text("", room, out, size);
    case CL_DEVICE_EXTENSIONS: return answer_text(EXTENSIONS, room, out, size);
    case CL_DEVICE_PLATFORM: return ANSWER(cl_platform_id, &the_platform);
    case CL_DEVICE_PARENT_DEVICE: return ANSWER(cl_device_id, NULL);
    case CL_DEVICE_PARTITION_TYPE: return answer(NULL, 0, room, out, size);
    }
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++)
        if (NUMBERS[i].name == name)
            return answer(&NUMBERS[i].value, NUMBERS[i].bytes, room, out, size);
    return CL_INVALID_VALUE;
}

PUBLIC(cl_int, clRetainDevice)(cl_device_id of)
{
    return of == &the_device ? CL_SUCCESS : CL_INVALID_DEVICE;
}

PUBLIC(cl_int, clReleaseDevice)(cl_device_id of)
{
    return ours_clRetainDevice(of);
}

PUBLIC(cl_context, clCreateContext)
(const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
 void(CL_CALLBACK *call)(const char *, const void *, size_t, void *), void *data, cl_int *error)
{
    (void)call, (void)data;
    size_t used = 0;
    FAIL_IF(!count || !devices, CL_INVALID_VALUE);
    FAIL_IF(devices[0] != &the_device, CL_INVALID_DEVICE);
    for (; properties && properties[used]; used += 2) {
        bool names = properties[used] == CL_CONTEXT_PLATFORM;
        bool syncs = properties[used] == CL_CONTEXT_INTEROP_USER_SYNC;
        FAIL_IF(used > 2 || !(names || syncs), CL_INVALID_PROPERTY);
        FAIL_IF(names && properties[used + 1] != (cl_context_properties)&the_platform, CL_INVALID_PLATFORM);
    }
    cl_context context = made(sizeof *context, CONTEXT, NULL);
    if (properties) {
        context->count = used + 1;
        memcpy(context->properties, properties, context->count * sizeof *properties);
    }
    GIVE(context);
}

PUBLIC(cl_context, clCreateContextFromType)
(const cl_context_properties *properties, cl_device_type type,
 void(CL_CALLBACK *call)(const char *, const void *, size_t, void *), void *data, cl_int *error)
{
    cl_device_id found;
    cl_int status = ours_clGetDeviceIDs(NULL, type, 1, &found, NULL);
    FAIL_IF(status != CL_SUCCESS, status);
    return ours_clCreateContext(properties, 1, &found, call, data, error);
}

COUNTED(cl_context, Context, CONTEXT, CL_INVALID_CONTEXT)

PUBLIC(cl_int, clGetContextInfo)
(cl_context context, cl_context_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(!IS(context, CONTEXT), CL_INVALID_CONTEXT);
    switch (name) {
    case CL_CONTEXT_REFERENCE_COUNT: return ANSWER(cl_uint, context->object.references);
    case CL_CONTEXT_NUM_DEVICES: return ANSWER(cl_uint, 1);
    case CL_CONTEXT_DEVICES: return ANSWER(cl_device_id, &the_device);
    case CL_CONTEXT_PROPERTIES:
        return answer(context->properties, context->count * sizeof *context->properties, room, out, size);
    default: return CL_INVALID_VALUE;
    }
}

static void end_queue(void *each)
{
    drop(((cl_command_queue)each)->context);
}

PUBLIC(cl_command_queue, clCreateCommandQueue)
(cl_context context, cl_device_id of, cl_command_queue_properties properties, cl_int *error)
{
    FAIL_IF(!IS(context, CONTEXT), CL_INVALID_CONTEXT);
    FAIL_IF(of != &the_device, CL_INVALID_DEVICE);
    FAIL_IF(properties & ~(cl_ulong)QUEUE_PROPERTIES, CL_INVALID_QUEUE_PROPERTIES);
    cl_command_queue queue = made(sizeof *queue, QUEUE, end_queue);
    queue->context = kept(context);
    queue->properties = properties;
    GIVE(queue);
}

PUBLIC(cl_command_queue, clCreateCommandQueueWithProperties)
(cl_context context, cl_device_id of, const cl_queue_properties *properties, cl_int *error)
{
    cl_command_queue_properties wanted = 0;
    for (; properties && *properties; properties += 2) {
        FAIL_IF(*properties != CL_QUEUE_PROPERTIES, CL_INVALID_QUEUE_PROPERTIES);
        wanted = properties[1];
    }
    return ours_clCreateCommandQueue(context, of, wanted, error);
}

COUNTED(cl_command_queue, CommandQueue, QUEUE, CL_INVALID_COMMAND_QUEUE)

PUBLIC(cl_int, clGetCommandQueueInfo)
(cl_command_queue queue, cl_command_queue_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(!IS(queue, QUEUE), CL_INVALID_COMMAND_QUEUE);
    switch (name) {
    case CL_QUEUE_CONTEXT: return ANSWER(cl_context, queue->context);
    case CL_QUEUE_DEVICE: return ANSWER(cl_device_id, &the_device);
    case CL_QUEUE_REFERENCE_COUNT: return ANSWER(cl_uint, queue->object.references);
    case CL_QUEUE_PROPERTIES: return ANSWER(cl_command_queue_properties, queue->properties);
    default: return CL_INVALID_VALUE;
    }
}

PUBLIC(cl_int, clGetSupportedImageFormats)
(cl_context context, cl_mem_flags flags, cl_mem_object_type type, cl_uint room, cl_image_format *formats,
 cl_uint *count)
{
    (void)flags, (void)type, (void)room, (void)formats;
    if (count)
        *count = 0;
    return IS(context, CONTEXT) ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

PUBLIC(cl_int, clUnloadCompiler)(void)
{
    return CL_SUCCESS;
}

PUBLIC(cl_int, clUnloadPlatformCompiler)(cl_platform_id of)
{
    return of == &the_platform ? CL_SUCCESS : CL_INVALID_PLATFORM;
}

PUBLIC(void *, clGetExtensionFunctionAddressForPlatform)(cl_platform_id of, const char *name)
{
    (void)of;
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)ours_clGetPlatformIDs : NULL;
}

PUBLIC(void *, clGetExtensionFunctionAddress)(const char *name)
{
    return ours_clGetExtensionFunctionAddressForPlatform(&the_platform, name);
}
