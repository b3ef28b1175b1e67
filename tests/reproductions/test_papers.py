"""The papers: printed figures, every experiment on tiny data, what is special about each, and the committed tables."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from harness.paper import load_experiment, read_paper
from harness.store import Results
from harness.summary import Numbers
from harness.table import table_text
from harness.work import missing_cells
from scipy import sparse
from sklearn.metrics import pairwise_distances

from coview import CrossModalRetriever, LinkPLSA, PairwiseCoPLSA, UnitRows, Views
from coview.datasets import make_blobs_views, make_topic_views
from coview.exceptions import DataFileError

REPRODUCTIONS = Path(__file__).resolve().parents[2] / "reproductions"
PAPERS = sorted(path.parent.name for path in REPRODUCTIONS.glob("*/paper.toml"))

pytestmark = pytest.mark.no_cover


def experiment_of(name: str) -> Any:
    return load_experiment(str(REPRODUCTIONS / name))


# -- all papers


@pytest.mark.parametrize("name", PAPERS)
def test_every_table_says_whose_algorithm_its_rows_are(name):
    for table in read_paper(REPRODUCTIONS / name).tables:
        assert {row for rows in table.rows.values() for row in rows} <= set(table.by), table.name


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_has_a_finding_and_a_number_of_runs(name):
    head, rule, *lines = (REPRODUCTIONS / name / "claims.md").read_text(encoding="utf-8").splitlines()
    assert (head, rule) == ("| claim | what we find | runs | why we think so |", "|---|---|---|---|")
    for line in lines:
        cells = [cell.strip() for cell in line.replace("\\|", "").strip("|").split("|")]
        assert len(cells) == 4 and all(cells[:3]), line


@pytest.mark.parametrize("name", PAPERS)
def test_the_committed_runs_are_complete_and_the_committed_table_is_what_they_print(name):
    folder = REPRODUCTIONS / name
    paper, results = read_paper(folder), Results(folder / "results.jsonl")
    assert missing_cells(paper, paper.cells(), results) == []
    text = table_text(paper, Numbers(paper, results, paper.runs))
    assert (folder / "table.md").read_text(encoding="utf-8") == text
    assert all((folder / "figures" / f"{table.name}.png").exists() for table in paper.tables if table.figure)


def test_the_readme_says_how_long_each_paper_takes():
    lines = (REPRODUCTIONS / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in lines if line.startswith("| `") and "claims.md" in line and "table.md" in line]
    told = {cells[1].strip(" `"): float(cells[-2]) for cells in rows if cells[1].strip(" `") in PAPERS}
    for name in PAPERS:
        paper, results = read_paper(REPRODUCTIONS / name), Results(REPRODUCTIONS / name / "results.jsonl")
        keys = {cell.key(paper.protocol) for cell in paper.cells()}
        minutes = sum(run["seconds"] for key, run in results.runs.items() if key in keys) / 60
        assert told[name] == pytest.approx(minutes, rel=0.25), name


PRINTED = {
    "coplsa_2016": {f"table1_{space}_{way}": 10 for space in ("topic", "semantic") for way in ("i2t", "t2i")},
    "coplsa_clustering_2012": {"table1_acc": 9, "table1_nmi": 9},
    "mvplsa_2012": {"table3": 27 * 5, "table4": 18 * 5, "table5": 8},
    "optimal_assignment_2016": {"table2": 9 * 2 * 7, "table4": 6 * 8},
    "two_view_pa_2012": {"table2": 12},
}
SOME = {  # means by table, data and row
    "coplsa_2016": {
        ("table1_topic_i2t", "words", "SCM"): 26.7,
        ("table1_topic_t2i", "words", "sKL coPLSA"): 41.3,
        ("table1_semantic_i2t", "words", "Link PLSA"): 60.5,
        ("table1_semantic_t2i", "words", "sKL coPLSA"): 72.4,
    },
    "coplsa_clustering_2012": {
        ("table1_acc", "reuters", "K-means+BOVF"): 33.6,
        ("table1_acc", "reuters", "CoPLSA(3)"): 50.2,
        ("table1_nmi", "reuters", "VPLSA"): 29.8,
    },
    "mvplsa_2012": {},
    "optimal_assignment_2016": {},
    "two_view_pa_2012": {("table2", "webkb", "Two-view PA"): 97.5},
}


@pytest.mark.parametrize("name", PAPERS)
def test_every_printed_figure_is_transcribed(name):
    tables = {table.name: table.published for table in read_paper(REPRODUCTIONS / name).tables}
    for table, count in PRINTED[name].items():
        assert sum(len(figures) for rows in tables[table].values() for figures in rows.values()) == count
    for (table, data, row), mean in SOME[name].items():
        assert tables[table][data][row][0].mean == mean


# -- tiny data in the place of those of each paper


def tiny_mvplsa(loader: str, name: str, weighting: str) -> SimpleNamespace:
    n_views, n_classes = (4, 3) if name == "v4" else (2, 2)
    made = make_topic_views(n_objects=40, n_views=n_views, n_clusters=n_classes, n_features=30, random_state=0)
    renamed = {f"view{v}": matrix for v, matrix in enumerate(made.views.values(), start=1)}
    return SimpleNamespace(views=Views(renamed), target=made.target)


def tiny_clustering(loader: str, weighting: str) -> SimpleNamespace:
    names = {
        "reuters": ("english", "spanish", "french"),
        "mfeat": ("pixel", "profile", "fourier"),
        "leaves": ("texture", "margin", "shape"),
    }[loader]
    made = make_topic_views(60, dict.fromkeys(names, 40), 3, random_state=0)
    return SimpleNamespace(views=made.views, target=made.target)


def tiny_coplsa(text: str) -> SimpleNamespace:
    made = make_topic_views(90, {"text": 40, "image": 30}, n_clusters=3, random_state=0)
    words = made.views["text"] if text == "words" else made.views["text"].toarray()
    shares = made.views["image"].toarray()
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1)
    names = {"text": [f"word{j}" for j in range(40)]}
    views = Views(text=words, image=shares, ids=np.arange(90).astype(str), feature_names=names)
    return SimpleNamespace(
        train=views[:60],
        test=views[60:],
        target=made.target[:60],
        test_target=made.target[60:],
        target_names=np.array(["a", "b", "c"]),
        texts=["some text"] * 30,
        words=text == "words",
    )


def tiny_assignment(loader: str, links_as: str, views: object) -> SimpleNamespace:
    made = make_topic_views(60, {"words": 30, "other": 60}, n_clusters=4, random_state=0)
    links = (made.target[:, None] == made.target) * 1.0
    groups = np.array(["a.x", "a.y", "b.z", "b.w"])
    second = {"links": links} if loader in ("cora", "citeseer", "webkb") else {"other": made.views["other"]}
    return SimpleNamespace(
        views=Views({"words": made.views["words"], **second}),
        target=made.target,
        target_names=groups,
        hierarchy={group: group[0] for group in groups},
    )


def tiny_two_views(loader: str) -> SimpleNamespace:
    made = make_topic_views(n_objects=60, n_clusters=2, n_features=30, length=10, random_state=0)
    return SimpleNamespace(views=UnitRows().fit_transform(made.views), target=made.target)


TINY: dict[str, dict[str, object]] = {
    "mvplsa_2012": {"_load": tiny_mvplsa},
    "coplsa_clustering_2012": {"_load": tiny_clustering, "REDUCED": 5},
    "coplsa_2016": {"_load": tiny_coplsa, "SWEEPS": 2, "TRIAL_SWEEPS": 2, "STARTS": 2},
    "optimal_assignment_2016": {"_load": tiny_assignment, "_directed": tiny_assignment},
    "two_view_pa_2012": {"_load": tiny_two_views, "COSTS": [0.1, 1.0], "COUPLINGS": [0.0, 0.1]},
}
SMALL = {
    "mvplsa_2012": {"topics": 4},
    "coplsa_clustering_2012": {"sweeps": 4},
    "coplsa_2016": {"topics": 3, "weights": [1.0, 10.0]},
}


def made_tiny(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The experiments of a paper with tiny data and short work."""
    experiment = experiment_of(name)
    for part, value in TINY[name].items():
        monkeypatch.setattr(experiment, part, value)
    if name == "coplsa_2016":
        monkeypatch.setattr(experiment, "Nystroem", lambda kernel, **settings: experiment.StandardScaler())
    return experiment


@pytest.mark.parametrize("name", PAPERS)
def test_every_method_gives_the_rows_of_its_tables(name, monkeypatch):
    paper, experiment = read_paper(REPRODUCTIONS / name), made_tiny(name, monkeypatch)
    remembered = [each for each in vars(experiment).values() if hasattr(each, "cache_clear")]
    for each in remembered:
        each.cache_clear()
    if name == "mvplsa_2012":
        for spec in paper.raw["experiments"].values():  # what takes long on the data is quick here
            spec.pop("left_out", None)
        for data in paper.raw["data"].values():
            data["cotraining"]["rounds"] = 2
    made: dict[object, dict[str, dict[str, float]]] = {}  # tables may share their runs
    for table in paper.tables:
        firsts = {(cell.data, cell.method): cell for cell in reversed(paper.cells([table.name], runs=1))}
        for data, rows in table.rows.items():
            if data in paper.unavailable:
                continue
            options = {**paper.raw["data"][data], **SMALL.get(name, {})}
            # data sets with options of the same names have the same tiny data: one of them is enough
            alike = (*options, options.get("variant"), options.get("text"))
            mine = {(c.experiment, c.method, c.setting, alike): c for (of, _), c in firsts.items() if of == data}
            made.update((kind, experiment.run(cell, options)) for kind, cell in mine.items() if kind not in made)
            for metric in table.metrics:
                given = {row.partition("|")[0]: x for kind in mine for row, x in made[kind].get(metric, {}).items()}
                assert set(rows) <= set(given), (table.name, data, metric)
                assert all(0 <= x <= 100 for x in given.values()) or name == "two_view_pa_2012"
    for each in remembered:
        each.cache_clear()


# -- multi-view PLSA, 2012


def test_figures_that_the_paper_prints_twice_are_the_same_in_both_tables():
    tables = {table.name: table.published for table in read_paper(REPRODUCTIONS / "mvplsa_2012").tables}
    for data, rows in tables["table3"].items():
        assert rows["MVPLSA"] == tables["table4"][data]["MVPLSA"]
    first = [tables["table3"]["newsgv4"][f"NBC_V{v}"][0].mean for v in (1, 2, 3, 4)]
    assert first == [figure.mean for figure in tables["table5"]["newsgv4"]["NBC"]]


def test_labels_are_drawn_by_class_and_grow_with_the_rate():
    draw_labels = experiment_of("mvplsa_2012").draw_labels
    target = np.repeat([0, 1, 2], [153, 42, 100])
    few, more = draw_labels(target, 0.01, 3), draw_labels(target, 0.07, 3)
    assert np.bincount(few[few >= 0]).tolist() == [2, 1, 1]
    assert np.bincount(more[more >= 0]).tolist() == [11, 3, 7]  # 0.07 * 100 is 7, not 8
    assert (more[few >= 0] == few[few >= 0]).all() and (few[few >= 0] == target[few >= 0]).all()
    assert (draw_labels(target, 0.07, 4) != more).any()


# -- pairwise coPLSA, 2012


def test_rows_with_the_papers_name_run_the_papers_algorithm(monkeypatch):
    experiment, corpus = experiment_of("coplsa_clustering_2012"), tiny_clustering("reuters", "raw")
    given = {"two": ["english", "spanish"], "best": "spanish", "weight": "auto", "sweeps": 5}
    settings = []

    class Watched(PairwiseCoPLSA):
        def fit(self, X, y=None):
            settings.append(self.get_params())
            return super().fit(X, y)

    monkeypatch.setattr(experiment, "PairwiseCoPLSA", Watched)
    for name in ("CoPLSA2", "CoPLSA2Apart", "Pairwise2"):
        first, second = (experiment.METHODS[name](corpus.views, 3, 0, given) for _ in range(2))
        for row, labels in first.items():
            np.testing.assert_array_equal(labels, second[row])
            assert row.startswith("PairwiseCoPLSA" if name == "Pairwise2" else "CoPLSA(2)")
    published, apart, ours = settings[::2]
    for model in (published, apart):
        assert (model["algorithm"], model["coupling"]) == ("published", 0.07)
        assert (model["view_weights"], model["pair_fraction"]) == (0.5, 0.05)
    assert published["init"] == "random" and set(apart["init"]) == {"memberships_by_view"}
    assert ours["algorithm"] == "fast" and ours["coupling"] == "auto"


def test_spectral_rows_cut_the_graph_of_all_pairs():
    experiment = experiment_of("coplsa_clustering_2012")
    matrix = make_blobs_views(60, 1, n_clusters=3, random_state=1).views["view0"]
    distances = pairwise_distances(matrix)
    graph = np.exp(-(distances**2) / (2 * np.median(distances) ** 2))
    laplacian = np.eye(60) - graph / np.sqrt(np.outer(graph.sum(axis=0), graph.sum(axis=1)))
    vectors = experiment._leading(experiment._gaussian_graph(matrix), 3, 0)
    smallest = np.linalg.eigh(laplacian)[1][:, :3]
    np.testing.assert_allclose(vectors @ vectors.T, smallest @ smallest.T, atol=1e-8)


# -- coPLSA, 2016


def test_l1_as_published_takes_the_modalities_in_turn_and_the_joint_step_does_not():
    experiment, corpus = experiment_of("coplsa_2016"), tiny_coplsa("words")
    in_turn, joint = (
        experiment._coplsa(name, 3, 0.3, 0, sweeps=60).fit(corpus.train) for name in ("L1 coPLSA", "coview CoPLSA, L1")
    )
    assert type(in_turn._steps()) is experiment.AlternatingL1Steps and type(joint) is experiment.CoPLSA
    assert (np.diff(in_turn.history_["objective"]) >= -1e-6).all()
    assert not np.allclose(in_turn.transform(corpus.test), joint.transform(corpus.test), atol=1e-3)


def test_a_weight_is_chosen_once_for_all_runs(monkeypatch):
    experiment, fitted = made_tiny("coplsa_2016", monkeypatch), []
    plain = experiment._coplsa
    monkeypatch.setattr(experiment, "_coplsa", lambda *args: fitted.append(args) or plain(*args))
    experiment.chosen_weight.cache_clear()
    first = experiment.chosen_weight("L2 coPLSA", "words", 3, (1.0, 10.0))
    assert first == experiment.chosen_weight("L2 coPLSA", "words", 3, (1.0, 10.0)) and first in (1.0, 10.0)
    assert len(fitted) == 2
    experiment.chosen_weight.cache_clear()


def test_similarities_of_a_space_do_not_depend_on_what_was_remembered():
    corpus, model = tiny_coplsa("words"), LinkPLSA(3, max_iter=5, random_state=0)
    for space, scores in experiment_of("coplsa_2016")._search(model, corpus).items():
        plain = CrossModalRetriever(model, space).fit(corpus.train, corpus.target).clear().add(corpus.test)
        np.testing.assert_allclose(scores, plain.similarities(corpus.test, "image", "text"), atol=1e-6)


# -- optimal assignment, 2016


def test_labels_are_a_random_share_with_one_of_each_class():
    draw = experiment_of("optimal_assignment_2016").draw_labels
    target = np.repeat([0, 1, 2], [180, 118, 2])
    found = draw(target, 0.1, 3)
    assert 30 <= (found >= 0).sum() <= 32 and set(found[found >= 0]) == {0, 1, 2}
    assert (found[found >= 0] == target[found >= 0]).all()
    assert (found != draw(target, 0.1, 4)).any()


def test_data_that_cannot_be_had_are_refused():
    unavailable = {"unavailable": "No copy is known.", "title": "NELL_mv"}
    with pytest.raises(DataFileError, match="cannot be had"):
        experiment_of("optimal_assignment_2016").load("nell", unavailable)


def test_the_direction_of_links_comes_back_from_the_same_graph_under_other_names():
    experiment = experiment_of("optimal_assignment_2016")
    rng = np.random.default_rng(0)
    arcs = sparse.random_array((40, 40), density=0.06, rng=rng, format="csr")
    order = rng.permutation(40)
    renamed = arcs[order][:, order]
    links = renamed.maximum(renamed.T)
    found = experiment.directed(links, arcs)
    assert found.nnz == arcs.nnz  # every link has one direction, and they are those of the arcs
    assert not ((found != 0).maximum((found != 0).T) != (links != 0)).nnz
    with pytest.raises(DataFileError, match="not the same graph"):
        experiment.directed(sparse.csr_array(np.ones((40, 40))), arcs)


# -- two-view passive-aggressive, 2012


@pytest.fixture
def two_views(monkeypatch):
    return made_tiny("two_view_pa_2012", monkeypatch), tiny_two_views("")


def test_folds_are_disjoint_and_cover_all_objects():
    target, fold = np.arange(50) % 2, experiment_of("two_view_pa_2012").fold
    parts = [fold(target, seed) for seed in range(5)]
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(50))
    assert not np.array_equal(parts[0][1], fold(target, 5)[1])
    assert not any(set(learn) & set(test) for learn, test in parts)


def test_the_sum_of_two_learners_is_that_of_their_scores(two_views):
    experiment, data = two_views
    learners = experiment.IndependentLearners(random_state=3).fit(data.views, data.target)
    scores = 0.0
    for name in data.views.names:
        alone = experiment.Model(experiment.C, random_state=3).fit(data.views.select(name), data.target)
        scores = scores + alone.decision_function(data.views.select(name))
    np.testing.assert_array_equal(learners.predict(data.views), scores > 0)


def test_passes_are_those_of_the_column(two_views):
    experiment, data = two_views
    paper = read_paper(REPRODUCTIONS / "two_view_pa_2012")
    cells = [cell for cell in paper.cells(["passes"], runs=1) if cell.data == "webkb" and cell.method == "TwoView"]
    (once,) = (cell for cell in paper.cells(["table2"], runs=1) if cell.data == "webkb" and cell.method == "TwoView")
    learn, test = experiment.fold(data.target, 0)
    by_passes = {cell["passes"]: experiment.run(cell, paper.raw["data"]["webkb"])["F1"] for cell in cells}
    assert by_passes[1] == experiment.run(once, paper.raw["data"]["webkb"])["F1"]
    model = experiment.Model(0.1, 0.5, update="paper", max_iter=5, random_state=0)
    guess = model.fit(data.views[learn], data.target[learn]).predict(data.views[test])
    assert by_passes[5]["Two-view PA"] == pytest.approx(100 * experiment._f1(data.target[test], guess))


def test_with_the_same_view_twice_the_exact_update_is_pa_of_half_the_cost_and_algorithm_1_is_not(two_views):
    experiment, data = two_views
    first = data.views[data.views.names[0]]
    twice, once = Views(a=first, b=first), Views(a=first)
    half = experiment.Model(0.5, random_state=0).fit(once, data.target).decision_function(once)
    exact = experiment.Model(1.0, random_state=0).fit(twice, data.target).decision_function(twice)
    np.testing.assert_allclose(exact, half, atol=1e-9)
    printed = experiment.Model(1.0, update="paper", random_state=0).fit(twice, data.target)
    for cost in (0.25, 0.5, 1.0):
        alone = experiment.Model(cost, random_state=0).fit(once, data.target).decision_function(once)
        assert np.abs(printed.decision_function(twice) - alone).max() > 0.01


def test_algorithm_1_written_out_has_the_weights_of_the_library(two_views):
    experiment, data = two_views
    first, second = data.views.values()
    views = Views(first=5 * first, second=second)
    share, weights = experiment.algorithm_1(views, data.target)
    model = experiment.Model(0.1, 0.5, update="paper", shuffle=False).fit(views, data.target)
    for matrix, w, scores in zip(views.values(), weights, model.decision_function_by_view(views).values()):
        np.testing.assert_allclose(matrix @ w, scores, atol=1e-6)
    assert 0 < share < 1  # and with rows of length 1, for which its formula is right, none
    assert experiment.algorithm_1(data.views, data.target)[0] == 0


def test_differences_are_those_of_the_weights_before_each_round(two_views):
    experiment, data = two_views
    found = experiment._paired(experiment.Model(0.1, 0.5), data.views, data.target)
    model = experiment.Model(0.1, 0.5).partial_fit(data.views[:30], data.target[:30], classes=[0, 1])
    first, second = model.decision_function_by_view(data.views[[30]]).values()
    assert found[30] == pytest.approx(float(abs(first - second)[0]))
    assert found[0] == 0.0
