/* Arithmetic of the vector units; a letter of a name is the type as in apuflow.interpret.vector. */
#include "native.h"

#include <math.h>

/* A function over all lanes; `store` writes what the lane `i` gets. */
#define LANE_FUNCTION(name, ...) \
    static void name(const struct lanes *x) \
    { \
        const uint32_t *restrict a = x->a[0], *restrict b = x->b[0], *restrict c = x->c[0]; \
        const uint32_t *restrict a1 = x->a[1], *restrict b1 = x->b[1], *restrict c1 = x->c[1]; \
        const uint8_t *restrict m = x->m; \
        uint32_t *restrict r = x->r[0], *restrict r1 = x->r[1]; \
        uint8_t *restrict flag = x->flag; \
        const int n = x->n; \
        (void)a, (void)b, (void)c, (void)a1, (void)b1, (void)c1, (void)m, (void)r, (void)r1, (void)flag; \
        for (int i = 0; i < n; i++) { \
            __VA_ARGS__; \
        } \
    }
#define U(p) (p[i])
#define I(p) ((int32_t)p[i])
#define F(p) as_float(p[i])
#define W(p) ((uint16_t)p[i])
#define S(p) ((int16_t)p[i])
#define Q(p) ((uint64_t)p##1[i] << 32 | p[i])
#define L(p) ((int64_t)Q(p))
#define D(p) as_double(Q(p))
#define WORD_IS(expression) r[i] = (uint32_t)(expression)
#define FLOAT_IS(expression) r[i] = bits_of(expression)
#define HIGH_IS(expression) r1[i] = bits_of(expression)
#define PAIR_IS(expression) uint64_t pair_ = (uint64_t)(expression); r[i] = (uint32_t)pair_; r1[i] = (uint32_t)(pair_ >> 32)
#define DOUBLE_IS(expression) PAIR_IS(bits_of_double(expression))
#define FLAG_IS(expression) flag[i] = (uint8_t)(expression)

static inline float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
static inline float mad(float a, float b, float c)
{
    return flushed(flushed(flushed(a) * flushed(b)) + flushed(c));
}

static inline int signalling(uint32_t x) { return (x & 0x7fffffff) > 0x7f800000 && !(x & 1 << 22); }
static inline int signalling64(uint64_t x)
{
    return (x & ~(1ULL << 63)) > 0x7ffULL << 52 && !(x & 1ULL << 51);
}

/* Of a number and a quiet NaN the number; -0 is below +0; a signalling NaN gives a NaN. */
static inline uint32_t larger(uint32_t a, uint32_t b)
{
    float x = as_float(a), y = as_float(b);
    uint32_t value = x == y ? (a & b) : x >= y || isnan(y) ? a : b;
    return signalling(a) || signalling(b) ? 0x7fc00000 : value;
}
static inline uint32_t smaller(uint32_t a, uint32_t b)
{
    float x = as_float(a), y = as_float(b);
    uint32_t value = x == y ? (a | b) : x <= y || isnan(y) ? a : b;
    return signalling(a) || signalling(b) ? 0x7fc00000 : value;
}
static inline uint64_t larger64(uint64_t a, uint64_t b)
{
    double x = as_double(a), y = as_double(b);
    uint64_t value = x == y ? (a & b) : x >= y || isnan(y) ? a : b;
    return signalling64(a) || signalling64(b) ? 0x7ff8ULL << 48 : value;
}
static inline uint64_t smaller64(uint64_t a, uint64_t b)
{
    double x = as_double(a), y = as_double(b);
    uint64_t value = x == y ? (a | b) : x <= y || isnan(y) ? a : b;
    return signalling64(a) || signalling64(b) ? 0x7ff8ULL << 48 : value;
}
static inline uint32_t median(uint32_t a, uint32_t b, uint32_t c)
{
    if (isnan(as_float(a)) || isnan(as_float(b)) || isnan(as_float(c)))
        return smaller(smaller(a, b), c);
    return larger(smaller(a, b), smaller(larger(a, b), c));
}

#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define MORE(a, b) ((a) > (b) ? (a) : (b))
#define MIDDLE(type, a, b, c) type low_ = LESS(a, b), high_ = MORE(a, b), rest_ = LESS(high_, c)

/* A float cut to a whole number; NaN is 0, what is too large the largest. */
static inline int32_t to_int(double x) { return isnan(x) ? 0 : x <= -0x1p31 ? INT32_MIN : x >= 0x1p31 ? INT32_MAX : (int32_t)x; }
static inline uint32_t to_uint(double x) { return isnan(x) || x <= 0 ? 0 : x >= 0x1p32 ? UINT32_MAX : (uint32_t)x; }

static inline uint32_t sign_extended24(uint32_t x) { return (uint32_t)((int32_t)(x << 8) >> 8); }
static inline uint32_t bits(uint32_t x) { return (uint32_t)__builtin_popcount(x); }
static inline uint32_t high_bit(uint32_t x) { return x ? (uint32_t)__builtin_clz(x) : 0xffffffff; }
static inline uint32_t low_bit(uint32_t x) { return x ? (uint32_t)__builtin_ctz(x) : 0xffffffff; }
static inline uint32_t reversed(uint32_t x)
{
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}
static inline uint32_t field(uint32_t x, uint32_t first, uint32_t width)
{
    first &= 31, width &= 31;
    return x >> first & ((1u << width) - 1);
}
static inline uint32_t signed_field(uint32_t x, uint32_t first, uint32_t width)
{
    first &= 31, width &= 31;
    uint32_t up = 64 - LESS(first + width, 32);
    int64_t moved = (int64_t)((uint64_t)(int64_t)(int32_t)x << up);
    return width ? (uint32_t)(moved >> (up + first)) : 0;
}
static inline uint32_t permuted(uint64_t bytes, uint32_t selector)
{
    uint32_t result = 0;
    for (int place = 0; place < 4; place++) {
        uint32_t choice = selector >> 8 * place & 0xff, byte = 0xff;
        if (choice < 8)
            byte = (uint32_t)(bytes >> 8 * choice) & 0xff;
        else if (choice < 12)
            byte = bytes >> (16 * (choice - 8) + 15) & 1 ? 0xff : 0;
        else if (choice == 12)
            byte = 0;
        result |= byte << 8 * place;
    }
    return result;
}
static inline uint32_t below(int i, int half)
{
    int lane = i & 63, count = half ? lane - 32 : lane;
    return count <= 0 ? 0 : count >= 32 ? 0xffffffff : (1u << count) - 1;
}

static inline int power_of(float x) { return (int)(bits_of(x) >> 23 & 0xff); }
static inline int power_of64(double x) { return (int)(bits_of_double(x) >> 52 & 0x7ff); }

/* V_DIV_SCALE: x, one of the other two, scaled so that the division stays in range. */
#define DIV_SCALE(name, type, word, bits_of_type, power, exponent_of, apart, low, tiny, scale, nan_bits) \
    static inline word name(word x_bits, type x, type denominator, type numerator, uint8_t *flag) \
    { \
        type inverse = 1 / denominator, quotient = numerator / denominator; \
        int zero = numerator == 0 || denominator == 0; \
        int far = exponent_of(numerator) - exponent_of(denominator) >= apart; \
        int small = denominator != 0 && (denominator < 0 ? -denominator : denominator) < tiny; \
        int small_inverse = inverse != 0 && (inverse < 0 ? -inverse : inverse) < tiny; \
        int small_quotient = quotient != 0 && (quotient < 0 ? -quotient : quotient) < tiny; \
        int is_denominator = x_bits == bits_of_type(denominator), is_numerator = x_bits == bits_of_type(numerator); \
        int both = small_inverse && small_quotient; \
        *flag = !zero && (far || (!small && (both || (!small_inverse && small_quotient)))); \
        if (zero) \
            return nan_bits; \
        if (far) \
            return is_denominator ? bits_of_type(scale(x, power)) : x_bits; \
        if (small) \
            return bits_of_type(scale(x, power)); \
        if (both) \
            return is_denominator ? bits_of_type(scale(x, power)) : x_bits; \
        if (small_inverse) \
            return bits_of_type(scale(x, -power)); \
        if (small_quotient) \
            return is_numerator ? bits_of_type(scale(x, power)) : x_bits; \
        return exponent_of(numerator) <= low ? bits_of_type(scale(x, power)) : x_bits; \
    }
DIV_SCALE(div_scale, float, uint32_t, bits_of, 64, power_of, 96, 23, 0x1p-126f, ldexpf, 0x7fc00000)
DIV_SCALE(div_scale64, double, uint64_t, bits_of_double, 128, power_of64, 768, 53, 0x1p-1022, ldexp, 0x7ff8ULL << 48)

#define DIV_FIXUP(name, type, exponent_of, lowest, copysign_of, fabs_of) \
    static inline type name(type quotient, type denominator, type numerator) \
    { \
        type sign = !signbit(denominator) != !signbit(numerator) ? -1 : 1; \
        if (isnan(numerator)) \
            return numerator; \
        if (isnan(denominator)) \
            return denominator; \
        if ((denominator == 0 && numerator == 0) || (isinf(denominator) && isinf(numerator))) \
            return (type)NAN; \
        if (denominator == 0 || isinf(numerator)) \
            return copysign_of((type)INFINITY, sign); \
        if (isinf(denominator) || numerator == 0 || exponent_of(numerator) - exponent_of(denominator) < lowest) \
            return copysign_of((type)0, sign); \
        return copysign_of(fabs_of(quotient), sign); \
    }
DIV_FIXUP(div_fixup, float, power_of, -150, copysignf, fabsf)
DIV_FIXUP(div_fixup64, double, power_of64, -1075, copysign, fabs)

static inline int of_class(uint32_t bits_, uint32_t wanted)
{
    uint32_t size = bits_ & 0x7fffffff;
    int negative = bits_ >> 31 != 0, kind;
    if (size > 0x7f800000)
        kind = size >= 0x7fc00000 ? 1 : 0;
    else {
        int order = size == 0x7f800000 ? 0 : size >= 0x800000 ? 1 : size ? 2 : 3;
        kind = negative ? 2 + order : 9 - order;
    }
    return wanted >> kind & 1;
}

/* name, unit, letters of the function's body */
#define VECTOR_FUNCTIONS(X) \
    X(v_mov_b32, VALU, WORD_IS(U(a))) \
    X(v_mov_b64, VALU, PAIR_IS(Q(a))) \
    X(v_not_b32, VALU, WORD_IS(~U(a))) \
    X(v_bfrev_b32, VALU, WORD_IS(reversed(U(a)))) \
    X(v_ffbh_u32, VALU, WORD_IS(high_bit(U(a)))) \
    X(v_ffbl_b32, VALU, WORD_IS(low_bit(U(a)))) \
    X(v_ffbh_i32, VALU, WORD_IS(high_bit(I(a) < 0 ? ~U(a) : U(a)))) \
    X(v_cndmask_b32, VALU, WORD_IS(m[i] ? U(b) : U(a))) \
    X(v_and_b32, VALU, WORD_IS(U(a) & U(b))) \
    X(v_or_b32, VALU, WORD_IS(U(a) | U(b))) \
    X(v_xor_b32, VALU, WORD_IS(U(a) ^ U(b))) \
    X(v_xnor_b32, VALU, WORD_IS(~(U(a) ^ U(b)))) \
    X(v_lshlrev_b32, VALU, WORD_IS(U(b) << (U(a) & 31))) \
    X(v_lshrrev_b32, VALU, WORD_IS(U(b) >> (U(a) & 31))) \
    X(v_ashrrev_i32, VALU, WORD_IS(I(b) >> (U(a) & 31))) \
    X(v_lshlrev_b64, VALU, PAIR_IS(Q(b) << (U(a) & 63))) \
    X(v_lshrrev_b64, VALU, PAIR_IS(Q(b) >> (U(a) & 63))) \
    X(v_ashrrev_i64, VALU, PAIR_IS(L(b) >> (U(a) & 63))) \
    X(v_lshlrev_b16, VALU, WORD_IS((uint16_t)(W(b) << (W(a) & 15)))) \
    X(v_lshrrev_b16, VALU, WORD_IS(W(b) >> (W(a) & 15))) \
    X(v_ashrrev_i16, VALU, WORD_IS((uint16_t)(S(b) >> (W(a) & 15)))) \
    X(v_add_u32, VALU, WORD_IS(U(a) + U(b))) \
    X(v_sub_u32, VALU, WORD_IS(U(a) - U(b))) \
    X(v_subrev_u32, VALU, WORD_IS(U(b) - U(a))) \
    X(v_add_i32, VALU, WORD_IS(U(a) + U(b))) \
    X(v_sub_i32, VALU, WORD_IS(U(a) - U(b))) \
    X(v_add_co_u32, VALU, WORD_IS(U(a) + U(b)); FLAG_IS(r[i] < U(a))) \
    X(v_sub_co_u32, VALU, WORD_IS(U(a) - U(b)); FLAG_IS(U(a) < U(b))) \
    X(v_subrev_co_u32, VALU, WORD_IS(U(b) - U(a)); FLAG_IS(U(b) < U(a))) \
    X(v_addc_co_u32, VALU, uint64_t sum = (uint64_t)U(a) + U(b) + m[i]; WORD_IS(sum); FLAG_IS(sum >> 32)) \
    X(v_subb_co_u32, VALU, int64_t rest = (int64_t)U(a) - U(b) - m[i]; WORD_IS(rest); FLAG_IS(rest < 0)) \
    X(v_subbrev_co_u32, VALU, int64_t rest = (int64_t)U(b) - U(a) - m[i]; WORD_IS(rest); FLAG_IS(rest < 0)) \
    X(v_add_u16, VALU, WORD_IS((uint16_t)(W(a) + W(b)))) \
    X(v_sub_u16, VALU, WORD_IS((uint16_t)(W(a) - W(b)))) \
    X(v_subrev_u16, VALU, WORD_IS((uint16_t)(W(b) - W(a)))) \
    X(v_mul_lo_u16, VALU, WORD_IS((uint16_t)((uint32_t)W(a) * W(b)))) \
    X(v_mad_u16, VALU, WORD_IS((uint16_t)((uint32_t)W(a) * W(b) + W(c)))) \
    X(v_mad_legacy_u16, VALU, WORD_IS((uint16_t)((uint32_t)W(a) * W(b) + W(c)))) \
    X(v_mul_lo_u32, VALU, WORD_IS(U(a) * U(b))) \
    X(v_mul_hi_u32, VALU, WORD_IS((uint64_t)U(a) * U(b) >> 32)) \
    X(v_mul_hi_i32, VALU, WORD_IS((int64_t)I(a) * I(b) >> 32)) \
    X(v_mul_u32_u24, VALU, WORD_IS((U(a) & 0xffffff) * (U(b) & 0xffffff))) \
    X(v_mul_i32_i24, VALU, WORD_IS(sign_extended24(U(a)) * sign_extended24(U(b)))) \
    X(v_mad_u32_u24, VALU, WORD_IS((U(a) & 0xffffff) * (U(b) & 0xffffff) + U(c))) \
    X(v_mad_i32_i24, VALU, WORD_IS(sign_extended24(U(a)) * sign_extended24(U(b)) + U(c))) \
    X(v_mad_u64_u32, VALU, uint64_t sum = (uint64_t)U(a) * U(b) + Q(c); FLAG_IS(sum < Q(c)); PAIR_IS(sum)) \
    X(v_mad_i64_i32, VALU, int64_t product = (int64_t)I(a) * I(b); \
      int64_t sum = (int64_t)((uint64_t)product + Q(c)); FLAG_IS((product < 0) != (sum < L(c))); PAIR_IS(sum)) \
    X(v_add3_u32, VALU, WORD_IS(U(a) + U(b) + U(c))) \
    X(v_add_lshl_u32, VALU, WORD_IS((U(a) + U(b)) << (U(c) & 31))) \
    X(v_lshl_add_u32, VALU, WORD_IS((U(a) << (U(b) & 31)) + U(c))) \
    X(v_lshl_or_b32, VALU, WORD_IS(U(a) << (U(b) & 31) | U(c))) \
    X(v_lshl_add_u64, VALU, PAIR_IS((Q(a) << (U(b) & 7)) + Q(c))) \
    X(v_and_or_b32, VALU, WORD_IS((U(a) & U(b)) | U(c))) \
    X(v_or3_b32, VALU, WORD_IS(U(a) | U(b) | U(c))) \
    X(v_xad_u32, VALU, WORD_IS((U(a) ^ U(b)) + U(c))) \
    X(v_bfe_u32, VALU, WORD_IS(field(U(a), U(b), U(c)))) \
    X(v_bfe_i32, VALU, WORD_IS(signed_field(U(a), U(b), U(c)))) \
    X(v_bfi_b32, VALU, WORD_IS((U(a) & U(b)) | (~U(a) & U(c)))) \
    X(v_bfm_b32, VALU, WORD_IS(((1u << (U(a) & 31)) - 1) << (U(b) & 31))) \
    X(v_perm_b32, VALU, WORD_IS(permuted((uint64_t)U(a) << 32 | U(b), U(c)))) \
    X(v_alignbit_b32, VALU, WORD_IS(((uint64_t)U(a) << 32 | U(b)) >> (U(c) & 31))) \
    X(v_alignbyte_b32, VALU, WORD_IS(((uint64_t)U(a) << 32 | U(b)) >> 8 * (U(c) & 3))) \
    X(v_bcnt_u32_b32, VALU, WORD_IS(bits(U(a)) + U(b))) \
    X(v_mbcnt_lo_u32_b32, VALU, WORD_IS(bits(U(a) & below(i, 0)) + U(b))) \
    X(v_mbcnt_hi_u32_b32, VALU, WORD_IS(bits(U(a) & below(i, 1)) + U(b))) \
    X(v_min_u32, VALU, WORD_IS(LESS(U(a), U(b)))) \
    X(v_max_u32, VALU, WORD_IS(MORE(U(a), U(b)))) \
    X(v_min_i32, VALU, WORD_IS(LESS(I(a), I(b)))) \
    X(v_max_i32, VALU, WORD_IS(MORE(I(a), I(b)))) \
    X(v_min3_u32, VALU, uint32_t two = LESS(U(a), U(b)); WORD_IS(LESS(two, U(c)))) \
    X(v_max3_u32, VALU, uint32_t two = MORE(U(a), U(b)); WORD_IS(MORE(two, U(c)))) \
    X(v_min3_i32, VALU, int32_t two = LESS(I(a), I(b)); WORD_IS(LESS(two, I(c)))) \
    X(v_max3_i32, VALU, int32_t two = MORE(I(a), I(b)); WORD_IS(MORE(two, I(c)))) \
    X(v_med3_u32, VALU, MIDDLE(uint32_t, U(a), U(b), U(c)); WORD_IS(MORE(low_, rest_))) \
    X(v_med3_i32, VALU, MIDDLE(int32_t, I(a), I(b), I(c)); WORD_IS(MORE(low_, rest_))) \
    X(v_cvt_f32_i32, VALU, FLOAT_IS((float)I(a))) \
    X(v_cvt_f32_u32, VALU, FLOAT_IS((float)U(a))) \
    X(v_cvt_f32_ubyte0, VALU, FLOAT_IS((float)(U(a) & 255))) \
    X(v_cvt_f32_ubyte1, VALU, FLOAT_IS((float)(U(a) >> 8 & 255))) \
    X(v_cvt_f32_ubyte2, VALU, FLOAT_IS((float)(U(a) >> 16 & 255))) \
    X(v_cvt_f32_ubyte3, VALU, FLOAT_IS((float)(U(a) >> 24))) \
    X(v_cvt_i32_f32, VALU, WORD_IS(to_int((double)F(a)))) \
    X(v_cvt_u32_f32, VALU, WORD_IS(to_uint((double)F(a)))) \
    X(v_cvt_i32_f64, VALU, WORD_IS(to_int(D(a)))) \
    X(v_cvt_u32_f64, VALU, WORD_IS(to_uint(D(a)))) \
    X(v_cvt_f64_i32, VALU, DOUBLE_IS((double)I(a))) \
    X(v_cvt_f64_u32, VALU, DOUBLE_IS((double)U(a))) \
    X(v_cvt_f32_f64, VALU, FLOAT_IS((float)D(a))) \
    X(v_cvt_f64_f32, VALU, DOUBLE_IS((double)F(a))) \
    X(v_cvt_rpi_i32_f32, VALU, WORD_IS(to_int(floor((double)F(a) + 0.5)))) \
    X(v_cvt_flr_i32_f32, VALU, WORD_IS(to_int((double)floorf(F(a))))) \
    X(v_add_f32, VALU, FLOAT_IS(F(a) + F(b))) \
    X(v_sub_f32, VALU, FLOAT_IS(F(a) - F(b))) \
    X(v_subrev_f32, VALU, FLOAT_IS(F(b) - F(a))) \
    X(v_mul_f32, VALU, FLOAT_IS(F(a) * F(b))) \
    X(v_mul_legacy_f32, VALU, FLOAT_IS(F(a) == 0 || F(b) == 0 ? 0.0f : F(a) * F(b))) \
    X(v_max_f32, VALU, WORD_IS(larger(U(a), U(b)))) \
    X(v_min_f32, VALU, WORD_IS(smaller(U(a), U(b)))) \
    X(v_max3_f32, VALU, WORD_IS(larger(larger(U(a), U(b)), U(c)))) \
    X(v_min3_f32, VALU, WORD_IS(smaller(smaller(U(a), U(b)), U(c)))) \
    X(v_med3_f32, VALU, WORD_IS(median(U(a), U(b), U(c)))) \
    X(v_mac_f32, VALU, FLOAT_IS(mad(F(a), F(b), F(c)))) \
    X(v_mad_f32, VALU, FLOAT_IS(mad(F(a), F(b), F(c)))) \
    X(v_madak_f32, VALU, FLOAT_IS(mad(F(a), F(b), F(c)))) \
    X(v_madmk_f32, VALU, FLOAT_IS(mad(F(a), F(b), F(c)))) \
    X(v_fma_f32, VALU, FLOAT_IS(fmaf(F(a), F(b), F(c)))) \
    X(v_fmac_f32, VALU, FLOAT_IS(fmaf(F(a), F(b), F(c)))) \
    X(v_fmaak_f32, VALU, FLOAT_IS(fmaf(F(a), F(b), F(c)))) \
    X(v_fmamk_f32, VALU, FLOAT_IS(fmaf(F(a), F(b), F(c)))) \
    X(v_trunc_f32, VALU, FLOAT_IS(truncf(F(a)))) \
    X(v_ceil_f32, VALU, FLOAT_IS(ceilf(F(a)))) \
    X(v_floor_f32, VALU, FLOAT_IS(floorf(F(a)))) \
    X(v_rndne_f32, VALU, FLOAT_IS(rintf(F(a)))) \
    X(v_fract_f32, VALU, float rest = F(a) - floorf(F(a)); FLOAT_IS(rest > 0x1.fffffep-1f ? 0x1.fffffep-1f : rest)) \
    X(v_rcp_f32, VALU, FLOAT_IS(flushed((float)(1 / (double)flushed(F(a)))))) \
    X(v_rcp_iflag_f32, VALU, FLOAT_IS(flushed((float)(1 / (double)flushed(F(a)))))) \
    X(v_rsq_f32, VALU, FLOAT_IS(flushed((float)(1 / sqrt((double)flushed(F(a))))))) \
    X(v_sqrt_f32, VALU, FLOAT_IS(flushed((float)sqrt((double)flushed(F(a)))))) \
    X(v_ldexp_f32, VALU, FLOAT_IS(ldexpf(F(a), I(b)))) \
    X(v_div_scale_f32, VALU, WORD_IS(div_scale(U(a), F(a), F(b), F(c), &flag[i]))) \
    X(v_div_fmas_f32, VALU, float sum = fmaf(F(a), F(b), F(c)); \
      FLOAT_IS(m[i] ? ldexpf(sum, fabsf(F(c)) >= 2 ? 64 : -64) : sum)) \
    X(v_div_fixup_f32, VALU, FLOAT_IS(div_fixup(F(a), F(b), F(c)))) \
    X(v_pk_add_f32, VALU, FLOAT_IS(F(a) + F(b)); HIGH_IS(F(a1) + F(b1))) \
    X(v_pk_mul_f32, VALU, FLOAT_IS(F(a) * F(b)); HIGH_IS(F(a1) * F(b1))) \
    X(v_pk_fma_f32, VALU, FLOAT_IS(fmaf(F(a), F(b), F(c))); HIGH_IS(fmaf(F(a1), F(b1), F(c1)))) \
    X(v_pk_mov_b32, VALU, WORD_IS(U(a)); r1[i] = U(b1)) \
    X(v_add_f64, VALU, DOUBLE_IS(D(a) + D(b))) \
    X(v_mul_f64, VALU, DOUBLE_IS(D(a) * D(b))) \
    X(v_max_f64, VALU, PAIR_IS(larger64(Q(a), Q(b)))) \
    X(v_min_f64, VALU, PAIR_IS(smaller64(Q(a), Q(b)))) \
    X(v_fma_f64, VALU, DOUBLE_IS(fma(D(a), D(b), D(c)))) \
    X(v_fmac_f64, VALU, DOUBLE_IS(fma(D(a), D(b), D(c)))) \
    X(v_trunc_f64, VALU, DOUBLE_IS(trunc(D(a)))) \
    X(v_ceil_f64, VALU, DOUBLE_IS(ceil(D(a)))) \
    X(v_floor_f64, VALU, DOUBLE_IS(floor(D(a)))) \
    X(v_rndne_f64, VALU, DOUBLE_IS(rint(D(a)))) \
    X(v_rcp_f64, VALU, DOUBLE_IS(1 / D(a))) \
    X(v_rsq_f64, VALU, DOUBLE_IS(1 / sqrt(D(a)))) \
    X(v_sqrt_f64, VALU, DOUBLE_IS(sqrt(D(a)))) \
    X(v_ldexp_f64, VALU, DOUBLE_IS(ldexp(D(a), I(b)))) \
    X(v_div_scale_f64, VALU, PAIR_IS(div_scale64(Q(a), D(a), D(b), D(c), &flag[i]))) \
    X(v_div_fmas_f64, VALU, double sum = fma(D(a), D(b), D(c)); \
      DOUBLE_IS(m[i] ? ldexp(sum, fabs(D(c)) >= 2 ? 128 : -128) : sum)) \
    X(v_div_fixup_f64, VALU, DOUBLE_IS(div_fixup64(D(a), D(b), D(c)))) \
    X(v_cmp_class_f32, COMPARE, FLAG_IS(of_class(U(a), U(b)))) \
    ORDERED(X, u32, U) ORDERED(X, i32, I) ORDERED(X, u64, Q) ORDERED(X, i64, L) ORDERED(X, u16, W) ORDERED(X, i16, S) \
    FLOATS(X, f32, F) FLOATS(X, f64, D)
#define ORDERED(X, end, T) \
    X(v_cmp_lt_##end, COMPARE, FLAG_IS(T(a) < T(b))) X(v_cmp_eq_##end, COMPARE, FLAG_IS(T(a) == T(b))) \
    X(v_cmp_le_##end, COMPARE, FLAG_IS(T(a) <= T(b))) X(v_cmp_gt_##end, COMPARE, FLAG_IS(T(a) > T(b))) \
    X(v_cmp_ne_##end, COMPARE, FLAG_IS(T(a) != T(b))) X(v_cmp_ge_##end, COMPARE, FLAG_IS(T(a) >= T(b)))
#define FLOATS(X, end, T) \
    X(v_cmp_lt_##end, COMPARE, FLAG_IS(T(a) < T(b))) X(v_cmp_eq_##end, COMPARE, FLAG_IS(T(a) == T(b))) \
    X(v_cmp_le_##end, COMPARE, FLAG_IS(T(a) <= T(b))) X(v_cmp_gt_##end, COMPARE, FLAG_IS(T(a) > T(b))) \
    X(v_cmp_lg_##end, COMPARE, FLAG_IS(T(a) < T(b) || T(a) > T(b))) X(v_cmp_ge_##end, COMPARE, FLAG_IS(T(a) >= T(b))) \
    X(v_cmp_o_##end, COMPARE, FLAG_IS(T(a) == T(a) && T(b) == T(b))) \
    X(v_cmp_u_##end, COMPARE, FLAG_IS(T(a) != T(a) || T(b) != T(b))) \
    X(v_cmp_nge_##end, COMPARE, FLAG_IS(!(T(a) >= T(b)))) X(v_cmp_ngt_##end, COMPARE, FLAG_IS(!(T(a) > T(b)))) \
    X(v_cmp_nle_##end, COMPARE, FLAG_IS(!(T(a) <= T(b)))) X(v_cmp_nlt_##end, COMPARE, FLAG_IS(!(T(a) < T(b)))) \
    X(v_cmp_neq_##end, COMPARE, FLAG_IS(T(a) != T(b))) \
    X(v_cmp_nlg_##end, COMPARE, FLAG_IS(!(T(a) < T(b) || T(a) > T(b))))

#define DEFINE(name, unit, ...) LANE_FUNCTION(name, __VA_ARGS__)
VECTOR_FUNCTIONS(DEFINE)

#define ROW(name, unit, ...) {#name, unit, {.vector = name}},
const struct function vector_functions[] = {VECTOR_FUNCTIONS(ROW)};
const int vector_count = sizeof vector_functions / sizeof *vector_functions;
