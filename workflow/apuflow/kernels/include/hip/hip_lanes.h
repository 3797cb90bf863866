/* Lanes of a wavefront: shuffles, votes; bits of a number. As HIP defines them for wavefronts of 64. */
#ifndef APUFLOW_HIP_LANES_H
#define APUFLOW_HIP_LANES_H

__device__ __forceinline__ unsigned int __lane_id() { return __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0)); }

/* The value of another lane of the same wavefront. */
template <typename T> __device__ __forceinline__ T apuflow_from_lane(T value, int lane)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles are of 32 or 64 bits");
    int words[sizeof(T) / 4];
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned int i = 0; i < sizeof(T) / 4; i++)
        words[i] = __builtin_amdgcn_ds_bpermute(lane << 2, words[i]);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}
template <typename T> __device__ __forceinline__ T __shfl(T value, int lane, int width = warpSize)
{
    int self = __lane_id();
    return apuflow_from_lane(value, (lane & (width - 1)) + (self & ~(width - 1)));
}
template <typename T> __device__ __forceinline__ T __shfl_up(T value, unsigned int by, int width = warpSize)
{
    int self = __lane_id(), from = self - (int)by;
    return apuflow_from_lane(value, from < (self & ~(width - 1)) ? self : from);
}
template <typename T> __device__ __forceinline__ T __shfl_down(T value, unsigned int by, int width = warpSize)
{
    int self = __lane_id();
    return apuflow_from_lane(value, (self & (width - 1)) + (int)by >= width ? self : self + (int)by);
}
template <typename T> __device__ __forceinline__ T __shfl_xor(T value, int mask, int width = warpSize)
{
    int self = __lane_id(), from = self ^ mask;
    return apuflow_from_lane(value, from >= ((self + width) & ~(width - 1)) ? self : from);
}

/* A bit for each active lane. */
__device__ __forceinline__ unsigned long long __ballot(int predicate) { return __builtin_amdgcn_uicmp(predicate != 0, 0, 33); }
__device__ __forceinline__ unsigned long long __ballot64(int predicate) { return __ballot(predicate); }
__device__ __forceinline__ unsigned long long __activemask() { return __ballot(1); }
__device__ __forceinline__ int __any(int predicate) { return __ballot(predicate) != 0; }
__device__ __forceinline__ int __all(int predicate) { return __ballot(!predicate) == 0; }

__device__ __forceinline__ int __popc(unsigned int x) { return __builtin_popcount(x); }
__device__ __forceinline__ int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__device__ __forceinline__ int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
__device__ __forceinline__ int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(x); }
__device__ __forceinline__ int __ffs(int x) { return __builtin_ffs(x); }
__device__ __forceinline__ int __ffsll(long long x) { return __builtin_ffsll(x); }
__device__ __forceinline__ unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
__device__ __forceinline__ unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__device__ __forceinline__ int __mul24(int x, int y) { return ((x << 8) >> 8) * ((y << 8) >> 8); }
__device__ __forceinline__ unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffff) * (y & 0xffffff); }
__device__ __forceinline__ int __mulhi(int x, int y) { return (int)(((long long)x * y) >> 32); }
__device__ __forceinline__ unsigned int __umulhi(unsigned int x, unsigned int y) { return (unsigned int)(((unsigned long long)x * y) >> 32); }
__device__ __forceinline__ int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__device__ __forceinline__ unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
__device__ __forceinline__ float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__device__ __forceinline__ float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
__device__ __forceinline__ long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__device__ __forceinline__ double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
template <typename T> __device__ __forceinline__ T __ldg(const T *at) { return *at; }
__device__ __forceinline__ long long clock64() { return (long long)__builtin_readcyclecounter(); }
__device__ __forceinline__ long long clock() { return clock64(); }

#endif
