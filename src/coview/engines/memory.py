"""Amounts of memory: as people write them, and as this process takes them now."""

from __future__ import annotations

import re
from pathlib import Path

from coview.exceptions import EngineError

__all__ = ["bytes_of", "resident"]

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_USUAL = 300 * 2**20  # an interpreter with scipy and numba loaded, where the system does not tell


def bytes_of(amount: int | float | str) -> int:
    """Bytes of an amount such as 2_000_000_000, "2 GB" or "512 MiB".

    Examples
    --------
    >>> bytes_of("1.5 GB"), bytes_of("2MiB"), bytes_of(10)
    (1500000000, 2097152, 10)
    """
    if isinstance(amount, (int, float)) and not isinstance(amount, bool) and amount > 0:
        return int(amount)
    if isinstance(amount, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*", amount)
        if found and found[2].upper() in _UNITS and float(found[1]) > 0:
            return int(float(found[1]) * _UNITS[found[2].upper()])
    raise EngineError(f"memory_limit must be a number of bytes or text such as '2 GB', got {amount!r}.")


def resident() -> int:
    """Bytes of memory that this process takes now."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
    return _USUAL
