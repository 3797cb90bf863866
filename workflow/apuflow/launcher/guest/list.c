#include "list.h"

enum { MAX_WORDS = 16 };

static const struct device DEVICES[] = { GPUS }; /* apuflow.core.gpus, by the compiler's command line */

struct parser {
    struct list list;
    unsigned line;
    char *words[MAX_WORDS];
    unsigned word_count;
    struct argument *arguments;
    uint64_t arguments_used;
    uint64_t arguments_due; /* "arg" lines that the last dispatch still needs */
};

static void wrong(const struct parser *parser, const char *what, const char *word)
{
    fail(EXIT_LIST, parser->list.path, ":", decimal(parser->line), ": ", what, word ? ": " : "", word ? word : "", NULL);
}

static uint64_t number(const struct parser *parser, unsigned word, uint64_t limit)
{
    uint64_t value;
    if (!parse_number(parser->words[word], &value))
        wrong(parser, "not a number", parser->words[word]);
    if (value > limit)
        wrong(parser, "too large", parser->words[word]);
    return value;
}

static void want_words(const struct parser *parser, unsigned least, unsigned most)
{
    if (parser->word_count < least)
        wrong(parser, "too few words after", parser->words[0]);
    if (parser->word_count > most)
        wrong(parser, "too many words after", parser->words[0]);
}

int from_file(enum fill fill)
{
    return fill == FILL_FILE || fill == FILL_LOADED;
}

static struct buffer *find_buffer(const struct parser *parser, const char *name)
{
    for (uint64_t i = 0; i < parser->list.buffer_count; i++)
        if (same(parser->list.buffers[i].name, name))
            return &parser->list.buffers[i];
    wrong(parser, "no such buffer", name);
    return NULL;
}

static void parse_device(struct parser *parser)
{
    want_words(parser, 2, 2);
    for (unsigned i = 0; i < sizeof DEVICES / sizeof *DEVICES; i++)
        if (same(DEVICES[i].name, parser->words[1]))
            parser->list.device = &DEVICES[i];
    if (!parser->list.device)
        wrong(parser, "unknown device", parser->words[1]);
}

static void parse_choice(struct parser *parser, int *choice, const char *off, const char *on)
{
    want_words(parser, 2, 2);
    if (!same(parser->words[1], on) && !same(parser->words[1], off))
        wrong(parser, "unknown choice", parser->words[1]);
    *choice = same(parser->words[1], on);
}

static void parse_statistics(struct parser *parser)
{
    static const char *const CHOICES[] = { "run", "reset", "dispatch" };
    want_words(parser, 2, 2);
    for (unsigned i = 0; i < 3; i++)
        if (same(parser->words[1], CHOICES[i])) {
            parser->list.statistics = (enum statistics)i;
            return;
        }
    wrong(parser, "unknown choice", parser->words[1]);
}

static void parse_object(struct parser *parser)
{
    want_words(parser, 2, 2);
    struct object *object = &parser->list.objects[parser->list.object_count++];
    object->path = parser->words[1];
}

static void parse_buffer(struct parser *parser)
{
    static const struct { const char *word; enum fill fill; unsigned parameters; } FILLS[] = {
        { "zero", FILL_ZERO, 0 },         { "touch", FILL_TOUCH, 0 },     { "untouched", FILL_UNTOUCHED, 0 },
        { "constant", FILL_CONSTANT, 1 }, { "file", FILL_FILE, 1 },       { "uniform", FILL_UNIFORM, 1 },
        { "modulo", FILL_MODULO, 2 },     { "indices", FILL_INDICES, 2 }, { "loaded", FILL_LOADED, 1 },
    };
    struct buffer *buffer = &parser->list.buffers[parser->list.buffer_count];
    want_words(parser, 4, 6);
    for (uint64_t i = 0; i < parser->list.buffer_count; i++)
        if (same(parser->list.buffers[i].name, parser->words[1]))
            wrong(parser, "a second buffer of this name", parser->words[1]);
    buffer->name = parser->words[1];
    buffer->bytes = number(parser, 2, 1UL << 40);
    if (!buffer->bytes || buffer->bytes % 4)
        wrong(parser, "a buffer's size is a multiple of 4 bytes, above 0", parser->words[2]);
    for (unsigned i = 0; i < sizeof FILLS / sizeof *FILLS; i++) {
        if (!same(FILLS[i].word, parser->words[3]))
            continue;
        want_words(parser, 4 + FILLS[i].parameters, 4 + FILLS[i].parameters);
        buffer->fill = FILLS[i].fill;
        if (FILLS[i].parameters > 0)
            buffer->first = number(parser, 4, from_file(FILLS[i].fill) ? UINT64_MAX : UINT32_MAX);
        if (FILLS[i].parameters > 1)
            buffer->second = number(parser, 5, FILLS[i].fill == FILL_MODULO ? 256 : INT32_MAX);
        if (FILLS[i].parameters > 1 && !buffer->second)
            wrong(parser, "modulus is 0", NULL);
        if (from_file(buffer->fill) && !parser->list.data_path)
            wrong(parser, "contents from a file, but no data line before", NULL);
        parser->list.buffer_count++;
        return;
    }
    wrong(parser, "unknown contents", parser->words[3]);
}

static struct action *next_action(struct parser *parser, enum action_kind kind)
{
    struct action *action = &parser->list.actions[parser->list.action_count++];
    action->kind = kind;
    action->line = parser->line;
    return action;
}

/* dispatch OBJECT KERNEL GX GY GZ WX WY WZ ARGUMENTS [LDS] */
static void parse_dispatch(struct parser *parser)
{
    want_words(parser, 10, 11);
    struct action *action = next_action(parser, ACTION_DISPATCH);
    if (!parser->list.object_count)
        wrong(parser, "a dispatch before any object", NULL);
    action->object = &parser->list.objects[number(parser, 1, parser->list.object_count - 1)];
    action->name = parser->words[2];
    uint64_t items = 1;
    for (unsigned i = 0; i < 3; i++) {
        action->grid[i] = (uint32_t)number(parser, 3 + i, UINT32_MAX);
        action->workgroup[i] = (uint32_t)number(parser, 6 + i, 1024);
        items *= action->workgroup[i];
        if (!action->grid[i] || !action->workgroup[i])
            wrong(parser, "a grid or workgroup size is 0", NULL);
    }
    if (items > 1024)
        wrong(parser, "a workgroup has at most 1024 work-items, this one", decimal(items));
    action->argument_count = number(parser, 9, 1024);
    action->lds = parser->word_count == 11 ? (uint32_t)number(parser, 10, 1U << 20) : 0;
    action->arguments = &parser->arguments[parser->arguments_used];
    parser->arguments_due = action->argument_count;
    parser->list.dispatch_count++;
}

/* arg u32 NUMBER | arg u64 NUMBER | arg buffer NAME [OFFSET] */
static void parse_argument(struct parser *parser)
{
    static const char *const KINDS[] = { "u8", "u16", "u32", "u64" };
    want_words(parser, 3, 4);
    if (!parser->arguments_due)
        wrong(parser, "an argument more than its dispatch says", NULL);
    parser->arguments_due--;
    struct argument *argument = &parser->arguments[parser->arguments_used++];
    if (same(parser->words[1], "buffer")) {
        argument->kind = ARGUMENT_BUFFER;
        argument->buffer = find_buffer(parser, parser->words[2]);
        if (parser->word_count == 4)
            argument->value = number(parser, 3, argument->buffer->bytes - 1);
        return;
    }
    want_words(parser, 3, 3);
    for (unsigned i = 0; i < 4; i++)
        if (same(parser->words[1], KINDS[i])) {
            argument->kind = (enum argument_kind)i;
            argument->value = number(parser, 2, UINT64_MAX >> (64 - (8U << i)));
            return;
        }
    wrong(parser, "unknown kind of argument", parser->words[1]);
}

/* address NAME PLACE TO [OFFSET] | variable OBJECT PLACE TO [OFFSET] */
static void parse_pointer(struct parser *parser, int variable)
{
    want_words(parser, 4, 5);
    struct pointer *pointer = &parser->list.pointers[parser->list.pointer_count++];
    uint64_t limit = UINT32_MAX;
    if (!variable) {
        pointer->buffer = find_buffer(parser, parser->words[1]);
        limit = pointer->buffer->bytes - 8;
        if (pointer->buffer->bytes < 8)
            wrong(parser, "too small for an address", parser->words[1]);
    } else if (parser->list.object_count)
        pointer->object = &parser->list.objects[number(parser, 1, parser->list.object_count - 1)];
    else
        wrong(parser, "a variable before any object", NULL);
    pointer->place = number(parser, 2, limit);
    pointer->to = find_buffer(parser, parser->words[3]);
    if (parser->word_count == 5)
        pointer->offset = number(parser, 4, pointer->to->bytes);
}

static void parse_dump(struct parser *parser)
{
    want_words(parser, 3, 3);
    struct action *action = next_action(parser, ACTION_DUMP);
    action->buffer = find_buffer(parser, parser->words[1]);
    action->name = parser->words[2];
}

static void parse_check(struct parser *parser)
{
    want_words(parser, 3, 3);
    if (!same(parser->words[2], "finite"))
        wrong(parser, "unknown check", parser->words[2]);
    next_action(parser, ACTION_CHECK_FINITE)->buffer = find_buffer(parser, parser->words[1]);
}

static void parse_line(struct parser *parser)
{
    const char *word = parser->words[0];
    if (parser->arguments_due && !same(word, "arg"))
        wrong(parser, "arguments missing before", word);
    if (same(word, "device"))
        parse_device(parser);
    else if (same(word, "data")) {
        want_words(parser, 2, 2);
        parser->list.data_path = parser->words[1];
    } else if (same(word, "wait"))
        parse_choice(parser, &parser->list.poll, "event", "poll");
    else if (same(word, "statistics"))
        parse_statistics(parser);
    else if (same(word, "object"))
        parse_object(parser);
    else if (same(word, "buffer"))
        parse_buffer(parser);
    else if (same(word, "dispatch"))
        parse_dispatch(parser);
    else if (same(word, "arg"))
        parse_argument(parser);
    else if (same(word, "address") || same(word, "variable"))
        parse_pointer(parser, same(word, "variable"));
    else if (same(word, "dump"))
        parse_dump(parser);
    else if (same(word, "check"))
        parse_check(parser);
    else
        wrong(parser, "unknown statement", word);
}

/* Cut one line into words in place; returns the start of the next line. */
static char *split(struct parser *parser, char *text)
{
    parser->word_count = 0;
    while (*text && *text != '\n') {
        if (*text == ' ' || *text == '\t' || *text == '\r') {
            text++;
            continue;
        }
        if (parser->word_count == MAX_WORDS)
            wrong(parser, "more words than any statement has", NULL);
        parser->words[parser->word_count++] = text;
        while (*text && *text != '\n' && *text != ' ' && *text != '\t' && *text != '\r')
            text++;
        if (*text && *text != '\n')
            *text++ = 0;
    }
    if (*text)
        *text++ = 0;
    return text;
}

struct list read_list(const char *path)
{
    struct parser parser = { .list.path = path };
    struct span file = read_file(path);
    uint64_t lines = 1;
    for (uint64_t i = 0; i < file.bytes; i++)
        lines += file.data[i] == '\n';
    parser.list.objects = map_pages(lines * sizeof *parser.list.objects);
    parser.list.buffers = map_pages(lines * sizeof *parser.list.buffers);
    parser.list.pointers = map_pages(lines * sizeof *parser.list.pointers);
    parser.list.actions = map_pages(lines * sizeof *parser.list.actions);
    parser.arguments = map_pages(lines * sizeof *parser.arguments);

    int ended = 0;
    for (char *text = (char *)file.data; *text;) {
        parser.line++;
        text = split(&parser, text);
        if (parser.line == 1) {
            if (parser.word_count != 2 || !same(parser.words[0], "apuflow-dispatch-list") || !same(parser.words[1], "1"))
                wrong(&parser, "the first line of a dispatch list is 'apuflow-dispatch-list 1'", NULL);
            continue;
        }
        if (!parser.word_count || parser.words[0][0] == '#')
            continue;
        if (ended)
            wrong(&parser, "a statement after 'end'", parser.words[0]);
        ended = parser.word_count == 1 && same(parser.words[0], "end") && !parser.arguments_due;
        if (!ended)
            parse_line(&parser);
    }
    if (!ended)
        wrong(&parser, "the list is cut off: no 'end'", NULL);
    if (!parser.list.device)
        wrong(&parser, "no device line", NULL);
    if (!parser.list.dispatch_count)
        wrong(&parser, "nothing to dispatch", NULL);
    return parser.list;
}

static uint64_t argument_size(const struct argument *argument)
{
    return argument->kind == ARGUMENT_BUFFER ? 8 : 1UL << argument->kind;
}

uint64_t packed_size(const struct action *action)
{
    uint64_t offset = 0;
    for (uint64_t i = 0; i < action->argument_count; i++) {
        uint64_t size = argument_size(&action->arguments[i]);
        offset = ROUND_UP(offset, size) + size;
    }
    return offset;
}

void pack_arguments(const struct action *action, uint8_t *block)
{
    uint64_t offset = 0;
    for (uint64_t i = 0; i < action->argument_count; i++) {
        const struct argument *argument = &action->arguments[i];
        uint64_t size = argument_size(argument), value = argument->value;
        if (argument->kind == ARGUMENT_BUFFER)
            value += (uint64_t)argument->buffer->data;
        offset = ROUND_UP(offset, size);
        for (uint64_t byte = 0; byte < size; byte++)
            block[offset++] = (uint8_t)(value >> (8 * byte));
    }
}
