"""The published figures that the leaderboard shows: each has a source that is told in full, and is a score."""

import tomllib
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "published_clustering.toml"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the benchmarks are not beside the tests")


@pytest.fixture(scope="module")
def published():
    return tomllib.loads(FILE.read_text())


def test_every_figure_is_a_score_with_a_known_source(published):
    for figure in published["figures"]:
        scores = [figure[name] for name in ("nmi", "acc") if name in figure]
        assert scores and all(0 < score <= 1 for score in scores), figure
        assert figure["source"] in published["sources"], figure


def test_every_source_says_who_where_and_how_figures_were_picked(published):
    used = {figure["source"] for figure in published["figures"]}
    assert used == set(published["sources"])
    for said in published["sources"].values():
        assert set(said) == {"authors", "title", "where", "read", "picked"} and all(said.values())


def test_no_figure_is_told_twice(published):
    told = [(figure["data"], figure["source"], figure["method"]) for figure in published["figures"]]
    assert len(told) == len(set(told))
