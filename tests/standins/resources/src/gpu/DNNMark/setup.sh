#!/bin/sh
# Stand-in for DNNMark's setup.sh: the same argument, the same build directory; cmake is replaced by a here-document.
if [ $# -ne 1 ]
then
  echo "[Error] The setup script requires one additional parameter specifying whether CUDA or HCC is used"
  exit
fi
mkdir -p build
cd build
[ -f ../cmake_fails ] && { echo "-- Configuring incomplete, errors occurred!"; exit 1; }
cat > Makefile <<'MAKE'
NAMES := $(foreach layer,softmax pool bn lrn activation fc conv dropout bypass composed_model,test_fwd_$(layer) test_bwd_$(layer)) \
  test_composed_model test_alexnet test_VGG
PROGRAMS := $(foreach name,$(NAMES),benchmarks/$(name)/dnnmark_$(name))
all: libdnnmark.so $(PROGRAMS)
libdnnmark.so: ; printf 'stand-in library\n' > $@
$(PROGRAMS): ; mkdir -p $(dir $@) && printf '#!stand-in of a DNNMark benchmark: $(notdir $@)\n' > $@ && chmod +x $@
MAKE
echo "-- Build files have been written to: $(pwd)"
