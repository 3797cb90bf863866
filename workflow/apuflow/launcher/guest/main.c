/* Dispatch GPU kernels without a runtime: launcher LIST, or launcher --check LIST to read and check everything only. */
#include "kfd.h"
#include "memory.h"
#include "queue.h"

static void say_dispatch(uint64_t number, const struct action *action, const char *how)
{
    say("apuflow-launcher: dispatch ", decimal(number), " ", action->name, " grid ", decimal(action->grid[0]), "x",
        decimal(action->grid[1]), "x", decimal(action->grid[2]), NULL);
    say(" workgroup ", decimal(action->workgroup[0]), "x", decimal(action->workgroup[1]), "x",
        decimal(action->workgroup[2]), " lds ", decimal(action->kernel.group_bytes + action->lds), " private ",
        decimal(action->kernel.private_bytes), " ", how, "\n", NULL);
}

/* Everything that can be known before the device is touched. */
static void prepare(struct list *list, struct span *data)
{
    for (uint64_t i = 0; i < list->object_count; i++)
        open_object(&list->objects[i], list->device->elf_machine, list->device->name);
    for (uint64_t i = 0; i < list->action_count; i++) {
        struct action *action = &list->actions[i];
        if (action->kind != ACTION_DISPATCH)
            continue;
        action->kernel = find_kernel(action->object, action->name);
        if (packed_size(action) > action->kernel.kernarg_bytes)
            fail(EXIT_LIST, list->path, ":", decimal(action->line), ": ", action->name, " takes ",
                 decimal(action->kernel.kernarg_bytes), " bytes of arguments, the list gives ",
                 decimal(packed_size(action)), NULL);
    }
    for (uint64_t i = 0; i < list->pointer_count; i++) {
        const struct pointer *pointer = &list->pointers[i];
        if (pointer->object && pointer->place + 8 > object_span(pointer->object))
            fail(EXIT_LIST, list->path, ": no variable at ", hexadecimal(pointer->place), " of ",
                 pointer->object->path, NULL);
    }
    if (list->data_path)
        *data = map_file(list->data_path);
    for (uint64_t i = 0; i < list->buffer_count; i++) {
        const struct buffer *buffer = &list->buffers[i];
        if (from_file(buffer->fill) && (buffer->first > data->bytes || buffer->bytes > data->bytes - buffer->first))
            fail(EXIT_LIST, list->data_path, ": holds ", decimal(data->bytes), " bytes, buffer ", buffer->name, " needs ",
                 decimal(buffer->bytes), " from ", decimal(buffer->first), NULL);
    }
}

/* The completion signal falls a little before the last compute unit goes to sleep, which is when its statistics are up
   to date (gem5 Shader::notifyCuSleep). */
static void settle(void)
{
    for (unsigned turn = 0; turn < 2000; turn++)
        __asm__ volatile("pause");
}

static void check_only(const struct list *list)
{
    uint64_t number = 0;
    for (uint64_t i = 0; i < list->action_count; i++)
        if (list->actions[i].kind == ACTION_DISPATCH)
            say_dispatch(number++, &list->actions[i], "checked");
    say("apuflow-launcher: list checked\n", NULL);
}

static void run(struct list *list, const struct span *data)
{
    int kfd = kfd_open();
    for (uint64_t i = 0; i < list->object_count; i++)
        load_object(&list->objects[i], gpu_pages(kfd, list->device, object_span(&list->objects[i])));
    for (uint64_t i = 0; i < list->buffer_count; i++)
        list->buffers[i].data = gpu_pages(kfd, list->device, list->buffers[i].bytes);
    struct queue queue = create_queue(list, kfd);
    for (uint64_t i = 0; i < list->buffer_count; i++)
        fill_buffer(&list->buffers[i], list->data_path, data);
    for (uint64_t i = 0; i < list->pointer_count; i++)
        place_pointer(&list->pointers[i]);

    uint64_t number = 0;
    for (uint64_t i = 0; i < list->action_count; i++) {
        const struct action *action = &list->actions[i];
        switch (action->kind) {
        case ACTION_DISPATCH:
            /* The first dump holds what came before: caches whose counts gem5 does not reset are counted from there. */
            if (list->statistics == STATISTICS_DISPATCH && number == 0)
                sys_dump_reset_statistics();
            else if (list->statistics != STATISTICS_RUN)
                sys_reset_statistics();
            dispatch(&queue, action);
            if (list->statistics == STATISTICS_DISPATCH) {
                settle();
                sys_dump_reset_statistics();
            }
            say_dispatch(number++, action, "done");
            break;
        case ACTION_DUMP:
            write_file(action->name, action->buffer->data, action->buffer->bytes);
            break;
        case ACTION_CHECK_FINITE:
            check_finite(list, action);
            break;
        }
    }
    say("apuflow-launcher: ", decimal(number), " of ", decimal(list->dispatch_count), " dispatches done\n", NULL);
}

void launcher_main(int argc, char **argv)
{
    int check = argc == 3 && same(argv[1], "--check");
    if (argc != 2 && !check)
        fail(EXIT_LIST, "usage: launcher [--check] LIST", NULL);
    struct span data = { 0 };
    struct list list = read_list(argv[argc - 1]);
    prepare(&list, &data);
    if (check)
        check_only(&list);
    else
        run(&list, &data);
    for (;;)
        sys_call(SYS_EXIT_GROUP, 0, 0, 0, 0, 0, 0);
}
