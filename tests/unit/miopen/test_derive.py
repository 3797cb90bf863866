"""Kernel keys and launches, against MIOpen's own host code and real gem5 runs."""

from __future__ import annotations

import csv
import json
import lzma
import struct
from typing import Any

import pytest
from places import DATA, ROOT

from apuflow.core.errors import ConfigError, NotDerivable
from apuflow.dnnmark import parse
from apuflow.miopen import Arg, Launch, Row, derive, expand, launches, network_rows, rocm_4_0_1
from apuflow.score.errors import recorded

FP32 = "-DMIOPEN_USE_FP16=0 -DMIOPEN_USE_FP32=1"
ALL = (
    f"{FP32} -DMIOPEN_USE_INT8=0 -DMIOPEN_USE_INT8x4=0 -DMIOPEN_USE_BFP16=0 -DMIOPEN_USE_INT32=0"
    " -DMIOPEN_USE_RNE_BFLOAT16=1"
)
POOL = (
    "-DMLO_POOLING_OP_ID=1 -DMLO_POOLING_KERNEL_SZ1=3 -DMLO_POOLING_STRIDE1=2 -DMLO_POOLING_KERNEL_SZ0=3"
    " -DMLO_POOLING_STRIDE0=2"
)
INDEX = "-DMLO_POOLING_INDEX_TYPE=uchar -DMLO_POOLING_INDEX_MAX=UCHAR_MAX"
BN = "-DMIO_BN_N=100 -DMIO_BN_C=1000 -DMIO_BN_HW=1 -DMIO_BN_NHW=100 -DMIO_BN_CHW=1000"
SOFTMAX = f"-DNUM_BATCH=1 {FP32} -DUSE_SOFTMAX_ACCURATE=1 -DUSE_SOFTMAX_MODE_CHANNEL=1"
# The kernel list of DNNMark's cachefiles.csv (gem5-resources), without its -mcpu.
UPSTREAM = {
    (
        "MIOpenBatchNormFwdTrainPerAct.cl",
        f"{FP32} -DMIOPEN_USE_FPMIX=0 -DMIO_SAVE_MEAN_VARIANCE=1 -DMIO_RUNNING_RESULT=1 {BN}"
        " -DMIO_BN_LDS_SIZE=256 -DMIO_BN_GRP0=1 -DMIO_BN_GRP1=256 -DMIO_BN_GRP2=1 -DMIO_BN_NCHW=100000",
    ),
    (
        "MIOpenBatchNormBwdPerAct.cl",
        f"{FP32} -DMIOPEN_USE_FPMIX=0 {BN} -DMIO_BN_NCHW=100000 -DMIO_BN_NGRPS=1 -DMIO_BN_GRP0=1"
        " -DMIO_BN_GRP1=64 -DMIO_BN_GRP2=1",
    ),
    (
        "MIOpenNeuron.cl",
        f"-DLITE -DMIOPEN_READ_UNIT=4 -DMIOPEN_READ_TYPE=_FLOAT4 -DMIOPEN_NRN_OP_ID=0 {FP32}",
    ),
    (
        "MIOpenNeuron.cl",
        f"-DLITE -DMIOPEN_READ_UNIT=4 -DMIOPEN_READ_TYPE=_FLOAT4 -DMIOPEN_NRN_OP_ID=3 {FP32}",
    ),
    (
        "MIOpenSoftmax.cl",
        f"{SOFTMAX} -DRUN_FORWARD=0 -DIS_OUTPUT_PACKED=1 -DIS_DOUTPUT_PACKED=1 -DIS_DINPUT_PACKED=1",
    ),
    ("MIOpenSoftmax.cl", f"{SOFTMAX} -DRUN_FORWARD=1 -DIS_INPUT_PACKED=1 -DIS_OUTPUT_PACKED=1"),
    (
        "MIOpenIm2d2Col.cl",
        "-DNUM_CH_PER_WG=1 -DNUM_IM_BLKS_X=1 -DNUM_IM_BLKS=4 -DLOCAL_MEM_SIZE=432 -DSTRIDE_GT_1=0"
        f" -DTILE_SZ_X=32 -DTILE_SZ_Y=8 -DUSE_IM_OFF_GUARD=1 {ALL}",
    ),
    (
        "MIOpenPooling.cl",
        f"{POOL} -DMLO_POOLING_N_HORIZ_OUT_PIX=1 -DMLO_POOLING_N_VERT_OUT_PIX=4 -DMLO_POOLING_GROUP_SZ0=16"
        f" -DMLO_POOLING_GROUP_SZ1=8 {INDEX} -DMIOPEN_USE_FP32=1 -DMIOPEN_USE_FP16=0",
    ),
    (
        "MIOpenPoolingBwd.cl",
        f"{POOL} -DMLO_POOLBWD_N_HORIZ_OUT_PIX=1 -DMLO_POOLBWD_N_VERT_OUT_PIX=8 -DMLO_POOLBWD_GROUP_SZ0=32"
        f" -DMLO_POOLBWD_GROUP_SZ1=4 {INDEX} -DUSE_IMG_INDEX=0 -DMIOPEN_USE_FP32=1 -DMIOPEN_USE_FP16=0",
    ),
    (
        "MIOpenSubTensorOpWithScalarKernel.cl",
        f"-DSUBTENSOR_OP_WITH_SCALAR=SUBTENSOR_OP_WITH_SCALAR_SET {ALL} -DWORK_LENGTH_0=4096",
    ),
    ("MIOpenCol2Im2d.cl", ALL),
    (
        "MIOpenPooling.cl",
        f"{POOL} -DMLO_POOLING_N_HORIZ_OUT_PIX=1 -DMLO_POOLING_N_VERT_OUT_PIX=8 -DMLO_POOLING_GROUP_SZ0=16"
        f" -DMLO_POOLING_GROUP_SZ1=16 {INDEX} -DMIOPEN_USE_FP32=1 -DMIOPEN_USE_FP16=0",
    ),
}


def kernel_rows(text: str, direction: Any, compute_units: int, **formulas: str) -> list[Row]:
    return list(network_rows(parse(text), direction, compute_units, **formulas))


def standalone(section: str, shape: tuple[int, int, int, int], *keys: str) -> str:
    dims = [f"{axis}={size}" for axis, size in zip("nchw", shape, strict=True)]
    return "\n".join(
        ["[DNNMark]", "run_mode=standalone", f"[{section}]", "name=l", *dims, "previous_layer=null", *keys]
    )


COMPOSED = """[DNNMark]
run_mode=composed
[Convolution]
name=conv1
n=1
c=3
h=32
w=32
previous_layer=null
conv_mode=cross_correlation
[Pooling]
name=pool1
previous_layer=conv1
[FullyConnected]
name=fc1
previous_layer=pool1
num_output=32
"""


def test_upstreams_kernel_list_follows_from_the_default_configurations() -> None:
    defaults = [
        standalone("Softmax", (100, 1000, 1, 1)),
        standalone("BatchNorm", (100, 1000, 1, 1), "exp_avg_factor=0.5"),
        standalone("Bypass", (100, 1000, 1, 1)),
        standalone("Activation", (100, 32, 256, 256)),
        standalone("Pooling", (100, 3, 256, 256)),
        COMPOSED,
    ]
    derived = {
        row.key
        for text in defaults
        for direction in ("fwd", "bwd")
        for row in kernel_rows(text, direction, 4)
    }
    assert derived == {(program, f" {arguments}") for program, arguments in UPSTREAM}


def test_keys_equal_miopens_for_300_configurations() -> None:
    cases = [json.loads(line) for line in (DATA / "miopen_rows.jsonl").read_text().splitlines()]
    for case in cases:
        rows = kernel_rows(case["config"], case["direction"], case["num_cus"])
        assert [list(row.key) for row in rows] == case["rows"], case["config"]


def test_keys_and_geometry_equal_those_of_miopens_own_host_code() -> None:
    """1,500 configurations through MIOpen rocm-4.0.1's parameter builders, compiled against stub headers."""
    with lzma.open(DATA / "miopen_launches.jsonl.xz", "rt") as stream:
        cases = [json.loads(line) for line in stream]
    assert len(cases) == 1500
    for case in cases:
        found = [
            [launch.program, launch.arguments, launch.kernel, list(launch.grid), list(launch.workgroup)]
            for launch in launches(parse(case["config"]), case["direction"], case["num_cus"])
            if launch.gemm is None
        ]
        assert found == case["launches"], case["config"]


def printed(arg: Arg) -> str:
    """A kernel argument as the recording program prints it: buffers by name, others by type and value."""
    if arg.kind == "buffer":
        return str(arg.value)
    number = float(arg.value)
    if arg.kind == "float":
        (number,) = struct.unpack("f", struct.pack("f", number))
    return {"float": "f", "double": "d"}.get(arg.kind, "i") + (
        str(arg.value) if arg.kind in ("int", "uint") else f"{number:.9g}"
    )


def test_every_dispatch_equals_miopens_own_with_its_arguments_and_matrix_products() -> None:
    """400 softmax, batch normalisation and convolution layers, plain and transposed, image by image."""
    with lzma.open(DATA / "miopen_dispatches.jsonl.xz", "rt") as stream:
        cases = [json.loads(line) for line in stream]
    assert len(cases) == 400
    for case in cases:
        found: list[dict[str, object]] = []
        for launch in expand(launches(parse(case["config"]), case["direction"], 4)):
            args = [printed(arg) for arg in launch.args]
            if launch.gemm is None:
                found.append(
                    {
                        "program": launch.program,
                        "arguments": launch.arguments,
                        "kernel": launch.kernel,
                        "grid": list(launch.grid),
                        "workgroup": list(launch.workgroup),
                        "args": args,
                    }
                )
                continue
            gemm = launch.gemm
            sizes = [gemm.m, gemm.n, gemm.k, gemm.transpose_a, gemm.transpose_b, gemm.batch]
            strides = [gemm.lda, gemm.ldb, gemm.ldc, gemm.stride_a, gemm.stride_b, gemm.stride_c]
            rest = [gemm.beta, gemm.offset_a, gemm.offset_b, gemm.offset_c]
            found.append({"gemm": [*sizes, *strides, *rest], "args": args})
        assert found == case["launches"], case["config"]


PRIMITIVES = {
    "softmax_fwd": ("Softmax", ()),
    "softmax_bwd": ("Softmax", ()),
    "relu_fwd": ("Activation", ()),
    "relu_bwd": ("Activation", ()),
    "bn_bwd": ("BatchNorm", ()),
    "lrn_fwd": ("LRN", ()),
    "pool_fwd": ("Pooling", ()),
    "im2col": ("Convolution", ("conv_mode=cross_correlation",)),
    "col2im": ("Convolution", ("conv_mode=cross_correlation",)),
}


def test_geometry_equals_that_of_real_gem5_runs() -> None:
    with recorded()[0].open(newline="") as stream:
        runs = list(csv.DictReader(stream))
    assert {run["primitive"] for run in runs} == set(PRIMITIVES)
    for run in runs:
        section, keys = PRIMITIVES[run["primitive"]]
        window = [f"{key}={run[key]}" for key in ("kernel_size", "pad", "stride") if run[key]]
        shape = (int(run["n"]), int(run["c"]), int(run["h"]), int(run["w"]))
        network = parse(standalone(section, shape, *keys, *window))
        launched = launches(network, "both", int(run["num_compute_units"]))
        launch = next(found for found in launched if found.kernel == run["kernel"])
        assert launch.program == run["program"], run["id"]
        assert launch.grid == tuple(int(run[f"grid_{axis}"]) for axis in "xyz"), run["id"]
        assert launch.workgroup == tuple(int(run[f"workgroup_{axis}"]) for axis in "xyz"), run["id"]
        assert launch.workgroups == int(run["workgroups"]), run["id"]


def test_only_lrn_forward_depends_on_the_number_of_compute_units() -> None:
    lrn = standalone("LRN", (2, 8, 64, 64))
    assert kernel_rows(lrn, "fwd", 1) != kernel_rows(lrn, "fwd", 64)
    assert kernel_rows(lrn, "bwd", 1) == kernel_rows(lrn, "bwd", 64)
    for section in ("Softmax", "Pooling", "BatchNorm", "Activation", "Convolution", "Bypass"):
        text = standalone(section, (2, 8, 64, 64), *(("conv_mode=cross_correlation",) * (section[0] == "C")))
        assert kernel_rows(text, "both", 1) == kernel_rows(text, "both", 64)


def test_rows_are_distinct_and_say_which_layer_wants_them_first() -> None:
    text = standalone("Softmax", (1, 600, 1, 1)) + "\n[Softmax]\nname=m\nn=9\nc=700\nh=1\nw=1\n"
    rows = kernel_rows(text, "both", 4)
    assert [(row.layer, "RUN_FORWARD=1" in row.arguments) for row in rows] == [("l", True), ("m", False)]


def test_fully_connected_and_dropout_need_no_kernel_object() -> None:
    assert kernel_rows(standalone("FullyConnected", (4, 5, 6, 7)), "both", 4) == []
    assert kernel_rows(standalone("Dropout", (4, 5, 6, 7)), "both", 4) == []
    assert launches(parse(standalone("Dropout", (4, 5, 6, 7))), "both", 4) == ()


def test_fully_connected_launches_dnnmarks_matrix_products() -> None:
    forward, *backward = launches(
        parse(standalone("FullyConnected", (4, 5, 6, 7), "num_output=11")), "both", 4
    )
    assert [arg.name for arg in forward.args] == ["w", "x", "y"]
    assert forward.gemm is not None
    assert (forward.gemm.m, forward.gemm.n, forward.gemm.k) == (11, 4, 210)
    assert (forward.gemm.transpose_a, forward.gemm.transpose_b) == (True, False)
    products = [launch.gemm for launch in backward]
    assert [(gemm.m, gemm.n, gemm.k) for gemm in products if gemm] == [(210, 11, 4), (210, 4, 11)]
    assert all(launch.gemm is not None and launch.note for launch in (forward, *backward))


def flops(launched: tuple[Launch, ...]) -> int:
    return sum(
        2 * launch.count * launch.gemm.batch * launch.gemm.m * launch.gemm.n * launch.gemm.k
        for launch in launched
        if launch.gemm
    )


@pytest.mark.parametrize("mode", ["cross_correlation", "convolution"])
@pytest.mark.parametrize(("kernel", "pad", "stride"), [(3, 1, 1), (1, 0, 1), (1, 0, 2), (5, 2, 2)])
def test_convolution_computes_what_its_shape_says(kernel: int, pad: int, stride: int, mode: str) -> None:
    keys = (f"conv_mode={mode}", "num_output=8", f"kernel_size={kernel}", f"pad={pad}", f"stride={stride}")
    network = parse(standalone("Convolution", (3, 8, 12, 10), *keys))
    plane = network.layers[0].input if mode == "convolution" else network.layers[0].output
    product = 2 * 3 * 8 * 8 * kernel * kernel * plane.h * plane.w
    assert flops(launches(network, "fwd", 4)) == product
    assert flops(launches(network, "bwd", 4)) == 2 * product


def test_a_transposed_convolution_swaps_the_passes_of_a_plain_one() -> None:
    shape, keys = (3, 8, 12, 10), ("num_output=8", "kernel_size=3", "pad=1", "propagation=true")
    plain = parse(standalone("Convolution", shape, "conv_mode=cross_correlation", *keys))
    swapped = parse(standalone("Convolution", shape, "conv_mode=convolution", *keys))
    kernels = {
        (mode, direction): [launch.kernel for launch in launches(network, direction, 4)]
        for mode, network in (("plain", plain), ("swapped", swapped))
        for direction in ("fwd", "bwd")
    }
    assert kernels["plain", "fwd"] == ["Im2d2Col", "sgemm"]
    assert kernels["swapped", "fwd"] == ["sgemm", "Col2Im2d"]
    assert kernels["plain", "bwd"][-2:] == ["sgemm", "Col2Im2d"]
    assert kernels["swapped", "bwd"][-2:] == ["Im2d2Col", "sgemm"]


def test_loops_unroll_image_by_image_with_their_offsets() -> None:
    network = parse(standalone("Convolution", (3, 2, 8, 8), "conv_mode=cross_correlation", "num_output=4"))
    short = launches(network, "both", 4)
    unrolled = list(expand(short))
    assert len(unrolled) == sum(launch.count for launch in short) == 6 + 1 + 6 + 6
    assert [launch.kernel for launch in unrolled[:4]] == ["Im2d2Col", "sgemm"] * 2
    offsets = [launch.args[2].value for launch in unrolled if launch.kernel == "Im2d2Col"]
    assert offsets == [0, 128, 256] * 2
    written = [launch.gemm.offset_c for launch in unrolled[:6] if launch.gemm]
    assert written == [0, 256, 512]


def test_layers_of_a_composed_network_share_their_buffers() -> None:
    launched = launches(parse(COMPOSED), "both", 4)
    forward = {launch.layer: launch for launch in launched if launch.direction == "fwd"}
    assert forward["pool1"].args[0].value == forward["conv1"].args[2].value == "conv1.top"
    assert [launch.layer for launch in launched if launch.direction == "bwd"][:2] == ["fc1", "fc1"]
    assert launched[-1].layer == "conv1"


def test_arguments_match_the_kernels_signatures() -> None:
    """Number of arguments of each OpenCL kernel of MIOpen rocm-4.0.1 with these compile arguments."""
    counts = {
        "SoftmaxForward": 17,
        "SoftmaxBackward": 22,
        "MIOpenActiveFwdLite": 7,
        "MIOpenActiveBwdLite": 12,
        "mloPoolingG": 16,
        "mloPoolingMaxBwd": 16,
        "mloPoolingAveBwd": 15,
        "MIOpenBatchNormFwdTrainPerActivation": 12,
        "MIOpenBatchNormBwdPerActivationSaved": 11,
        "MIOpenBatchNormFwdTrainSpatial": 11,
        "MIOpenBatchNormFwdTrainSpatialMeanVariance": 2,
        "MIOpenBatchNormFwdTrainSpatialFinalMeanVariance": 8,
        "MIOpenBatchNormFwdTrainSpatialNorm": 4,
        "MIOpenBatchNormBwdSpatial": 9,
        "MIOpenBatchNormBwdSpatialDScaleDBias": 5,
        "MIOpenBatchNormBwdSpatialFinalDScaleDBias": 3,
        "MIOpenBatchNormBwdSpatialDX": 9,
        "MIOpenLRNAcrossChannels4": 7,
        "MIOpenLRNWithinChannel_PS": 7,
        "MIOpenLRNAcrossChannelsBwd1": 8,
        "MIOpenLRNWithinChannelBwd": 8,
        "Im2d2Col": 16,
        "Col2Im2d": 15,
        "SubTensorOpWithScalar1d": 5,
        "transpose_NCHW2CNHW": 2,
        "transpose_NCHW2CNHW_opt": 2,
        "transpose_CNHW2NCHW": 2,
        "transpose_CNHW2NCHW_opt": 2,
    }
    texts = [
        standalone("Softmax", (4, 8, 2, 2)),
        standalone("Activation", (4, 8, 2, 2)),
        standalone("Pooling", (4, 8, 9, 9)),
        standalone("Pooling", (4, 8, 9, 9), "pool_mode=avg"),
        standalone("BatchNorm", (4, 8, 9, 9)),
        standalone("BatchNorm", (4, 8, 9, 9), "batchnorm_mode=spatial"),
        standalone("BatchNorm", (900, 1, 200, 200), "batchnorm_mode=spatial"),
        standalone("BatchNorm", (700, 1, 220, 220), "batchnorm_mode=spatial"),
        standalone("LRN", (4, 8, 9, 9)),
        standalone("LRN", (4, 8, 9, 9), "lrn_mode=within_channel"),
        standalone("Convolution", (4, 8, 9, 9), "conv_mode=cross_correlation"),
        standalone(
            "Convolution", (4, 8, 9, 9), "conv_mode=cross_correlation", "kernel_size=1\npad=0\nstride=2"
        ),
    ]
    found = {
        launch.kernel: len(launch.args)
        for text in texts
        for launch in launches(parse(text), "both", 4)
        if launch.gemm is None
    }
    assert found == counts


@pytest.mark.parametrize(
    ("text", "direction", "remedy"),
    [
        (
            standalone("Convolution", (1, 3, 9, 9), "conv_mode=convolution"),
            "fwd",
            "conv_mode=cross_correlation",
        ),
        (standalone("Pooling", (1, 3, 99, 99), "kernel_size=16"), "bwd", "at most 255"),
        (standalone("BatchNorm", (1, 3, 9, 9), "save_intermediates=false"), "fwd", "save_intermediates=true"),
        (standalone("LRN", (1, 3, 9, 9), "k=0"), "fwd", "k to 1.0"),
    ],
)
def test_layers_that_miopen_refuses_have_no_key(text: str, direction: str, remedy: str) -> None:
    with pytest.raises(NotDerivable) as caught:
        kernel_rows(text, direction, 4)
    assert caught.value.key == "l"
    assert caught.value.remedy is not None and remedy in caught.value.remedy


def test_an_unknown_set_of_formulas_is_refused() -> None:
    with pytest.raises(NotDerivable, match=r"rocm-4\.0\.1") as caught:
        kernel_rows(COMPOSED, "fwd", 4, formulas="rocm-9")
    assert caught.value.remedy is not None and "MIOPEN_LOG_LEVEL=6" in caught.value.remedy


@pytest.mark.parametrize(("direction", "num_cus"), [("forward", 4), ("", 4), ("fwd", 0), ("fwd", -1)])
def test_an_unknown_direction_or_no_compute_unit_is_refused(direction: str, num_cus: int) -> None:
    with pytest.raises(ConfigError):
        kernel_rows(COMPOSED, direction, num_cus)


def test_a_kind_of_layer_without_formulas_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As while someone adds a kind: the message names the layer and the kinds that are known."""
    builders = {kind: build for kind, build in rocm_4_0_1.BUILDERS.items() if kind != "Softmax"}
    monkeypatch.setitem(derive.FORMULAS, "without", builders)
    layer = "[Softmax]\nname=s\nn=1\nc=4\nh=1\nw=1\nprevious_layer=null\n"
    with pytest.raises(NotDerivable, match="layer of kind Softmax is not known") as caught:
        kernel_rows(f"[DNNMark]\nrun_mode=standalone\n\n{layer}", "fwd", 4, formulas="without")
    assert "Convolution" in str(caught.value)


def test_launches_that_do_not_depend_on_the_compute_units_are_one_object() -> None:
    """All shipped workloads, for 4 and for 60 units: LRN forward alone differs, where it is small."""
    differing = set()
    shipped = [place.read_text(encoding="utf-8") for place in (ROOT / "configs/workloads").glob("*.dnnmark")]
    (lrn,) = [text for text in shipped if "[LRN]" in text and "[Convolution]" not in text]
    small = lrn.replace("n=100", "n=4").replace("=256", "=64")
    for network in map(parse, [*shipped, small]):
        builders = derive.FORMULAS[derive.DEFAULT_FORMULAS]
        passes = (derive.passes(network, "both", units) for units in (4, 60))
        for few, many in zip(*passes, strict=True):
            kind = few.layer.kind
            if builders[kind](few) != builders[kind](many):
                differing.add((kind, few.direction))
        if all(layer.kind != "LRN" for layer in network.layers):
            assert launches(network, "both", 4) is launches(network, "both", 60)
    assert differing == {("LRN", "fwd")}
