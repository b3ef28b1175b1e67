"""Links among the objects: found, judged without labels, and used or left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from coview import AutoClustering, NeighborViews, TableViews, TfidfViews
from coview.clustering.links import ENOUGH, RARE, find_links, judge_links, smoothed, smoothing
from coview.exceptions import ParameterError, ViewsError
from coview.metrics import normalized_mutual_info
from coview.views.lazy import LazyViews
from coview.views.views import Views

N, K = 240, 3


def made(
    kind: str, seed: int = 0, quality: float = 0.25, ids: bool = False, links: float = 5
) -> tuple[Views, np.ndarray]:
    """Words that tell the clusters a little, and links within them, between them, or anywhere."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(N) % K)
    topics = rng.dirichlet(np.full(300, 0.1), K)
    mixed = quality * topics[y] + (1 - quality) / 300
    words = np.array([rng.multinomial(40, row) for row in mixed])
    same = (y[:, None] == y).astype(float)
    chance = {"within": 0.95 * K * same + 0.05, "between": (1 - same) * K / (K - 1), "anywhere": np.ones((N, N))}[kind]
    upper = np.triu(rng.uniform(size=(N, N)) < chance * links / N, 1)
    both = sparse.csr_array((upper | upper.T).astype(float))
    names = np.array([f"page{i}" for i in range(N)])
    extra = {"ids": names, "feature_names": {"cites": names}} if ids else {}
    return Views(words=sparse.csr_array(words.astype(float)), cites=both, **extra), y


@pytest.mark.parametrize("kind", ["within", "between", "anywhere"])
def test_only_links_that_join_alike_objects_join_them(kind):
    evidence = judge_links(made(kind, quality=0.6)[0], "cites", K)
    assert evidence.join == (kind == "within")
    assert evidence.why.startswith("links join alike" if evidence.join else "linked objects are not alike enough: ")
    assert evidence.used == evidence.join
    assert (max(evidence.alike_by_view["words"], evidence.together_by_view["words"]) >= ENOUGH) == evidence.join


def test_the_share_is_chance_where_links_mean_nothing():
    found = [judge_links(made("anywhere", seed)[0], "cites", K) for seed in range(3)]
    assert_allclose(np.mean([one.alike_by_view["words"] for one in found]), RARE, atol=0.02)
    assert_allclose(np.mean([one.together_by_view["words"] for one in found]), 0, atol=0.05)


def test_a_view_that_tells_nothing_does_not_hide_one_that_does():
    views, _ = made("within", quality=0.6)
    noise = np.random.default_rng(1).normal(size=(N, 3))
    evidence = judge_links(Views(noise=noise, **dict(views.items())), "cites", K)
    assert evidence.join
    assert list(evidence.alike_by_view) == ["noise", "words"]


def test_links_by_a_sample_are_judged_the_same_way_each_time(monkeypatch):
    monkeypatch.setattr("coview.clustering.links.MOST_PAIRS", 100)
    views, _ = made("within")
    assert judge_links(views, "cites", K, 3) == judge_links(views, "cites", K, 3)


def test_links_of_one_direction_or_both_are_the_same_evidence():
    views, _ = made("within")
    one_way = views.map({"cites": lambda part: sparse.csr_array(sparse.triu(part))})
    assert judge_links(one_way, "cites", K) == judge_links(views, "cites", K)


def test_too_few_links_tell_nothing():
    views, _ = made("within")
    few = views.map({"cites": lambda part: sparse.csr_array(np.eye(N))})
    evidence = judge_links(few, "cites", K)
    assert not evidence.join
    assert evidence.why.startswith("too few of the 0 links")


def test_links_are_found_by_their_ids_or_by_their_shape():
    views, _ = made("within", ids=True)
    assert find_links(views) == "cites"
    unnamed = Views(dict(views.items()))
    assert find_links(unnamed) == "cites"
    assert find_links(unnamed.map({"cites": lambda part: sparse.csr_array(sparse.triu(part))})) is None  # any square
    assert find_links(unnamed.select("cites")) is None
    assert find_links(views, False) is None
    other = Views(dict(views.items()), ids=views.ids, feature_names={"cites": np.array([f"word{i}" for i in range(N)])})
    assert find_links(other) is None


def of_few_columns(name: str, wanted: int, n_links: int) -> Views:
    """Words, and links to few of the objects, which are named by a letter and a number, or by a number."""
    rng = np.random.default_rng(0)
    ids = np.array([f"{name}{i + 1000}" for i in range(N)])
    links = np.zeros((N, wanted))
    links[np.arange(wanted, wanted + n_links), np.arange(n_links) % wanted] = 1
    return Views(
        words=rng.poisson(0.2, (N, 30)), cites=links, ids=ids, feature_names={"cites": rng.permutation(ids)[:wanted]}
    )


def test_links_to_few_objects_are_found_where_ids_are_no_numbers():
    assert find_links(of_few_columns("p", 35, 60)) == "cites"
    assert find_links(of_few_columns("p", 20, 20)) is None  # too few to tell anything
    assert find_links(of_few_columns("", 35, 60)) is None  # categories 1 to 9 may look like ids


def test_columns_that_are_mostly_no_objects_are_no_links():
    views = of_few_columns("p", 35, 60)
    names = [name if i < 15 else f"word{i}" for i, name in enumerate(views.feature_names["cites"])]
    other = Views(dict(views.items()), ids=views.ids, feature_names={"cites": names})
    assert find_links(other) is None


def test_an_object_that_names_itself_is_no_link():
    ids = np.array([f"p{i}" for i in range(N)])
    own = np.eye(N)[:, :100]
    assert find_links(Views(words=np.eye(N, 9), cites=own, ids=ids, feature_names={"cites": ids[:100]})) is None


def test_some_ids_may_be_missing_and_columns_in_any_order():
    views, _ = made("within", ids=True, quality=0.6)
    order = np.random.default_rng(0).permutation(N)[: N - 40]
    names = views.feature_names["cites"][order]
    links = sparse.csr_array(views["cites"].tocsc()[:, order])
    fewer = Views({"words": views["words"], "cites": links}, ids=views.ids, feature_names={"cites": names})
    assert find_links(fewer) == "cites"
    assert judge_links(fewer, "cites", K).join
    assert smoothing(fewer, "cites").fit_transform(fewer)["words_near"].shape[0] == N


def test_links_without_ids_say_how_a_table_names_its_rows():
    table = {"body": ["red fox", "blue sea", "red sea"], "cites": ["p2 p3", "p1", ""]}
    X = TableViews({"words": "body"}, tokens={"cites": "cites"}).fit_transform(table)
    with pytest.raises(ViewsError, match=r"TableViews\(id=COLUMN\)") as refused:
        find_links(X[:2], "cites")
    assert "--id COLUMN" in refused.value.worded("cli")
    with pytest.raises(ViewsError, match=r"TableViews\(id=COLUMN\)"):
        NeighborViews("cites").fit(X[:2])


def test_new_objects_are_smoothed_from_any_views():
    views, _ = made("within", ids=True)
    steps = smoothing(views, "cites").fit(views)
    whole = steps.transform(views)
    assert_allclose(smoothed(steps, views)["words_near"], whole["words_near"])
    alone = smoothed(steps, views.select("words"))["words_near"]  # nobody's neighbors: as they were before any hop
    assert_allclose(alone, steps[:-1].transform(views.select("words"))["words"], atol=1e-12)
    new = Views(cites=views["cites"][:5], feature_names={"cites": views.feature_names["cites"]})
    by_links = smoothed(steps, new)
    assert by_links.present.all()
    cosines = np.einsum("ij,ij->i", by_links["words_near"], whole["words_near"][:5])
    lengths = np.linalg.norm(by_links["words_near"], axis=1) * np.linalg.norm(whole["words_near"][:5], axis=1)
    assert (cosines / lengths > 0.8).all()


# -- in AutoClustering


@pytest.fixture(scope="module")
def linked() -> tuple[Views, np.ndarray, AutoClustering]:
    views, y = made("within", ids=True)
    return views, y, AutoClustering(K, random_state=0).fit(views)


def test_features_smoothed_over_links_stand_beside_both_as_they_are():
    model = AutoClustering(K, random_state=0).fit(made("within", links=2)[0])
    assert model.links_["join"] and model.links_["used"]
    assert list(model.voters_[0].view_names_) == ["words", "cites", "words_near"]


def test_links_that_join_unlike_objects_are_left_out_unless_they_are_named():
    X = made("anywhere")[0]
    model = AutoClustering(K, random_state=0).fit(X)
    assert not model.links_["used"]
    assert model.links_["why"].startswith("linked objects are not alike enough: ")
    plain = AutoClustering(K, links=False, random_state=0).fit(X)
    assert plain.links_ is None and list(plain.voters_[0].view_names_) == ["words", "cites"]
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    named = AutoClustering(K, links="cites", random_state=0).fit(X)
    assert not named.links_["join"] and named.links_["used"]
    assert "words_near" in named.voters_[0].view_names_


def test_new_objects_come_from_any_views(linked):
    views, y, model = linked
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    new = Views({name: matrix[:50] for name, matrix in views.items()}, feature_names=views.feature_names)
    assert np.mean(model.predict(new) == model.labels_[:50]) > 0.95  # without ids, they are new
    assert normalized_mutual_info(y, model.predict(views.select("cites"))) > 0.5
    assert normalized_mutual_info(y, model.predict(views.select("words"))) > 0.2


def test_links_without_ids_are_used_too(linked):
    views, _, model = linked
    unnamed = AutoClustering(K, links="cites", random_state=0).fit(Views(dict(views.items())))
    assert unnamed.links_ == model.links_
    assert normalized_mutual_info(model.labels_, unnamed.labels_) > 0.95


def test_links_of_lazy_views_are_features_unless_they_are_asked_for():
    lazy = LazyViews.from_views(made("within", ids=True)[0], 100)
    assert AutoClustering(K, random_state=0).fit(lazy).links_ is None
    with pytest.raises(ViewsError, match="links='cites' needs all objects in memory"):
        AutoClustering(K, links="cites", random_state=0).fit(lazy)


@pytest.mark.parametrize("links", [True, ["cites"]])
def test_other_values_of_links_are_refused(links):
    with pytest.raises((ParameterError, ViewsError), match="links"):
        AutoClustering(K, links=links).fit(made("within")[0])


@pytest.mark.parametrize("unit", [1.0, 0.5], ids=["counts", "weighted"])
def test_links_of_many_objects_are_smoothed_over_as_of_few(monkeypatch, unit):
    views, _ = made("within", links=2)
    one_way = views.map({"cites": lambda part: sparse.csr_array(sparse.triu(part)), "words": lambda part: part * unit})
    few = AutoClustering(K, links="cites", random_state=0).fit(one_way)
    for name, size in (("MOST_OBJECTS", 150), ("SAMPLE", 150), ("BLOCK", 64)):
        monkeypatch.setattr(f"coview.auto.clustering.{name}", size)
    many = AutoClustering(K, links="cites", random_state=0).fit(one_way)
    assert many.labels_.shape == (N,)
    for model in (few, many):
        np.testing.assert_array_equal(model.predict(one_way), model.labels_)
    first, second = (each.preparation_[0] for each in (few, many))
    if unit == 1:  # words are weighed by the clusters of those that were clustered, and smoothed over all
        first = clone(second[1:]).fit(second[0].transform(one_way))
    assert_allclose(*(each[-1].layers_["words"][-1] for each in (first, second)), atol=1e-12)


def test_counts_whose_columns_have_numbers_for_names_are_no_links():
    views, _ = made("within")
    rows, names = np.arange(N), {name: [str(i) for i in range(part.shape[1])] for name, part in views.items()}
    numbered = Views(dict(views.items()), ids=rows, feature_names=names)
    assert find_links(numbered.select("words", "cites")) == "cites"  # square, with a link back for every link
    words = Views(words=views["words"], sizes=np.ones((N, 2)), ids=rows, feature_names={"words": names["words"]})
    assert find_links(words) is None
    few = Views(words=views["words"][:, :20], sizes=np.ones((N, 2)), ids=[f"p{i}" for i in rows],
                feature_names={"words": [f"p{i}" for i in range(20)]})  # fmt: skip
    assert find_links(few) is None


def test_shares_are_not_weighed_by_logarithms():
    counts = sparse.csr_array(np.random.default_rng(0).poisson(0.2, size=(50, 40)).astype(float))
    X = Views(counts=counts, shares=counts * 0.013, links=sparse.csr_array((50, 50)))
    weighing = [step for _, step in smoothing(X, "links").steps if isinstance(step, TfidfViews)]
    assert [(step.sublinear_tf, step.views) for step in weighing] == [(True, ["counts"]), (False, ["shares"])]
    weighed = make_pipeline(*weighing).fit_transform(X)
    assert min(weighed[name].min() for name in ("counts", "shares")) == 0
