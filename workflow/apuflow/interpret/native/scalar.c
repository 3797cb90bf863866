/* Scalar instructions, one wavefront at a time. */
#include "native.h"

uint64_t exec_mask(const uint8_t *lanes)
{
    uint64_t mask = 0;
    for (int lane = 0; lane < LANES; lane++)
        mask |= (uint64_t)lanes[lane] << lane;
    return mask;
}

void set_lanes(uint8_t *lanes, uint64_t mask)
{
    for (int lane = 0; lane < LANES; lane++)
        lanes[lane] = mask >> lane & 1;
}

uint32_t scalar_word(const struct waves *waves, int32_t number, int64_t wave)
{
    if (number < EXEC)
        return waves->s[number * waves->count + wave];
    return (uint32_t)(exec_mask(waves->exec + wave * LANES) >> 32 * (number - EXEC));
}

void set_scalar_word(struct waves *waves, int32_t number, int64_t wave, uint32_t value)
{
    if (number < EXEC) {
        waves->s[number * waves->count + wave] = value;
        return;
    }
    uint8_t *half = waves->exec + wave * LANES + 32 * (number - EXEC);
    for (int lane = 0; lane < 32; lane++)
        half[lane] = value >> lane & 1;
}

uint64_t scalar_value(const struct waves *waves, const struct source *source, int64_t wave)
{
    if (source->kind == CONSTANT)
        return (uint64_t)source->high << 32 | source->low;
    uint64_t value = scalar_word(waves, source->number, wave);
    if (source->wide)
        value |= (uint64_t)scalar_word(waves, source->number + 1, wave) << 32;
    return value;
}

static uint32_t reversed(uint32_t x)
{
    uint32_t result = 0;
    for (int bit = 0; bit < 32; bit++)
        result |= (x >> bit & 1) << (31 - bit);
    return result;
}

/* S_BFE: `what` has the first bit and, from bit 16, the number of bits. */
static uint64_t field(uint64_t x, uint64_t what, int width, int is_signed)
{
    int first = (int)(what & (uint64_t)(width - 1)), count = (int)(what >> 16 & 0x7f);
    if (count > width - first)
        count = width - first;
    if (count <= 0)
        return 0;
    uint64_t moved = x << (64 - first - count);
    return is_signed ? (uint64_t)((int64_t)moved >> (64 - count)) : moved >> (64 - count);
}

#define A32 ((uint32_t)a)
#define B32 ((uint32_t)b)
#define AI ((int32_t)a)
#define BI ((int32_t)b)
#define LOW(expression) (uint32_t)(expression)
#define WITH_FLAG(flag, expression) (*scc = (flag), (uint64_t)(expression))
#define NONZERO(expression) ({ uint64_t value_ = (expression); *scc = value_ != 0; value_; })

#define SCALAR_FUNCTIONS(X) \
    X(s_mov_b32, SALU_KEEPS, LOW(a)) X(s_mov_b64, SALU_KEEPS, a) \
    X(s_not_b32, SALU, NONZERO(LOW(~a))) X(s_not_b64, SALU, NONZERO(~a)) \
    X(s_and_b32, SALU, NONZERO(LOW(a & b))) X(s_and_b64, SALU, NONZERO(a & b)) \
    X(s_or_b32, SALU, NONZERO(LOW(a | b))) X(s_or_b64, SALU, NONZERO(a | b)) \
    X(s_xor_b32, SALU, NONZERO(LOW(a ^ b))) X(s_xor_b64, SALU, NONZERO(a ^ b)) \
    X(s_andn2_b32, SALU, NONZERO(LOW(a & ~b))) X(s_andn2_b64, SALU, NONZERO(a & ~b)) \
    X(s_orn2_b32, SALU, NONZERO(LOW(a | ~b))) X(s_orn2_b64, SALU, NONZERO(a | ~b)) \
    X(s_nand_b32, SALU, NONZERO(LOW(~(a & b)))) X(s_nand_b64, SALU, NONZERO(~(a & b))) \
    X(s_nor_b32, SALU, NONZERO(LOW(~(a | b)))) X(s_nor_b64, SALU, NONZERO(~(a | b))) \
    X(s_xnor_b32, SALU, NONZERO(LOW(~(a ^ b)))) X(s_xnor_b64, SALU, NONZERO(~(a ^ b))) \
    X(s_cselect_b32, SALU_KEEPS, *scc ? LOW(a) : LOW(b)) X(s_cselect_b64, SALU_KEEPS, *scc ? a : b) \
    X(s_cmov_b32, SALU_KEEPS, *scc ? LOW(a) : LOW(old)) X(s_cmov_b64, SALU_KEEPS, *scc ? a : old) \
    X(s_lshl_b32, SALU, NONZERO(A32 << (b & 31))) X(s_lshl_b64, SALU, NONZERO(a << (b & 63))) \
    X(s_lshr_b32, SALU, NONZERO(A32 >> (b & 31))) X(s_lshr_b64, SALU, NONZERO(a >> (b & 63))) \
    X(s_ashr_i32, SALU, NONZERO(LOW(AI >> (b & 31)))) X(s_ashr_i64, SALU, NONZERO((uint64_t)((int64_t)a >> (b & 63)))) \
    X(s_bfm_b32, SALU_KEEPS, LOW(((1u << (a & 31)) - 1) << (b & 31))) \
    X(s_bfm_b64, SALU_KEEPS, ((1ULL << (a & 63)) - 1) << (b & 63)) \
    X(s_bitset0_b32, SALU_KEEPS, LOW(old & ~(1ULL << (a & 31)))) X(s_bitset1_b32, SALU_KEEPS, LOW(old | 1ULL << (a & 31))) \
    X(s_bcnt1_i32_b32, SALU, NONZERO((uint64_t)__builtin_popcount(A32))) \
    X(s_bcnt1_i32_b64, SALU, NONZERO((uint64_t)__builtin_popcountll(a))) \
    X(s_ff1_i32_b32, SALU_KEEPS, A32 ? (uint64_t)__builtin_ctz(A32) : 0xffffffff) \
    X(s_ff1_i32_b64, SALU_KEEPS, a ? (uint64_t)__builtin_ctzll(a) : 0xffffffff) \
    X(s_flbit_i32_b32, SALU_KEEPS, A32 ? (uint64_t)__builtin_clz(A32) : 0xffffffff) \
    X(s_flbit_i32_b64, SALU_KEEPS, a ? (uint64_t)__builtin_clzll(a) : 0xffffffff) \
    X(s_brev_b32, SALU_KEEPS, reversed(A32)) \
    X(s_add_u32, SALU, WITH_FLAG((a + b) >> 32 != 0, LOW(a + b))) \
    X(s_addc_u32, SALU, ({ uint64_t sum = a + b + (uint64_t)*scc; WITH_FLAG(sum >> 32 != 0, LOW(sum)); })) \
    X(s_sub_u32, SALU, WITH_FLAG(a < b, LOW(a - b))) \
    X(s_subb_u32, SALU, ({ uint64_t taken = b + (uint64_t)*scc; WITH_FLAG(a < taken, LOW(a - taken)); })) \
    X(s_add_i32, SALU, ({ int32_t sum; int flag = __builtin_add_overflow(AI, BI, &sum); WITH_FLAG(flag, LOW(sum)); })) \
    X(s_sub_i32, SALU, ({ int32_t rest; int flag = __builtin_sub_overflow(AI, BI, &rest); WITH_FLAG(flag, LOW(rest)); })) \
    X(s_addk_i32, SALU, ({ int32_t sum; int flag = __builtin_add_overflow((int32_t)old, BI, &sum); \
                           WITH_FLAG(flag, LOW(sum)); })) \
    X(s_mulk_i32, SALU_KEEPS, LOW((uint32_t)old * B32)) \
    X(s_movk_i32, SALU_KEEPS, LOW(b)) X(s_cmovk_i32, SALU_KEEPS, *scc ? LOW(b) : LOW(old)) \
    X(s_min_i32, SALU, WITH_FLAG(AI < BI, LOW(AI < BI ? AI : BI))) X(s_max_i32, SALU, WITH_FLAG(AI > BI, LOW(AI > BI ? AI : BI))) \
    X(s_min_u32, SALU, WITH_FLAG(A32 < B32, A32 < B32 ? A32 : B32)) X(s_max_u32, SALU, WITH_FLAG(A32 > B32, A32 > B32 ? A32 : B32)) \
    X(s_mul_i32, SALU_KEEPS, LOW(A32 * B32)) \
    X(s_mul_hi_u32, SALU_KEEPS, a * b >> 32) X(s_mul_hi_i32, SALU_KEEPS, LOW((int64_t)AI * BI >> 32)) \
    X(s_lshl1_add_u32, SALU, ({ uint64_t sum = (a << 1) + b; WITH_FLAG(sum >> 32 != 0, LOW(sum)); })) \
    X(s_lshl2_add_u32, SALU, ({ uint64_t sum = (a << 2) + b; WITH_FLAG(sum >> 32 != 0, LOW(sum)); })) \
    X(s_lshl3_add_u32, SALU, ({ uint64_t sum = (a << 3) + b; WITH_FLAG(sum >> 32 != 0, LOW(sum)); })) \
    X(s_lshl4_add_u32, SALU, ({ uint64_t sum = (a << 4) + b; WITH_FLAG(sum >> 32 != 0, LOW(sum)); })) \
    X(s_abs_i32, SALU, NONZERO(LOW(AI < 0 ? 0 - A32 : A32))) \
    X(s_bfe_u32, SALU, NONZERO(LOW(field(A32, b, 32, 0)))) \
    X(s_bfe_i32, SALU, NONZERO(LOW(field((uint64_t)(int64_t)AI, b, 32, 1)))) \
    X(s_bfe_u64, SALU, NONZERO(field(a, b, 64, 0))) X(s_bfe_i64, SALU, NONZERO(field(a, b, 64, 1))) \
    X(s_sext_i32_i8, SALU_KEEPS, LOW((int8_t)a)) X(s_sext_i32_i16, SALU_KEEPS, LOW((int16_t)a)) \
    X(s_pack_ll_b32_b16, SALU_KEEPS, (A32 & 0xffff) | B32 << 16) \
    X(s_pack_lh_b32_b16, SALU_KEEPS, (A32 & 0xffff) | (B32 & 0xffff0000)) \
    X(s_pack_hh_b32_b16, SALU_KEEPS, A32 >> 16 | (B32 & 0xffff0000)) \
    X(s_getpc_b64, SALU_KEEPS, a) \
    X(s_cmp_eq_i32, SALU_TEST, A32 == B32) X(s_cmp_lg_i32, SALU_TEST, A32 != B32) \
    X(s_cmp_gt_i32, SALU_TEST, AI > BI) X(s_cmp_ge_i32, SALU_TEST, AI >= BI) \
    X(s_cmp_lt_i32, SALU_TEST, AI < BI) X(s_cmp_le_i32, SALU_TEST, AI <= BI) \
    X(s_cmp_eq_u32, SALU_TEST, A32 == B32) X(s_cmp_lg_u32, SALU_TEST, A32 != B32) \
    X(s_cmp_gt_u32, SALU_TEST, A32 > B32) X(s_cmp_ge_u32, SALU_TEST, A32 >= B32) \
    X(s_cmp_lt_u32, SALU_TEST, A32 < B32) X(s_cmp_le_u32, SALU_TEST, A32 <= B32) \
    X(s_cmp_eq_u64, SALU_TEST, a == b) X(s_cmp_lg_u64, SALU_TEST, a != b) \
    X(s_bitcmp0_b32, SALU_TEST, !(a >> (b & 31) & 1)) X(s_bitcmp1_b32, SALU_TEST, a >> (b & 31) & 1) \
    X(s_bitcmp0_b64, SALU_TEST, !(a >> (b & 63) & 1)) X(s_bitcmp1_b64, SALU_TEST, a >> (b & 63) & 1) \
    X(s_and_saveexec_b64, SAVE, a & b) X(s_or_saveexec_b64, SAVE, a | b) X(s_xor_saveexec_b64, SAVE, a ^ b) \
    X(s_andn2_saveexec_b64, SAVE, a & ~b) X(s_orn2_saveexec_b64, SAVE, a | ~b) \
    X(s_nand_saveexec_b64, SAVE, ~(a & b)) X(s_nor_saveexec_b64, SAVE, ~(a | b)) \
    X(s_xnor_saveexec_b64, SAVE, ~(a ^ b)) \
    X(s_andn1_saveexec_b64, SAVE, ~a & b) X(s_orn1_saveexec_b64, SAVE, ~a | b) \
    X(s_andn1_wrexec_b64, SAVE, ~a & b) X(s_andn2_wrexec_b64, SAVE, a & ~b)

#define DEFINE(name, unit, expression) \
    static uint64_t name(uint64_t a, uint64_t b, uint64_t old, int *scc) \
    { \
        (void)a, (void)b, (void)old, (void)scc; \
        return (uint64_t)(expression); \
    }
SCALAR_FUNCTIONS(DEFINE)

#define ROW(name, unit, expression) {#name, unit, {.scalar = name}},
const struct function scalar_functions[] = {SCALAR_FUNCTIONS(ROW)};
const int scalar_count = sizeof scalar_functions / sizeof *scalar_functions;
