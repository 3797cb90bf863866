#include "util.h"

#include <stdarg.h>

enum { READ_ONLY = 0, WRITE_CREATE_TRUNCATE = 01 | 0100 | 01000, SEEK_TO_START = 0, SEEK_TO_END = 2 };
enum { PROT_READ_ = 1, PROT_WRITE_ = 2, MAP_SHARED_ = 1, MAP_PRIVATE_ = 2, MAP_ANONYMOUS_ = 0x20 };

static void put(int descriptor, const char *text)
{
    uint64_t length = 0;
    while (text[length])
        length++;
    while (length) {
        long written = sys_call(SYS_WRITE, descriptor, (long)text, (long)length, 0, 0, 0);
        if (written <= 0)
            return;
        text += written;
        length -= (uint64_t)written;
    }
}

static void put_all(int descriptor, const char *first, va_list parts)
{
    for (const char *part = first; part; part = va_arg(parts, const char *))
        put(descriptor, part);
}

void say(const char *first, ...)
{
    va_list parts;
    va_start(parts, first);
    put_all(1, first, parts);
    va_end(parts);
}

void fail(int status, const char *first, ...)
{
    va_list parts;
    put(2, "apuflow-launcher: error: ");
    va_start(parts, first);
    put_all(2, first, parts);
    va_end(parts);
    put(2, "\n");
    for (;;)
        sys_call(SYS_EXIT_GROUP, status, 0, 0, 0, 0, 0);
}

static const char *digits(uint64_t value, unsigned base, const char *prefix)
{
    static char buffers[8][24];
    static unsigned next;
    char *end = buffers[next++ % 8] + 23;
    *end = 0;
    do {
        *--end = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    for (int i = 1; i >= 0 && prefix[0]; i--)
        *--end = prefix[i];
    return end;
}

const char *decimal(uint64_t value)
{
    return digits(value, 10, "");
}

const char *hexadecimal(uint64_t value)
{
    return digits(value, 16, "0x");
}

int same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

int parse_number(const char *text, uint64_t *value)
{
    uint64_t base = 10, number = 0;
    if (text[0] == '0' && text[1] == 'x') {
        base = 16;
        text += 2;
    }
    if (!*text)
        return 0;
    for (; *text; text++) {
        uint64_t digit;
        if (*text >= '0' && *text <= '9')
            digit = (uint64_t)(*text - '0');
        else if (base == 16 && *text >= 'a' && *text <= 'f')
            digit = (uint64_t)(*text - 'a' + 10);
        else
            return 0;
        if (number > (UINT64_MAX - digit) / base)
            return 0;
        number = number * base + digit;
    }
    *value = number;
    return 1;
}

void *map_pages(uint64_t bytes)
{
    if (bytes > (1UL << 46))
        fail(EXIT_MEMORY, "more memory than a process can have: ", decimal(bytes), " bytes", NULL);
    long address = sys_call(SYS_MMAP, 0, (long)ROUND_UP(bytes ? bytes : 1, PAGE), PROT_READ_ | PROT_WRITE_,
                            MAP_PRIVATE_ | MAP_ANONYMOUS_, -1, 0);
    if (address < 0 && address > -4096)
        fail(EXIT_MEMORY, "no memory for ", decimal(bytes), " bytes", NULL);
    return (void *)address;
}

static int open_to_read(const char *path, uint64_t *bytes)
{
    long file = sys_call(SYS_OPEN, (long)path, READ_ONLY, 0, 0, 0, 0);
    if (file < 0)
        fail(EXIT_FILE, path, ": cannot open (errno ", decimal((uint64_t)-file), ")", NULL);
    long size = sys_call(SYS_LSEEK, file, 0, SEEK_TO_END, 0, 0, 0);
    if (size < 0 || sys_call(SYS_LSEEK, file, 0, SEEK_TO_START, 0, 0, 0) < 0)
        fail(EXIT_FILE, path, ": not a regular file", NULL);
    *bytes = (uint64_t)size;
    return (int)file;
}

static void read_and_close(int file, const char *path, uint8_t *to, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        long got = sys_call(SYS_READ, file, (long)(to + done), (long)(bytes - done), 0, 0, 0);
        if (got <= 0)
            fail(EXIT_FILE, path, ": cannot read", NULL);
        done += (uint64_t)got;
    }
    sys_call(SYS_CLOSE, file, 0, 0, 0, 0, 0);
}

struct span read_file(const char *path)
{
    struct span span;
    int file = open_to_read(path, &span.bytes);
    span.data = map_pages(span.bytes + 1);
    read_and_close(file, path, span.data, span.bytes);
    return span;
}

void read_part(const char *path, uint64_t offset, uint8_t *to, uint64_t bytes)
{
    uint64_t whole;
    int file = open_to_read(path, &whole);
    if (sys_call(SYS_LSEEK, file, (long)offset, SEEK_TO_START, 0, 0, 0) != (long)offset)
        fail(EXIT_FILE, path, ": cannot seek to ", decimal(offset), NULL);
    read_and_close(file, path, to, bytes);
}

struct span map_file(const char *path)
{
    struct span span;
    int file = open_to_read(path, &span.bytes);
    if (!span.bytes)
        fail(EXIT_FILE, path, ": empty", NULL);
    long address = sys_call(SYS_MMAP, 0, (long)span.bytes, PROT_READ_, MAP_SHARED_, file, 0);
    if (address < 0 && address > -4096)
        fail(EXIT_FILE, path, ": cannot map (errno ", decimal((uint64_t)-address), ")", NULL);
    span.data = (uint8_t *)address;
    sys_call(SYS_CLOSE, file, 0, 0, 0, 0, 0);
    return span;
}

void write_file(const char *path, const void *data, uint64_t bytes)
{
    long file = sys_call(SYS_OPEN, (long)path, WRITE_CREATE_TRUNCATE, 0644, 0, 0, 0);
    if (file < 0)
        fail(EXIT_FILE, path, ": cannot create (errno ", decimal((uint64_t)-file), ")", NULL);
    for (uint64_t done = 0; done < bytes;) {
        long put_bytes = sys_call(SYS_WRITE, file, (long)((const uint8_t *)data + done), (long)(bytes - done), 0, 0, 0);
        if (put_bytes <= 0)
            fail(EXIT_FILE, path, ": cannot write", NULL);
        done += (uint64_t)put_bytes;
    }
    sys_call(SYS_CLOSE, file, 0, 0, 0, 0, 0);
}
