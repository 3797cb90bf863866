/* What the device side of a HIP kernel needs, for clang alone: neither hipcc nor ROCm's headers have to be there.
 * Enough for kernels with indices, shared memory, barriers, vector types, shuffles and votes, atomics on 32 and 64 bits,
 * and the functions of math.h. Of the host side there are declarations, so that a whole program can be compiled for the
 * GPU (hip_runtime_api.h). No textures, no printf, no cooperative groups. */
#ifndef APUFLOW_HIP_RUNTIME_H
#define APUFLOW_HIP_RUNTIME_H

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define __launch_bounds_of(threads, ...) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define __launch_bounds__(...) __launch_bounds_of(__VA_ARGS__, )

#ifndef __HIPCC_RTC__
#define __HIPCC_RTC__ /* clang's own headers then ask for nothing of a C++ library */
#endif
#ifndef CHAR_BIT
#define CHAR_BIT __CHAR_BIT__
#define INT_MAX __INT_MAX__
#define UINT_MAX (INT_MAX * 2U + 1U)
#define FLT_MAX __FLT_MAX__
#endif
typedef __SIZE_TYPE__ size_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
#include <__clang_hip_libdevice_declares.h>
#include <__clang_hip_math.h>

struct dim3 {
    uint32_t x, y, z;
    __host__ __device__ constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
};

extern "C" __device__ __attribute__((const)) size_t __ockl_get_local_size(uint32_t);
extern "C" __device__ __attribute__((const)) size_t __ockl_get_num_groups(uint32_t);

#define APUFLOW_INDEX(name, of_x, of_y, of_z) \
    struct name##_t { \
        struct x_t { __device__ operator uint32_t() const { return (uint32_t)(of_x); } }; \
        struct y_t { __device__ operator uint32_t() const { return (uint32_t)(of_y); } }; \
        struct z_t { __device__ operator uint32_t() const { return (uint32_t)(of_z); } }; \
        static constexpr x_t x{}; \
        static constexpr y_t y{}; \
        static constexpr z_t z{}; \
        __device__ operator dim3() const { return dim3(x, y, z); } \
    }; \
    static __device__ constexpr name##_t name{};
APUFLOW_INDEX(threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(),
              __builtin_amdgcn_workitem_id_z())
APUFLOW_INDEX(blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(),
              __builtin_amdgcn_workgroup_id_z())
APUFLOW_INDEX(blockDim, __ockl_get_local_size(0), __ockl_get_local_size(1), __ockl_get_local_size(2))
APUFLOW_INDEX(gridDim, __ockl_get_num_groups(0), __ockl_get_num_groups(1), __ockl_get_num_groups(2))
#undef APUFLOW_INDEX
static constexpr int warpSize = 64;
#define hipThreadIdx_x ((uint32_t)threadIdx.x)
#define hipThreadIdx_y ((uint32_t)threadIdx.y)
#define hipThreadIdx_z ((uint32_t)threadIdx.z)
#define hipBlockIdx_x ((uint32_t)blockIdx.x)
#define hipBlockIdx_y ((uint32_t)blockIdx.y)
#define hipBlockIdx_z ((uint32_t)blockIdx.z)
#define hipBlockDim_x ((uint32_t)blockDim.x)
#define hipBlockDim_y ((uint32_t)blockDim.y)
#define hipBlockDim_z ((uint32_t)blockDim.z)
#define hipGridDim_x ((uint32_t)gridDim.x)
#define hipGridDim_y ((uint32_t)gridDim.y)
#define hipGridDim_z ((uint32_t)gridDim.z)
typedef int hipLaunchParm; /* of older HIP: a kernel's first argument, 0 */

__device__ __forceinline__ void __syncthreads()
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ __forceinline__ void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
__device__ __forceinline__ void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
__device__ __forceinline__ void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }

/* Relaxed, at the scope of the GPU, as HIP's are. A float is added by compare and swap where the GPU has no instruction. */
#define APUFLOW_ATOMICS(type) \
    __device__ __forceinline__ type atomicAdd(type *at, type v) { return __hip_atomic_fetch_add(at, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
    __device__ __forceinline__ type atomicExch(type *at, type v) { return __hip_atomic_exchange(at, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
#define APUFLOW_INTEGER_ATOMICS(type) \
    APUFLOW_ATOMICS(type) \
    __device__ __forceinline__ type atomicSub(type *at, type v) { return atomicAdd(at, (type)-v); } \
    __device__ __forceinline__ type atomicMin(type *at, type v) { return __hip_atomic_fetch_min(at, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
    __device__ __forceinline__ type atomicMax(type *at, type v) { return __hip_atomic_fetch_max(at, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
    __device__ __forceinline__ type atomicAnd(type *at, type v) { return __hip_atomic_fetch_and(at, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
    __device__ __forceinline__ type atomicOr(type *at, type v) { return __hip_atomic_fetch_or(at, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
    __device__ __forceinline__ type atomicXor(type *at, type v) { return __hip_atomic_fetch_xor(at, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
    __device__ __forceinline__ type atomicCAS(type *at, type expected, type v) \
    { \
        __hip_atomic_compare_exchange_strong(at, &expected, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); \
        return expected; \
    }
APUFLOW_INTEGER_ATOMICS(int)
APUFLOW_INTEGER_ATOMICS(unsigned int)
APUFLOW_INTEGER_ATOMICS(unsigned long long)
APUFLOW_INTEGER_ATOMICS(unsigned long)
APUFLOW_ATOMICS(float)
APUFLOW_ATOMICS(double)
#undef APUFLOW_INTEGER_ATOMICS
#undef APUFLOW_ATOMICS
/* Up to a limit and on from 0; down to 0 and on from the limit. */
__device__ __forceinline__ unsigned int atomicInc(unsigned int *at, unsigned int limit)
{
    return __builtin_amdgcn_atomic_inc32(at, limit, __ATOMIC_RELAXED, "agent");
}
__device__ __forceinline__ unsigned int atomicDec(unsigned int *at, unsigned int limit)
{
    return __builtin_amdgcn_atomic_dec32(at, limit, __ATOMIC_RELAXED, "agent");
}

#include "hip_lanes.h"
#include "hip_vector_types.h"
#include "hip_runtime_api.h"
#include "hip_refused.h"

#endif
