"""The harness of reproductions, on a toy paper."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from harness.paper import read_paper
from harness.ranking import rank_tests
from harness.store import Results
from harness.summary import Numbers, check_claims
from run import main
from scipy import stats
from scipy.stats import rankdata

TOML = """
title = "A toy"
authors = "Nobody"
year = 2000
runs = 3
protocol = "1"
measure = "Percent."
differences = ["None."]

[data.here]
title = "Here"
[data.gone]
title = "Gone"
absent = true

[experiments.guess]
data = ["here", "gone"]
methods = ["coin", "die"]
grid = { rate = [0.1, 0.2] }

[tables.table1]
title = "Table 1: guesses"
experiment = "guess"
metrics = ["accuracy"]
across = "rate"
rows.here = ["die"]
figure = "lines"
claims = []
[tables.table1.published.here]
coin = ["51.00 ± 0.10", "90"]
[tables.table1.published.gone]
coin = ["50", "50"]
"""

# coin: 50 + seed at both rates; die: two variants, the second better by 5
EXPERIMENT = """
from pathlib import Path
from coview.exceptions import DataFileError

HERE = Path(__file__).parent

def load(data, options):
    if options.get("absent"):
        raise DataFileError(f"Nothing at {HERE}/secret.gz.")

def run(cell, options):
    with open(HERE / "calls", "a") as file:
        file.write(f"{cell.method} {cell['rate']} {cell.seed}\\n")
    if (HERE / "broken").exists() and cell.seed == 2:
        raise RuntimeError("killed")
    if cell.method == "coin":
        return {"accuracy": {"coin": 50.0 + cell.seed}}
    return {"accuracy": {"die|u=1": 10.0 + cell.seed, "die|u=2": 15.0}}
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "paper.toml").write_text(TOML)
    (folder / "experiment.py").write_text(EXPERIMENT)
    return folder


def run_toy(folder: Path, *more: str, jobs: int = 1) -> str:
    assert main([folder.name, "--papers", str(folder.parent), "--jobs", str(jobs), *more]) == 0
    return (folder / "table.md").read_text()


def numbers_of(folder: Path) -> Numbers:
    paper = read_paper(folder)
    return Numbers(paper, Results(folder / "results.jsonl"), paper.runs)


# -- the harness


def test_table_sets_ours_beside_theirs_with_mean_deviation_and_verdict(toy: Path) -> None:
    text = run_toy(toy)
    assert "| coin | ours | 51.00 ± 1.00 **within** | 51.00 ± 1.00 **below** |" in text
    assert "| | paper | 51.00 ± 0.10 | 90 |" in text
    assert "| die | ours | 15.00 ± 0.00 | 15.00 ± 0.00 |" in text  # of variants, that with the best mean
    assert (toy / "figures" / "table1.png").stat().st_size > 1000


def test_absent_data_are_skipped_and_named_without_a_path(toy: Path) -> None:
    text = run_toy(toy)
    assert "**Not found: Gone.**" in text and "COVIEW_DATA" in text
    assert "| coin | ours | not run (no data) | not run (no data) |" in text
    assert "secret" not in text and str(toy.parent) not in text


def test_a_failed_session_keeps_its_runs_and_the_next_makes_only_the_rest(toy: Path) -> None:
    (toy / "broken").touch()
    with pytest.raises(RuntimeError, match="killed"):
        run_toy(toy)
    kept = len(Results(toy / "results.jsonl").runs)
    assert kept == 2  # seeds 0 and 1 of the first setting
    (toy / "broken").unlink()
    (toy / "calls").unlink()
    run_toy(toy)
    assert len((toy / "calls").read_text().splitlines()) == 2 * 2 * 3 - kept
    (toy / "calls").unlink()
    run_toy(toy)
    assert not (toy / "calls").exists()


def test_a_line_cut_short_is_dropped_and_its_run_made_again(toy: Path) -> None:
    before = run_toy(toy)
    path = toy / "results.jsonl"
    runs = [line for line in path.read_text().splitlines() if '"key"' in line]
    path.write_text("\n".join(runs)[:-5])
    (toy / "calls").unlink()
    after = run_toy(toy)
    assert len((toy / "calls").read_text().splitlines()) == 1
    assert [x for x in before.splitlines() if "ours" in x] == [x for x in after.splitlines() if "ours" in x]


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ('{ text = "t", check = "highest", row = "coin" }', True),
        ('{ text = "t", check = "highest", row = "die" }', False),
        ('{ text = "t", check = "significant", row = "coin" }', True),
        ('{ text = "t", check = "at_least", row = "coin", column = 0.1, value = 51.0 }', True),
        ('{ text = "t", check = "at_least", row = "coin", column = "best", value = 52.0 }', False),
        ('{ text = "t", check = "best_at", row = "coin", column = 0.2 }', False),
        ('{ text = "t", check = "spread", row = "coin", value = 0.0 }', True),
        ('{ text = "t", check = "highest", row = "die", columns = [0.2], expect = false }', True),
        ('{ text = "t", check = "better_at", row = "coin", column = 0.2, than = 0.1 }', False),
    ],
)
def test_claims_in_words_are_checked(toy: Path, claim: str, holds: bool) -> None:
    toml = TOML.replace("claims = []", f"claims = [{claim[:-1]}, data = ['here'] }}]")
    # both rows published, so that the claim is about both
    toml = toml.replace('coin = ["51.00 ± 0.10", "90"]', 'coin = ["51.00 ± 0.10", "90"]\ndie = ["15", "15"]')
    (toy / "paper.toml").write_text(toml)
    run_toy(toy)
    numbers = numbers_of(toy)
    (found,) = check_claims(numbers.paper.tables[0], numbers)
    assert found.holds is holds


# -- Average ranks and tests of methods against scipy


def as_rows(table):
    return [{str(k): value for k, value in enumerate(row)} for row in table]


def test_tests_are_scipys_with_holms_correction():
    rng = np.random.default_rng(0)
    table = rng.random((15, 4)) + np.array([0.5, 0.0, 0.1, 0.4])
    found = rank_tests(as_rows(table))
    expected = stats.friedmanchisquare(*table.T)
    assert (found["statistic"], found["p_value"]) == (expected.statistic, expected.pvalue)
    ranks = rankdata(-table, axis=1).mean(axis=0)
    best = int(ranks.argmin())
    assert found["best"] == str(best)
    np.testing.assert_allclose(list(found["rank"].values()), ranks)
    raw = {pair: stats.wilcoxon(table[:, pair[0]], table[:, pair[1]]).pvalue for pair in combinations(range(4), 2)}
    least, expected = 0.0, {}
    for place, pair in enumerate(sorted(raw, key=raw.get)):  # step down: 6, 5, ... 1 hypotheses left
        least = max(least, (6 - place) * raw[pair])
        expected[frozenset(pair)] = min(1.0, least)
    assert len(found["against_best"]) == 3
    for k, p in found["against_best"].items():
        assert p == pytest.approx(expected[frozenset({best, int(k)})])


def test_methods_without_a_difference_are_rarely_told_apart():
    """The best is chosen on the same data: corrected for its pairs alone, 1 table in 11 finds something."""
    rng = np.random.default_rng(0)
    wrong = sum(min(rank_tests(as_rows(rng.random((10, 6))))["against_best"].values()) < 0.05 for _ in range(30))
    assert wrong <= 2
