"""Read ``apu_se.py``'s options out of gem5's sources: how ``data/apu_se_options.json.xz`` was made.

``python tests/unit/apu_se_sources.py GEM5_REPOSITORY > apu_se_options.json`` (a clone with its tags).

v25.0 is not made this way: no clone of it was there. Read were, as of gem5's commit
a82ffe73a6a5d61c5cf6cfb3d1cd1bdd54058ae9 (of 2025, before v25.1), configs/example/apu_se.py,
configs/ruby/GPU_VIPER.py, configs/ruby/Ruby.py and configs/common/Options.py. They declare what v24.1's do,
and --mfma-scale. What the TLBs start with is told by pull request 1769 (merged in December 2024).
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

TAGS = {
    "v21.1": "v21.1.0.2",
    "v21.2": "v21.2.1.1",
    "v22.0": "v22.0.0.2",
    "v22.1": "v22.1.0.0",
    "v23.0": "v23.0.1.0",
    "v23.1": "v23.1.0.0",
    "v24.0": "v24.0.0.1",
    "v24.1": "c91af552d4698473afd4f83c943436ddadf11efe",  # develop of 24 October 2024
}
DEFINING: dict[str, tuple[str, ...]] = {
    "configs/example/apu_se.py": (),
    "configs/ruby/GPU_VIPER.py": ("define_options",),
    "configs/ruby/Ruby.py": ("define_options",),
    "configs/network/Network.py": ("define_options",),
    "configs/common/GPUTLBOptions.py": ("tlb_options",),
    "configs/common/Options.py": ("addNoISAOptions", "addCommonOptions", "addSEOptions"),
}
"""Files whose options apu_se.py takes, and the functions in them (none: the whole file)."""


READING = (
    "configs/example/apu_se.py",
    "configs/example/hsaTopology.py",
    "configs/ruby/GPU_VIPER.py",
    "configs/ruby/Ruby.py",
    "configs/network/Network.py",
    "configs/common/GPUTLBConfig.py",
    "configs/common/FileSystemConfig.py",
)
"""Files on apu_se.py's path that read options; Simulation.setWorkCountOptions reads the work marks."""
READ = re.compile(
    r"options\.(L%\(level\)d\w+)|\b(?:args|options)\.(\w+)|(?:get|has)attr\(\s*(?:args|options),\s*['\"](\w+)"
)


def options(repository: str, tag: str) -> dict[str, dict[str, Any]]:
    """By name: type, action and default of each option of one release, and whether anything reads it."""
    read = _read(repository, tag)
    found: dict[str, dict[str, Any]] = {}
    defaults: dict[str, Any] = {}
    for path, functions in DEFINING.items():
        tree = ast.parse(_show(repository, tag, path))
        for call in _calls(tree, functions):
            keywords = {word.arg: _value(word.value) for word in call.keywords if word.arg}
            if call.func.attr == "set_defaults":  # type: ignore[attr-defined]
                defaults |= keywords
                continue
            names = [_value(argument) for argument in call.args]
            long = next(name for name in names if name.startswith("--"))[2:]
            short = [name[1:] for name in names if not name.startswith("--")]
            kept = [key for key in ("type", "action", "default") if key in keywords]
            entry: dict[str, Any] = {key: keywords[key] for key in kept}
            found[long] = entry | ({"short": short[0]} if short else {})
            found[long]["dest"] = keywords.get("dest", long.replace("-", "_"))
    for option in found.values():
        dest = option.pop("dest")
        option["read"] = dest in read
        if dest in defaults:
            option["default"] = defaults[dest]
    return found


def _show(repository: str, tag: str, path: str) -> str:
    command = ["git", "-C", repository, "show", f"{tag}:{path}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _read(repository: str, tag: str) -> set[str]:
    """Attributes of the parsed arguments that some file on apu_se.py's path reads."""
    texts = [_show(repository, tag, path) for path in READING]
    simulation = _show(repository, tag, "configs/common/Simulation.py")
    texts.append(re.split(r"^def ", simulation.split("def setWorkCountOptions")[1], flags=re.M)[0])
    names: set[str] = set()
    for text in texts:
        for match in READ.finditer(text):
            name = next(filter(None, match.groups()))
            names |= {name.replace("%(level)d", str(level)) for level in (1, 2, 3)}
    return names


def _calls(tree: ast.Module, functions: tuple[str, ...]) -> Iterator[ast.Call]:
    bodies: list[ast.AST] = [tree]
    if functions:
        bodies = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in functions]
    for body in bodies:
        for node in ast.walk(body):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("add_argument", "set_defaults")
            ):
                yield node


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    try:
        return ast.literal_eval(node)
    except ValueError:
        return f"expression {ast.unparse(node)}"


if __name__ == "__main__":
    json.dump({release: options(sys.argv[1], tag) for release, tag in TAGS.items()}, sys.stdout, indent=0)
