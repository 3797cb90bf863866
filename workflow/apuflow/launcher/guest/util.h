/* Text, files and memory for a program without a C library. */
#ifndef APUFLOW_UTIL_H
#define APUFLOW_UTIL_H

#include "sys.h"

#define PAGE 4096UL
#define ROUND_UP(value, unit) (((value) + (unit) - 1) / (unit) * (unit))

/* What the process's exit status means; documented in docs/gem5-kernels.md. */
enum { EXIT_LIST = 2, EXIT_FILE = 3, EXIT_DEVICE = 4, EXIT_MEMORY = 5, EXIT_CHECK = 6 };

struct span {
    uint8_t *data;
    uint64_t bytes;
};

/* Print parts up to a NULL, to standard output. */
void say(const char *first, ...);
/* Print "apuflow-launcher: error: ", the parts and a newline to standard error, and exit. */
void fail(int status, const char *first, ...) __attribute__((noreturn));
/* Decimal or hexadecimal text of a number; each call uses the next of a few rotating buffers. */
const char *decimal(uint64_t value);
const char *hexadecimal(uint64_t value);

int same(const char *a, const char *b);
/* Decimal, or hexadecimal after 0x. Returns 0 if the text is not a number or does not fit 64 bits. */
int parse_number(const char *text, uint64_t *value);

/* Zeroed pages that nobody has touched. */
void *map_pages(uint64_t bytes);
/* A whole file, copied into fresh memory followed by a zero byte. */
struct span read_file(const char *path);
/* Read bytes of a file, from an offset, into memory: gem5 writes that without its CPU and caches. */
void read_part(const char *path, uint64_t offset, uint8_t *to, uint64_t bytes);
/* A file's pages, to read from; they come in when touched. */
struct span map_file(const char *path);
void write_file(const char *path, const void *data, uint64_t bytes);

#endif
