"""A model file whose parts contradict each other is refused when it is loaded, whatever its checksums say."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import OPTICS, BisectingKMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression, SGDRegressor
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    LocalOutlierFactor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    RadiusNeighborsTransformer,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import coview
from coview import Views, load, save
from coview._version import __version__
from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve
from coview.exceptions import ModelFileError
from coview.io.models import _OBJECTS
from coview.retrieval.object_index import ObjectIndex
from coview.utils.fitted_state import fitted_state

SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 3, "n_init": 1, "random_state": 0}
SETTINGS = {
    "AutoClassifier": {
        "candidates": [("bayes", coview.MultiViewNaiveBayes()), ("centers", coview.SeededKMeansClassifier())]
    },
    "AutoClustering": {"candidates": [("sphere", coview.SphericalKMeans(3)), ("space", coview.CCAClustering(3))]},
    "LabelSpreadingClassifier": {"n_neighbors": 8},
    "SpectralClusteringViews": {"n_neighbors": 8},
    "PairwiseCoPLSA": {"pair_fraction": 0.2},
    "MultiViewPassiveAggressiveClassifier": {"average": True, "probability": True},
}


def corpus():
    rng = np.random.default_rng(3)
    y = np.arange(36) % 3
    words, links = rng.gamma(0.3, size=(3, 12)), rng.gamma(0.3, size=(3, 8))
    arrays = {"words": rng.poisson(8 * words[y]), "links": rng.poisson(6 * links[y])}
    return Views({name: sparse.csr_array(part.astype(float)) for name, part in arrays.items()}), y


def write(model, path):
    """Save a model that `save` would refuse, as somebody else's program could."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coview.io.models._check_saved", lambda *_: None)
        save(model, path)


@pytest.fixture(scope="module")
def models():
    """One fitted model of every class of the catalog, by name."""
    X, y = corpus()
    fitted = {}
    for name in ESTIMATORS:
        cls = resolve(name)
        allowed = cls().get_params(deep=False)
        given = {**SMALL, **SETTINGS.get(name, {})}
        fitted[name] = cls(**{key: value for key, value in given.items() if key in allowed}).fit(X, y)
    return fitted


def arrays_of(value, where):
    """All arrays of a fitted model, with where they are."""
    if isinstance(value, np.ndarray):
        yield where, value
    elif sparse.issparse(value):
        yield where, value.data
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from arrays_of(part, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from arrays_of(part, f"{where}[{i}]")
    elif isinstance(value, (BaseEstimator, ObjectIndex)) or hasattr(value, "vectors"):
        yield from arrays_of(dict(vars(value)), where)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fitted_attribute_is_described(models, name):
    model = models[name]
    params = model.get_params(deep=False)
    kept = {key for key in vars(model) if key not in params and key.endswith("_") and not key.startswith("_")}
    assert kept <= fitted_state(type(model)).keys()


def test_a_file_of_another_version_says_so_and_not_that_it_contradicts_itself(models, tmp_path, monkeypatch):
    model, path = copy.copy(models["SphericalKMeans"]), tmp_path / "model.coview"
    del model.n_iter_
    write(model, path)
    said = "another version of coview, or altered: of its SphericalKMeans, n_iter_ is not there. Fit the model again"
    with pytest.raises(ModelFileError, match=said):
        load(path)
    model.n_iter_ = -3
    write(model, path)
    with pytest.raises(ModelFileError, match="contradicts itself"):
        load(path)
    monkeypatch.setattr("coview.io.models.__version__", "9.9.0")
    with pytest.raises(
        ModelFileError, match=rf"written by coview {__version__}: .* with coview 9\.9\.0, or load it with"
    ):
        load(path)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_numbers_that_are_not_finite_are_refused(models, name, tmp_path):
    model, path = models[name], tmp_path / "model.coview"
    attributes = {key: value for key, value in vars(model).items() if key not in model.get_params(deep=False)}
    tried = 0
    for _, array in arrays_of(attributes, ""):
        if array.dtype.kind != "f" or not array.size:
            continue
        last = tuple(size - 1 for size in array.shape)
        before = array[last]
        if not array.flags.writeable:
            continue
        for bad in (np.nan, np.inf):
            array[last] = bad
            write(model, path)
            with pytest.raises(ModelFileError, match=r"contradicts itself|truncated or altered|cannot be in"):
                load(path)
            tried += 1
        array[last] = before
    assert tried
    save(model, path)
    load(path)


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - {"CrossModalRetriever"}))
def test_more_features_than_the_arrays_have_are_refused(models, name, tmp_path):
    model = models[name]
    before = model.n_features_by_view_, model.n_features_in_
    try:
        for by in (1, 10**6):
            model.n_features_by_view_ = {**before[0], "links": before[0]["links"] + by}
            model.n_features_in_ = before[1] + by
            write(model, tmp_path / "model.coview")
            with pytest.raises(ModelFileError, match=r"contradicts itself: of its .* features"):
                load(tmp_path / "model.coview")
    finally:
        model.n_features_by_view_, model.n_features_in_ = before


def test_a_parameter_of_another_type_is_refused(models, tmp_path):
    model = models["PLSA"]
    model.set_params(n_jobs="a")
    try:
        write(model, tmp_path / "model.coview")
    finally:
        model.set_params(n_jobs=None)
    with pytest.raises(ModelFileError, match=r"of its PLSA, the parameter n_jobs must be .* or None, got 'a'\."):
        load(tmp_path / "model.coview")


def test_an_attribute_that_a_class_does_not_have_is_refused(models, tmp_path):
    model = models["PLSA"]
    model.strange_ = 1
    try:
        write(model, tmp_path / "model.coview")
    finally:
        del model.strange_
    with pytest.raises(ModelFileError, match=r"attributes of PLSA that coview .* does not have: 'strange_'"):
        load(tmp_path / "model.coview")


def test_parameters_that_were_set_after_the_fit_do_not_lead_out_of_bounds(models):
    X, _ = corpus()
    for name in ("PLSA", "LinkPLSA", "CoPLSA", "MultiViewPLSA", "PairwiseCoPLSA", "VotingPLSA", "DualPLSA"):
        model = models[name]
        expected = model.transform(X)
        size = "n_components" if name in ("PLSA", "LinkPLSA", "CoPLSA") else "n_clusters"
        model.set_params(**{size: 40})
        try:
            np.testing.assert_array_equal(model.transform(X), expected)
        finally:
            model.set_params(**{size: 3})


# -- random generators, which NumPy does not check


@pytest.mark.parametrize(
    ("bits", "inside", "key", "bad"),
    [
        ("MT19937", True, "pos", 10**9),
        ("MT19937", True, "pos", -1),
        ("MT19937", True, "key", np.zeros(624, np.uint32)),
        ("MT19937", True, "key", np.ones(3, np.uint32)),
        ("Philox", False, "buffer_pos", -(10**9)),
        ("Philox", False, "buffer_pos", 5),
        ("Philox", False, "buffer", np.zeros(2, np.uint64)),
        ("Philox", True, "counter", np.zeros(1, np.uint64)),
        ("PCG64", True, "inc", 0),
        ("PCG64", False, "has_uint32", 7),
        ("SFC64", False, "uinteger", 1 << 40),
    ],
)
@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.Generator])
def test_states_that_a_random_generator_cannot_have_are_refused(kind, bits, inside, key, bad, monkeypatch, tmp_path):
    def altered(state):
        part = {**state["state"], key: bad} if inside else state["state"]
        return {**state, "state": part} if inside else {**state, key: bad}

    random = kind(getattr(np.random, bits)(0))
    if kind is np.random.RandomState:
        tag, tree = "random_state", altered(random.get_state(legacy=False))
    else:
        tag, tree = "generator", {"state": altered(random.bit_generator.state), "seeds": None}
    cls, _, back = _OBJECTS[tag]
    model = coview.PLSA(2, random_state=random)
    save(model, tmp_path / "model.coview")
    load(tmp_path / "model.coview")
    monkeypatch.setitem(_OBJECTS, tag, (cls, lambda _: tree, back))
    write(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=f"{kind.__name__} in a state that it cannot be in: {bits}.*{key}"):
        load(tmp_path / "model.coview")


# -- scikit-learn's, by its conventions

MATRIX = np.random.default_rng(0).random((12, 4))
LABELS = np.array(["a", "b", "c"] * 4)
TEXTS = ["red green blue", "green tea", "blue sea and red sky", "tea at sea"] * 3


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (LogisticRegression().fit(MATRIX, LABELS), {"n_features_in_": 5}),
        (LogisticRegression().fit(MATRIX, LABELS), {"intercept_": np.zeros(2)}),
        (LogisticRegression().fit(MATRIX, LABELS), {"classes_": np.array(["a", "b"])}),
        (LogisticRegression().fit(MATRIX, LABELS), {"C": -1.0}),
        (MultinomialNB().fit(MATRIX, LABELS), {"feature_log_prob_": np.zeros((3, 5))}),
        (StandardScaler().fit(MATRIX), {"scale_": np.zeros(4)}),
        (StandardScaler().fit(MATRIX), {"mean_": np.full(4, np.nan)}),
        (PCA(2).fit(MATRIX), {"components_": np.zeros((2, 5))}),
        (TfidfVectorizer().fit(TEXTS), {"vocabulary_": {"red": 0, "tea": 77}}),
        (OneHotEncoder().fit([["a"], ["b"]]), {"categories_": [np.array(["a"])]}),
        (OneHotEncoder(min_frequency=2).fit([["a"], ["b"], ["a"]]), {"_n_features_outs": [3]}),
        (
            OneHotEncoder(min_frequency=2).fit([["a"], ["b"], ["a"]]),
            {"_default_to_infrequent_mappings": [np.array([0, 99])]},
        ),
        (OneHotEncoder(drop="first").fit([["a"], ["b"]]), {"_drop_idx_after_grouping": np.array([99], dtype=object)}),
        (KNeighborsClassifier(2, algorithm="brute").fit(MATRIX, LABELS), {"_y": np.full(12, 9)}),
        (KNeighborsClassifier(2, algorithm="brute").fit(MATRIX, LABELS), {"n_features_in_": 1}),
        (KNeighborsTransformer(algorithm="brute").fit(MATRIX), {"_fit_X": MATRIX[:0], "n_samples_fit_": 0}),
        (RadiusNeighborsTransformer(algorithm="brute").fit(MATRIX), {"_fit_X": MATRIX[:0]}),
        (RadiusNeighborsClassifier(algorithm="brute").fit(MATRIX, LABELS), {"_y": np.zeros(0, dtype=int)}),
        (RadiusNeighborsRegressor(algorithm="brute").fit(MATRIX, MATRIX[:, 0]), {"_fit_X": MATRIX[:0]}),
        (LocalOutlierFactor(5, algorithm="brute", novelty=True).fit(MATRIX), {"_fit_X": MATRIX[:0]}),
        (
            NearestNeighbors(algorithm="brute", p=3, metric_params={"w": np.ones(4)}).fit(MATRIX),
            {"effective_metric_params_": {"w": np.ones(1), "p": 3}},
        ),
        (SGDRegressor(average=True).fit(MATRIX, MATRIX[:, 0]), {"_standard_coef": np.zeros(1)}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseEstimator) else next(iter(value)),
)
def test_estimators_of_scikit_learn_are_checked_by_its_conventions(model, change, tmp_path):
    path = tmp_path / "model.coview"
    save(model, path)
    load(path)
    before = dict(vars(model))
    vars(model).update(change)
    write(model, path)
    vars(model).update(before)
    with pytest.raises(ModelFileError, match=f"contradicts itself: of its {type(model).__name__}, "):
        load(path)


LETTERS = np.array([["a"], ["a"], ["a"], ["b"], ["c"]] * 4, dtype=object)
HOLES = np.where(MATRIX > 0.9, np.nan, MATRIX)
EMPTY = np.c_[MATRIX, np.full(12, np.nan)]


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (OneHotEncoder(min_frequency=5), LETTERS, None),
        (OneHotEncoder(max_categories=2), LETTERS, None),
        (OneHotEncoder(min_frequency=5, drop="first"), LETTERS, None),
        (OneHotEncoder(drop="if_binary"), LETTERS, None),
        (KNeighborsRegressor(2, algorithm="brute"), MATRIX, np.arange(12)),
        (KNeighborsClassifier(2, algorithm="brute"), (9 * MATRIX).astype(int), LABELS),
        (KNeighborsClassifier(2), sparse.csr_array(9 * MATRIX).astype(int), LABELS),
        (KNeighborsTransformer(n_neighbors=3, algorithm="brute"), MATRIX, None),
        (LocalOutlierFactor(5, algorithm="brute", novelty=True), MATRIX, None),
        (KNNImputer(), HOLES, None),
        (StandardScaler(), EMPTY, None),
        (MinMaxScaler(), EMPTY, None),
        (MaxAbsScaler(), EMPTY, None),
        (RobustScaler(), EMPTY, None),
        (make_pipeline(TargetEncoder(cv=2), LogisticRegression()), LETTERS[:12], LABELS),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseEstimator) else "",
)
@pytest.mark.filterwarnings("ignore:All-NaN slice", "ignore:invalid value")
def test_estimators_of_scikit_learn_that_are_whole_come_back(model, X, y, tmp_path):
    model.fit(X, y)
    save(model, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview")
    expected, answer = (m.transform(X) if hasattr(m, "transform") else m.predict(X) for m in (model, again))
    if sparse.issparse(expected):
        expected, answer = expected.toarray(), answer.toarray()
    np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize(
    "model", [BisectingKMeans(2), RandomForestClassifier(3)], ids=lambda value: type(value).__name__
)
def test_fitted_estimators_of_which_nothing_is_known_are_in_no_file(model, tmp_path):
    path, sentence = tmp_path / "model.coview", f"No model file holds a fitted {type(model).__name__}: damaged arrays"
    save(model, path)
    assert repr(load(path)) == repr(model)  # what is not fitted has no arrays
    model.n_features_in_ = 4
    with pytest.raises(ModelFileError, match=sentence):
        save(model, path)
    write(model, path)
    with pytest.raises(ModelFileError, match=sentence):
        load(path)


def test_objects_that_no_other_reaches_may_be_infinitely_far(tmp_path):
    model = OPTICS(min_samples=3).fit(MATRIX)
    assert np.isinf(model.reachability_).any()
    save(model, tmp_path / "model.coview")
    np.testing.assert_array_equal(load(tmp_path / "model.coview").reachability_, model.reachability_)


def test_steps_of_a_pipeline_take_what_the_one_before_gives(tmp_path):
    model = make_pipeline(StandardScaler(), PCA(2), LogisticRegression()).fit(MATRIX, LABELS)
    save(model, tmp_path / "model.coview")
    load(tmp_path / "model.coview")
    model.steps[2] = ("logisticregression", LogisticRegression().fit(MATRIX, LABELS))
    write(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match="'logisticregression', which takes 4 features, after 'pca' of 2"):
        load(tmp_path / "model.coview")


SLOW = [r"(\w+)+\$", r"(?:a|a)*b", r"(?x)(a+) +b", "a?" * 9 + "a", r"(a+)(?#)+b", r"\w*\w*\$", r"\w+x\w+\$"]


@pytest.mark.parametrize("pattern", [*SLOW, r"(a+)?(a+)?b", r"(a+)\1b", "(a", "(" * 9 + "a" + "{8})" * 9 + "b"])
@pytest.mark.parametrize("cls", [CountVectorizer, HashingVectorizer])
def test_patterns_that_may_take_forever_are_refused(cls, pattern, tmp_path):
    write(cls(token_pattern=pattern), tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=r"of its .*Vectorizer, token_pattern is "):
        load(tmp_path / "model.coview")


PLAIN = [r"(?u)\b\w\w+\b", r"[^\s,+*]+", r"\b[a-z]+-[a-z]+\b", r"\S+", r"(?:ab)?c+", r"\w+\s\w+", r"(?i)\w+(?:'s)?"]


@pytest.mark.parametrize("pattern", PLAIN)
def test_plain_patterns_come_back(pattern, tmp_path):
    save(CountVectorizer(token_pattern=pattern), tmp_path / "model.coview")
    assert load(tmp_path / "model.coview").token_pattern == pattern


# -- libsvm, which trusts what it is given


def machines():
    """Support vector machines of every class and kind of data, with the data."""
    rng = np.random.default_rng(0)
    X, y = rng.random((20, 4)), np.arange(20) % 3
    for cls in (SVC, NuSVC, SVR, NuSVR, OneClassSVM):
        for kind, data in (("dense", X), ("sparse", sparse.csr_array(X)), ("precomputed", X @ X.T)):
            model = cls(kernel="precomputed" if kind == "precomputed" else "rbf")
            model.set_params(**({"nu": 0.2} if cls is NuSVC else {}))
            yield f"{cls.__name__}-{kind}", model.fit(data, y if cls is not OneClassSVM else None), data


MACHINES = {name: (model, data) for name, model, data in machines()}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("mmap", [False, True])
def test_support_vector_machines_come_back(name, mmap, tmp_path):
    model, X = MACHINES[name]
    save(model, tmp_path / "model.coview")
    again = load(tmp_path / "model.coview", mmap=mmap)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "decision_function"):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_machine_that_is_not_fitted_comes_back(tmp_path):
    save(SVC(C=2), tmp_path / "model.coview")
    assert load(tmp_path / "model.coview").C == 2


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (name, change)
        for name, (model, _) in MACHINES.items()
        for change in (
            {"support_": model.support_[:-1]},
            {"support_": np.full_like(model.support_, 20)},
            {"support_": model.support_.astype(np.int64)},
            {"support_vectors_": model.support_vectors_[:, :-1] if "pre" not in name else np.zeros((3, 4))},
            {"_n_support": np.array([10**6] * len(model._n_support), dtype=np.int32)},
            {"_n_support": np.zeros(5, dtype=np.int32)},
            {"_dual_coef_": model._dual_coef_[:, :-1]},
            {"_intercept_": np.zeros(7)},
            {"_probA": np.zeros(9)},
            {"_effective_probability": True},
            {"_sparse": not model._sparse},
            {"kernel": "rbf" if "pre" in name else "precomputed"},
            {"shape_fit_": (10**6, 10**6)},
            {"n_features_in_": 10**6},
            {"degree": 2**40},
            {"_gamma": -1.0},
            {"_impl": "c_svc"},
            {"predict": 3},
        )
        # of a sparse regression, nobody writes or reads this
        if not ("_n_support" in change and "sparse" in name and "SVC" not in name)
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_support_vector_machines_that_libsvm_would_read_beyond_are_refused(name, change, tmp_path):
    altered = copy.deepcopy(MACHINES[name][0])
    vars(altered).update(change)
    write(altered, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=f"contradicts itself: of its {type(altered).__name__}, "):
        load(tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match="load would refuse this"):
        save(altered, tmp_path / "model.coview")


# -- answers that stay finite


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (MultinomialNB().fit(MATRIX, LABELS), {"feature_log_prob_": np.full((3, 4), 1000.0)}),
        (BernoulliNB().fit(MATRIX, LABELS), {"feature_log_prob_": np.zeros((3, 4))}),
        (ComplementNB().fit(MATRIX, LABELS), {"feature_log_prob_": np.full((3, 4), 1e30)}),
        (MultinomialNB().fit(MATRIX, LABELS), {"class_log_prior_": np.full(3, -np.inf)}),
        (StandardScaler().fit(MATRIX), {"scale_": np.full(4, 1e-200)}),
        (StandardScaler().fit(MATRIX), {"mean_": np.full(4, 1e100)}),
        (GaussianNB().fit(MATRIX, LABELS), {"var_": np.full((3, 4), 1e-200)}),
        (LogisticRegression().fit(MATRIX, LABELS), {"coef_": np.full((3, 4), 1e100)}),
        (LogisticRegression().fit(MATRIX, LABELS), {"n_iter_": np.nan}),
        (LogisticRegression().fit(MATRIX, LABELS), {"n_iter_": 10**60}),
        (LogisticRegression().fit(MATRIX, LABELS), {"predict": "x"}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseEstimator) else next(iter(value)),
)
def test_numbers_from_which_answers_would_not_be_finite_are_refused(model, change, tmp_path):
    altered = copy.deepcopy(model)
    vars(altered).update(change)
    write(altered, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=f"contradicts itself: of its {type(altered).__name__}, "):
        load(tmp_path / "model.coview")


def test_large_numbers_that_data_may_have_come_back(tmp_path):
    times = 1.7e18 + 1e15 * MATRIX  # nanoseconds
    save(StandardScaler().fit(times), tmp_path / "model.coview")
    assert np.isfinite(load(tmp_path / "model.coview").transform(times)).all()


def test_words_that_count_must_be_in_the_index(tmp_path):
    X, _ = corpus()
    named = Views(dict(X), feature_names={"words": [f"w{i}" for i in range(12)], "links": [f"w{i}" for i in range(8)]})
    model = coview.CrossModalRetriever(coview.MultiViewCCA(2), lexical=0.5).fit(named)
    save(model, tmp_path / "model.coview")
    load(tmp_path / "model.coview")
    words = model.index_.words.pop("links")
    write(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match="index_ has no words of 'links', though words count in its scores"):
        load(tmp_path / "model.coview")
    model.index_.words["links"] = -words
    write(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=r"words\['links'\] holds -"):
        load(tmp_path / "model.coview")
    model.index_.words["links"] = words
    model.words_.n_rows = 1
    write(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=r"frequency has a word in .* of 1 texts"):
        load(tmp_path / "model.coview")


def test_nothing_is_saved_that_cannot_be_loaded(models, tmp_path):
    model, path = copy.deepcopy(models["PLSA"]), tmp_path / "model.coview"
    save(model, path)
    before = path.read_bytes()
    model.memberships_[0, 0] = np.nan
    with pytest.raises(ModelFileError, match=r"load would refuse this PLSA, since memberships_ holds nan"):
        save(model, path)
    assert path.read_bytes() == before
    model = copy.deepcopy(models["PLSA"])
    model.strange_ = 1
    with pytest.raises(ModelFileError, match="'strange_' is no attribute that a fit gives it"):
        save(model, path)


def test_every_transformer_is_described():
    assert all(fitted_state(resolve(name)) for name in TRANSFORMERS)


# -- a fixed part of the fuzzer, in a process of its own


@pytest.mark.skipif(sys.platform != "linux", reason="the fuzzer forks, and reads its memory from /proc")
def test_mutated_files_are_refused_or_answer_finite_numbers():
    home = Path(__file__).parents[2]
    words = [sys.executable, "-m", "fuzz.model_files", "--seed", "7", "--count", "100", "--model", "MultiView"]
    ran = subprocess.run(words, cwd=home, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    assert ran.stdout.startswith("100 files: ")


def test_spread_labels_inside_are_checked(tmp_path):
    from sklearn.semi_supervised import LabelSpreading

    from coview import BestView, load, save

    rng = np.random.default_rng(0)
    X = Views(a=rng.random((40, 4)), b=rng.random((40, 3)))
    y = np.where(np.arange(40) < 12, np.arange(40) % 3, -1)
    model = BestView(LabelSpreading(kernel="rbf")).fit(X, y)
    save(model, tmp_path / "whole.coview")
    np.testing.assert_array_equal(load(tmp_path / "whole.coview").predict(X), model.predict(X))
    model.best_estimator_.label_distributions_ = np.ones((40, 5))
    with pytest.raises(ModelFileError, match="label_distributions_ has 5 classes, but classes_ has 3"):
        save(model, tmp_path / "wider.coview")


def test_a_number_of_clusters_set_anew_makes_no_more_groups_than_objects():
    from coview import SphericalKMeans, inspect

    model = SphericalKMeans(2, random_state=0).fit(np.eye(6)[:, :4] + 0.1)
    model.n_clusters = 2**62
    assert len(inspect(model).groups) <= 6


def test_a_pipeline_whose_steps_are_in_another_order_is_refused(tmp_path):
    X, y = Views(a=np.random.default_rng(0).normal(size=(20, 3))), np.arange(20) % 2
    model = coview.ConcatenatedViews(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    model.estimator_.steps.reverse()
    with pytest.raises(ModelFileError, match="'logisticregression' before the last step, which transforms nothing"):
        save(model, tmp_path / "model.coview")


def test_a_semantic_space_without_its_classifiers_is_refused(tmp_path):
    made = coview.datasets.make_topic_views(60, n_clusters=2, random_state=0)
    model = coview.CrossModalRetriever(coview.LinkPLSA(2, max_iter=5, random_state=0), space="semantic")
    model.fit(made.views, made.target)
    del model.classifiers_
    with pytest.raises(ModelFileError, match="classifiers_ is not there, which semantic space needs"):
        save(model, tmp_path / "model.coview")


@pytest.mark.parametrize(
    ("fit", "change", "why"),
    [
        (
            lambda X, y: coview.PLSA(2, random_state=0).partial_fit(X),
            lambda model: vars(model).pop("n_batches_"),
            "n_batches_ is not there",
        ),
        (
            lambda X, y: coview.MultiViewPLSA(2, 2, max_iter=2, random_state=0).fit(X).partial_fit(X),
            lambda model: vars(model).pop("batch_counts_"),
            "batch_counts_ is not there",
        ),
        (
            lambda X, y: coview.EachView(StandardScaler()).fit(X),
            lambda model: setattr(model.transformers_["a"], "mean_", None),
            "mean_ is None, but the rest of the model needs it",
        ),
        (
            lambda X, y: coview.NeighborViews("a", labels=True).fit(X, y),
            lambda model: setattr(model, "classes_", None),
            "classes_ is None, but the rest of the model needs it",
        ),
        (
            lambda X, y: coview.AutoClassifier([("bayes", coview.MultiViewNaiveBayes())]).fit(X, y),
            lambda model: model.estimators_.update(bayes="words"),
            "estimators_.*'bayes'.* is of type str, but must be an estimator",
        ),
        (
            lambda X, y: coview.AutoClassifier([("bayes", coview.MultiViewNaiveBayes())]).fit(X, y),
            lambda model: model.estimators_.update(bayes=coview.MultiViewNaiveBayes()),
            "estimators_.*'bayes'.* is a MultiViewNaiveBayes that is not fitted",
        ),
        (
            lambda X, y: LogisticRegression().fit(X["a"], y),
            lambda model: setattr(model, "classes_", np.array([0.0, -np.inf], dtype=np.float16)),
            "classes_ has a class twice, one that is NaN or infinite, or no class",
        ),
        (
            lambda X, y: coview.EachView(StandardScaler()).fit(X),
            lambda model: model.transformers_.update(a=StandardScaler()),
            "transformers_.*'a'.* is a StandardScaler that is not fitted",
        ),
        (
            lambda X, y: coview.CrossModalRetriever(coview.LinkPLSA(2, max_iter=2, random_state=0)).fit(X),
            lambda model: vars(model).pop("n_features_by_view_"),
            "n_features_by_view_ is not there",
        ),
        (
            lambda X, y: coview.CrossModalRetriever(
                coview.LinkPLSA(2, max_iter=2, random_state=0), space="semantic"
            ).fit(X, y),
            lambda model: model.set_params(space="topic"),
            "classes_ is there, which topic space has not",
        ),
    ],
)
def test_what_a_model_has_by_its_parameters_or_with_another_part_must_be_there(fit, change, why, tmp_path):
    X = Views(a=np.random.default_rng(0).integers(1, 5, (12, 12)).astype(float), b=np.ones((12, 3)))
    model = fit(X, np.arange(12) % 2)
    save(model, tmp_path / "model.coview")
    change(model)
    with pytest.raises(ModelFileError, match=why):
        save(model, tmp_path / "model.coview")
