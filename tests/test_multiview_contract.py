"""The multi-view contract, for every cataloged estimator: what users may count on whatever model they pick."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import coview
from coview import PLSA, LinkPLSA, SphericalKMeans, inspect
from coview.auto.experts import propose_experts
from coview.catalog import ESTIMATORS, estimators
from coview.inspection.by_view import read_by_view
from coview.testing import (
    _assert_same,
    _Case,
    _compute_outputs,
    check_estimator,
    check_inputs_are_left_alone,
    check_same_seed_same_result,
    parametrize_with_checks,
)

pytestmark = pytest.mark.no_cover

SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 8, "tol": 0}
SETTINGS: dict[str, dict[str, object]] = {
    **dict.fromkeys(
        ("PLSA", "LinkPLSA", "CoPLSA", "DualPLSA", "DualPLSAClassifier", "MultiViewPLSA", "MultiViewPLSAClassifier"),
        SMALL,
    ),
    "PairwiseCoPLSA": {**SMALL, "pair_fraction": 0.2},
    "VotingPLSA": SMALL,
    "AutoClustering": {"n_clusters": 3},
    "AutoClassifier": {"cv": 2},
    "ConsensusClustering": {"n_clusters": 3, "tol": 0, "n_init": 3},
    "SeededKMeansClassifier": {"max_iter": 8, "tol": 0},
    "SphericalKMeans": {"n_clusters": 3, "max_iter": 8, "tol": 0},
    "CCAClustering": {"n_clusters": 3},
    "SpectralClusteringViews": {"n_clusters": 3, "n_neighbors": 8, "tol": 0},
    "LabelSpreadingClassifier": {"n_neighbors": 8},
    "EditedModel": {"estimator": LinkPLSA(3, max_iter=8, tol=0, random_state=0)},
    "CoTrainingClassifier": {"max_iter": 3, "pool_size": 20},
}
NAMES = sorted(ESTIMATORS)
WEIGHED = [name for name, cls in estimators().items() if "view_weights" in cls().get_params()]


@pytest.fixture(autouse=True)
def _few_experts(monkeypatch):
    """Experts of all views and of each of them; what a pool does with these it does with all."""

    def chosen(*given):
        return [expert for expert in propose_experts(*given) if expert.name.split(":")[0] in ("latent", "margins")]

    monkeypatch.setattr("coview.auto.classifier.propose_experts", chosen)


def make(name: str, **settings: object):
    cls = estimators()[name]
    allowed = cls().get_params()
    base = {**SETTINGS.get(name, {}), **settings}
    return cls(**{key: value for key, value in base.items() if key in allowed})


@parametrize_with_checks([make(name) for name in NAMES])
def test_contract(check):
    check()


@pytest.mark.parametrize("name", [entry.name for entry in ESTIMATORS.values() if entry.monotone])
def test_the_objective_never_falls(name):
    case = _Case(make(name, max_iter=60))
    history = np.array(case.model.history_["objective"])
    assert len(history) > 10
    assert (np.diff(history) >= -1e-10 * np.abs(history[:-1])).all()


def test_names_are_public_and_documented():
    for name, cls in estimators().items():
        assert getattr(coview, name) is cls
        assert "Examples" in cls.__doc__


@pytest.mark.parametrize(
    "name",
    ["PLSA", "LinkPLSA", "CoPLSA", "PairwiseCoPLSA", "VotingPLSA", "DualPLSAClassifier", "MultiViewPLSAClassifier"],
)
def test_reordering_views_at_fit_changes_nothing(name):
    case = _Case(make(name))
    turned = case.X.select("links", "words")
    _assert_same(_compute_outputs(case.fit(turned), turned), case.expected, rtol=1e-4)


@pytest.mark.parametrize("name", WEIGHED)
def test_a_view_of_weight_0_is_not_read(name):
    case = _Case(make(name))
    silent, *heard = case.X.names
    answer = inspect(case.fit(case.X, view_weights={silent: 0.0}))
    assert silent not in answer.training.memberships_by_view
    assert set(read_by_view(answer, case.X).alone) <= set(heard)


@pytest.mark.parametrize("name", WEIGHED)
def test_the_weight_of_a_view_that_is_not_there_is_refused(name):
    with pytest.raises(ValueError, match="names view 'images'"):
        _ = _Case(make(name, view_weights={"images": 1.0})).model


@pytest.mark.parametrize("name", [name for name, cls in estimators().items() if "n_clusters" in cls().get_params()])
def test_more_clusters_than_objects_are_refused(name):
    with pytest.raises(
        ValueError, match=r"n_clusters=61 is more than the number of objects \(n_samples=60\)\. Choose fewer clusters\."
    ):
        _ = _Case(make(name, n_clusters=61)).model


class SortedClusters(SphericalKMeans):
    """Its predictions do not go with their rows."""

    def predict(self, X):
        return np.sort(super().predict(X))


def test_a_broken_contract_is_found():
    with pytest.raises(AssertionError, match=r"fails check_order_of_rows\. Predictions go with their rows"):
        check_estimator(SortedClusters(3, random_state=0))


class DoubledArrays(PLSA):
    """It writes into dense matrices."""

    def transform(self, X):
        for matrix in X.values():
            if isinstance(matrix, np.ndarray):
                matrix *= 2
        return super().transform(X)


class JitteredMemberships(PLSA):
    """Each fit differs from the others, in the ninth digit."""

    def fit(self, X, y=None):
        super().fit(X, y)
        self.jitter = np.random.default_rng().random() * 1e-9
        return self

    def transform(self, X):
        return super().transform(X) + self.jitter


@pytest.mark.parametrize(
    ("check", "model", "words"),
    [
        (check_inputs_are_left_alone, DoubledArrays, "words"),
        (check_same_seed_same_result, JitteredMemberships, "transform"),
    ],
)
def test_a_check_finds_what_it_is_for(check, model, words):
    with pytest.raises(AssertionError, match=words):
        check(_Case(model(3, random_state=0)))


def test_only_models_of_the_base_class_are_checked():
    with pytest.raises(AssertionError, match=r"LogisticRegression must derive from coview\.base\.MultiViewEstimator"):
        check_estimator(LogisticRegression())


def test_the_contract_is_checked_without_libraries_of_frames(monkeypatch):
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    check_estimator(PLSA(3, random_state=0))
