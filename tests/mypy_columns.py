"""Mypy plugin: a column of ``apuflow.preview.tables.Table[T]`` must be an attribute of ``T``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mypy.maptype import map_instance_to_supertype
from mypy.plugin import AttributeContext, Plugin
from mypy.types import Instance, TupleType, Type, get_proper_type

TABLE = "apuflow.preview.tables.Table"


class _Columns(Plugin):
    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        """Called for each attribute that ``Table.__getattr__`` finds."""
        table, _, column = fullname.rpartition(".")
        return partial(_check, column) if table == TABLE else None


def _check(column: str, context: AttributeContext) -> Type:
    if isinstance(context.type, Instance):
        table = next(base for base in context.type.type.mro if base.fullname == TABLE)
        row = get_proper_type(map_instance_to_supertype(context.type, table).args[0])
        row = row.partial_fallback if isinstance(row, TupleType) else row
        if isinstance(row, Instance) and row.type.get(column) is None:
            context.api.fail(f'a table of "{row.type.name}" has no column "{column}"', context.context)
    return context.default_attr_type


def plugin(version: str) -> type[Plugin]:
    """Called by mypy."""
    return _Columns
