"""Run the fuzzers, each for a part of the time: `make fuzz MINUTES=10`, or `python -m fuzz --minutes 10 --seed 7`.

Every module of this folder that has `main(seed, count, seconds)` is one; it gives a list of failures, one sentence
each, which says how to see it again. `python -m fuzz readers` runs one of them.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

FUZZERS = sorted(
    path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_") and path.stem != "soak"
)


def main(words: list[str] | None = None) -> int:
    """Run some or all of the fuzzers; 1 if one of them finds something."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("fuzzers", nargs="*", default=FUZZERS, help=f"some of: {', '.join(FUZZERS)}; all by default")
    parser.add_argument("--minutes", type=float, default=10.0, help="in all (10)")
    parser.add_argument("--seed", type=int, default=None, help="another one each time by default; it is printed")
    options = parser.parse_args(words)
    unknown = [name for name in options.fuzzers if name not in FUZZERS]
    if unknown:
        parser.error(f"there is no fuzzer {unknown[0]!r}; there are {', '.join(FUZZERS)}")
    seed = int(time.time()) % 2**31 if options.seed is None else options.seed
    seconds = 60 * options.minutes / len(options.fuzzers)
    broken = 0
    for name in options.fuzzers:
        print(f"{name}: {seconds:.0f} s, seed {seed}", flush=True)
        failures = importlib.import_module(f"fuzz.{name}").main(seed=seed, count=None, seconds=seconds)
        for failure in failures:
            print(f"  {failure}")
        broken += len(failures)
    print(f"{broken} failures" if broken else "nothing was found")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
