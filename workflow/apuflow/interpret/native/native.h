/* Executes the commonest instructions of the interpreter: what apuflow.interpret does with NumPy, to the bit.
 * apuflow/interpret/native.py has the other side of what is declared here, field by field. */
#ifndef APUFLOW_NATIVE_H
#define APUFLOW_NATIVE_H
#include <stddef.h>
#include <stdint.h>

enum { LANES = 64, VCC = 106, M0 = 124, EXEC = 126, MOST_LANES = 512 };

/* Wavefronts at the same instruction (apuflow.interpret.state.Waves). */
struct waves {
    uint32_t *s; /* scalar registers: [128][count] */
    uint32_t *v; /* vector registers: [registers][count][64] */
    uint8_t *exec; /* active lanes: [count][64] */
    uint8_t *scc;
    const int64_t *group;
    const int64_t *private;
    uint8_t *memory;
    const int64_t *limits; /* for each page of memory: where its buffer ends */
    uint8_t *lds;
    const int64_t *live; /* wavefronts of each workgroup that have not ended */
    int64_t base, bytes; /* of memory */
    int64_t lds_bytes, lds_stride; /* of a workgroup */
    int64_t count, registers, accumulation;
    int64_t full; /* every lane is active */
    /* apuflow.interpret.waits.Follower: who has accessed each word of memory; NULL: nobody wants to know. */
    int32_t *writers, *readers, *numbers;
    const int32_t *marks; /* of each workgroup */
    int64_t waits; /* number of a poll at which a wavefront waits for another workgroup; 0: none does */
};

enum kind { NOTHING, CONSTANT, SCALAR, VECTOR };
/* HALF + 0 or 1; SELECTED + SDWA's select; PACKED + OP_SEL + 2 OP_SEL_HI, `negative` is NEG + 2 NEG_HI */
enum part { WHOLE, HALF = 1, SELECTED = 16, SIGNED = 8, PACKED = 32 };

struct source {
    int32_t kind, number; /* of the first register */
    uint32_t low, high;   /* of a constant */
    int32_t wide;         /* 64 bits */
    int32_t part, absolute, negative;
};

enum result { NO_RESULT, WORD, PAIR, HALF_OF_TWO, HIGH_HALF, PART };

/* One instruction. Fields that its function does not read are 0. */
struct op {
    int32_t function;
    int32_t target, scalar_target;
    struct source source[4];
    int32_t result, clamp, output; /* of vector instructions; clamp and OMOD: 1 for fp32, 2 for fp64, 3 for two of fp32 */
    int32_t part_target, part_unused; /* SDWA's */
    int32_t mover; /* DPP: number of a mover, from 1 */
    int32_t bytes, signs, half, returns, scalar_base, accumulates, spread; /* of memory instructions */
    int32_t offset, second_offset;
    int32_t poll, unchanged; /* number of a poll; whether only lanes that leave memory as it was wait */
    int32_t registers, accumulated; /* it touches vector and accumulation registers below these numbers */
};

/* What DPP does with lanes: where each reads, whether there is such a lane, and which may be written. */
struct mover {
    uint8_t from[LANES], there[LANES], written[LANES];
    uint8_t bound; /* lanes without a source are written, too */
    uint8_t padding[63];
};

enum ending { NEXT, SCC0, SCC1, VCCZ, VCCNZ, EXECZ, EXECNZ, END, BARRIER, OTHER };

struct block {
    const struct op *ops;
    int64_t op_count, instructions; /* idle ones included */
    int64_t address, there, after;  /* after: also where a block goes on that does not branch */
    int64_t ending, executions;
};

/* A kernel's blocks, by (address - first) / 4: number in the table, -1: not known. */
struct program {
    struct block *blocks;
    const int32_t *numbers;
    const struct mover *movers;
    int64_t first, words;
};

/* Arguments of a vector function: `n` lanes of up to three sources, low and high words, and what it computes. */
struct lanes {
    const uint32_t *a[2], *b[2], *c[2];
    const uint8_t *m; /* lanes of a mask */
    uint32_t *r[2];
    uint8_t *flag;
    int n;
};

typedef void (*vector_function)(const struct lanes *);
typedef uint64_t (*scalar_function)(uint64_t a, uint64_t b, uint64_t old, int *scc);
/* Whether it was done; else nothing has changed. */
typedef int (*memory_function)(struct waves *, const struct op *);

enum unit { VALU, COMPARE, SALU, SALU_KEEPS, SALU_TEST, SAVE, SPECIAL };

struct function {
    const char *name;
    enum unit unit;
    union {
        vector_function vector;
        scalar_function scalar;
        memory_function special;
    } does;
};

extern const struct function vector_functions[], scalar_functions[], memory_functions[];
extern const int vector_count, scalar_count, memory_count;

/* A scalar register of a wavefront; EXEC is packed. */
uint32_t scalar_word(const struct waves *waves, int32_t number, int64_t wave);
void set_scalar_word(struct waves *waves, int32_t number, int64_t wave, uint32_t value);
uint64_t scalar_value(const struct waves *waves, const struct source *source, int64_t wave);
uint64_t exec_mask(const uint8_t *lanes);
void set_lanes(uint8_t *lanes, uint64_t mask);
void find_full(struct waves *waves);

static inline float as_float(uint32_t bits)
{
    union { uint32_t bits; float number; } value = {bits};
    return value.number;
}

static inline uint32_t bits_of(float number)
{
    union { float number; uint32_t bits; } value = {number};
    return value.bits;
}

static inline double as_double(uint64_t bits)
{
    union { uint64_t bits; double number; } value = {bits};
    return value.number;
}

static inline uint64_t bits_of_double(double number)
{
    union { double number; uint64_t bits; } value = {number};
    return value.bits;
}

#endif
