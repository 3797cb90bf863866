/* Entry point, system calls and gem5 pseudo instructions: no C library, so that gem5 simulates only what is written here. */
#include "sys.h"

__asm__(".globl _start\n"
        "_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov (%rsp), %rdi\n"      /* argc */
        "    lea 8(%rsp), %rsi\n"     /* argv */
        "    and $-16, %rsp\n"
        "    call launcher_main\n"
        "    hlt\n");

long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* 0F 04 and a 16-bit function number (gem5 include/gem5/asm/generic/m5ops.h); rdi: delay, rsi: period, both none. */
void sys_reset_statistics(void)
{
    __asm__ volatile(".byte 0x0f, 0x04\n.word 0x40" : : "D"(0L), "S"(0L) : "rax", "memory");
}

void sys_dump_reset_statistics(void)
{
    __asm__ volatile(".byte 0x0f, 0x04\n.word 0x42" : : "D"(0L), "S"(0L) : "rax", "memory");
}

/* Eight bytes at a time, at any alignment; each word is a handful of simulated instructions. */
typedef uint64_t __attribute__((may_alias, aligned(1))) word;

void *memcpy(void *to, const void *from, size_t bytes)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    for (; bytes >= 8; bytes -= 8, target += 8, source += 8)
        *(word *)target = *(const word *)source;
    while (bytes--)
        *target++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *target = to;
    for (uint64_t pattern = 0x0101010101010101UL * (uint8_t)value; bytes >= 8; bytes -= 8, target += 8)
        *(word *)target = pattern;
    while (bytes--)
        *target++ = (uint8_t)value;
    return to;
}
