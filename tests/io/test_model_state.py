"""A model file whose parts contradict each other is refused when it is loaded, whatever its checksums say."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.svm import SVC

import coview
from coview import Views, load, save
from coview._version import __version__
from coview.catalog import ESTIMATORS, resolve
from coview.exceptions import ModelFileError
from coview.utils.archive import write_archive
from coview.utils.fitted_state import fitted_state

SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 3, "n_init": 1, "random_state": 0}
SETTINGS = {
    "AutoClassifier": {"cv": 2},
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
        patch.setattr("coview.io.models._check", lambda *_: None)
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
    """All arrays of a fitted model of coview, with where they are."""
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
    elif isinstance(value, Pipeline):
        yield from arrays_of(value.steps, where)
    elif type(value).__module__.startswith("coview.") and not isinstance(value, type):
        yield from arrays_of(dict(vars(value)), where)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fitted_attribute_is_described(models, name):
    model = models[name]
    params = model.get_params(deep=False)
    kept = {key for key in vars(model) if key not in params and key.endswith("_") and not key.startswith("_")}
    assert kept <= fitted_state(type(model)).keys()


def test_a_file_of_another_version_is_told_with_both(models, tmp_path, monkeypatch):
    model, path = copy.copy(models["SphericalKMeans"]), tmp_path / "model.coview"
    del model.n_iter_
    write(model, path)
    with pytest.raises(ModelFileError, match=r"by an earlier state of coview .* n_iter_ is not there\. Fit"):
        load(path)
    with pytest.raises(ModelFileError, match=r"t\.csv is a table; a model file is needed"):
        load(path.rename(tmp_path / "t.csv"))
    (tmp_path / "t.csv").rename(path)
    monkeypatch.setattr("coview.io.models.__version__", "9.9.0")
    said = rf"written by coview {__version__}, contradicts itself or coview 9\.9\.0: of its SphericalKMeans, n_iter_ is"
    with pytest.raises(ModelFileError, match=said):
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
        array[last] = np.nan if tried % 2 else np.inf
        write(model, path)
        with pytest.raises(ModelFileError, match=r"contradicts itself|truncated or altered"):
            load(path)
        tried += 1
        array[last] = before
    assert tried or name in ("BestView", "ConcatenatedViews")  # of which scikit-learn holds all numbers
    save(model, path)
    load(path)


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - {"CrossModalRetriever", "EditedModel"}))
def test_more_features_than_the_arrays_have_are_refused(models, name, tmp_path):
    model = models[name]
    before = model.n_features_by_view_, model.n_features_in_
    try:
        model.n_features_by_view_ = {**before[0], "links": before[0]["links"] + 1}
        model.n_features_in_ = before[1] + 1
        write(model, tmp_path / "model.coview")
        with pytest.raises(ModelFileError, match=r"contradicts itself .*: of its .* features"):
            load(tmp_path / "model.coview")
    finally:
        model.n_features_by_view_, model.n_features_in_ = before


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("n_jobs", "a", r"the 'n_jobs' parameter of PLSA must be .* or None. Got 'a' instead\."),
        ("strange_", 1, r"of its PLSA, 'strange_' is no attribute"),
    ],
)
def test_a_parameter_of_another_type_and_an_attribute_of_no_class_are_refused(models, tmp_path, name, value, said):
    model = copy.copy(models["PLSA"])
    setattr(model, name, value)
    write(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=said):
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


# -- estimators of scikit-learn

MATRIX = np.random.default_rng(0).random((12, 4))
LABELS = np.array(["a", "b", "c"] * 4)
LETTERS = np.array([["a"], ["a"], ["a"], ["b"], ["c"]] * 4, dtype=object)


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (OneHotEncoder(min_frequency=5, drop="first"), LETTERS, None),
        (KNeighborsClassifier(2), sparse.csr_array(9 * MATRIX).astype(int), LABELS),
        (StandardScaler(), np.c_[MATRIX, np.full(12, np.nan)], None),
        (make_pipeline(TargetEncoder(cv=2), SVC()), LETTERS[:12], LABELS),
        (RandomForestClassifier(3, random_state=0), MATRIX, LABELS),
        (HistGradientBoostingClassifier(max_iter=3), MATRIX, LABELS),
        (make_pipeline(SimpleImputer(), SelectKBest(k=2), MLPClassifier((3,), max_iter=5)), MATRIX, LABELS),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseEstimator) else "",
)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_of_scikit_learn_come_back(model, X, y, tmp_path):
    model.fit(X, y)
    save(model, tmp_path / "model.coview")
    expected, answer = (
        each.predict(X) if hasattr(each, "predict") else each.transform(X)
        for each in (model, load(tmp_path / "model.coview"))
    )
    if sparse.issparse(expected):
        expected, answer = expected.toarray(), answer.toarray()
    np.testing.assert_array_equal(answer, expected)


def write_sklearn(path, name, content):
    """A file with correct checksums whose estimator of scikit-learn is of these bytes."""
    tree = {"class": name, "version": sklearn.__version__, "skops": np.frombuffer(content, dtype=np.uint8)}
    write_archive(
        path, {"estimator": object()}, kind="model", version=1, extend=lambda value, where: ("estimator", tree)
    )


def test_a_file_that_names_another_type_is_refused_before_anything_is_made(tmp_path):
    write_sklearn(tmp_path / "m.coview", "FunctionTransformer", skops.io.dumps(FunctionTransformer(os.system)))
    with pytest.raises(ModelFileError, match=r"FunctionTransformer that cannot be read \(UntrustedTypesFound"):
        load(tmp_path / "m.coview")


def test_a_file_that_holds_another_class_than_it_names_is_refused(tmp_path):
    write_sklearn(tmp_path / "m.coview", "Ridge", skops.io.dumps(SGDClassifier()))
    with pytest.raises(ModelFileError, match="its Ridge is a SGDClassifier"):
        load(tmp_path / "m.coview")


def test_damaged_bytes_are_refused_with_a_sentence(tmp_path):
    content = skops.io.dumps(RandomForestClassifier(2, random_state=0).fit(MATRIX, LABELS))
    for damaged in (b"", content[: len(content) // 2], content.replace(b"RandomForest", b"RandomFores_")):
        write_sklearn(tmp_path / "m.coview", "RandomForestClassifier", damaged)
        with pytest.raises(ModelFileError, match="RandomForestClassifier that cannot be read"):
            load(tmp_path / "m.coview")


def test_nothing_is_saved_that_cannot_be_loaded(models, tmp_path):
    model, path = copy.deepcopy(models["PLSA"]), tmp_path / "model.coview"
    save(model, path)
    before = path.read_bytes()
    model.memberships_[0, 0] = np.nan
    with pytest.raises(ModelFileError, match=r"load would refuse this PLSA, since memberships_ holds nan"):
        save(model, path)
    assert path.read_bytes() == before


# -- a fixed part of the fuzzer, in a process of its own


@pytest.mark.skipif(sys.platform != "linux", reason="the fuzzer forks, and reads its memory from /proc")
def test_mutated_files_never_end_the_process():
    home = Path(__file__).parents[2]
    words = [sys.executable, "-m", "fuzz.model_files", "--seed", "7", "--count", "40", "--model", "MultiView"]
    ran = subprocess.run(words, cwd=home, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    assert ran.stdout.startswith("40 files: ")


def test_a_number_of_clusters_set_anew_makes_no_more_groups_than_objects():
    model = coview.SphericalKMeans(2, random_state=0).fit(np.eye(6)[:, :4] + 0.1)
    model.n_clusters = 2**62
    assert len(coview.inspect(model).groups) <= 6


@pytest.mark.parametrize(
    ("fit", "change", "why"),
    [
        (
            lambda X, y: coview.PLSA(2, random_state=0).partial_fit(X),
            lambda model: vars(model).pop("n_batches_"),
            "n_batches_ is not there",
        ),
        (
            lambda X, y: coview.LinkPLSA(2, max_iter=2, random_state=0).fit(X).partial_fit(X),
            lambda model: vars(model).pop("batch_counts_"),
            "batch_counts_ is not there",
        ),
        (
            lambda X, y: coview.NeighborViews("a", labels=True).fit(X, y),
            lambda model: setattr(model, "classes_", None),
            "classes_ is NoneType, but must be an array",
        ),
        (
            lambda X, y: coview.AutoClassifier(cv=2, random_state=0).fit(X, y),
            lambda model: model.estimators_.update(dict.fromkeys(model.estimators_, "words")),
            "estimators_.* is 'words', but must be an estimator",
        ),
        (
            lambda X, y: coview.CrossModalRetriever(coview.LinkPLSA(2, max_iter=2, random_state=0)).fit(X),
            lambda model: vars(model).pop("n_features_by_view_"),
            "n_features_by_view_ is not there",
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
