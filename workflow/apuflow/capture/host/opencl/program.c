/* Programs from source or from code objects, their kernels and arguments. */
#define _GNU_SOURCE
#include "icd.h"

#include <unistd.h>

static char *joined(cl_uint count, const char **strings, const size_t *lengths)
{
    size_t end = 0, total = 1;
    for (cl_uint i = 0; i < count; i++)
        total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    char *text = calloc(1, total);
    for (cl_uint i = 0; i < count; i++) {
        size_t bytes = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
        memcpy(text + end, strings[i], bytes);
        end += bytes;
    }
    return text;
}

static void end_program(void *each)
{
    cl_program program = each;
    drop(program->context);
    free(program->source);
    free(program->options);
    free(program->log);
    free(program->binary);
    free(program->kernels);
}

static cl_program made_program(cl_context context)
{
    cl_program program = made(sizeof *program, PROGRAM, end_program);
    program->context = kept(context);
    program->status = CL_BUILD_NONE;
    program->options = strdup("");
    program->log = strdup("");
    program->kernels = strdup("");
    return program;
}

PUBLIC(cl_program, clCreateProgramWithSource)
(cl_context context, cl_uint count, const char **strings, const size_t *lengths, cl_int *error)
{
    FAIL_IF(!IS(context, CONTEXT), CL_INVALID_CONTEXT);
    FAIL_IF(!count || !strings, CL_INVALID_VALUE);
    for (cl_uint i = 0; i < count; i++)
        FAIL_IF(!strings[i], CL_INVALID_VALUE);
    cl_program program = made_program(context);
    program->source = joined(count, strings, lengths);
    GIVE(program);
}

PUBLIC(cl_program, clCreateProgramWithBinary)
(cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
 const unsigned char **binaries, cl_int *statuses, cl_int *error)
{
    FAIL_IF(!IS(context, CONTEXT), CL_INVALID_CONTEXT);
    FAIL_IF(count != 1 || !devices || !lengths || !binaries || !lengths[0] || !binaries[0], CL_INVALID_VALUE);
    FAIL_IF(devices[0] != &the_device, CL_INVALID_DEVICE);
    cl_program program = made_program(context);
    program->binary = malloc(lengths[0]);
    program->binary_size = lengths[0];
    memcpy(program->binary, binaries[0], lengths[0]);
    if (statuses)
        statuses[0] = CL_SUCCESS;
    GIVE(program);
}

COUNTED(cl_program, Program, PROGRAM, CL_INVALID_PROGRAM)

static size_t kernel_count(cl_program program)
{
    size_t count = *program->kernels != '\0';
    for (const char *at = program->kernels; (at = strchr(at, ';')); at++)
        count++;
    return count;
}

/* Have apuflow compile a source, or read a binary; whether it went well. */
static bool build(cl_program program)
{
    char *directory = getcwd(NULL, 0);
    struct program made;
    const void *data = program->source ? (void *)program->source : program->binary;
    device_program(directory ? directory : "/", program->options, data,
                   program->source ? strlen(program->source) : program->binary_size, &made);
    free(directory);
    const char *names = made.memory, *log = names + strlen(names) + 1, *code = log + strlen(log) + 1;
    free(program->kernels);
    program->kernels = strdup(names);
    free(program->log);
    program->log = strdup(log);
    program->module = made.module;
    if (made.code_bytes) {
        free(program->binary);
        program->binary_size = made.code_bytes;
        program->binary = malloc(made.code_bytes);
        memcpy(program->binary, code, made.code_bytes);
    }
    device_free(made.memory);
    return made.code_bytes;
}

PUBLIC(cl_int, clBuildProgram)
(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
 void(CL_CALLBACK *call)(cl_program, void *), void *data)
{
    RETURN_IF(!IS(program, PROGRAM), CL_INVALID_PROGRAM);
    RETURN_IF((count == 0) != (devices == NULL) || (!call && data), CL_INVALID_VALUE);
    RETURN_IF(count && devices[0] != &the_device, CL_INVALID_DEVICE);
    RETURN_IF(program->attached, CL_INVALID_OPERATION);
    free(program->options);
    program->options = strdup(options ? options : "");
    bool built = build(program);
    program->status = built ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
    if (call)
        call(program, data);
    return built ? CL_SUCCESS : program->source ? CL_BUILD_PROGRAM_FAILURE : CL_INVALID_BINARY;
}

PUBLIC(cl_int, clGetProgramInfo)
(cl_program program, cl_program_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(!IS(program, PROGRAM), CL_INVALID_PROGRAM);
    bool names = name == CL_PROGRAM_NUM_KERNELS || name == CL_PROGRAM_KERNEL_NAMES;
    RETURN_IF(names && program->status != CL_BUILD_SUCCESS, CL_INVALID_PROGRAM_EXECUTABLE);
    switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT: return ANSWER(cl_uint, program->object.references);
    case CL_PROGRAM_CONTEXT: return ANSWER(cl_context, program->context);
    case CL_PROGRAM_NUM_DEVICES: return ANSWER(cl_uint, 1);
    case CL_PROGRAM_DEVICES: return ANSWER(cl_device_id, &the_device);
    case CL_PROGRAM_SOURCE: return answer_text(program->source ? program->source : "", room, out, size);
    case CL_PROGRAM_BINARY_SIZES: return ANSWER(size_t, program->binary_size);
    case CL_PROGRAM_BINARIES:
        RETURN_IF(out && room < sizeof(unsigned char *), CL_INVALID_VALUE);
        if (out && *(unsigned char **)out)
            memcpy(*(unsigned char **)out, program->binary, program->binary_size);
        return answer(NULL, sizeof(unsigned char *), 0, NULL, size);
    case CL_PROGRAM_NUM_KERNELS: return ANSWER(size_t, kernel_count(program));
    case CL_PROGRAM_KERNEL_NAMES: return answer_text(program->kernels, room, out, size);
    default: return CL_INVALID_VALUE;
    }
}

PUBLIC(cl_int, clGetProgramBuildInfo)
(cl_program program, cl_device_id of, cl_program_build_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(!IS(program, PROGRAM), CL_INVALID_PROGRAM);
    RETURN_IF(of != &the_device, CL_INVALID_DEVICE);
    bool built = program->status == CL_BUILD_SUCCESS;
    switch (name) {
    case CL_PROGRAM_BUILD_STATUS: return ANSWER(cl_build_status, program->status);
    case CL_PROGRAM_BUILD_OPTIONS: return answer_text(program->options, room, out, size);
    case CL_PROGRAM_BUILD_LOG: return answer_text(program->log, room, out, size);
    case CL_PROGRAM_BINARY_TYPE:
        return ANSWER(cl_program_binary_type,
                      built ? CL_PROGRAM_BINARY_TYPE_EXECUTABLE : CL_PROGRAM_BINARY_TYPE_NONE);
    case CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: return ANSWER(size_t, 0);
    default: return CL_INVALID_VALUE;
    }
}

static void end_kernel(void *each)
{
    cl_kernel kernel = each;
    for (cl_uint i = 0; i < kernel->described.parameters; i++)
        free(kernel->arguments[i].data);
    free(kernel->arguments);
    free(kernel->name);
    kernel->program->attached--;
    drop(kernel->program);
}

PUBLIC(cl_kernel, clCreateKernel)(cl_program program, const char *name, cl_int *error)
{
    FAIL_IF(!IS(program, PROGRAM), CL_INVALID_PROGRAM);
    FAIL_IF(program->status != CL_BUILD_SUCCESS, CL_INVALID_PROGRAM_EXECUTABLE);
    FAIL_IF(!name, CL_INVALID_VALUE);
    struct kernel described;
    FAIL_IF(device_kernel(program->module, name, &described) != OK, CL_INVALID_KERNEL_NAME);
    cl_kernel kernel = made(sizeof *kernel, KERNEL, end_kernel);
    kernel->program = kept(program);
    program->attached++;
    kernel->name = strdup(name);
    kernel->described = described;
    kernel->arguments = calloc(described.parameters + 1, sizeof *kernel->arguments);
    GIVE(kernel);
}

PUBLIC(cl_int, clCreateKernelsInProgram)(cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count)
{
    RETURN_IF(!IS(program, PROGRAM), CL_INVALID_PROGRAM);
    RETURN_IF(program->status != CL_BUILD_SUCCESS, CL_INVALID_PROGRAM_EXECUTABLE);
    size_t present = kernel_count(program);
    RETURN_IF(kernels && room < present, CL_INVALID_VALUE);
    char *names = strdup(program->kernels), *rest = names, *name;
    while (kernels && (name = strsep(&rest, ";")))
        *kernels++ = ours_clCreateKernel(program, name, NULL);
    free(names);
    if (count)
        *count = (cl_uint)present;
    return CL_SUCCESS;
}

COUNTED(cl_kernel, Kernel, KERNEL, CL_INVALID_KERNEL)

PUBLIC(cl_int, clSetKernelArg)(cl_kernel kernel, cl_uint number, size_t bytes, const void *value)
{
    RETURN_IF(!IS(kernel, KERNEL), CL_INVALID_KERNEL);
    RETURN_IF(number >= kernel->described.parameters, CL_INVALID_ARG_INDEX);
    size_t wanted = kernel->described.parameter[number].bytes;
    struct argument *argument = &kernel->arguments[number];
    switch (kernel->described.parameter[number].kind) {
    case LOCAL_PARAMETER:
        RETURN_IF(value, CL_INVALID_ARG_VALUE);
        RETURN_IF(!bytes, CL_INVALID_ARG_SIZE);
        argument->local = bytes;
        break;
    case BUFFER_PARAMETER:
        RETURN_IF(bytes != sizeof(cl_mem), CL_INVALID_ARG_SIZE);
        argument->buffer = value ? *(const cl_mem *)value : NULL;
        RETURN_IF(argument->buffer && !IS(argument->buffer, MEMORY), CL_INVALID_MEM_OBJECT);
        break;
    case VALUE_PARAMETER:
        RETURN_IF(!value, CL_INVALID_ARG_VALUE);
        RETURN_IF(bytes != wanted, CL_INVALID_ARG_SIZE);
        argument->data = argument->data ? argument->data : malloc(bytes);
        memcpy(argument->data, value, bytes);
        break;
    default:
        refuse("clSetKernelArg", "images, samplers, pipes and queues are not recorded; use buffers");
    }
    argument->set = true;
    return CL_SUCCESS;
}

PUBLIC(cl_int, clGetKernelInfo)(cl_kernel kernel, cl_kernel_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(!IS(kernel, KERNEL), CL_INVALID_KERNEL);
    switch (name) {
    case CL_KERNEL_FUNCTION_NAME: return answer_text(kernel->name, room, out, size);
    case CL_KERNEL_NUM_ARGS: return ANSWER(cl_uint, kernel->described.parameters);
    case CL_KERNEL_REFERENCE_COUNT: return ANSWER(cl_uint, kernel->object.references);
    case CL_KERNEL_CONTEXT: return ANSWER(cl_context, kernel->program->context);
    case CL_KERNEL_PROGRAM: return ANSWER(cl_program, kernel->program);
    case CL_KERNEL_ATTRIBUTES: return answer_text("", room, out, size);
    default: return CL_INVALID_VALUE;
    }
}

PUBLIC(cl_int, clGetKernelWorkGroupInfo)
(cl_kernel kernel, cl_device_id of, cl_kernel_work_group_info name, size_t room, void *out, size_t *size)
{
    RETURN_IF(!IS(kernel, KERNEL), CL_INVALID_KERNEL);
    RETURN_IF(of && of != &the_device, CL_INVALID_DEVICE);
    const struct kernel *described = &kernel->described;
    cl_ulong lds = described->lds;
    for (cl_uint i = 0; i < described->parameters; i++)
        lds += kernel->arguments[i].local;
    const size_t required[] = {described->required[0], described->required[1], described->required[2]};
    switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE: return ANSWER(size_t, described->largest_workgroup);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
        return answer(required, sizeof required, room, out, size);
    case CL_KERNEL_LOCAL_MEM_SIZE: return ANSWER(cl_ulong, lds);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: return ANSWER(size_t, 64);
    case CL_KERNEL_PRIVATE_MEM_SIZE: return ANSWER(cl_ulong, described->private_bytes);
    default: return CL_INVALID_VALUE;
    }
}

/* Programs are not built with -cl-kernel-arg-info as far as they see. */
PUBLIC(cl_int, clGetKernelArgInfo)
(cl_kernel kernel, cl_uint number, cl_kernel_arg_info name, size_t room, void *out, size_t *size)
{
    (void)name, (void)room, (void)out, (void)size;
    RETURN_IF(!IS(kernel, KERNEL), CL_INVALID_KERNEL);
    return number < kernel->described.parameters ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : CL_INVALID_ARG_INDEX;
}
