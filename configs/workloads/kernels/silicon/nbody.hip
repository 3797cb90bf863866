// One step of bodies that attract each other: a work-item adds up the forces on one of them. Workgroups read the other
// bodies in tiles, from memory of their own, not from the LDS: so does the measured program.
#include <hip/hip_runtime.h>

extern "C" __global__ void nbody(float4 *position, float4 *velocity, int bodies, float seconds, float softening,
                                 float4 *tiles, float4 *new_position, float4 *new_velocity)
{
    int lane = threadIdx.x, size = blockDim.x, body = blockIdx.x * size + lane;
    float4 *tile = tiles + blockIdx.x * size;
    float4 here = position[body];
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (int first = 0; first < bodies; first += size) {
        tile[lane] = position[first + lane];
        __syncthreads();
        for (int other = 0; other < size; other++) {
            float4 there = tile[other];
            float dx = there.x - here.x, dy = there.y - here.y, dz = there.z - here.z;
            float near = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + softening);
            float force = there.w * near * near * near;
            x += force * dx;
            y += force * dy;
            z += force * dz;
        }
        __syncthreads();
    }
    float4 speed = velocity[body];
    float half = 0.5f * seconds * seconds;
    new_position[body] = make_float4(here.x + speed.x * seconds + x * half, here.y + speed.y * seconds + y * half,
                                     here.z + speed.z * seconds + z * half, here.w);
    new_velocity[body] = make_float4(speed.x + x * seconds, speed.y + y * seconds, speed.z + z * seconds, speed.w);
}
