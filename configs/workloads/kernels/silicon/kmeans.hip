// A work-item finds the cluster nearest to its point; features lie one after the other, of all points each.
#include <hip/hip_runtime.h>

extern "C" __global__ void kmeans(int *nearest, const float *features, const float *clusters, int points, int count,
                                  int dimensions)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
    if (point >= points)
        return;
    float least = FLT_MAX;
    for (int cluster = 0; cluster < count; cluster++) {
        float distance = 0.0f;
        for (int one = 0; one < dimensions; one++) {
            float apart = features[one * points + point] - clusters[cluster * dimensions + one];
            distance += apart * apart;
        }
        if (distance < least) {
            least = distance;
            found = cluster;
        }
    }
    nearest[point] = found;
}
