/* Stand-in for MIOpen's program of this name: takes its compile arguments, does no softmax. */
#if !defined(NUM_BATCH) || !defined(RUN_FORWARD)
#error "the arguments of MIOpen's softmax are missing"
#endif
__kernel void SoftmaxForward(__global float *y, int n)
{
    int i = get_global_id(0);
    if(i < n)
        y[i] = (float)NUM_BATCH + RUN_FORWARD;
}
