"""A background beside the topics: against EM in full, its laws, files and minibatches."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from coview import PLSA, LinkPLSA, Views, edit, inspect, load, save
from coview.datasets import make_topic_views
from coview.exceptions import ModelFileError, ViewsError
from coview.inspection.features import described_features
from coview.plsa.steps import mix_with_background

DATA = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
MODELS = [PLSA, LinkPLSA]


def small_views(seed=0):
    rng = np.random.default_rng(seed)
    return Views(words=rng.poisson(1.0, (30, 12)), links=rng.poisson(0.7, (30, 9)))


def em_in_full(views, share, memberships, topics, sweeps, *, joint, alternating):
    """EM with the posterior of (topic, own or background) of every object and feature written out."""
    sums = {name: np.asarray(X).sum(axis=0) for name, X in views.items()}
    total = sum(part.sum() for part in sums.values())
    common = {name: part / (total if joint else part.sum()) for name, part in sums.items()}
    for _ in range(sweeps):

        def posterior(name, rows, topics=topics):
            own = rows[:, :, None] * (1 - share) * topics[name][None]
            beside = rows[:, :, None] * share * common[name][None, None]
            whole = (own + beside).sum(axis=1, keepdims=True)
            return own / whole, beside / whole

        def rows_of(rows):
            found = 0.0
            for name, X in views.items():
                own, beside = posterior(name, rows)
                found = found + (np.asarray(X)[:, None] * (own + beside)).sum(axis=2)
            return found / found.sum(axis=1, keepdims=True)

        new = rows_of(memberships)
        used = new if alternating else memberships
        made = {name: (np.asarray(X)[:, None] * posterior(name, used)[0]).sum(axis=0) for name, X in views.items()}
        mass = {name: part.sum(axis=1, keepdims=True) for name, part in made.items()}
        whole = sum(mass.values())
        topics = {name: part / (whole if joint else mass[name]) for name, part in made.items()}
        memberships = new
    return memberships, topics


@pytest.mark.parametrize("algorithm", ["fast", "published"])
@pytest.mark.parametrize("model", MODELS)
def test_equals_em_in_full_from_the_same_start(model, algorithm):
    views, rng, joint = small_views(), np.random.default_rng(1), model is PLSA
    rows = rng.dirichlet(np.ones(3), len(views))
    topics = {name: rng.dirichlet(np.ones(width), 3) for name, width in views.n_features.items()}
    init = {"memberships": rows, "topic_feature": topics}
    if joint:
        init["topic_view"] = np.full((3, 2), 0.5)
        topics = {name: part / 2 for name, part in topics.items()}
    settings = {"max_iter": 7, "tol": 0, "algorithm": algorithm}
    fitted = model(3, background=0.6, init=init, **settings).fit(views)
    rows, topics = em_in_full(views, 0.6, rows, topics, 7, joint=joint, alternating=algorithm == "fast")
    assert_allclose(fitted.memberships_, rows, rtol=1e-8)
    for name, part in topics.items():
        share = fitted.topic_view_[:, [list(views.names).index(name)]] if joint else 1.0
        assert_allclose(fitted.topic_feature_[name] * share, part, rtol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_the_objective_is_the_likelihood_and_never_falls(model):
    fitted = model(3, background=0.7, max_iter=40, tol=0, random_state=0).fit(DATA.views)
    objective = np.array(fitted.history_["objective"])
    assert (np.diff(objective) >= -1e-9 * np.abs(objective[-1])).all()
    topics = mix_with_background(fitted._topics(DATA.views.names), fitted._background(), joint=fitted._joint)
    by_hand = sum(
        (DATA.views[name].toarray() * np.log(fitted.memberships_ @ part.T)).sum() for name, part in topics.items()
    )
    assert objective[-1] == pytest.approx(by_hand, rel=1e-9)


def test_topics_say_less_of_what_all_objects_have():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 40)
    common = rng.poisson(3.0, (120, 4))  # as "the" is
    own = np.stack([rng.poisson(np.where(groups == k, 2.0, 0.1)) for k in (0, 1, 2) for _ in range(4)], axis=1)
    X = Views(words=np.hstack([common, own]))
    plain, over = (LinkPLSA(3, background=share, init="nmf", random_state=0).fit(X) for share in (0.0, 0.8))
    assert (
        over.topic_feature_["words"][:, :4].sum(axis=1).max() < plain.topic_feature_["words"][:, :4].sum(axis=1).min()
    )
    first = {frozenset(row.tolist()) for row in np.argsort(-over.topic_feature_["words"], axis=1)[:, :4]}
    assert first == {frozenset(range(4 * k, 4 * k + 4)) for k in (1, 2, 3)}
    assert all(set(row.tolist()) <= {0, 1, 2, 3} for row in np.argsort(-plain.topic_feature_["words"], axis=1)[:, :4])
    found = over.transform(X).argmax(axis=1)
    assert all(len(set(found[groups == k].tolist())) == 1 for k in range(3))
    assert len(set(found.tolist())) == 3


@pytest.mark.parametrize(("model", "names"), [(PLSA, ("view1",)), (LinkPLSA, ("view0", "view1"))])
def test_new_objects_are_placed_at_the_optimum(model, names):
    fitted = model(3, background=0.8, random_state=0).fit(DATA.views[:80])
    new = DATA.views[80:].select(*names)
    rows = fitted.transform(new)
    shares = dict.fromkeys(names, 1.0)
    if model is PLSA:
        shares = {name: fitted.topic_view_[:, [v]] for v, name in enumerate(fitted.view_names_) if name in names}
    X = np.hstack([new[name].toarray() for name in names])
    P = np.hstack([0.2 * shares[name] * fitted.topic_feature_[name] + fitted.background_[name] for name in names]).T
    P = P / P.sum(axis=0) * (1 if model is PLSA else len(names))
    best = np.full_like(rows, 1 / 3)
    for _ in range(2000):  # plain EM
        best = best * ((X / (best @ P.T)) @ P)
        best /= best.sum(axis=1, keepdims=True)
    value, least = ((X * np.log(part @ P.T)).sum(axis=1) for part in (rows, best))
    assert_allclose(value, least, rtol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_a_saved_model_says_the_same_and_learns_on(model, tmp_path):
    path = tmp_path / "model.coview"
    fitted = model(3, background=0.5, random_state=0)
    for first in (0, 40):
        fitted.partial_fit(DATA.views[first : first + 40])
    save(fitted, path)
    again = load(path)
    assert_array_equal(again.transform(DATA.views), fitted.transform(DATA.views))
    for one in (fitted, again):
        one.partial_fit(DATA.views[80:])
    assert_array_equal(again.topic_feature_["view0"], fitted.topic_feature_["view0"])
    total = sum(part.sum() for part in again.background_.values())
    assert total == pytest.approx(0.5 if model is PLSA else 1.0)


def test_minibatches_after_a_fit_keep_the_share_of_the_fit():
    fitted = LinkPLSA(3, background=0.5, random_state=0).fit(DATA.views[:60])
    before = fitted.background_["view0"].copy()
    fitted.set_params(background=0.9).partial_fit(DATA.views[60:])
    assert fitted.background_["view0"].sum() == pytest.approx(0.5)
    assert not np.array_equal(fitted.background_["view0"], before)


@pytest.mark.parametrize(
    "damage",
    [
        {"view0": np.full(500, 0.5 / 500)},
        {"view0": np.full(500, 0.5 / 500), "view1": np.full(500, 3 / 500)},
        {"view0": np.full(499, 0.5 / 499), "view1": np.full(500, 0.5 / 500)},
    ],
)
def test_a_damaged_background_is_refused(damage, tmp_path):
    fitted = LinkPLSA(3, background=0.5, random_state=0).fit(DATA.views)
    fitted.background_ = damage
    with pytest.raises((ModelFileError, ValueError), match="background_"):
        save(fitted, tmp_path / "model.coview")


def test_where_it_starts_is_chosen_by_the_background():
    views = DATA.views
    over, plain = LinkPLSA(3, background=0.5, random_state=0).fit(views), LinkPLSA(3, random_state=0).fit(views)
    assert_array_equal(
        over.memberships_, LinkPLSA(3, background=0.5, init="nmf", random_state=0).fit(views).memberships_
    )
    assert_array_equal(plain.memberships_, LinkPLSA(3, init="random", random_state=0).fit(views).memberships_)


def test_vectors_have_no_background():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(120, 5)) + 3 * DATA.target[:, None]
    fitted = LinkPLSA(3, background=0.5, random_state=0).fit(Views(words=DATA.views["view0"], vector=vectors))
    assert list(fitted.background_) == ["words"]
    assert LinkPLSA(3, background=0.5, random_state=0).fit(Views(vector=vectors)).background_ == {}


@pytest.mark.parametrize("model", MODELS)
def test_an_empty_view_takes_nothing_from_the_others(model):
    views = Views(words=DATA.views["view0"], links=sparse.csr_array((120, 30)))
    fitted = model(3, background=0.6, random_state=0).fit(views)
    assert fitted.background_["words"].sum() == pytest.approx(0.6)
    assert np.isfinite(fitted.transform(views)).all()
    with_links = model(3, background=0.6, random_state=0).fit(DATA.views[:60])
    before = {name: part.copy() for name, part in with_links.background_.items()}
    lacking = Views(view0=DATA.views["view0"][60:], view1=sparse.csr_array((60, 500)))
    with_links.partial_fit(lacking)
    assert not np.array_equal(with_links.background_["view0"], before["view0"])
    if model is LinkPLSA:
        assert_array_equal(with_links.background_["view1"], before["view1"])
    with pytest.raises(ViewsError, match="partial_fit needs every view of the first batch"):
        with_links.partial_fit(lacking.select("view0"))


def test_what_a_topic_expects_counts_the_background():
    """Outliers and tags are told by all that objects of a topic hold, also after edits."""
    fitted = LinkPLSA(3, background=0.8, random_state=0).fit(DATA.views)
    expected = described_features(inspect(fitted), "view0").expected
    assert_allclose(expected, 0.2 * fitted.topic_feature_["view0"] + fitted.background_["view0"], atol=1e-12)
    plain = LinkPLSA(3, random_state=0).fit(DATA.views)
    assert_array_equal(described_features(inspect(plain), "view0").expected, plain.topic_feature_["view0"])
    merged = described_features(inspect(edit(fitted).merge([0, 1])), "view0").expected
    assert merged.shape == (2, 500)
    assert_allclose(merged.sum(axis=1), 1.0)
    foreign = Views({name: matrix[:, ::-1] for name, matrix in DATA.views[:20].items()})
    mixed = Views({name: sparse.vstack([DATA.views[name], foreign[name]], format="csr") for name in foreign.names})
    found = inspect(fitted).outliers(mixed).scores
    assert np.median(found[120:]) < np.quantile(found[:120], 0.1)
