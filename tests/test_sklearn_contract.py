"""scikit-learn's own checks over every cataloged estimator; each expected failure is named with its reason."""

import os
from inspect import signature

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from coview import CoPLSA, CrossModalRetriever, LinkPLSA, PairwiseCoPLSA, Views
from coview.auto.experts import propose_experts
from coview.catalog import estimators
from coview.views.views import is_plain

pytestmark = pytest.mark.no_cover

# small settings where the defaults are meant for real data
SETTINGS: dict[str, dict[str, object]] = {
    "PLSA": {"n_components": 2, "max_iter": 5},
    "LinkPLSA": {"n_components": 2, "max_iter": 5},
    "CoPLSA": {"n_components": 2, "max_iter": 5},
    "DualPLSA": {"n_clusters": 2, "n_components": 3, "init": "random", "max_iter": 5},
    "MultiViewPLSA": {"n_clusters": 2, "n_components": 3, "max_iter": 10},
    "DualPLSAClassifier": {"n_components": 3, "max_iter": 10},
    "MultiViewPLSAClassifier": {"n_components": 3, "max_iter": 10},
    "PairwiseCoPLSA": {"n_clusters": 2, "init": "random", "max_iter": 5},
    "VotingPLSA": {"n_clusters": 2, "max_iter": 5},
    "AutoClustering": {"n_clusters": 2},
    "AutoClassifier": {"cv": 2},
    "ConsensusClustering": {"n_clusters": 2, "n_init": 2},
    "SphericalKMeans": {"n_clusters": 2, "n_init": 2},
    "CCAClustering": {"n_clusters": 2},
    "SpectralClusteringViews": {"n_clusters": 2},
    "EditedModel": {"estimator": LinkPLSA(2, max_iter=5, random_state=0)},
    "MultiViewPassiveAggressiveClassifier": {"fit_intercept": True},  # blobs do not lie around the origin
}

NEGATIVE = "the check feeds negative values to clusterers whatever their positive_only tag says; counts are needed here"
MINUS_ONE = "the check uses -1 as a class; here it marks an unlabeled object, as in sklearn.semi_supervised"
BY_VIEW = "the check wants coef_ to be one matrix; here it is a dict of one matrix per view"
CLUSTERER = {"check_clustering": NEGATIVE}
SEMI_SUPERVISED = {"check_classifiers_classes": MINUS_ONE}
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "AutoClassifier": SEMI_SUPERVISED,
    "LabelSpreadingClassifier": SEMI_SUPERVISED,
    "DualPLSA": CLUSTERER,
    "HalvedPairwiseCoPLSA": CLUSTERER,
    "VotingPLSA": CLUSTERER,
    "DualPLSAClassifier": SEMI_SUPERVISED,
    "MultiViewPLSAClassifier": SEMI_SUPERVISED,
    "CoTrainingClassifier": SEMI_SUPERVISED,
    "MultiViewPassiveAggressiveClassifier": {"check_sparsify_coefficients": BY_VIEW},
    "SeededKMeansClassifier": SEMI_SUPERVISED,
    "SemanticCorrelationMatching": SEMI_SUPERVISED,
}


class Halved:
    """Some models need two views: of one matrix, each has every other column."""

    def _plain_views(self, X, *, reset):
        x = super()._plain_views(X, reset=reset)["x"]
        return Views(even=x[:, ::2], odd=x[:, 1::2] if x.shape[1] > 1 else x)

    def _new_views(self, X):
        return super()._new_views(self._plain_views(X, reset=False) if is_plain(X) else X)


class HalvedCoPLSA(Halved, CoPLSA):
    pass


class HalvedPairwiseCoPLSA(Halved, PairwiseCoPLSA):
    pass


class HalvedCrossModalRetriever(Halved, CrossModalRetriever):
    pass


ADAPTED = {
    "CoPLSA": HalvedCoPLSA,
    "CrossModalRetriever": HalvedCrossModalRetriever,
    "PairwiseCoPLSA": HalvedPairwiseCoPLSA,
}


def instances() -> list[object]:
    return [ADAPTED.get(name, cls)(**SETTINGS.get(name, {})) for name, cls in estimators().items()]


# an expected failure that passes is an error, where scikit-learn can say so (from 1.8 on)
STRICT = {"xfail_strict": True} if "xfail_strict" in signature(parametrize_with_checks).parameters else {}


def checks() -> pytest.MarkDecorator:
    """Those of all instances; those of array-API input need SCIPY_ARRAY_API=1 before Python starts."""
    made = parametrize_with_checks(
        instances(), expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {}), **STRICT
    )
    names, cases = made.args
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        cases = [case for case in cases if "check_array_api" not in str(case)]
    return pytest.mark.parametrize(names, cases, **made.kwargs)


@pytest.fixture(autouse=True)
def _few_experts_and_voters(monkeypatch):
    """What a pool or a vote does in scikit-learn's hands, it does with few as with all."""

    def chosen(*given):
        return [expert for expert in propose_experts(*given) if expert.name in ("latent", "centers")]

    monkeypatch.setattr("coview.auto.classifier.propose_experts", chosen)
    monkeypatch.setattr("coview.auto.votes.GraphVoter._scales", (1.0,))


@checks()
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sklearn_contract(estimator, check):
    check(estimator)
