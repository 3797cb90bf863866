/* Launches, and events: every command has ended when its function returns. */
#include "icd.h"

#include <stdatomic.h>
#include <stdio.h>

cl_int awaited(const char *function, cl_uint count, const cl_event *events)
{
    RETURN_IF((count == 0) != (events == NULL), CL_INVALID_EVENT_WAIT_LIST);
    for (cl_uint i = 0; i < count; i++) {
        RETURN_IF(!IS(events[i], EVENT), CL_INVALID_EVENT_WAIT_LIST);
        if (events[i]->status > CL_COMPLETE)
            refuse(function, "it waits for a user event; call clSetUserEventStatus before it");
        RETURN_IF(events[i]->status < 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    }
    return CL_SUCCESS;
}

static void end_event(void *each)
{
    drop(((cl_event)each)->queue);
    drop(((cl_event)each)->context);
}

static cl_event made_event(cl_context context, cl_command_type type, cl_int status)
{
    cl_event event = made(sizeof *event, EVENT, end_event);
    event->context = kept(context);
    event->type = type;
    event->status = status;
    return event;
}

cl_int finished(cl_command_queue queue, cl_command_type type, cl_event *event)
{
    if (event) {
        *event = made_event(queue->context, type, CL_COMPLETE);
        (*event)->queue = kept(queue);
    }
    return CL_SUCCESS;
}

/* A workgroup for a program that leaves the choice: the largest divisor of x up to 256. */
static void choose_workgroup(const struct kernel *kernel, const size_t *grid, size_t *workgroup)
{
    size_t most = kernel->largest_workgroup < 256 ? kernel->largest_workgroup : 256;
    workgroup[0] = grid[0] < most ? grid[0] : most;
    while (grid[0] % workgroup[0])
        workgroup[0]--;
    for (int axis = 0; axis < 3 && kernel->required[0]; axis++)
        workgroup[axis] = kernel->required[axis];
}

/* Have apuflow execute and record a launch whose arguments are all set. */
static enum status run(cl_kernel kernel, const size_t *grid, const size_t *workgroup, const size_t *first)
{
    const struct kernel *described = &kernel->described;
    unsigned char *block = calloc(1, described->block_bytes + 1);
    size_t end = described->lds;
    for (cl_uint i = 0; i < described->parameters; i++) {
        size_t alignment = described->parameter[i].alignment, address;
        const struct argument *argument = &kernel->arguments[i];
        const void *value = argument->data ? (void *)argument->data : &address;
        address = argument->buffer ? (size_t)argument->buffer->memory : 0;
        if (argument->local) {
            address = (end + alignment - 1) / alignment * alignment;
            end = address + argument->local;
        }
        memcpy(block + described->parameter[i].offset, value, described->parameter[i].bytes);
    }
    struct launch launch = {.kernel = described->number, .lds = (uint32_t)(end - described->lds)};
    for (int axis = 0; axis < 3; axis++) {
        launch.grid[axis] = (uint32_t)grid[axis];
        launch.workgroup[axis] = (uint32_t)workgroup[axis];
        launch.offset[axis] = first[axis];
    }
    enum status done = device_launch(&launch, block, described->block_bytes);
    free(block);
    return done;
}

PUBLIC(cl_int, clEnqueueNDRangeKernel)
(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *global,
 const size_t *local, WAITED)
{
    BEGIN(clEnqueueNDRangeKernel);
    RETURN_IF(!IS(kernel, KERNEL), CL_INVALID_KERNEL);
    RETURN_IF(dimensions < 1 || dimensions > 3, CL_INVALID_WORK_DIMENSION);
    RETURN_IF(!global, CL_INVALID_GLOBAL_WORK_SIZE);
    const struct kernel *described = &kernel->described;
    for (cl_uint i = 0; i < described->parameters; i++)
        RETURN_IF(!kernel->arguments[i].set, CL_INVALID_KERNEL_ARGS);
    size_t grid[3] = {1, 1, 1}, workgroup[3] = {1, 1, 1}, first[3] = {0, 0, 0};
    memcpy(grid, global, dimensions * sizeof *grid);
    if (offset)
        memcpy(first, offset, dimensions * sizeof *first);
    for (int axis = 0; axis < 3; axis++)
        RETURN_IF(grid[axis] == 0 || grid[axis] > UINT32_MAX, CL_INVALID_GLOBAL_WORK_SIZE);
    if (local)
        memcpy(workgroup, local, dimensions * sizeof *workgroup);
    else
        choose_workgroup(described, grid, workgroup);
    for (int axis = 0; axis < 3; axis++) {
        size_t required = described->required[axis];
        RETURN_IF(workgroup[axis] == 0 || grid[axis] % workgroup[axis], CL_INVALID_WORK_GROUP_SIZE);
        RETURN_IF(required && workgroup[axis] != required, CL_INVALID_WORK_GROUP_SIZE);
        RETURN_IF(workgroup[axis] > described->largest_workgroup, CL_INVALID_WORK_ITEM_SIZE);
    }
    size_t items = workgroup[0] * workgroup[1] * workgroup[2];
    RETURN_IF(items > described->largest_workgroup, CL_INVALID_WORK_GROUP_SIZE);
    enum status done = run(kernel, grid, workgroup, first);
    RETURN_IF(done != OK, CL_OUT_OF_RESOURCES);
    return finished(queue, CL_COMMAND_NDRANGE_KERNEL, event);
}

PUBLIC(cl_int, clEnqueueTask)(cl_command_queue queue, cl_kernel kernel, WAITED)
{
    const size_t one = 1;
    return ours_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, count, events, event);
}

PUBLIC(cl_int, clEnqueueMarkerWithWaitList)(cl_command_queue queue, WAITED)
{
    BEGIN(clEnqueueMarkerWithWaitList);
    return finished(queue, CL_COMMAND_MARKER, event);
}

PUBLIC(cl_int, clEnqueueBarrierWithWaitList)(cl_command_queue queue, WAITED)
{
    BEGIN(clEnqueueBarrierWithWaitList);
    return finished(queue, CL_COMMAND_BARRIER, event);
}

PUBLIC(cl_int, clEnqueueMarker)(cl_command_queue queue, cl_event *event)
{
    return event ? ours_clEnqueueMarkerWithWaitList(queue, 0, NULL, event) : CL_INVALID_VALUE;
}

PUBLIC(cl_int, clEnqueueBarrier)(cl_command_queue queue)
{
    return ours_clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL);
}

PUBLIC(cl_int, clEnqueueWaitForEvents)(cl_command_queue queue, cl_uint count, const cl_event *events)
{
    BEGIN(clEnqueueWaitForEvents);
    return CL_SUCCESS;
}

PUBLIC(cl_int, clFlush)(cl_command_queue queue)
{
    return IS(queue, QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

PUBLIC(cl_int, clFinish)(cl_command_queue queue)
{
    return ours_clFlush(queue);
}

PUBLIC(cl_int, clWaitForEvents)(cl_uint count, const cl_event *events)
{
    RETURN_IF(!count || !events, CL_INVALID_VALUE);
    cl_int wrong = awaited("clWaitForEvents", count, events);
    return wrong == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : wrong;
}

PUBLIC(cl_int, clGetEventInfo)(cl_event event, cl_event_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(!IS(event, EVENT), CL_INVALID_EVENT);
    switch (name) {
    case CL_EVENT_COMMAND_QUEUE: return ANSWER(cl_command_queue, event->queue);
    case CL_EVENT_CONTEXT: return ANSWER(cl_context, event->context);
    case CL_EVENT_COMMAND_TYPE: return ANSWER(cl_command_type, event->type);
    case CL_EVENT_COMMAND_EXECUTION_STATUS: return ANSWER(cl_int, event->status);
    case CL_EVENT_REFERENCE_COUNT: return ANSWER(cl_uint, event->object.references);
    default: return CL_INVALID_VALUE;
    }
}

/* No clock of a GPU runs here: OpenCL's own answer for that, said aloud since many programs do not look. */
PUBLIC(cl_int, clGetEventProfilingInfo)
(cl_event event, cl_profiling_info name, size_t room, void *out, size_t *size)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    (void)name, (void)room, (void)out, (void)size;
    RETURN_IF(!IS(event, EVENT), CL_INVALID_EVENT);
    if (!atomic_flag_test_and_set(&said))
        fputs("apuflow capture: clGetEventProfilingInfo: no times are known while a program is recorded, so times "
              "that it prints mean nothing; run the workload on gem5 for them\n", stderr);
    return CL_PROFILING_INFO_NOT_AVAILABLE;
}

COUNTED(cl_event, Event, EVENT, CL_INVALID_EVENT)

PUBLIC(cl_event, clCreateUserEvent)(cl_context context, cl_int *error)
{
    FAIL_IF(!IS(context, CONTEXT), CL_INVALID_CONTEXT);
    GIVE(made_event(context, CL_COMMAND_USER, CL_SUBMITTED));
}

PUBLIC(cl_int, clSetUserEventStatus)(cl_event event, cl_int status)
{
    RETURN_IF(!IS(event, EVENT) || event->type != CL_COMMAND_USER, CL_INVALID_EVENT);
    RETURN_IF(status > CL_COMPLETE, CL_INVALID_VALUE);
    RETURN_IF(event->status <= CL_COMPLETE, CL_INVALID_OPERATION);
    event->status = status;
    return CL_SUCCESS;
}

PUBLIC(cl_int, clSetEventCallback)
(cl_event event, cl_int when, void(CL_CALLBACK *call)(cl_event, cl_int, void *), void *data)
{
    RETURN_IF(!IS(event, EVENT), CL_INVALID_EVENT);
    RETURN_IF(!call || when < CL_COMPLETE || when > CL_SUBMITTED, CL_INVALID_VALUE);
    if (event->status > CL_COMPLETE)
        refuse("clSetEventCallback", "on a user event that is not set; call clSetUserEventStatus before it");
    call(event, event->status < 0 ? event->status : when, data);
    return CL_SUCCESS;
}
