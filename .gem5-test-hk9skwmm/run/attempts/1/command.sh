#!/bin/sh
# gem5-kernels test p; image: none
cd /work/main/.gem5-test-hk9skwmm/run/attempts/1 || exit 1
exec /opt/gem5/dev/build/VEGA_X86/gem5.opt \
  -r \
  -e \
  -d \
  /work/main/.gem5-test-hk9skwmm/run/attempts/1/m5out \
  --stats-file=stats.txt \
  --dot-config= \
  --debug-flags=GPUKernelInfo,GPUCommandProc \
  --debug-file=kernels.trace \
  /opt/gem5/dev/configs/example/apu_se.py \
  --num-cpus=3 \
  --num-compute-units=4 \
  --cu-per-sa=4 \
  --mem-size=1GB \
  --gfx-version=gfx902 \
  --env=/work/main/.gem5-test-hk9skwmm/run/attempts/1/guest.env \
  --benchmark-root=/work/main/.gem5-test-hk9skwmm \
  --cmd=launcher \
  --options=all/dispatch.list
