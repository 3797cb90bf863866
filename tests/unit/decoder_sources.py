"""Read out of gem5's sources which operation codes it executes: ``launcher/vega_decoder.yaml``.

``python tests/unit/decoder_sources.py v24.0=SOURCES v24.1=SOURCES`` prints that file. An operation code is
executed if the decoder's tables lead to a class whose ``execute`` is not ``panicUnimplemented``.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from apuflow.launcher.gem5_decoder import SUBTABLES

_TABLE = re.compile(r"IsaDecodeMethod Decoder::table(\w+)\[\] = \{(.*?)\n    \};", re.DOTALL)
_METHOD = re.compile(r"Decoder::(\w+)\(MachInst iFmt\)\s*\{(.*?)\n    \}", re.DOTALL)
_MADE = re.compile(r"new (Inst_\w+)")
_EXECUTE = re.compile(
    r"^ *(?:void\s+)?(Inst_\w+)::execute\(GPUDynInstPtr \w*\)\s*\{(.*?)^    \}", re.DOTALL | re.MULTILINE
)
HEAD = """\
# Operation codes of the Vega build that gem5 executes, by release and by table of its decoder ("primary": the
# upper nine bits of the first word). Written by tests/unit/decoder_sources.py from gem5's gpu_decoder.cc and
# insts. Do not edit.
"""


def executed(source: Path) -> Mapping[str, list[int]]:
    """Codes by table of one gem5's sources."""
    place = source / "src/arch/amdgpu/vega"
    text = (place / "gpu_decoder.cc").read_text()
    tables = {name: re.findall(r"&Decoder::(\w+)", body) for name, body in _TABLE.findall(text)}
    made = {name: found[1] for name, body in _METHOD.findall(text) if (found := _MADE.search(body))}
    empty = {
        name
        for file in (place / "insts").glob("*.cc")
        for name, body in _EXECUTE.findall(file.read_text())
        if body.strip().startswith("panicUnimplemented")
    }
    run = {name for name, of in made.items() if of not in empty}
    return {
        table: [code for code, method in enumerate(tables[name]) if method in run]
        for table, name in {
            "primary": "DecodePrimary",
            **{each: f"SubDecode_{each}" for each in SUBTABLES},
        }.items()
    }


def ranges(codes: list[int]) -> Iterator[str]:
    """``0-3 7``."""
    for _, group in groupby(enumerate(codes), lambda pair: pair[1] - pair[0]):
        run = [code for _, code in group]
        yield f"{run[0]:x}-{run[-1]:x}" if len(run) > 1 else f"{run[0]:x}"


if __name__ == "__main__":
    print(HEAD, end="")
    for word in sys.argv[1:]:
        release, _, source = word.partition("=")
        print(f"{release}:")
        for table, codes in executed(Path(source)).items():
            lines = textwrap.fill(" ".join(ranges(codes)), 100)
            print(f"  {table}: >-")
            print(textwrap.indent(lines, "    "))
