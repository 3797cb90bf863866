#include "object.h"

enum {
    ELF_AMDGPU = 224, SEGMENT_LOAD = 1, SEGMENT_DYNAMIC = 2, SECTION_RELOCATIONS = 4, SECTION_DYNSYM = 11, SECTION_LOADED = 2,
    RELOCATION_NONE = 0, RELOCATION_RELATIVE64 = 13, RELOCATION_BYTES = 24, /* R_AMDGPU_... */
    HEADER_BYTES = 64, SEGMENT_BYTES = 56, SECTION_BYTES = 64, SYMBOL_BYTES = 24, DESCRIPTOR_BYTES = 64,
};

static uint64_t field(const struct object *object, uint64_t offset, unsigned bytes)
{
    uint64_t value = 0;
    if (offset > object->file.bytes || bytes > object->file.bytes - offset)
        fail(EXIT_FILE, object->path, ": truncated code object (", decimal(object->file.bytes), " bytes)", NULL);
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)object->file.data[offset + i] << (8 * i);
    return value;
}

static void want_range(const struct object *object, uint64_t offset, uint64_t bytes)
{
    if (offset > object->file.bytes || bytes > object->file.bytes - offset)
        fail(EXIT_FILE, object->path, ": truncated code object (", decimal(object->file.bytes), " bytes)", NULL);
}

void open_object(struct object *object, uint32_t elf_machine, const char *device)
{
    object->file = read_file(object->path);
    if (object->file.bytes < HEADER_BYTES || field(object, 0, 4) != 0x464c457f || field(object, 4, 1) != 2)
        fail(EXIT_FILE, object->path, ": not a 64-bit ELF file", NULL);
    if (field(object, 18, 2) != ELF_AMDGPU)
        fail(EXIT_FILE, object->path, ": not for AMD GPUs (ELF machine ", decimal(field(object, 18, 2)), ")", NULL);
    if ((field(object, 48, 4) & 0xff) != elf_machine)
        fail(EXIT_FILE, object->path, ": not compiled for ", device, " (machine flag ",
             hexadecimal(field(object, 48, 4) & 0xff), ", ", device, " is ", hexadecimal(elf_machine), ")", NULL);
    uint64_t sections = field(object, 40, 8), count = field(object, 60, 2);
    want_range(object, sections, count * SECTION_BYTES);
    (void)object_span(object);
}

static uint64_t segment(const struct object *object, uint64_t index)
{
    return field(object, 32, 8) + index * SEGMENT_BYTES;
}

uint64_t object_span(const struct object *object)
{
    uint64_t span = 0;
    for (uint64_t i = 0; i < field(object, 56, 2); i++) {
        uint64_t header = segment(object, i);
        if (field(object, header, 4) != SEGMENT_LOAD)
            continue;
        uint64_t address = field(object, header + 16, 8), stored = field(object, header + 32, 8);
        uint64_t bytes = field(object, header + 40, 8);
        want_range(object, field(object, header + 8, 8), stored);
        if (stored > bytes || address > (1UL << 32) || bytes > (1UL << 32))
            fail(EXIT_FILE, object->path, ": damaged code object (segment ", decimal(i), ")", NULL);
        if (address + bytes > span)
            span = address + bytes;
    }
    if (!span)
        fail(EXIT_FILE, object->path, ": nothing to load in this code object", NULL);
    return span;
}

/* Variables that hold addresses within their own code object. */
static void relocate(const struct object *object)
{
    uint64_t sections = field(object, 40, 8);
    for (uint64_t s = 0; s < field(object, 60, 2); s++) {
        uint64_t header = sections + s * SECTION_BYTES;
        if (field(object, header + 4, 4) != SECTION_RELOCATIONS || !(field(object, header + 8, 8) & SECTION_LOADED))
            continue;
        uint64_t at = field(object, header + 24, 8), end = at + field(object, header + 32, 8);
        for (; at + RELOCATION_BYTES <= end; at += RELOCATION_BYTES) {
            uint64_t place = field(object, at, 8), kind = field(object, at + 8, 4);
            uint64_t address = (uint64_t)object->image + field(object, at + 16, 8);
            if (kind == RELOCATION_NONE)
                continue;
            if (kind != RELOCATION_RELATIVE64 || place + 8 > object->image_bytes)
                fail(EXIT_FILE, object->path, ": a relocation of kind ", decimal(kind), " that is not known", NULL);
            memcpy(object->image + place, &address, sizeof address);
        }
    }
}

void load_object(struct object *object, uint8_t *memory)
{
    object->image = memory;
    object->image_bytes = object_span(object);
    for (uint64_t i = 0; i < field(object, 56, 2); i++) {
        uint64_t header = segment(object, i);
        if (field(object, header, 4) == SEGMENT_LOAD)
            memcpy(memory + field(object, header + 16, 8), object->file.data + field(object, header + 8, 8),
                   field(object, header + 32, 8));
    }
    /* It follows the code, and no kernel reads it. Of code that ends with its page, gem5 decodes the line behind
     * s_endpgm as well, and panics over what has no meaning: zeros are v_cndmask_b32. */
    for (uint64_t i = 0; i < field(object, 56, 2); i++) {
        uint64_t header = segment(object, i), span = object->image_bytes;
        uint64_t address = field(object, header + 16, 8), bytes = field(object, header + 40, 8);
        if (field(object, header, 4) == SEGMENT_DYNAMIC && address <= span && bytes <= span - address)
            memset(memory + address, 0, bytes);
    }
    relocate(object);
}

/* Whether the symbol's name is `kernel` followed by ".kd"; a null kernel asks for any descriptor. */
static int names_kernel(const char *symbol, const char *kernel)
{
    if (!kernel) {
        while (*symbol && !same(symbol, ".kd"))
            symbol++;
        return *symbol != 0;
    }
    while (*kernel && *symbol == *kernel)
        symbol++, kernel++;
    return !*kernel && same(symbol, ".kd");
}

/* The next dynamic symbol at or after *index that names the kernel: its file offset, or 0. `*text` is its name. */
static uint64_t next_symbol(const struct object *object, const char *kernel, uint64_t *index, const char **text)
{
    uint64_t sections = field(object, 40, 8);
    for (uint64_t s = 0; s < field(object, 60, 2); s++) {
        uint64_t header = sections + s * SECTION_BYTES;
        if (field(object, header + 4, 4) != SECTION_DYNSYM)
            continue;
        uint64_t symbols = field(object, header + 24, 8), count = field(object, header + 32, 8) / SYMBOL_BYTES;
        uint64_t strings_header = sections + field(object, header + 40, 4) * SECTION_BYTES;
        uint64_t strings = field(object, strings_header + 24, 8), length = field(object, strings_header + 32, 8);
        want_range(object, symbols, count * SYMBOL_BYTES);
        want_range(object, strings, length);
        for (; *index < count; (*index)++) {
            uint64_t symbol = symbols + *index * SYMBOL_BYTES, name = field(object, symbol, 4);
            if (name >= length || object->file.data[strings + length - 1])
                fail(EXIT_FILE, object->path, ": damaged code object (symbol names)", NULL);
            *text = (const char *)object->file.data + strings + name;
            if (names_kernel(*text, kernel))
                return symbol;
        }
    }
    return 0;
}

/* The file offset of a loaded virtual address. */
static uint64_t file_offset(const struct object *object, uint64_t address, uint64_t bytes)
{
    for (uint64_t i = 0; i < field(object, 56, 2); i++) {
        uint64_t header = segment(object, i), start = field(object, header + 16, 8);
        if (field(object, header, 4) == SEGMENT_LOAD && address >= start &&
            address - start + bytes <= field(object, header + 32, 8))
            return field(object, header + 8, 8) + address - start;
    }
    fail(EXIT_FILE, object->path, ": damaged code object (a descriptor lies outside its segments)", NULL);
}

struct kernel find_kernel(const struct object *object, const char *name)
{
    const char *text = "";
    uint64_t index = 0, symbol = next_symbol(object, name, &index, &text);
    if (!symbol) {
        say(object->path, ": kernels here:", NULL);
        for (index = 0; next_symbol(object, NULL, &index, &text); index++)
            say(" ", text, NULL);
        say("\n", NULL);
        fail(EXIT_FILE, object->path, ": no kernel ", name, NULL);
    }
    uint64_t descriptor = field(object, symbol + 8, 8);
    uint64_t at = file_offset(object, descriptor, DESCRIPTOR_BYTES);
    return (struct kernel){
        .group_bytes = (uint32_t)field(object, at, 4),
        .private_bytes = (uint32_t)field(object, at + 4, 4),
        .kernarg_bytes = (uint32_t)field(object, at + 8, 4),
        .descriptor = descriptor,
        .entry = (int64_t)field(object, at + 16, 8),
    };
}
