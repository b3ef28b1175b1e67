"""Model files: a loaded estimator equals the saved one, what is left out is named, and no file chooses other code."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.cluster import FeatureAgglomeration
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from coview.exceptions import ModelFileError
from coview.io.models import load, save
from coview.utils import fitted_state as rules
from coview.utils.archive import write_archive

MATRIX = np.random.default_rng(0).random((12, 4))
LABELS = np.array(["a", "b", "c"] * 4)


class Topics(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A small estimator with the kinds of parameters and attributes that coview's have."""

    _fitted_state = {
        "_seen": rules.count(),
        **dict.fromkeys(
            ("view_names_", "feature_names_", "topic_feature_", "history_", "n_features_in_"), rules.anything()
        ),
    }

    def __init__(self, n_components=2, *, weights=None, init="random", engine="auto", random_state=None):
        self.n_components = n_components
        self.weights = weights
        self.init = init
        self.engine = engine
        self.random_state = random_state

    def fit(self, X, y=None):
        self.view_names_ = ("words", "links")
        self.feature_names_ = {"words": np.array(["a", "b"]), "links": np.array(["c", None], dtype=object)}
        self.topic_feature_ = {"words": np.asfortranarray(X[:2]), "links": sparse.csr_array(X > 0.5)}
        self.history_ = {"objective": [float("-inf"), 1.5, np.float64(2.0)]}
        self.n_features_in_ = X.shape[1]
        self._n_features_out = self.n_components
        self._seen = 12
        self._cache = object()
        return self

    def transform(self, X):
        return X @ self.topic_feature_["words"].T


class Wrapper(BaseEstimator):
    _fitted_state = {"estimator_": rules.estimator(), "all_": rules.anything()}

    def __init__(self, estimator, others=None):
        self.estimator = estimator
        self.others = others

    def fit(self, X, y=None):
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.all_ = {"one": [self.estimator_], "two": (None, StandardScaler().fit(X))}
        return self


class Outsider(BaseEstimator):
    pass


@pytest.fixture(autouse=True)
def catalog(monkeypatch):
    """A catalog that holds the estimators of this file, under names of its own."""
    classes = {"Topics": Topics, "Wrapper": Wrapper}
    monkeypatch.setattr("coview.catalog.resolve", classes.__getitem__)
    return classes


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.coview"


def round_trip(model, path):
    save(model, path)
    return load(path)


def assert_same(a, b):
    assert type(a) is type(b)
    if isinstance(a, BaseEstimator):
        assert_same(a.get_params(deep=False), b.get_params(deep=False))
        kept = {key: value for key, value in vars(a).items() if key != "_cache"}
        assert_same(kept, vars(b))
    elif isinstance(a, dict):
        assert set(a) == set(b)
        for key in a:
            assert_same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b):
            assert_same(one, other)
    elif sparse.issparse(a):
        assert a.dtype == b.dtype
        assert (a != b).nnz == 0
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, np.random.RandomState):
        assert_same(a.get_state(legacy=False), b.get_state(legacy=False))
    else:
        assert a == b or (a != a and b != b)


# -- estimators of coview


def test_a_fitted_model_comes_back_equal_and_can_be_cloned_and_saved_again(path):
    model = Topics(2, weights={"words": 1.0, "links": np.float32(2)}, random_state=7).set_output(transform="pandas")
    again = round_trip(round_trip(model.fit(MATRIX), path), path)
    assert_same(model, again)
    assert_same(clone(model), clone(again))
    check_is_fitted(again)
    assert list(again.transform(MATRIX).columns) == ["topics0", "topics1"]
    assert again._seen == 12 and not hasattr(again, "_cache")  # private attributes stay behind unless they are listed


def test_nested_estimators_come_back_wherever_they_are_and_a_shared_one_stays_shared(path):
    model = Wrapper(Topics(2), others=[Topics(3), {"nb": MultinomialNB(), 4: (Wrapper(None),)}]).fit(MATRIX)
    again = round_trip(model, path)
    assert_same(model, again)
    assert again.all_["one"][0].topic_feature_["words"] is again.estimator_.topic_feature_["words"]


@pytest.mark.parametrize("random", [np.random.RandomState(5), np.random.default_rng(5)], ids=["state", "generator"])
def test_a_random_generator_becomes_one_of_its_own_seed(path, random):
    first, second = (round_trip(Topics(random_state=random), path).random_state for _ in range(2))
    assert type(first) is type(random)
    np.testing.assert_array_equal(first.standard_normal(5), second.standard_normal(5))
    random.standard_normal(1)
    later = round_trip(Topics(random_state=random), path).random_state
    assert first.standard_normal() != later.standard_normal()


# -- what is not written


class Engine:
    """Neither callable nor plain, like an engine that holds a client."""


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"engine": Engine()}, "Topics.engine"),
        ({"init": len}, "Topics.init"),
        ({"init": {"words": [lambda X: X]}}, "Topics.init"),
        ({"engine": Engine(), "init": len}, "Topics.engine, Topics.init"),
    ],
    ids=["engine", "init", "inside", "two"],
)
def test_functions_and_engines_go_back_to_defaults_with_a_warning(path, params, names):
    with pytest.warns(UserWarning, match=f"save left out {names}:"):
        save(Topics(4, **params), path)
    assert_same(load(path), Topics(4))


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x"])
def test_an_attribute_that_cannot_be_written_is_named(path, value):
    model = Topics().fit(MATRIX)
    model.history_["extra"] = [value]
    with pytest.raises(TypeError, match=r"\['history_'\]\['extra'\]\[0\]"):
        save(model, path)


def test_estimators_of_others_are_refused(path):
    with pytest.raises(TypeError, match="Outsider is neither in the catalog of coview nor"):
        save(Outsider(), path)
    with pytest.raises(TypeError, match="save needs an estimator, got dict"):
        save({"a": 1}, path)


# -- estimators of scikit-learn


def test_estimators_with_functions_that_no_file_may_name_are_refused_with_their_place(path):
    model = CountVectorizer(tokenizer=str.partition)
    with pytest.raises(TypeError, match=r"Cannot store model\['estimator'\]\['params'\]\['estimator'\]"):
        save(Wrapper(model), path)


def test_another_version_of_scikit_learn_is_mentioned(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sklearn, "__version__", "1.5.0")
        save(MultinomialNB(), path)
    with pytest.warns(InconsistentVersionWarning, match=r"MultinomialNB from version 1\.5\.0"):
        load(path)


# -- files that are not read


def write_model(path, tag, **tree):
    """A file with correct checksums that `save` would not have written."""
    write_archive(path, {"estimator": object()}, kind="model", version=1, extend=lambda value, where: (tag, tree))


def test_a_class_that_this_coview_lacks_is_refused_with_advice(path, catalog, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("coview.utils.archive.__version__", "7.3")
        save(Topics(), path)
    del catalog["Topics"]
    with pytest.raises(ModelFileError, match=r"model\.coview holds a Topics, .* it needs coview >= 7\.3"):
        load(path)


@pytest.mark.parametrize("name", ["Popen", "subprocess.Popen", "BaseEstimator", "_BaseRidge"])
def test_only_estimators_of_coview_and_public_ones_of_scikit_learn_are_made(path, name):
    write_model(path, "estimator", **{"class": name}, version=sklearn.__version__, params={}, attributes={})
    with pytest.raises(ModelFileError, match=f"holds a {name}, which neither coview"):
        load(path)


def test_unknown_parameters_are_refused(path):
    write_model(path, "estimator", **{"class": "Topics"}, params={"n_topics": 3}, attributes={})
    with pytest.raises(ModelFileError, match=r"a parameter that it does not have in coview .*'n_topics'"):
        load(path)


@pytest.mark.parametrize("name", ["transform", "_private", "__class__"])
def test_attributes_that_are_not_fitted_ones_are_refused(path, name):
    write_model(path, "estimator", **{"class": "Topics"}, params={}, attributes={name: 1})
    with pytest.raises(ModelFileError, match=f"of its Topics, '{name}' is no attribute"):
        load(path)


@pytest.mark.parametrize("tag", ["generator", "random_state", "type", "dtype", "anything"])
def test_objects_out_of_the_known_set_are_refused(path, tag):
    state = {"bit_generator": "SystemRandom"}
    write_model(path, tag, **state, state=state, seeds=None)
    with pytest.raises(ModelFileError, match=r"model\.coview"):
        load(path)


CACHED = [
    lambda: Pipeline([("scale", StandardScaler()), ("classes", LogisticRegression())], memory="elsewhere"),
    lambda: make_pipeline(FeatureAgglomeration(memory="elsewhere"), LogisticRegression()),
]


@pytest.mark.parametrize("make", CACHED)
def test_a_folder_to_cache_in_is_not_written_and_no_file_sets_one(tmp_path, make, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the fit writes that folder
    model = make().fit(MATRIX, LABELS)
    with pytest.warns(UserWarning, match=r"left out (Pipeline|FeatureAgglomeration)\.memory:"):
        save(model, tmp_path / "m.coview")
    again = load(tmp_path / "m.coview")
    assert "elsewhere" not in str(again.get_params()) and "elsewhere" in str(model.get_params())
    with monkeypatch.context() as patch:
        patch.setattr("coview.io.models._GIVEN_AGAIN", ())
        save(make(), tmp_path / "hostile.coview")
    with pytest.raises(ModelFileError, match="is refused: it sets 'memory' of its"):
        load(tmp_path / "hostile.coview")


def test_a_function_without_a_default_is_refused(path):
    with pytest.raises(TypeError, match=r"Wrapper: its parameter 'estimator' is or holds .*no default"):
        save(Wrapper(print), path)
