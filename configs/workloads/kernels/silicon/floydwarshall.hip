// One pass of shortest paths between all nodes: a work-item asks whether the way over node `over` is shorter.
#include <hip/hip_runtime.h>

extern "C" __global__ void floydwarshall(uint32_t *distance, uint32_t *via, uint32_t nodes, uint32_t over)
{
    uint32_t to = blockIdx.x * blockDim.x + threadIdx.x, from = blockIdx.y * blockDim.y + threadIdx.y;
    int known = distance[from * nodes + to];
    int other = distance[from * nodes + over] + distance[over * nodes + to];
    if (other < known) {
        distance[from * nodes + to] = other;
        via[from * nodes + to] = over;
    }
}
