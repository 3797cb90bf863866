/* What a kernel cannot have here, by name and with what to write in its place. */
#ifndef APUFLOW_HIP_REFUSED_H
#define APUFLOW_HIP_REFUSED_H

#define APUFLOW_REFUSED(name, fix) \
    template <typename... T> __device__ __attribute__((unavailable(fix))) int name(T...);
#define APUFLOW_SYNC(name) \
    APUFLOW_REFUSED(name##_sync, "CUDA's, for wavefronts of 32 lanes: write " #name ", a wavefront has 64")
APUFLOW_SYNC(__shfl)
APUFLOW_SYNC(__shfl_up)
APUFLOW_SYNC(__shfl_down)
APUFLOW_SYNC(__shfl_xor)
APUFLOW_SYNC(__ballot)
APUFLOW_SYNC(__any)
APUFLOW_SYNC(__all)
APUFLOW_REFUSED(__syncwarp, "CUDA's: leave it out, the lanes of a wavefront run together")
APUFLOW_REFUSED(__syncthreads_count, "add with atomicAdd in __shared__ memory between two __syncthreads()")
APUFLOW_REFUSED(__syncthreads_and, "combine with atomicAnd in __shared__ memory between two __syncthreads()")
APUFLOW_REFUSED(__syncthreads_or, "combine with atomicOr in __shared__ memory between two __syncthreads()")
APUFLOW_REFUSED(printf, "there is no printf on the GPU: write to a buffer, and compare it with the reference")
APUFLOW_REFUSED(tex1Dfetch, "there are no textures: read the buffer by a pointer")
APUFLOW_REFUSED(tex1D, "there are no textures: read the buffer by a pointer")
APUFLOW_REFUSED(tex2D, "there are no textures: read the buffer by a pointer")
APUFLOW_REFUSED(tex3D, "there are no textures: read the buffer by a pointer")
#undef APUFLOW_SYNC
#undef APUFLOW_REFUSED

#endif
