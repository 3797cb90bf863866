"""Networks written by tests of the parser, the writer and the checks."""

from __future__ import annotations

COMPOSED = """\
[DNNMark]
run_mode=composed

[Convolution]
name=conv1
n=1
c=3
h=32
w=32
previous_layer=null
conv_mode=cross_correlation
num_output=32
kernel_size=5
pad=2
stride=1
conv_fwd_pref=fastest

[Pooling]
name=pool1
previous_layer=conv1
pool_mode=max
kernel_size=3
pad=0
stride=2

[FullyConnected]
name=fc1
previous_layer=pool1
num_output=32
"""

SOFTMAX = "[DNNMark]\nrun_mode=standalone\n\n[Softmax]\nname=softmax\nn=100\nc=1000\nh=1\nw=1\n"


def standalone(section: str, *keys: str, shape: tuple[int, int, int, int] = (2, 4, 8, 8)) -> str:
    dims = [f"{axis}={size}" for axis, size in zip("nchw", shape, strict=True)]
    return "\n".join(["[DNNMark]", "run_mode=standalone", f"[{section}]", "name=l", *dims, *keys])
