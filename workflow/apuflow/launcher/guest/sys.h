/* The only door to the operating system. sys.c is the real one; the tests link another that plays /dev/kfd. */
#ifndef APUFLOW_SYS_H
#define APUFLOW_SYS_H

#include <stddef.h>
#include <stdint.h>

enum {
    SYS_READ = 0, SYS_WRITE = 1, SYS_OPEN = 2, SYS_CLOSE = 3, SYS_LSEEK = 8, SYS_MMAP = 9,
    SYS_IOCTL = 16, SYS_EXIT_GROUP = 231,
};

/* One Linux x86-64 system call: its result, or a negative errno. */
long sys_call(long number, long a, long b, long c, long d, long e, long f);

/* gem5 pseudo instructions: write the statistics and start again from zero; only start again from zero. */
void sys_dump_reset_statistics(void);
void sys_reset_statistics(void);

/* The program proper, called by the entry point with the process's arguments. Never returns. */
void launcher_main(int argc, char **argv) __attribute__((noreturn));

/* The compiler may call these on its own. */
void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

#endif
