/* Runs instructions and blocks. */
#include "native.h"

#include <string.h>

enum status { ENDED, WAITS, PARTED, MEETS, TIRED, TOO_LONG, UNKNOWN, LEFT };

#define EXPORTED __attribute__((visibility("default")))

void find_full(struct waves *waves)
{
    waves->full = !memchr(waves->exec, 0, (size_t)(waves->count * LANES));
}

/* Lanes of one source in `held` or where they lie; wavefronts `first` to `first + n / 64`. */
static const uint32_t *fetched(const struct waves *waves, const struct source *source, const struct mover *mover,
                               int high, int64_t first, int n, uint32_t *held)
{
    int plain = source->part == WHOLE && !source->absolute && !source->negative;
    int64_t lanes = waves->count * LANES;
    int packed = source->part >= PACKED, word = packed ? source->part >> high & 1 : high;
    const uint32_t *from = held;
    switch (source->kind) {
    case CONSTANT:
        for (int i = 0; i < n; i++)
            held[i] = high ? source->high : source->low;
        return held; /* parts and signs are in it */
    case SCALAR:
        for (int wave = 0; wave < n / LANES; wave++) {
            uint32_t value = scalar_word(waves, source->number + word, first + wave);
            for (int lane = 0; lane < LANES; lane++)
                held[wave * LANES + lane] = value;
        }
        break;
    default:
        from = waves->v + (source->number + word) * lanes + first * LANES;
    }
    if (mover) {
        for (int i = 0; i < n; i++) {
            int lane = i % LANES, at = i - lane + mover->from[lane];
            held[i] = mover->there[lane] && waves->exec[first * LANES + at] ? from[at] : 0;
        }
        from = held;
    }
    if (plain)
        return from;
    int select = source->part - SELECTED, shift = 0;
    uint32_t mask = 0xffffffff, sign = 0;
    if (source->part == HALF || source->part == HALF + 1)
        shift = 16 * (source->part - HALF), mask = 0xffff;
    else if (!packed && source->part >= SELECTED && (select & ~SIGNED) < 6) {
        int place = select & ~SIGNED;
        shift = place < 4 ? 8 * place : 16 * (place - 4), mask = place < 4 ? 0xff : 0xffff;
        sign = select & SIGNED ? (mask + 1) >> 1 : 0;
    }
    int signs = packed || !source->wide || high, negative = packed ? source->negative >> high & 1 : source->negative;
    uint32_t keeps = signs && source->absolute ? 0x7fffffff : 0xffffffff, flips = signs && negative ? 1u << 31 : 0;
    for (int i = 0; i < n; i++) {
        uint32_t value = from[i] >> shift & mask;
        held[i] = (((value ^ sign) - sign) & keeps) ^ flips;
    }
    return held;
}

static void fetch_mask(const struct waves *waves, const struct source *source, int64_t first, int n, uint8_t *held)
{
    for (int wave = 0; wave < n / LANES; wave++)
        set_lanes(held + wave * LANES, scalar_value(waves, source, first + wave));
}

static float limited(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
static double limited64(double x) { return x > 0 ? x < 1 ? x : 1 : 0; }

static void modify(const struct op *op, uint32_t *low, uint32_t *high, int n)
{
    static const float factors[] = {1, 2, 4, 0.5f};
    for (int i = 0; i < n; i++)
        if (op->clamp == 2 || op->output >> 2 == 2) {
            double value = as_double((uint64_t)high[i] << 32 | low[i]), factor = factors[op->output & 3];
            value = op->output & 3 ? value * factor + factor * 0 : value;
            uint64_t raw = bits_of_double(op->clamp ? limited64(value) : value);
            low[i] = (uint32_t)raw, high[i] = (uint32_t)(raw >> 32);
        } else {
            float value = as_float(low[i]), factor = factors[op->output & 3];
            value = op->output & 3 ? value * factor + factor * 0 : value;
            low[i] = bits_of(op->clamp ? limited(value) : value);
            if (op->clamp == 3)
                high[i] = bits_of(limited(as_float(high[i])));
        }
}

static void put(uint32_t *goal, const uint32_t *value, const uint8_t *active, int n)
{
    for (int i = 0; i < n; i++)
        goal[i] = active[i] ? value[i] : goal[i];
}

static void place_result(const struct op *op, uint32_t *value, const uint32_t *goal, int n)
{
    int place = op->part_target, size = place < 4 ? 8 : 16, shift = place < 4 ? 8 * place : 16 * (place - 4);
    uint32_t mask = (1u << size) - 1, above = size + shift >= 32 ? 0 : 0xffffffffu << (size + shift);
    for (int i = 0; i < n; i++)
        switch (op->result) {
        case HALF_OF_TWO:
            value[i] = (goal[i] & 0xffff0000) | (value[i] & 0xffff);
            break;
        case HIGH_HALF:
            value[i] = (goal[i] & 0xffff) | value[i] << 16;
            break;
        case PART: {
            uint32_t word = value[i] & mask, placed = word << shift;
            if (op->part_unused == 1 && word >> (size - 1))
                placed |= above;
            else if (op->part_unused == 2)
                placed |= goal[i] & ~(mask << shift);
            value[i] = placed;
        }
        }
}

static void run_vector(struct waves *waves, const struct op *op, const struct function *function,
                       const struct mover *mover)
{
    static _Thread_local uint32_t held[3][2][MOST_LANES], result[2][MOST_LANES];
    static _Thread_local uint8_t mask[MOST_LANES], flags[MOST_LANES], written[MOST_LANES];
    int64_t lanes = waves->count * LANES;
    int compares = function->unit == COMPARE, changes_exec = compares && op->returns;
    for (int64_t first = 0, last; first < waves->count; first = last) {
        last = first + MOST_LANES / LANES < waves->count ? first + MOST_LANES / LANES : waves->count;
        int n = (int)(last - first) * LANES;
        const uint8_t *active = waves->exec + first * LANES;
        struct lanes given = {.m = mask, .r = {result[0], result[1]}, .flag = flags, .n = n};
        const uint32_t **goes[] = {given.a, given.b, given.c};
        for (int number = 0; number < 3 && op->source[number].kind; number++)
            for (int high = 0; high <= op->source[number].wide; high++)
                goes[number][high] = fetched(waves, &op->source[number], number ? NULL : mover, high, first, n,
                                             held[number][high]);
        if (op->source[3].kind)
            fetch_mask(waves, &op->source[3], first, n, mask);
        if (mover && !compares) {
            for (int i = 0; i < n; i++) {
                int lane = i % LANES;
                written[i] = active[i] && mover->written[lane] &&
                             (mover->bound || (mover->there[lane] && active[i - lane + mover->from[lane]]));
            }
            active = written;
        }
        function->does.vector(&given);
        if (!compares) {
            if (op->clamp || op->output)
                modify(op, result[0], result[1], n);
            uint32_t *goal = waves->v + op->target * lanes + first * LANES;
            if (op->result >= HALF_OF_TWO)
                place_result(op, result[0], goal, n);
            if (waves->full && !mover)
                memcpy(goal, result[0], (size_t)n * sizeof *goal);
            else
                put(goal, result[0], active, n);
            if (op->result == PAIR)
                put(goal + lanes, result[1], active, n);
        }
        for (int wave = 0; op->scalar_target >= 0 && wave < n / LANES; wave++) {
            for (int i = wave * LANES; i < (wave + 1) * LANES; i++)
                flags[i] &= active[i];
            uint64_t all = exec_mask(flags + wave * LANES);
            if (op->scalar_target == EXEC || changes_exec)
                set_lanes(waves->exec + (first + wave) * LANES, all);
            if (op->scalar_target != EXEC) {
                set_scalar_word(waves, op->scalar_target, first + wave, (uint32_t)all);
                set_scalar_word(waves, op->scalar_target + 1, first + wave, (uint32_t)(all >> 32));
            }
        }
    }
    if (op->scalar_target == EXEC || changes_exec)
        find_full(waves);
}

static void run_scalar(struct waves *waves, const struct op *op, const struct function *function)
{
    struct source goal = {SCALAR, op->target, 0, 0, op->result == PAIR, 0, 0, 0};
    for (int64_t wave = 0; wave < waves->count; wave++) {
        int scc = waves->scc[wave];
        uint64_t a = op->source[0].kind ? scalar_value(waves, &op->source[0], wave) : 0;
        uint64_t b = op->source[1].kind ? scalar_value(waves, &op->source[1], wave) : 0;
        if (function->unit == SAVE) {
            uint64_t old = exec_mask(waves->exec + wave * LANES), value = function->does.scalar(a, old, 0, &scc);
            uint64_t saved = op->returns ? old : value;
            set_scalar_word(waves, op->target, wave, (uint32_t)saved);
            set_scalar_word(waves, op->target + 1, wave, (uint32_t)(saved >> 32));
            set_lanes(waves->exec + wave * LANES, value);
            waves->scc[wave] = value != 0;
            continue;
        }
        uint64_t value = function->does.scalar(a, b, op->target >= 0 ? scalar_value(waves, &goal, wave) : 0, &scc);
        if (function->unit == SALU_TEST) {
            waves->scc[wave] = value != 0;
            continue;
        }
        if (function->unit == SALU)
            waves->scc[wave] = (uint8_t)scc;
        set_scalar_word(waves, op->target, wave, (uint32_t)value);
        if (op->result == PAIR)
            set_scalar_word(waves, op->target + 1, wave, (uint32_t)(value >> 32));
    }
    if (function->unit == SAVE || op->target >= EXEC - 1)
        find_full(waves);
}

static const struct function *function_of(int32_t number)
{
    if (number < vector_count)
        return &vector_functions[number];
    number -= vector_count;
    return number < scalar_count ? &scalar_functions[number] : &memory_functions[number - scalar_count];
}

EXPORTED const char *native_name(int32_t number)
{
    return number < vector_count + scalar_count + memory_count ? function_of(number)->name : NULL;
}

EXPORTED int32_t native_sizes(int32_t which)
{
    const size_t sizes[] = {sizeof(struct waves), sizeof(struct op), sizeof(struct mover), sizeof(struct block),
                            sizeof(struct program)};
    return (int32_t)sizes[which];
}

/* Whether it was done; else nothing has changed. */
static int run_op(struct waves *waves, const struct op *op, const struct mover *movers)
{
    int64_t accumulated = op->accumulated ? op->accumulated + waves->accumulation : 0;
    if (op->function < 0 || op->registers > waves->registers || accumulated > waves->registers)
        return 0;
    const struct function *function = function_of(op->function);
    switch (function->unit) {
    case VALU:
    case COMPARE:
        run_vector(waves, op, function, op->mover ? &movers[op->mover - 1] : NULL);
        return 1;
    case SPECIAL:
        if (!function->does.special(waves, op))
            return 0;
        if (op->scalar_target >= EXEC || op->scalar_base)
            find_full(waves);
        return 1;
    default:
        run_scalar(waves, op, function);
        return 1;
    }
}

EXPORTED int32_t native_op(struct waves *waves, const struct op *op, const struct mover *movers)
{
    find_full(waves);
    return run_op(waves, op, movers);
}

/* Whether the wavefronts branch; -1: some do. */
static int branches(const struct waves *waves, int64_t ending)
{
    int64_t taken = 0;
    for (int64_t wave = 0; wave < waves->count; wave++) {
        int yes;
        switch (ending) {
        case SCC0:
        case SCC1:
            yes = waves->scc[wave] == (ending == SCC1);
            break;
        case VCCZ:
        case VCCNZ:
            yes = !(waves->s[VCC * waves->count + wave] | waves->s[(VCC + 1) * waves->count + wave]) == (ending == VCCZ);
            break;
        default:
            yes = !exec_mask(waves->exec + wave * LANES) == (ending == EXECZ);
        }
        taken += yes;
    }
    return taken == 0 ? 0 : taken == waves->count ? 1 : -1;
}

/* Whether all wavefronts of these workgroups are here: they need not wait at a barrier. */
static int complete(const struct waves *waves)
{
    for (int64_t first = 0; first < waves->count; first++) {
        int64_t here = 0;
        for (int64_t wave = 0; wave < waves->count; wave++)
            here += waves->group[wave] == waves->group[first];
        if (here != waves->live[waves->group[first]])
            return 0;
    }
    return 1;
}

struct state {
    int64_t address; /* of the block; then where to go on */
    int64_t op; /* in the block */
    int64_t patience, others, executed, limit;
};

/* Run blocks from `state` on until wavefronts part, meet others at an address, end, wait or come to what is not known. */
EXPORTED int32_t native_run(struct waves *waves, const struct program *program, struct state *state)
{
    find_full(waves);
    for (;;) {
        int64_t word = (state->address - program->first) / 4;
        int32_t number = word >= 0 && word < program->words ? program->numbers[word] : -1;
        if (number < 0)
            return UNKNOWN;
        if (state->patience <= 0 && !state->op)
            return TIRED;
        struct block *block = &program->blocks[number];
        for (; state->op < block->op_count; state->op++)
            if (!run_op(waves, &block->ops[state->op], program->movers))
                return LEFT;
        state->op = 0;
        state->patience--;
        block->executions += waves->count;
        state->executed += waves->count * block->instructions;
        if (state->executed > state->limit)
            return TOO_LONG;
        if (block->ending == END)
            return ENDED;
        int taken = 0;
        if (block->ending == OTHER)
            return PARTED;
        if (block->ending >= SCC0 && block->ending <= EXECNZ)
            taken = branches(waves, block->ending);
        if (taken < 0)
            return PARTED;
        if (block->ending == BARRIER && !complete(waves)) {
            state->address = block->after;
            return WAITS;
        }
        state->address = taken ? block->there : block->after;
        if (state->address >= state->others)
            return MEETS;
    }
}
