"""Laws of edits: objects of the fit are where `predict` puts them, previews come true, numbers are those by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from coview import PLSA, DualPLSA, LinkPLSA, MultiViewPLSA, Views, VotingPLSA, edit, inspect
from coview.catalog import ESTIMATORS, resolve
from coview.datasets import make_topic_views
from coview.exceptions import ParameterError
from coview.inspection.features import described_features

DATA = make_topic_views(n_objects=48, n_clusters=4, n_features=80, random_state=3)
X = Views(dict(DATA.views.items()), ids=[f"p{i}" for i in range(48)])
EDITS = {
    "merged, dropped, split, a part dropped": [
        ("merge", {"groups": [0, 2]}),
        ("drop", {"group": 0}),
        ("split", {"group": 1}),
        ("drop", {"group": 3}),
    ],
    "together, apart, merged": [
        ("together", {"objects": ["p0", "p1", "p2"]}),
        ("apart", {"objects": ["p2", "p3", "p4"]}),
        ("merge", {"groups": [0, 1]}),
    ],
    "renamed, noise, reduced": [("rename", {"group": 2, "name": "two"}), ("noise", {"group": 1}), ("reduce", {"n": 2})],
}


def fitted(name):
    """A model of the catalog with four groups."""
    cls = resolve(name)
    settings = {"n_clusters": 4, "n_components": 4, "n_init": 1, "random_state": 0, "n_neighbors": 8, "tol": 1e-7}
    settings |= {"max_iter": 8, "divergence": "l1"} if name == "CoPLSA" else {"max_iter": 200}
    known = cls().get_params(deep=False)
    return cls(**{key: value for key, value in settings.items() if key in known}).fit(X, DATA.target)


WITH_GROUPS = [e.name for e in ESTIMATORS.values() if e.kind in ("transformer", "clusterer")]
WITH_GROUPS.remove("MultiViewCCA")


@pytest.fixture(scope="module", params=WITH_GROUPS)
def model(request):
    return fitted(request.param)


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_objects_of_the_fit_are_where_predict_puts_them(model, edits):
    now = edit(model)
    alike = now.labels_ == now.predict(X)
    apart = np.abs(now.memberships_ - now.transform(X)).max()
    assert alike.mean() > 0.85
    for kind, options in edits:
        before = now.predict(X)
        preview = now.preview(kind, X, **options)
        now.apply(kind, X, **options)
        came = now.predict(X)
        assert preview["row"] == np.flatnonzero(before != came).tolist()
        if any(record["edit"] == "drop" for record in now.edits_):
            assert not hasattr(now, "labels_") and not hasattr(now, "memberships_")
        else:
            assert_array_equal(now.labels_[alike], came[alike])
            assert np.abs(now.memberships_ - now.transform(X)).max() <= 2 * apart + 1e-12


def test_after_a_drop_the_groups_of_the_objects_of_the_fit_are_not_known():
    now = edit(LinkPLSA(4, random_state=0).fit(X)).drop(1)
    assert now.transform(X).shape == (48, 3) and inspect(now).training.codes is None
    with pytest.raises(AttributeError, match=r"a drop has moved them. Ask predict\(X\)"):
        _ = now.labels_
    with pytest.raises(ParameterError, match="X is needed"):
        edit(now.estimator_).preview("drop", group=1)
    assert_array_equal(now.undo().labels_, edit(now.estimator_).labels_)


@pytest.mark.parametrize("cls", [LinkPLSA, VotingPLSA])
def test_a_split_of_objects_that_are_not_those_of_the_fit_is_refused(cls):
    now = edit(cls(4, random_state=0).fit(X))
    with pytest.raises(ParameterError, match="objects of the fit to split a group"):
        now.split(1, X[:30])
    with pytest.raises(ParameterError, match="to split a group, in the same order"):
        now.split(1, X[::-1])
    assert now.edits_ == [] and now.split(1, DATA.views).edits_  # nothing tells them apart without ids


# -- numbers by hand


def folded(counts, profiles, sweeps=1000):
    """Mixtures of objects by plain EM; counts and profiles (topics x features) over all views."""
    mixtures = np.full((len(counts), len(profiles)), 1 / len(profiles))
    for _ in range(sweeps):
        mixtures = mixtures * ((counts / np.maximum(mixtures @ profiles, 1e-300)) @ profiles.T)
        mixtures /= mixtures.sum(axis=1, keepdims=True)
    return mixtures


def joint_profiles(model):
    """p(view, feature | topic) of PLSA, views side by side."""
    return np.hstack([model.topic_view_[:, [v]] * model.topic_feature_[n] for v, n in enumerate(model.view_names_)])


@pytest.mark.parametrize("dropped", [0, 3])
def test_objects_wholly_in_a_dropped_topic_are_folded_in_with_the_others(dropped):
    plsa = PLSA(4, random_state=0).fit(X)
    counts = np.hstack([np.asarray(X[name].todense()) for name in X.names])
    expected = folded(counts, np.delete(joint_profiles(plsa), dropped, axis=0))
    now = edit(plsa).drop(dropped)
    wholly = plsa.memberships_[:, dropped] > 0.9
    assert wholly.any()
    assert_allclose(now.transform(X), expected, atol=2e-3)
    others = np.delete(np.arange(4), dropped)
    assert_array_equal(now.predict(X)[wholly], others[expected[wholly].argmax(axis=1)])


@pytest.mark.parametrize("background", [0.0, 0.5])
def test_merged_topics_of_plsa_weigh_views_by_their_share_in_each_topic(background):
    plsa = PLSA(4, background=background, random_state=0, max_iter=30).fit(uneven())
    size, shares = plsa.memberships_.sum(axis=0), plsa.topic_view_
    shown = inspect(edit(plsa).merge([0, 2]))
    for v, view in enumerate(plsa.view_names_):
        whole = sum(size[k] * shares[k, v] * plsa.topic_feature_[view][k] for k in (0, 2))
        assert_allclose(shown.features(view)[0], whole / whole.sum(), rtol=1e-9)
        assert_array_equal(shown.features(view)[1], plsa.topic_feature_[view][1])
        if background:
            over = (1 - background) * whole + size[[0, 2]].sum() * plsa.background_[view]
            assert_allclose(described_features(shown, view).expected[0], over / over.sum(), rtol=1e-6)


def uneven():
    """Objects of which some topics lie in one view, and others in the other one."""
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 4
    words = rng.poisson(np.where(kind < 2, 3.0, 0.2)[:, None] * rng.gamma(0.5, size=(4, 30))[kind])
    links = rng.poisson(np.where(kind < 2, 0.2, 3.0)[:, None] * rng.gamma(0.5, size=(4, 20))[kind])
    return Views(words=words + (np.arange(30) == 0), links=links + (np.arange(20) == 0))


def test_features_of_clusters_with_shared_topics_weigh_topics_by_their_share_in_the_view():
    dual = DualPLSA(3, 5, random_state=0, max_iter=30).fit(uneven())
    for v, view in enumerate(dual.view_names_):
        clusters, shares, topics = dual.cluster_topic_[view], dual.topic_view_[:, v], dual.topic_feature_[view]
        expected = np.array([sum(row[y] * shares[y] * topics[y] for y in range(5)) for row in clusters])
        expected /= expected.sum(axis=1, keepdims=True)
        assert_allclose(inspect(dual).features(view), expected, rtol=1e-6, atol=1e-12)
        below = inspect(dual).structure.topics
        assert_allclose(below.shares[view] @ below.features[view], expected, rtol=1e-6, atol=1e-12)
        size, share = dual.memberships_.sum(axis=0), clusters @ shares
        merged = sum(size[k] * share[k] * expected[k] for k in (0, 1))
        assert_allclose(inspect(edit(dual).merge([0, 1])).features(view)[0], merged / merged.sum(), rtol=1e-6)


@pytest.mark.parametrize("cls", [LinkPLSA, MultiViewPLSA])
def test_a_split_that_is_merged_back_is_as_before(cls):
    model = edit(cls(4, random_state=0, max_iter=20).fit(X))
    before = model.memberships_, model.transform(X)
    labels, features = model.predict(X), inspect(model).features("view0")
    model.split(1, X, n=3).merge([number for number in model.numbers_ if number not in (0, 2, 3)])
    after = model.memberships_, model.transform(X)
    for one, other in zip(before, after):
        assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    assert_array_equal(model.predict(X), labels)
    merged = inspect(model).features("view0")
    assert_array_equal(merged[[0, 2, 3]], features[[0, 2, 3]])
    assert_allclose(merged[1].sum(), 1)
