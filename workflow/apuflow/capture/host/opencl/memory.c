/* Buffers: device memory that the host reaches at the same address, so transfers are copies. */
#include "icd.h"

struct destructor {
    void(CL_CALLBACK *call)(cl_mem, void *);
    void *data;
    struct destructor *next;
};

/* What a program sees of a buffer until it unmaps `shown`. */
struct map {
    char *shown;
    size_t offset, bytes;
    bool written;
    struct map *next;
};

static void end_buffer(void *each)
{
    cl_mem buffer = each;
    for (struct destructor *one = buffer->destructors, *next; one; one = next) {
        next = one->next;
        one->call(buffer, one->data);
        free(one);
    }
    if (!buffer->parent)
        device_free(buffer->memory);
    drop(buffer->parent);
    drop(buffer->context);
}

static bool inside(cl_mem buffer, size_t offset, size_t bytes)
{
    return offset <= buffer->size && bytes <= buffer->size - offset;
}

PUBLIC(cl_mem, clCreateBuffer)
(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error)
{
    FAIL_IF(!IS(context, CONTEXT), CL_INVALID_CONTEXT);
    FAIL_IF(bytes == 0, CL_INVALID_BUFFER_SIZE);
    bool takes = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    FAIL_IF(takes != (host != NULL), CL_INVALID_HOST_PTR);
    bool elsewhere = flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    FAIL_IF(elsewhere && flags & CL_MEM_USE_HOST_PTR, CL_INVALID_VALUE);
    char *memory = device_alloc(bytes, DEVICE_MEMORY);
    FAIL_IF(!memory, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    cl_mem buffer = made(sizeof *buffer, MEMORY, end_buffer);
    buffer->context = kept(context);
    buffer->flags = flags & 7 ? flags : flags | CL_MEM_READ_WRITE;
    buffer->size = bytes;
    buffer->memory = memory;
    buffer->host = flags & CL_MEM_USE_HOST_PTR ? host : NULL;
    if (takes)
        memcpy(memory, host, bytes);
    GIVE(buffer);
}

PUBLIC(cl_mem, clCreateBufferWithProperties)
(cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t bytes, void *host,
 cl_int *error)
{
    FAIL_IF(properties && *properties, CL_INVALID_PROPERTY);
    return ours_clCreateBuffer(context, flags, bytes, host, error);
}

PUBLIC(cl_mem, clCreateSubBuffer)
(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type, const void *info, cl_int *error)
{
    const cl_buffer_region *region = info;
    FAIL_IF(!IS(parent, MEMORY) || parent->parent, CL_INVALID_MEM_OBJECT);
    FAIL_IF(type != CL_BUFFER_CREATE_TYPE_REGION || !region, CL_INVALID_VALUE);
    FAIL_IF(!inside(parent, region->origin, region->size), CL_INVALID_VALUE);
    FAIL_IF(region->size == 0, CL_INVALID_BUFFER_SIZE);
    FAIL_IF(region->origin % SUB_BUFFER_ALIGNMENT, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    cl_mem buffer = made(sizeof *buffer, MEMORY, end_buffer);
    buffer->context = kept(parent->context);
    buffer->flags = flags & 7 ? flags : flags | (parent->flags & 7);
    buffer->flags |= parent->flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    buffer->size = region->size;
    buffer->memory = parent->memory + region->origin;
    buffer->host = parent->host ? parent->host + region->origin : NULL;
    buffer->parent = kept(parent);
    buffer->origin = region->origin;
    GIVE(buffer);
}

COUNTED(cl_mem, MemObject, MEMORY, CL_INVALID_MEM_OBJECT)

PUBLIC(cl_int, clSetMemObjectDestructorCallback)
(cl_mem buffer, void(CL_CALLBACK *call)(cl_mem, void *), void *data)
{
    RETURN_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    RETURN_IF(!call, CL_INVALID_VALUE);
    struct destructor *added = calloc(1, sizeof *added);
    *added = (struct destructor){call, data, buffer->destructors};
    buffer->destructors = added;
    return CL_SUCCESS;
}

PUBLIC(cl_int, clGetMemObjectInfo)(cl_mem buffer, cl_mem_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    switch (name) {
    case CL_MEM_TYPE: return ANSWER(cl_mem_object_type, CL_MEM_OBJECT_BUFFER);
    case CL_MEM_FLAGS: return ANSWER(cl_mem_flags, buffer->flags);
    case CL_MEM_SIZE: return ANSWER(size_t, buffer->size);
    case CL_MEM_HOST_PTR: return ANSWER(void *, buffer->host);
    case CL_MEM_MAP_COUNT: {
        cl_uint maps = 0;
        for (struct map *each = buffer->maps; each; each = each->next)
            maps++;
        return ANSWER(cl_uint, maps);
    }
    case CL_MEM_REFERENCE_COUNT: return ANSWER(cl_uint, buffer->object.references);
    case CL_MEM_CONTEXT: return ANSWER(cl_context, buffer->context);
    case CL_MEM_ASSOCIATED_MEMOBJECT: return ANSWER(cl_mem, buffer->parent);
    case CL_MEM_OFFSET: return ANSWER(size_t, buffer->origin);
    default: return CL_INVALID_VALUE;
    }
}

PUBLIC(cl_int, clEnqueueReadBuffer)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, void *to, WAITED)
{
    (void)blocking;
    BEGIN(clEnqueueReadBuffer);
    RETURN_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    RETURN_IF(!to || !inside(buffer, offset, bytes), CL_INVALID_VALUE);
    memmove(to, buffer->memory + offset, bytes);
    return finished(queue, CL_COMMAND_READ_BUFFER, event);
}

PUBLIC(cl_int, clEnqueueWriteBuffer)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, const void *from,
 WAITED)
{
    (void)blocking;
    BEGIN(clEnqueueWriteBuffer);
    RETURN_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    RETURN_IF(!from || !inside(buffer, offset, bytes), CL_INVALID_VALUE);
    memmove(buffer->memory + offset, from, bytes);
    return finished(queue, CL_COMMAND_WRITE_BUFFER, event);
}

PUBLIC(cl_int, clEnqueueCopyBuffer)
(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes, WAITED)
{
    BEGIN(clEnqueueCopyBuffer);
    RETURN_IF(!IS(from, MEMORY) || !IS(to, MEMORY), CL_INVALID_MEM_OBJECT);
    RETURN_IF(!inside(from, from_offset, bytes) || !inside(to, to_offset, bytes), CL_INVALID_VALUE);
    char *source = from->memory + from_offset, *target = to->memory + to_offset;
    RETURN_IF(source < target + bytes && target < source + bytes, CL_MEM_COPY_OVERLAP);
    memcpy(target, source, bytes);
    return finished(queue, CL_COMMAND_COPY_BUFFER, event);
}

PUBLIC(cl_int, clEnqueueFillBuffer)
(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t width, size_t offset, size_t bytes,
 WAITED)
{
    BEGIN(clEnqueueFillBuffer);
    RETURN_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    bool power = width && width <= 128 && !(width & (width - 1));
    RETURN_IF(!pattern || !power || offset % width || bytes % width, CL_INVALID_VALUE);
    RETURN_IF(!inside(buffer, offset, bytes), CL_INVALID_VALUE);
    for (size_t at = 0; at < bytes; at += width)
        memcpy(buffer->memory + offset + at, pattern, width);
    return finished(queue, CL_COMMAND_FILL_BUFFER, event);
}

/* One side of a copy of a box: its memory, bytes from row to row and from slice to slice, where the box begins. */
struct side {
    char *memory;
    size_t limit, row, slice;
    const size_t *origin;
};

/* Fill in pitches that are 0, and step to the origin; whether the box lies inside of the memory. */
static bool placed(struct side *side, const size_t *region)
{
    side->row = side->row ? side->row : region[0];
    side->slice = side->slice ? side->slice : region[1] * side->row;
    bool empty = !region[0] || !region[1] || !region[2];
    if (empty || side->row < region[0] || side->slice < region[1] * side->row)
        return false;
    size_t first = side->origin[0] + side->origin[1] * side->row + side->origin[2] * side->slice;
    size_t last = first + (region[2] - 1) * side->slice + (region[1] - 1) * side->row + region[0];
    side->memory += first;
    return last <= side->limit;
}

/* Whether a box lies inside of both sides; then it is copied. */
static bool copied(struct side to, struct side from, const size_t *region)
{
    if (!placed(&to, region) || !placed(&from, region))
        return false;
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++)
            memmove(to.memory + z * to.slice + y * to.row, from.memory + z * from.slice + y * from.row,
                    region[0]);
    return true;
}

PUBLIC(cl_int, clEnqueueReadBufferRect)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin,
 const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, void *host, WAITED)
{
    (void)blocking;
    BEGIN(clEnqueueReadBufferRect);
    RETURN_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    struct side from = {buffer->memory, buffer->size, row, slice, origin};
    struct side to = {host, SIZE_MAX, host_row, host_slice, host_origin};
    RETURN_IF(!host || !copied(to, from, region), CL_INVALID_VALUE);
    return finished(queue, CL_COMMAND_READ_BUFFER_RECT, event);
}

PUBLIC(cl_int, clEnqueueWriteBufferRect)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin, const size_t *host_origin,
 const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, const void *host, WAITED)
{
    (void)blocking;
    BEGIN(clEnqueueWriteBufferRect);
    RETURN_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    struct side to = {buffer->memory, buffer->size, row, slice, origin};
    struct side from = {(char *)(uintptr_t)host, SIZE_MAX, host_row, host_slice, host_origin};
    RETURN_IF(!host || !copied(to, from, region), CL_INVALID_VALUE);
    return finished(queue, CL_COMMAND_WRITE_BUFFER_RECT, event);
}

PUBLIC(cl_int, clEnqueueCopyBufferRect)
(cl_command_queue queue, cl_mem source, cl_mem target, const size_t *from_origin, const size_t *to_origin,
 const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice, WAITED)
{
    BEGIN(clEnqueueCopyBufferRect);
    RETURN_IF(!IS(source, MEMORY) || !IS(target, MEMORY), CL_INVALID_MEM_OBJECT);
    struct side from = {source->memory, source->size, from_row, from_slice, from_origin};
    struct side to = {target->memory, target->size, to_row, to_slice, to_origin};
    RETURN_IF(!copied(to, from, region), CL_INVALID_VALUE);
    return finished(queue, CL_COMMAND_COPY_BUFFER_RECT, event);
}

PUBLIC(void *, clEnqueueMapBuffer)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset, size_t bytes,
 WAITED, cl_int *error)
{
    (void)blocking;
    FAIL_IF(!IS(queue, QUEUE), CL_INVALID_COMMAND_QUEUE);
    cl_int wrong = awaited("clEnqueueMapBuffer", count, events);
    FAIL_IF(wrong != CL_SUCCESS, wrong);
    FAIL_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    FAIL_IF(!inside(buffer, offset, bytes), CL_INVALID_VALUE);
    if (buffer->host && !(flags & CL_MAP_WRITE_INVALIDATE_REGION))
        memcpy(buffer->host + offset, buffer->memory + offset, bytes);
    struct map *added = calloc(1, sizeof *added);
    *added = (struct map){(buffer->host ? buffer->host : buffer->memory) + offset, offset, bytes,
                          flags != CL_MAP_READ, buffer->maps};
    buffer->maps = added;
    return coded(error, finished(queue, CL_COMMAND_MAP_BUFFER, event), added->shown);
}

PUBLIC(cl_int, clEnqueueUnmapMemObject)(cl_command_queue queue, cl_mem buffer, void *shown, WAITED)
{
    BEGIN(clEnqueueUnmapMemObject);
    RETURN_IF(!IS(buffer, MEMORY), CL_INVALID_MEM_OBJECT);
    struct map **place = &buffer->maps;
    while (*place && (*place)->shown != shown)
        place = &(*place)->next;
    RETURN_IF(!*place, CL_INVALID_VALUE);
    struct map *map = *place;
    *place = map->next;
    if (buffer->host && map->written)
        memcpy(buffer->memory + map->offset, buffer->host + map->offset, map->bytes);
    free(map);
    return finished(queue, CL_COMMAND_UNMAP_MEM_OBJECT, event);
}

PUBLIC(cl_int, clEnqueueMigrateMemObjects)
(cl_command_queue queue, cl_uint buffers, const cl_mem *each, cl_mem_migration_flags flags, WAITED)
{
    (void)flags;
    BEGIN(clEnqueueMigrateMemObjects);
    RETURN_IF(!buffers || !each, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < buffers; i++)
        RETURN_IF(!IS(each[i], MEMORY), CL_INVALID_MEM_OBJECT);
    return finished(queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, event);
}
