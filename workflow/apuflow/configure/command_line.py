"""A command line of ``apu_se.py``, read as its own parser reads it, and what each word of it does.

Sources: Python's ``argparse``; of the TCC gem5's ``configs/ruby/GPU_VIPER.py`` (``TCC.create``) and
``CacheMemory::init`` (sets are rounded down to a power of two; the same from v21.1 to v24.0.0.1); of what
ROCm is told ``configs/example/hsaTopology.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from apuflow.configure import option_rules, shell_line
from apuflow.configure.catalogue import Option, catalogue, short_names
from apuflow.configure.structure_rules import LINE, UPSTREAM_BITS, OptionProblem, too_many
from apuflow.core.errors import ConfigError
from apuflow.core.gpus import GPUS
from apuflow.core.scalar import Scalar
from apuflow.core.units import format_size, size_bytes
from apuflow.core.words import many

Effect: TypeAlias = Literal[
    "set", "default", "workload", "ignored", "no effect", "shell", "refused", "unknown"
]
SCRIPT = "apu_se.py"
_KIB = 1024
TCC_BYTES_PER_UNIT = 128 * _KIB
_EXPANDS = re.compile(r"[$`]|^[<>]\(")
_NEGATIVE = re.compile(r"-\d+$|-\d*\.\d+$")
_ARRAYS = ("cu-per-sa", "sa-per-complex")
_TOLD = "a gfx900 tells ROCm of four shader arrays of 16 compute units, whatever is asked for"
"""``createVegaTopology``, in every release that was read."""


@dataclass(frozen=True)
class Word:
    """One option of a command line.

    Attributes:
        name: the option's full name; None: there is none.
        value: as gem5 gets it.
        effect: what it does: ``set`` changes the machine, ``default`` leaves it as it is, ``workload``
            belongs to the program that runs, ``ignored`` nothing reads it, ``no effect`` another word undoes
            it, ``shell`` the shell gives its value.
        said: in words.
    """

    text: str
    name: str | None
    value: Scalar | None
    effect: Effect
    said: str


@dataclass(frozen=True)
class Explained:
    """A command line: words before the script, its options, the machine as a machine file has it."""

    gem5: tuple[str, ...]
    words: tuple[Word, ...]
    machine: Mapping[str, Scalar]
    release: str


def explain(line: str, release: str, set_bits: int = UPSTREAM_BITS) -> Explained:
    """What each word of a command line does.

    Args:
        release: a release whose options are known.
        set_bits: controllers of one kind that this gem5's Ruby can count.

    Raises:
        ConfigError: quotation marks that are not closed; no option at all; another script's line.
    """
    try:
        words = shell_line.command_of(line, SCRIPT)
    except ValueError as error:
        message, remedy = f"the command line cannot be split: {error}", "close the quotation mark or bracket"
        raise ConfigError(message, value=line, remedy=remedy) from None
    place = next((n + 1 for n, word in enumerate(words) if word.endswith(SCRIPT)), 0)
    _must_be_of_the_script(line, words, place)
    read = [_explained(*pair, release) for pair in _options(words[place:], release)]
    last = {word.name: word for word in read if word.effect in ("set", "default")}
    given = {name: word.value for name, word in last.items() if name is not None and word.value is not None}
    alone = {name: value for name, value in given.items() if option_rules.check_one(name, value, release)}
    given = {name: value for name, value in given.items() if name not in alone}
    machine, dropped = _together(given, release, set_bits)
    full = {**option_rules.resolve(machine, release), **alone}
    for problem in too_many(alone, full, set_bits):
        dropped[problem.option] = ("refused", f"{problem.message}; {problem.remedy}")
    told = _told(option_rules.resolve(machine, release))
    if told is not None:
        dropped |= {name: ("no effect", f"{_TOLD}: nothing reads it") for name in _ARRAYS if name in machine}
    found = tuple(_after(word, last, dropped) for word in read)
    return Explained(tuple(words[: max(0, place - 1)]), found, machine, release)


def _must_be_of_the_script(line: str, words: list[str], place: int) -> None:
    others = [word for word in words if word.endswith(".py") and not word.startswith("-")]
    if place == 0 and others:
        remedy = f"only those of {SCRIPT} are explained"
        raise ConfigError(f"not a command line of {SCRIPT}", value=others[0], remedy=remedy)
    if not words:
        raise ConfigError("no command line", value=line, remedy=f'apuflow explain "{SCRIPT} -n3 --dgpu ..."')


def _options(words: list[str], release: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Text, option (full name; None: unknown) and value of each word, as argparse groups them."""
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name: str | None
        value: str | None
        if word.startswith("--"):
            given, equals, value = word[2:].partition("=")
            name = _full_name(given, release)
            value = value if equals else None
        elif len(word) > 1 and word[0] == "-":
            name = _short(word[1], release)
            value = word[2:].removeprefix("=") or None
        else:
            yield word, None, None
            continue
        takes = name is not None and catalogue()[name].type != "flag"
        if value is None and takes and waiting and not _looks_like_an_option(waiting[0]):
            value = waiting.pop(0)
            word = f"{word} {value}"
        yield word, name, value


def _looks_like_an_option(word: str) -> bool:
    """Whether argparse takes a word for an option, and not for the value of the one before."""
    return len(word) > 1 and word[0] == "-" and " " not in word and not _NEGATIVE.match(word)


def _full_name(given: str, release: str) -> str | None:
    """The option that argparse takes a word for: exactly that one, or the only one that begins so."""
    names = [name for name, option in catalogue().items() if option.known_to(release)]
    if given in names:
        return given
    begun = [name for name in names if name.startswith(given)]
    return begun[0] if len(begun) == 1 else None


def _short(letter: str, release: str) -> str | None:
    name = short_names().get(letter)
    return name if name is not None and catalogue()[name].known_to(release) else None


def _explained(text: str, name: str | None, value: str | None, release: str) -> Word:
    # The program and its arguments are not of interest here.
    is_read = name is None or catalogue()[name].role != "workflow"
    if is_read and _EXPANDS.search(text if value is None else value):
        return Word(text, name, None, "shell", "the shell gives its value when the line runs: not explained")
    if name is None:
        return Word(text, None, None, "unknown", f"gem5 {release} ends: apu_se.py has no such option")
    option = catalogue()[name]
    spelled_out = re.match(rf"--{name}(?:[= ]|$)", text)
    asked = "" if spelled_out else f"is --{name}: "
    if (option.type == "flag") == (value is not None):
        wrong = "takes no value" if option.type == "flag" else "a value is missing"
        return Word(text, name, None, "refused", f"{asked}gem5 {release} ends: {wrong}")
    read = _value(option, value)
    match option.role:
        case "ignored":
            instead = f"; instead: {option.instead}" if option.instead else ""
            why = f"; {option.needless}" if option.needless else instead
            return Word(text, name, read, "ignored", f"{asked}nothing reads it{why}")
        case "refused":
            instead = option.instead or "leave it out"
            return Word(text, name, read, "refused", f"{asked}{option.meaning}; {instead}")
        case "workflow":
            return Word(text, name, read, "workload", f"{asked}{option.meaning}: {option.instead}")
    problem = option_rules.check_one(name, read, release)
    if problem is not None and option.starts_with(read):
        said = f"gem5 starts with it, apuflow does not: {problem.remedy}"
        return Word(text, name, read, "set", f"{asked}{option.meaning}; {said}")
    if problem is not None:
        return Word(text, name, read, "refused", f"{asked}{problem.message}; {problem.remedy}")
    default = option.default_at(release)
    if default is not None and option_rules.canonical(name, read) == option_rules.canonical(name, default):
        return Word(text, name, read, "default", f"{asked}{option.meaning}; gem5's own default")
    was = "" if default is None else f"; default {default}"
    return Word(text, name, read, "set", f"{asked}{option.meaning}{was}")


def _value(option: Option, value: str | None) -> Scalar:
    if option.type == "flag":
        return True
    if value is None:
        return ""
    if option.type == "int":
        try:
            return int(value)
        except ValueError:
            return value
    return int(value) if value.isdigit() and option.type == "size" else value


def _together(
    given: Mapping[str, Scalar], release: str, set_bits: int
) -> tuple[dict[str, Scalar], dict[str, tuple[Effect, str]]]:
    """The values that take effect together, and why the others have no effect or stop gem5."""
    machine, dropped = dict(given), dict[str, tuple[Effect, str]]()
    while problems := _problems(machine, release, set_bits):
        for problem in problems:
            without = "no effect" in problem.message or "always sets" in problem.message
            if problem.option not in machine or problem.option in dropped:
                names = [name for name in machine if name not in dropped and name in problem.remedy]
                if not names:
                    return machine, dropped
                dropped[names[0]] = ("refused", f"{problem.option}: {problem.message}; {problem.remedy}")
                del machine[names[0]]
                continue
            said = problem.message if without else f"{problem.message}; {problem.remedy}"
            dropped[problem.option] = ("no effect" if without else "refused", said)
            machine.pop(problem.option)
    return machine, dropped


def _problems(machine: Mapping[str, Scalar], release: str, set_bits: int) -> tuple[OptionProblem, ...]:
    found = option_rules.check(machine, release)
    return found or too_many(machine, option_rules.resolve(machine, release), set_bits)


def _after(word: Word, last: Mapping[str | None, Word], dropped: Mapping[str, tuple[Effect, str]]) -> Word:
    """A word, once all the others are known."""
    if word.effect not in ("set", "default") or word.name is None:
        return word
    if last[word.name] is not word:
        return replace(word, effect="no effect", said=f"given again: {last[word.name].text} counts")
    if word.name in dropped:
        effect, said = dropped[word.name]
        return replace(word, effect=effect, said=said)
    return word


def tcc(options: Mapping[str, Scalar]) -> tuple[int, int]:
    """Bytes of the TCC that gem5 builds with all these options, and those of them that it can index."""
    banks, ways = int(options["num-tccs"]), int(options["tcc-assoc"])
    asked = size_bytes(str(options["tcc-size"])) or 0
    if int(options["bw-scalor"]) > 0:
        asked = int(options["num-compute-units"]) * TCC_BYTES_PER_UNIT
    bank = max(asked // banks, 128 * ways)
    sets = max(1, bank // ways // LINE)
    return banks * bank, banks * (1 << sets.bit_length() - 1) * ways * LINE


def link_bytes(options: Mapping[str, Scalar]) -> int:
    """Bytes that a link of the GPU's network carries a cycle."""
    scale = int(options["bw-scalor"])
    return 16 * int(options["num-compute-units"]) * scale if scale > 0 else 8


def used(explained: Explained) -> Iterator[str]:
    """What the machine comes to, where that is not what the words say."""
    options = option_rules.resolve(explained.machine, explained.release)
    built, indexed = tcc(options)
    part = f", of which gem5 can index {format_size(indexed)} (sets are rounded down to a power of two)"
    banks = many(int(options["num-tccs"]), "bank")
    yield f"TCC: {format_size(built)} in {banks}{part if indexed != built else ''}"
    yield f"links: {link_bytes(options):,} bytes a cycle"
    units = int(options["num-compute-units"])
    fixed = _told(options)
    told = int(options["cu-per-sa"]) * int(options["sa-per-complex"])
    if fixed is not None and fixed != units:
        yield f"shader arrays: {_TOLD}; the machine has {units}"
    elif fixed is None and told != units:
        yield (
            f"shader arrays: ROCm is told {options['sa-per-complex']} of {options['cu-per-sa']} compute "
            f"units, the machine has {units}"
        )


def _told(options: Mapping[str, Scalar]) -> int | None:
    """Compute units that ROCm is told of whatever the options say; None: those of the options."""
    gpu = GPUS.get(str(options["gfx-version"]))
    return None if gpu is None else gpu.told_compute_units


def as_meant(explained: Explained) -> tuple[dict[str, Scalar], list[str]]:
    """The machine with what its ignored words were meant to do, as far as gem5 can; what was changed."""
    machine, changes = dict(explained.machine), list[str]()
    words = {word.name: word for word in explained.words if word.effect in ("ignored", "no effect")}
    size, complexes = words.get("tcc-size"), words.get("num-gpu-complexes")
    if size is not None and size.value is not None and int(machine.get("bw-scalor", 0)) > 0:
        _, indexed = tcc(option_rules.resolve(machine, explained.release))
        if indexed == size_bytes(str(size.value)):
            changes.append(f"tcc-size {size.value}: just what gem5 can index of the TCC that it builds")
        else:
            machine["tcc-size"] = size.value
            changes.append(
                f"tcc-size {size.value}; bw-scalor {machine.pop('bw-scalor')} goes with it, since gem5 "
                "cannot have both: links carry 8 bytes a cycle"
            )
    units, arrays = int(machine.get("num-compute-units", 4)), int(machine.get("cu-per-sa", 4))
    if complexes is not None and str(complexes.value).isdigit():
        count = int(str(complexes.value))
        if count * arrays == units:
            machine["sa-per-complex"] = count
            changes.append(f"sa-per-complex {count}: what num-gpu-complexes {count} was meant to say to ROCm")
    return machine, changes
