"""Checkpoints of a fit: everything that the rest of it depends on, in one file, replaced as a whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from coview.engines.protocol import Fit, Holder, State, over_rows, tree_map
from coview.exceptions import DataFileError, ModelFileError
from coview.utils.archive import read_archive, write_archive
from coview.utils.messages import cut
from coview.utils.warn import warn_user
from coview.validation import check_count

__all__ = ["Checkpoint", "CheckpointFile", "fingerprint"]

VERSION = 1


@dataclass(frozen=True)
class Checkpoint:
    """File that the state of a fit is written to, for `set_callbacks`; the fit resumes from it.

    Parameters
    ----------
    path : str or Path
        Path of the file. If it exists when a fit begins, the fit resumes from it. It is removed when the fit ends by
        itself, at `max_iter` or by a callback, and stays after Ctrl-C, an error or the end of a `TimeBudget`.
    every : int, default=10
        Number of sweeps between two writes.

    Examples
    --------
    >>> from coview import Checkpoint, PLSA
    >>> model = PLSA(10, random_state=0).set_callbacks(Checkpoint("fit.checkpoint", every=5))
    """

    path: str | Path
    every: int = 10

    def __post_init__(self) -> None:
        check_count("every of a Checkpoint", self.every)


class CheckpointFile:
    """The file of one fit: written every few sweeps, read when the fit is resumed."""

    def __init__(self, checkpoint: Checkpoint, fingerprint: str) -> None:
        self.path, self.every, self.fingerprint = Path(checkpoint.path), checkpoint.every, fingerprint
        self.written = 0  # sweeps of the current restart that the file holds

    def maybe_write(self, restart: int, fit: Fit, best: Fit | None, holder: Holder) -> None:
        """Write if enough sweeps have passed since the last time."""
        # by quotients, not by remainders: a fit that is resumed may begin between two writes
        if fit.n_iter // self.every == self.written // self.every:
            return
        self.written = fit.n_iter
        try:
            tree = {
                "fingerprint": self.fingerprint,
                "restart": restart,
                "current": _pack(fit, holder, self.path),
                "best": None if best is None else _pack(best, holder, self.path),
            }
            write_archive(self.path, tree, kind="checkpoint", version=VERSION)
        except (OSError, DataFileError) as error:  # hours of work are worth more than their copy
            message = f"The checkpoint {self.path} cannot be written ({cut(str(error))}). The fit goes on without it."
            warn_user(message, UserWarning, inside=True)

    def read(self, holder: Holder) -> tuple[int, Fit, Fit | None] | None:
        """Return (restart, fit so far, best of earlier restarts), or None where there is no file."""
        if not self.path.exists():
            return None
        tree, _ = read_archive(self.path, kind="checkpoint", newest=VERSION)
        # silently resuming another fit would give a model of other data
        if tree["fingerprint"] != self.fingerprint:
            raise ModelFileError(
                f"The checkpoint {self.path} belongs to a fit with other data or parameters. Remove it to start over, "
                "or use another path."
            )
        best = None if tree["best"] is None else _unpack(tree["best"], holder, self.path)
        return int(tree["restart"]), _unpack(tree["current"], holder, self.path), best

    def remove(self) -> None:
        """Remove the file: the fit is done."""
        try:
            if self.path.exists():
                self.path.unlink(missing_ok=True)
        except OSError as error:
            message = f"The checkpoint {self.path} cannot be removed ({error.strerror}). Remove it."
            warn_user(message, UserWarning, inside=True)


def _pack(fit: Fit, holder: Holder, path: Path) -> dict[str, Any]:
    # with the state before, since momentum goes on from the difference: a resumed fit takes the same course
    rest = {name: value for name, value in vars(fit).items() if name not in ("state", "behind")}
    behind = None if fit.behind is None else _pack_state(fit.behind, holder, path)
    return {**_pack_state(fit.state, holder, path), "behind": behind, **rest}


def _pack_state(state: State, holder: Holder, path: Path) -> dict[str, Any]:
    return {"rows": holder.pack(state.rows, path), "shared": tree_map(holder.ops.to_numpy, state.shared)}


def _unpack(tree: dict[str, Any], holder: Holder, path: Path) -> Fit:
    rest = {name: value for name, value in tree.items() if name not in ("rows", "shared", "behind")}
    before = None if tree["behind"] is None else _unpack_state(tree["behind"], holder, path)
    return Fit(_unpack_state(tree, holder, path), behind=before, **rest)


def _unpack_state(tree: dict[str, Any], holder: Holder, path: Path) -> State:
    return State(holder.unpack(tree["rows"], path), tree_map(holder.ops.asarray, tree["shared"]))


def fingerprint(views: Any, settings: dict[str, Any], arrays: Iterable[Any] = ()) -> str:
    """Digest of the data, the settings and further arrays (labels, starts) that a fit's course depends on."""
    digest = hashlib.blake2b(digest_size=16)
    plain = {  # keys of JSON are text: those of {(view, view): number} are not
        name: {str(key): part for key, part in value.items()} if isinstance(value, Mapping) else value
        for name, value in settings.items()
    }
    digest.update(json.dumps(plain, sort_keys=True, default=str).encode())
    for part in over_rows(views, _digest):  # of a cluster, digests come home and rows stay
        digest.update(part)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


def _digest(views: Any, first: int) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, matrix in views.items():
        digest.update(f"{name} {matrix.shape} {matrix.dtype}".encode())
        parts = (matrix.indptr, matrix.indices, matrix.data) if sparse.issparse(matrix) else (matrix,)
        for part in parts:
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    digest.update(np.packbits(views.present).data)
    return digest.digest()
