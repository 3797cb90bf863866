"""Execution traces of networks: their order, times, all-reduces and ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from apuflow.ask.question import table_of
from apuflow.core import paths
from apuflow.core.errors import ConfigError
from apuflow.plan.campaign import Campaign
from apuflow.results.chakra import Trace, traces
from apuflow.results.chakra_file import COLLECTIVE, COMPUTE
from apuflow_analysis.tables import store

TABLE = """name,op,sizes,repeats,params,cache,type
first,embedding,rows=9 width=16 tokens=n*sequence,,,,
norm,layernorm,rows=n*sequence width=16,layers,,,
gate,product,m=n*sequence n=16//tensor_parallel k=16 transposed=1,layers*2,,,
gelu,gelu,elements=n*sequence*16,layers*2,,,
reduce,all_reduce,elements=n*sequence*16,layers,,,
last,product,m=n*sequence n=9 k=16 transposed=1,,,,
"""
SUITE = """description: three blocks of two experts
kind: operators
table: small
source: a test
sizes: {sequence: 4, layers: 3, heads: 4}
divided: [heads]
"""


def made(root: Path, suite: str, layer: str, *, overlap: bool = False) -> Trace:
    """The trace of a suite by the preview."""
    text = f"description: a test\nengines: [preview]\nsuites: [{suite}]\nlayer: {{{layer}}}\n"
    (root / "configs/sweeps/net.yaml").write_text(text)
    campaign = Campaign(root)
    frame = table_of(campaign.points("net", paths.OPERATIONS))
    files = [root / file for file in paths.table_files("net/", paths.OPERATIONS)]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    store.write(frame, *files)
    [found] = traces(campaign, campaign.load("net"), suite, overlap=overlap)
    return found


def small(root: Path) -> None:
    (root / "configs/networks/small.csv").write_text(TABLE)
    (root / "configs/suites/small.yaml").write_text(SUITE)


def test_blocks_and_their_experts_follow_one_another(root: Path) -> None:
    small(root)
    nodes = made(root, "small", "n: 1").devices
    names = [node.name.split("/", 1)[1] for node in nodes[0]]
    blocks = []
    for block in range(3):
        experts = [f"{name}/{2 * block + expert}" for expert in range(2) for name in ("gate", "gelu")]
        blocks += [f"norm/{block}", *experts]
    assert names == ["first", *blocks, "last"]
    assert [node.after for node in nodes[0]] == [(), *((place,) for place in range(1, len(names)))]


def test_times_add_up_to_those_of_the_iteration(root: Path) -> None:
    """Whole microseconds, whose error is that of the end and not the sum of all."""
    found = made(root, "alexnet_64", "n: 1, direction: fwd")
    nodes = found.devices
    exact = sum(float(node.attributes["microseconds"]) for node in nodes[0])
    assert sum(node.duration for node in nodes[0]) == found.microseconds == round(exact)
    assert all(node.start == sum(one.duration for one in nodes[0][: node.id - 1]) for node in nodes[0])
    assert all(node.attributes["tensor_size"] for node in nodes[0])


def test_devices_that_share_layers_add_up_every_block(root: Path) -> None:
    """4 tokens of 16 fp32 values; two sets of two devices each."""
    small(root)
    found = made(root, "small", "n: 1, tensor_parallel: 2, devices: 2, bandwidth: 1, latency: 1")
    assert list(found.files) == [*(f"small.{rank}.et" for rank in range(4)), "small.groups.json"]
    shared = [[node for node in of if node.kind == COLLECTIVE] for of in found.devices]
    assert [[node.attributes["comm_size"] for node in of] for of in shared] == [[256] * 3] * 4
    assert [of[0].attributes["pg_name"] for of in shared] == ["1", "1", "2", "2"]
    assert b'"2": [\n  2,\n  3\n ]' in found.files["small.groups.json"]
    assert shared[0][0].attributes["microseconds"] == pytest.approx(2 * (1 + 0.128))  # 128 bytes at 1 GB/s


def test_gradients_of_all_weights_are_shared_before_the_update(root: Path) -> None:
    """AlexNet on 64x64 images has 2,472,266 learnt values (``configs/networks/index.csv``)."""
    found = made(root, "alexnet_64", "n: 1, devices: 8")
    assert len(found.files) == 8
    nodes = found.devices
    [shared] = [node for node in nodes[0] if node.kind == COLLECTIVE]
    assert shared.attributes["comm_size"] == 4 * 2_472_266
    assert {node.name.split("/")[0] for node in nodes[0][shared.id :]} == {"update"}
    assert nodes[0][shared.id].after == (shared.id,)


def test_a_layers_gradients_are_shared_beside_the_backward_pass(root: Path) -> None:
    nodes = made(root, "alexnet_64", "n: 1, devices: 8", overlap=True).devices
    of = {node.id: node for node in nodes[0]}
    shared = [node for node in nodes[0] if node.kind == COLLECTIVE]
    assert sum(int(node.attributes["comm_size"]) for node in shared) == 4 * 2_472_266
    assert len(shared) == 6  # five convolutions, one layer of products
    assert of[shared[0].after[0]].name == "backward/fc6"  # the last layer is the first
    for node in nodes[0]:
        if node.name.startswith("update/"):
            own = [of[before].name for before in node.after if of[before].kind == COLLECTIVE]
            assert own == [node.name.replace("update", "communication")]
    assert all(node.kind == COMPUTE for node in nodes[0] if node not in shared)


@pytest.mark.parametrize(
    ("suite", "layer", "overlap", "told"),
    [
        ("deepbench_gemm", "subset: 1", False, "no network of this name"),
        ("alexnet_64", "n: 1", True, "nothing overlaps"),
        ("alexnet_64", "n: 1, devices: 2, direction: fwd", True, "nothing overlaps"),
    ],
)
def test_what_has_no_trace_is_refused(root: Path, suite: str, layer: str, overlap: bool, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        made(root, suite, layer, overlap=overlap)


def test_an_old_or_missing_table_is_refused(root: Path) -> None:
    made(root, "alexnet_64", "n: 1, direction: fwd")
    sweep = root / "configs/sweeps/net.yaml"
    sweep.write_text(sweep.read_text().replace("n: 1", "n: 2"))
    campaign = Campaign(root)
    with pytest.raises(ConfigError, match="it is old"):
        traces(campaign, campaign.load("net"), "alexnet_64")
    (root / "results/net/operations.parquet").unlink()
    with pytest.raises(ConfigError, match="no table of operations yet"):
        traces(campaign, campaign.load("net"), "alexnet_64")
