/* Memory instructions, LDS, and values of other lanes. Each first checks all of its places: where one is outside of
 * memory nothing is done, and NumPy says what is wrong. */
#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Places of all lanes, in memory or LDS; only those of active lanes count. */
static _Thread_local struct {
    int64_t *places;
    int64_t size;
} held;

static int64_t *places_for(int64_t size)
{
    if (held.size < size) {
        free(held.places);
        held.places = malloc((size_t)size * sizeof *held.places);
        held.size = held.places ? size : 0;
    }
    return held.places;
}

static int inside(const struct waves *waves, int64_t place, int64_t bytes)
{
    return place >= 0 && place < waves->bytes && place + bytes <= waves->limits[place >> 12];
}

static int64_t data_register(const struct waves *waves, const struct op *op, int32_t number)
{
    return op->accumulates ? number + waves->accumulation : number;
}

/* Where the words of each lane lie: `spread` bytes apart. */
static int64_t *addresses(const struct waves *waves, const struct op *op, int64_t bytes)
{
    int64_t lanes = waves->count * LANES, *places = places_for(lanes);
    const uint32_t *low = waves->v + op->source[0].number * lanes, *high = low + lanes;
    int has_base = op->source[2].kind == SCALAR, private = op->spread != 4;
    for (int64_t wave = 0; places && wave < waves->count; wave++) {
        int64_t base = has_base ? (int64_t)scalar_value(waves, &op->source[2], wave) : 0;
        for (int64_t i = wave * LANES; i < (wave + 1) * LANES; i++) {
            if (!waves->exec[i])
                continue;
            int64_t at = op->offset - waves->base;
            if (private) {
                int64_t within = (has_base ? base : (int64_t)low[i]) + op->offset;
                at = waves->private[wave] + (within & ~3) * LANES + i % LANES * 4 + (within & 3) - waves->base;
            } else
                at += has_base ? base + low[i] : (int64_t)((uint64_t)high[i] << 32 | low[i]);
            int whole = !private || bytes <= 4;
            for (int64_t word = 0; word < (whole ? 1 : bytes / 4); word++)
                if (!inside(waves, at + word * op->spread, whole ? bytes : 4))
                    return NULL;
            places[i] = at;
        }
    }
    return places;
}

static uint32_t loaded(const uint8_t *from, const struct op *op)
{
    uint32_t value = 0;
    memcpy(&value, from, (size_t)(op->bytes < 4 ? op->bytes : 4));
    if (op->signs)
        value = op->bytes == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
    return value;
}

static void load_lanes(struct waves *waves, const struct op *op, const uint8_t *store, const int64_t *places,
                       int64_t first)
{
    int64_t lanes = waves->count * LANES;
    for (int64_t word = 0; word < (op->bytes < 4 ? 1 : op->bytes / 4); word++) {
        uint32_t *goal = waves->v + (first + word) * lanes;
        for (int64_t i = 0; i < lanes; i++) {
            if (!waves->exec[i])
                continue;
            uint32_t value = loaded(store + places[i] + word * op->spread, op);
            goal[i] = op->half == 1 ? (goal[i] & 0xffff0000) | (value & 0xffff)
                      : op->half == 2 ? (goal[i] & 0xffff) | value << 16 : value;
        }
    }
}

/* Words after one another where all lie at multiples of 4, else bytes: the last lane that writes a place counts. */
static void save_lanes(struct waves *waves, const struct op *op, uint8_t *store, const int64_t *places, int64_t first)
{
    int64_t lanes = waves->count * LANES, unaligned = 0;
    for (int64_t i = 0; i < lanes; i++)
        unaligned |= waves->exec[i] ? places[i] & 3 : 0;
    int64_t unit = op->bytes >= 4 && !unaligned ? 4 : 1, shift = op->half == 2 ? 16 : 0;
    for (int64_t byte = 0; byte < op->bytes; byte += unit) {
        const uint32_t *from = waves->v + (first + byte / 4) * lanes;
        for (int64_t i = 0; i < lanes; i++) {
            if (!waves->exec[i])
                continue;
            uint32_t value = from[i] >> (8 * (byte % 4) + shift);
            memcpy(store + places[i] + byte / 4 * op->spread + byte % 4, &value, (size_t)unit);
        }
    }
}

/* Whether a workgroup accesses a word that another has accessed in the other way; notes it in its own way. */
static int met(int32_t *own, const int32_t *other, int64_t word, int32_t mark)
{
    own[word] = own[word] == 0 || own[word] == mark ? mark : -1;
    return other[word] != 0 && other[word] != mark;
}

static void polled(struct waves *waves, const struct op *op, int64_t place, int64_t lane)
{
    int32_t mark = waves->marks[waves->group[lane / LANES]];
    for (int64_t word = place >> 2; word <= (place + op->bytes - 1) >> 2; word++) {
        waves->numbers[word] = op->poll;
        if (met(waves->readers, waves->writers, word, mark))
            waves->waits = op->poll;
    }
}

static void written(struct waves *waves, int64_t place, int64_t bytes, int64_t lane)
{
    int32_t mark = waves->marks[waves->group[lane / LANES]];
    for (int64_t word = place >> 2; word <= (place + bytes - 1) >> 2; word++)
        if (met(waves->writers, waves->readers, word, mark))
            waves->waits = waves->numbers[word];
}

static int follows(const struct waves *waves, const struct op *op) { return waves->writers && op->spread == 4; }

static int load_memory(struct waves *waves, const struct op *op)
{
    const int64_t *places = addresses(waves, op, op->bytes);
    if (places && op->poll && follows(waves, op))
        for (int64_t i = 0; i < waves->count * LANES; i++)
            if (waves->exec[i])
                polled(waves, op, places[i], i);
    if (places)
        load_lanes(waves, op, waves->memory, places, data_register(waves, op, op->target));
    return places != NULL;
}

static int store_memory(struct waves *waves, const struct op *op)
{
    const int64_t *places = addresses(waves, op, op->bytes);
    if (places && follows(waves, op))
        for (int64_t i = 0; i < waves->count * LANES; i++)
            if (waves->exec[i])
                written(waves, places[i], op->bytes, i);
    if (places)
        save_lanes(waves, op, waves->memory, places, data_register(waves, op, op->source[1].number));
    return places != NULL;
}

/* New contents of a place, from its old ones and the operands. */
typedef uint64_t (*change)(uint64_t old, uint64_t a, uint64_t b);

#define CHANGES(X) \
    X(swap, a) X(add, old + a) X(sub, old - a) X(rsub, a - old) \
    X(umin, old < a ? old : a) X(umax, old > a ? old : a) \
    X(smin32, (int32_t)old < (int32_t)a ? old : a) X(smax32, (int32_t)old > (int32_t)a ? old : a) \
    X(smin64, (int64_t)old < (int64_t)a ? old : a) X(smax64, (int64_t)old > (int64_t)a ? old : a) \
    X(and, old & a) X(or, old | a) X(xor, old ^ a) \
    X(inc, old >= a ? 0 : old + 1) X(dec, old == 0 || old > a ? a : old - 1) \
    X(add_f32, bits_of(as_float((uint32_t)old) + as_float((uint32_t)a))) \
    X(add_f64, bits_of_double(as_double(old) + as_double(a))) \
    X(cmpswap, old == b ? a : old) X(cmpst, old == a ? b : old) X(mskor, (old & ~a) | b)
#define DEFINE_CHANGE(name, expression) \
    static uint64_t change_##name(uint64_t old, uint64_t a, uint64_t b) \
    { \
        (void)a, (void)b, (void)old; \
        return expression; \
    }
CHANGES(DEFINE_CHANGE)

/* Lane after lane, as the last instructions of one would follow the first of the next. */
static void change_lanes(struct waves *waves, const struct op *op, uint8_t *store, const int64_t *places, change does,
                         int64_t first, int64_t second)
{
    int64_t lanes = waves->count * LANES, words = op->bytes / 4;
    const uint32_t *a = waves->v + first * lanes, *b = waves->v + second * lanes;
    uint32_t *goal = waves->v + op->target * lanes;
    int follows = store == waves->memory && waves->writers;
    for (int64_t i = 0; i < lanes; i++) {
        if (!waves->exec[i])
            continue;
        uint8_t *at = store + places[i] / op->bytes * op->bytes;
        uint64_t old = 0, x = a[i], y = b[i];
        memcpy(&old, at, (size_t)op->bytes);
        if (words == 2)
            x |= (uint64_t)a[i + lanes] << 32, y |= (uint64_t)b[i + lanes] << 32;
        uint64_t value = does(old, x, y);
        memcpy(at, &value, (size_t)op->bytes);
        if (follows) {
            uint64_t now = 0;
            memcpy(&now, at, (size_t)op->bytes);
            if (op->poll && (now == old || !op->unchanged))
                polled(waves, op, at - store, i);
            if (now != old)
                written(waves, at - store, op->bytes, i);
        }
        if (op->returns) {
            goal[i] = (uint32_t)old;
            if (words == 2)
                goal[i + lanes] = (uint32_t)(old >> 32);
        }
    }
}

static int change_memory(struct waves *waves, const struct op *op, change does)
{
    const int64_t *places = addresses(waves, op, op->bytes);
    int64_t data = op->source[1].number;
    if (places)
        change_lanes(waves, op, waves->memory, places, does, data, data + op->bytes / 4);
    return places != NULL;
}

static int64_t *lds_places(const struct waves *waves, const struct op *op, int32_t offset)
{
    int64_t lanes = waves->count * LANES, *places = places_for(lanes);
    const uint32_t *address = waves->v + op->source[0].number * lanes;
    for (int64_t i = 0; places && i < lanes; i++) {
        if (!waves->exec[i])
            continue;
        int64_t at = ((int64_t)address[i] + offset) & 0xffffffff;
        if (at + op->bytes > waves->lds_bytes)
            return NULL;
        places[i] = at + waves->group[i / LANES] * waves->lds_stride;
    }
    return places;
}

static int change_lds(struct waves *waves, const struct op *op, change does)
{
    const int64_t *places = lds_places(waves, op, op->offset);
    if (places)
        change_lanes(waves, op, waves->lds, places, does, op->source[1].number, op->source[2].number);
    return places != NULL;
}

#define DEFINE_ATOMICS(name, expression) \
    static int memory_##name(struct waves *waves, const struct op *op) { return change_memory(waves, op, change_##name); } \
    static int lds_##name(struct waves *waves, const struct op *op) { return change_lds(waves, op, change_##name); }
CHANGES(DEFINE_ATOMICS)

static int read_lds(struct waves *waves, const struct op *op)
{
    const int64_t *places = lds_places(waves, op, op->offset);
    if (places)
        load_lanes(waves, op, waves->lds, places, data_register(waves, op, op->target));
    return places != NULL;
}

static int write_lds(struct waves *waves, const struct op *op)
{
    const int64_t *places = lds_places(waves, op, op->offset);
    if (places)
        save_lanes(waves, op, waves->lds, places, data_register(waves, op, op->source[1].number));
    return places != NULL;
}

/* Two places: the second part's registers follow those of the first, or are another source. The address may be one of
 * the registers that the first part loads. */
static int read_lds_twice(struct waves *waves, const struct op *op)
{
    int64_t lanes = waves->count * LANES;
    if (!lds_places(waves, op, op->second_offset))
        return 0;
    const int64_t *places = lds_places(waves, op, op->offset);
    if (!places)
        return 0;
    int64_t first = data_register(waves, op, op->target), apart = op->second_offset - op->offset;
    load_lanes(waves, op, waves->lds, places, first);
    for (int64_t i = 0; i < lanes; i++)
        if (waves->exec[i])
            held.places[i] += apart;
    load_lanes(waves, op, waves->lds, places, first + op->bytes / 4);
    return 1;
}

static int write_lds_twice(struct waves *waves, const struct op *op)
{
    if (!lds_places(waves, op, op->second_offset))
        return 0;
    const int64_t *places = lds_places(waves, op, op->offset);
    if (!places)
        return 0;
    save_lanes(waves, op, waves->lds, places, data_register(waves, op, op->source[1].number));
    places = lds_places(waves, op, op->second_offset);
    save_lanes(waves, op, waves->lds, places, data_register(waves, op, op->source[2].number));
    return 1;
}

/* DS_BPERMUTE_B32, DS_PERMUTE_B32: a lane that is not active gives 0. */
static int exchange(struct waves *waves, const struct op *op, int pushes)
{
    int64_t lanes = waves->count * LANES;
    const uint32_t *address = waves->v + op->source[0].number * lanes, *data = waves->v + op->source[1].number * lanes;
    uint32_t *goal = waves->v + op->target * lanes, value[LANES];
    for (int64_t first = 0; first < lanes; first += LANES) {
        const uint8_t *active = waves->exec + first;
        memset(value, 0, sizeof value);
        for (int lane = 0; lane < LANES; lane++) {
            uint32_t other = (address[first + lane] + (uint32_t)op->offset) >> 2 & 63;
            if (pushes && active[lane])
                value[other] = data[first + lane];
            else if (!pushes && active[other])
                value[lane] = data[first + other];
        }
        for (int lane = 0; lane < LANES; lane++)
            if (active[lane])
                goal[first + lane] = value[lane];
    }
    return 1;
}
static int ds_bpermute_b32(struct waves *waves, const struct op *op) { return exchange(waves, op, 0); }
static int ds_permute_b32(struct waves *waves, const struct op *op) { return exchange(waves, op, 1); }

static int scalar_load(struct waves *waves, const struct op *op)
{
    int64_t words = op->bytes / 4;
    for (int pass = 0; pass < 2; pass++) /* all places are checked before a register changes */
        for (int64_t wave = 0; wave < waves->count; wave++) {
            uint32_t values[16];
            int64_t at = (int64_t)scalar_value(waves, &op->source[0], wave) & ~3LL;
            int64_t moved = op->source[1].kind ? (int64_t)(scalar_value(waves, &op->source[1], wave) & ~3ULL) : 0;
            at += op->offset + moved - waves->base;
            for (int64_t word = 0; word < words; word++) {
                if (!inside(waves, at + 4 * word, 4))
                    return 0;
                memcpy(&values[word], waves->memory + at + 4 * word, 4);
            }
            for (int64_t word = 0; pass && word < words; word++)
                set_scalar_word(waves, op->target + (int32_t)word, wave, values[word]);
        }
    return 1;
}

static int v_readfirstlane_b32(struct waves *waves, const struct op *op)
{
    for (int64_t wave = 0; wave < waves->count; wave++) {
        uint64_t mask = exec_mask(waves->exec + wave * LANES);
        int lane = mask ? __builtin_ctzll(mask) : 0;
        uint32_t value = op->source[0].kind == VECTOR
                             ? waves->v[(op->source[0].number * waves->count + wave) * LANES + lane]
                             : (uint32_t)scalar_value(waves, &op->source[0], wave);
        set_scalar_word(waves, op->scalar_target, wave, value);
    }
    return 1;
}

static int v_readlane_b32(struct waves *waves, const struct op *op)
{
    for (int64_t wave = 0; wave < waves->count; wave++) {
        int64_t lane = (int64_t)(scalar_value(waves, &op->source[1], wave) & 63);
        uint32_t value = waves->v[(op->source[0].number * waves->count + wave) * LANES + lane];
        set_scalar_word(waves, op->scalar_target, wave, value);
    }
    return 1;
}

static int v_writelane_b32(struct waves *waves, const struct op *op)
{
    for (int64_t wave = 0; wave < waves->count; wave++) {
        int64_t lane = (int64_t)(scalar_value(waves, &op->source[1], wave) & 63);
        uint32_t value = (uint32_t)scalar_value(waves, &op->source[0], wave);
        waves->v[(op->target * waves->count + wave) * LANES + lane] = value;
    }
    return 1;
}

#define MEMORY_ROW(name, expression) {"memory " #name, SPECIAL, {.special = memory_##name}}, {"lds " #name, SPECIAL, {.special = lds_##name}},
const struct function memory_functions[] = {
    {"memory load", SPECIAL, {.special = load_memory}},
    {"memory store", SPECIAL, {.special = store_memory}},
    {"lds read", SPECIAL, {.special = read_lds}},
    {"lds write", SPECIAL, {.special = write_lds}},
    {"lds read2", SPECIAL, {.special = read_lds_twice}},
    {"lds write2", SPECIAL, {.special = write_lds_twice}},
    {"ds_bpermute_b32", SPECIAL, {.special = ds_bpermute_b32}},
    {"ds_permute_b32", SPECIAL, {.special = ds_permute_b32}},
    {"scalar load", SPECIAL, {.special = scalar_load}},
    {"v_readfirstlane_b32", SPECIAL, {.special = v_readfirstlane_b32}},
    {"v_readlane_b32", SPECIAL, {.special = v_readlane_b32}},
    {"v_writelane_b32", SPECIAL, {.special = v_writelane_b32}},
    CHANGES(MEMORY_ROW)
};
const int memory_count = sizeof memory_functions / sizeof *memory_functions;
