"""Run every benchmark: `make bench`, or `python benchmarks/run.py --quick` for the small data only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

if __name__ == "__main__":
    for script in sorted(HERE.glob("bench_*.py")):
        print(f"== {script.name}", flush=True)
        subprocess.run([sys.executable, str(script), *sys.argv[1:]], check=True)
    subprocess.run([sys.executable, str(HERE / "speed.py")], check=True)
