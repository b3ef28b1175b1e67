"""Where runs are kept: one line of JSON each, written as soon as the run ends, so that a killed session loses nothing.

A line is a run, ``{"key": ..., "values": {metric: {row: number}}, "seconds": ...}``, with its processor time, or a
session, ``{"session": {"runs": ..., "seconds": ..., "processes": ...}}``: so many runs in so much time by the clock.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["Results"]


class Results:
    """The runs in one file; `runs` maps the key of each to what it measured."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.runs: dict[str, dict[str, Any]] = {}
        self.sessions: list[dict[str, Any]] = []
        self._cut: int | None = None  # where a line begins that a kill cut short
        self._read()

    def add(self, key: str, values: dict[str, dict[str, float]], seconds: float) -> None:
        """Keep one run, in memory and at the end of the file."""
        rounded = {metric: {row: round(v, 4) for row, v in rows.items()} for metric, rows in values.items()}
        self._append({"key": key, "values": rounded, "seconds": round(seconds, 3)})
        self.runs[key] = {"values": rounded, "seconds": round(seconds, 3)}

    def add_session(self, runs: int, seconds: float, processes: int) -> None:
        """Keep how long a session took by the clock."""
        session = {"runs": runs, "seconds": round(seconds, 1), "processes": processes}
        self._append({"session": session})
        self.sessions.append(session)

    def _append(self, record: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._cut is not None:
            os.truncate(self.path, self._cut)
            self._cut = None
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n")

    def _read(self) -> None:
        if not self.path.exists():
            return
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):  # killed in the middle of a line: that run is made again
            self._cut = len(whole)
        for number, line in enumerate(whole.decode().splitlines(), start=1):
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"Line {number} of {self.path.name} is no JSON ({error}). Remove that line.") from None
            if "session" in record:
                self.sessions.append(record["session"])
            else:
                self.runs[record["key"]] = {"values": record["values"], "seconds": record["seconds"]}
