"""Where MIOpen looks for its kernel database, and under which name.

Source: MIOpen ``src/binary_cache.cpp`` (``GetCachePath``), ``src/include/miopen/handle.hpp``
(``GetDbBasename``), ``src/include/miopen/device_name.hpp``, ``src/expanduser.cpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

DEVICE_NAMES: Final = {"gfx800": "gfx803", "gfx802": "gfx803", "gfx804": "gfx803"}
"""GPU architectures that MIOpen knows under another name (``GetDeviceNameFromMap``)."""


def device_name(gfx: str) -> str:
    """MIOpen's name of a GPU architecture: in ``-mcpu`` of every key, and in the database's name."""
    return DEVICE_NAMES.get(gfx, gfx)


def db_name(gfx: str, num_cus: int) -> str:
    """File name of the user's database.

    Up to 64 compute units it is ``gfx801_4.ukdb``; above, MIOpen writes the number in hexadecimal and leaves
    the underscore out: 80 compute units of gfx801 are ``gfx80150.ukdb``.
    """
    number = f"_{num_cus}" if num_cus <= 64 else f"{num_cus:x}"
    return f"{device_name(gfx)}{number}.ukdb"


@dataclass(frozen=True)
class DatabaseLocation:
    """Where one release's MIOpen looks; the values stand in the release's file.

    Args:
        version_directory: MIOpen's full version, the name of the directory that holds the database.
        cache_directory: the cache, below the guest's HOME (or with ``{home}``).
    """

    version_directory: str
    cache_directory: str = ".cache/miopen"

    def directory(self, home: str | None) -> PurePosixPath:
        """The database's directory for a HOME as the simulated process sees it.

        An unset or empty HOME, or "/", makes MIOpen use /tmp.
        """
        base = home if home and home.rstrip("/") else "/tmp"
        below = self.cache_directory.removeprefix("{home}").strip("/")
        return PurePosixPath(base) / below / self.version_directory

    def file(self, home: str | None, gfx: str, num_cus: int) -> PurePosixPath:
        """The database that MIOpen opens first."""
        return self.directory(home) / db_name(gfx, num_cus)
