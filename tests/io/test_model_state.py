"""A model file whose parts contradict each other is refused when it is loaded, whatever its checksums say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import OPTICS
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC

import coview
from coview import Views, load, save
from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve
from coview.exceptions import ModelFileError
from coview.io.models import _OBJECTS
from coview.retrieval.object_index import ObjectIndex
from coview.utils.fitted_state import fitted_state

SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 3, "n_init": 1, "random_state": 0}
SETTINGS = {
    "AutoClustering": {"candidates": [("sphere", coview.SphericalKMeans(3)), ("space", coview.CCAClustering(3))]},
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
    elif isinstance(value, (BaseEstimator, ObjectIndex)) or hasattr(value, "vectors"):
        yield from arrays_of(dict(vars(value)), where)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from arrays_of(part, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from arrays_of(part, f"{where}[{i}]")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fitted_attribute_is_described(models, name):
    model = models[name]
    params = model.get_params(deep=False)
    kept = {key for key in vars(model) if key not in params and key.endswith("_") and not key.startswith("_")}
    assert kept <= fitted_state(type(model)).keys()


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
            save(model, path)
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
            save(model, tmp_path / "model.coview")
            with pytest.raises(ModelFileError, match=r"contradicts itself: of its .* features"):
                load(tmp_path / "model.coview")
    finally:
        model.n_features_by_view_, model.n_features_in_ = before


def test_a_parameter_of_another_type_is_refused(models, tmp_path):
    model = models["PLSA"]
    model.set_params(n_jobs="a")
    try:
        save(model, tmp_path / "model.coview")
    finally:
        model.set_params(n_jobs=None)
    with pytest.raises(ModelFileError, match=r"of its PLSA, the parameter n_jobs must be .* or None, got 'a'\."):
        load(tmp_path / "model.coview")


def test_an_attribute_that_a_class_does_not_have_is_refused(models, tmp_path):
    model = models["PLSA"]
    model.strange_ = 1
    try:
        save(model, tmp_path / "model.coview")
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
    save(model, tmp_path / "model.coview")
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
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseEstimator) else next(iter(value)),
)
def test_estimators_of_scikit_learn_are_checked_by_its_conventions(model, change, tmp_path):
    path = tmp_path / "model.coview"
    save(model, path)
    load(path)
    before = dict(vars(model))
    vars(model).update(change)
    save(model, path)
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
    save(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match="'logisticregression', which takes 4 features, after 'pca' of 2"):
        load(tmp_path / "model.coview")


@pytest.mark.parametrize("pattern", [r"(\w+)+\$", r"(?:a|a)*b", r"(?x)(a+) +b", "a?a?a?a?aaaa", r"(a+)(?#)+b"])
@pytest.mark.parametrize("cls", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
def test_patterns_that_may_take_forever_are_refused(cls, pattern, tmp_path):
    save(cls(token_pattern=pattern), tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=r"of its .*Vectorizer, token_pattern is "):
        load(tmp_path / "model.coview")


@pytest.mark.parametrize("pattern", [r"(?u)\b\w\w+\b", r"[^\s,+*]+", r"\b[a-z]+-[a-z]+\b", r"\S+"])
def test_plain_patterns_come_back(pattern, tmp_path):
    save(CountVectorizer(token_pattern=pattern), tmp_path / "model.coview")
    assert load(tmp_path / "model.coview").token_pattern == pattern


def test_support_vectors_that_compiled_code_would_trust_are_not_loaded(monkeypatch, tmp_path):
    model = SVC().fit(sparse.csr_array(MATRIX), LABELS)
    with pytest.raises(TypeError, match="SVC is not written to model files"):
        save(model, tmp_path / "model.coview")
    with monkeypatch.context() as patch:
        patch.setattr("coview.io.models.UNCHECKED", ())
        save(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match="holds the class SVC, which cannot be checked"):
        load(tmp_path / "model.coview")


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
