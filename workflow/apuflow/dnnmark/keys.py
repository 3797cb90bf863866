"""The keys of each section of a ``.dnnmark`` file.

Source: DNNMark ``core/include/dnn_config_keywords.h`` and the ``Setup*Param`` functions of ``dnn_param.h``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

Value: TypeAlias = int | float | bool | str
INT_MAX: Final = 2**31 - 1


@dataclass(frozen=True)
class Key:
    """One key: its type, its default in DNNMark and what it sets.

    Args:
        name: as written in the file.
        type: Python type of the value.
        default: DNNMark's value when the key is absent; None when there is none.
        choices: the only values that DNNMark knows (empty: any).
        minimum: smallest value that makes sense.
        fields: attributes of the layer's parameters that the key sets (two for ``kernel_size``).
    """

    name: str
    type: type[int] | type[float] | type[bool] | type[str]
    default: Value | None
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    fields: tuple[str, ...] = ()

    def read(self, text: str) -> Value:
        """The value that ``text`` stands for.

        Raises:
            ValueError: with the reason, when DNNMark would abort or silently read something else.
        """
        if self.type is int:
            return self._integer(text)
        if self.type is float:
            return self._number(text)
        if self.type is bool:
            if text not in ("true", "false"):
                raise ValueError("write true or false; DNNMark keeps its default for anything else")
            return text == "true"
        if self.choices and text not in self.choices:
            raise ValueError(f"one of {', '.join(self.choices)}")
        return text

    def _integer(self, text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
            raise ValueError("a whole number; DNNMark reads only leading digits (atoi), else 0")
        value = int(text)
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"at least {self.minimum:.0f}")
        if abs(value) > INT_MAX:
            raise ValueError(f"at most {INT_MAX} (a C int)")
        return value

    def _number(self, text: str) -> float:
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text):
            raise ValueError("a number; DNNMark reads only its leading part (atof), else 0")
        value = float(text)
        if not math.isfinite(value):
            raise ValueError("a finite number")
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"at least {self.minimum:g}")
        return value


def _text(name: str, default: str | None = "", *, choices: tuple[str, ...] = ()) -> Key:
    return Key(name, str, default, choices, fields=(name,))


def _whole(name: str, default: int | None, minimum: int, *fields: str) -> Key:
    return Key(name, int, default, minimum=minimum, fields=fields or (name,))


def _real(name: str, default: float, minimum: float | None = None) -> Key:
    return Key(name, float, default, minimum=minimum, fields=(name,))


def _window(kernel: int, pad: int, stride: int) -> tuple[Key, ...]:
    """Window keys: the plain key sets both axes, a later ``_h`` or ``_w`` one of them."""
    keys = []
    for name, field, default, minimum in (
        ("kernel_size", "kernel", kernel, 1),
        ("pad", "pad", pad, 0),
        ("stride", "stride", stride, 1),
    ):
        keys.append(_whole(name, default, minimum, f"{field}_h", f"{field}_w"))
        keys.append(_whole(f"{name}_h", default, minimum, f"{field}_h"))
        keys.append(_whole(f"{name}_w", default, minimum, f"{field}_w"))
    return tuple(keys)


DATA_KEYS: Final = (
    _text("name"),
    *(_whole(name, None, 1) for name in "nchw"),
    _text("previous_layer"),
)
"""Keys of every section: the layer's name, its input dimensions and the layer before it."""

DIMENSIONS: Final = ("n", "c", "h", "w")

_OWN: Final[Mapping[str, tuple[Key, ...]]] = {
    "Convolution": (
        _text("conv_mode", "cross_correlation", choices=("convolution", "cross_correlation", "transpose")),
        _whole("num_output", 32, 1),
        *_window(5, 2, 1),
        Key("propagation", bool, True, fields=("propagation",)),
        *(
            _text(name)
            for name in ("algo", "algod", "conv_fwd_pref", "conv_bwd_filter_pref", "conv_bwd_data_pref")
        ),
    ),
    "Pooling": (_text("pool_mode", "max", choices=("max", "avg")), *_window(3, 0, 2)),
    "LRN": (
        _text("lrn_mode", "cross_channel_dim1", choices=("cross_channel_dim1", "within_channel")),
        _whole("local_size", 5, 1),
        _real("alpha", 0.0001),
        _real("beta", 0.75),
        _real("k", 2.0),
    ),
    "Activation": (_text("activation_mode", "relu", choices=("sigmoid", "relu", "tanh", "soft_relu")),),
    "FullyConnected": (_whole("num_output", 4096, 1),),
    "Softmax": (_text("softmax_algo"), _text("softmax_mode")),
    "BatchNorm": (
        _text("batchnorm_mode", "per_activation", choices=("per_activation", "spatial")),
        Key("save_intermediates", bool, True, fields=("save_intermediates",)),
        _real("exp_avg_factor", 1.0),
        _real("epsilon", 1e-5, 1e-5),
    ),
    "Dropout": (_real("dropout_probability", 0.5), _whole("random_seed", 0, 0)),
    "Bypass": (),
}

LAYER_KEYS: Final[Mapping[str, Mapping[str, Key]]] = MappingProxyType(
    {kind: MappingProxyType({key.name: key for key in (*DATA_KEYS, *own)}) for kind, own in _OWN.items()}
)
"""Per layer kind (the section's name): its keys by name."""

RUN_MODES: Final = ("none", "standalone", "composed")
