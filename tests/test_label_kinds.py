"""What kind labels are of changes nothing: scores and predictions are those of plain whole numbers, renamed."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from coview import BestView, ConcatenatedViews, CoTrainingClassifier, LinkPLSA, SeededKMeansClassifier, Views
from coview.auto.experts import propose_experts
from coview.catalog import ESTIMATORS, resolve
from coview.classification.wrapper import mark_unlabeled
from coview.datasets import make_topic_views
from coview.validation import encode_labels, minus_one_is_unlabeled

N = 48
MADE = make_topic_views(N, n_clusters=2, n_features=30, length=15, overlap=0.4, random_state=1)
X, Y = MADE.views, MADE.target
GAPS = Views({name: matrix * (np.arange(N) % 5 > v)[:, None] for v, (name, matrix) in enumerate(X.items())},
             present=np.stack([np.arange(N) % 5 > v for v in range(2)], axis=1))  # fmt: skip
SHOWN = np.arange(N) % 3 == 0

# each kind: labels of the classes 0 and 1, in this order when sorted
KINDS = {
    "short texts": np.array(["a", "b"]),
    "texts of all lengths": np.array(["a", "a much longer name"]),
    "texts like numbers": np.array(["-1", "1"]),
    "objects": np.array(["no", "yes!"], dtype=object),
    "numbers as objects": np.array([0, 7], dtype=object),
    "booleans": np.array([False, True]),
    "booleans as objects": np.array([False, True], dtype=object),
    "floats": np.array([0.0, 2.0]),
    "unsigned": np.array([0, 255], dtype=np.uint8),
    "small numbers": np.array([3, 127], dtype=np.int8),
}
# classes of supervised classifiers only: for semi-supervised ones, -1 marks an unlabeled object
SIGNS = {
    "signs": np.array([-1, 1]),
    "signs as objects": np.array([-1, 1], dtype=object),
    "signs as floats": np.array([-1.0, 1.0]),
    "small signs": np.array([-1, 1], dtype=np.int8),
}
# one of each way to be told apart, sorted and hidden; all of them go through `encode_labels`
SOME = {key: KINDS[key] for key in ("texts of all lengths", "texts like numbers", "booleans as objects", "unsigned")}


@pytest.fixture(autouse=True)
def _few_experts(monkeypatch):
    """What a pool makes of labels, it makes with few experts as with all."""

    def chosen(*given):
        return [expert for expert in propose_experts(*given) if expert.name in ("latent", "centers")]

    monkeypatch.setattr("coview.auto.classifier.propose_experts", chosen)


def quick(name):
    model = resolve(name)()
    params = model.get_params()
    small = {"max_iter": 3, "n_init": 1, "n_components": 2, "random_state": 0}
    return model.set_params(**{key: value for key, value in small.items() if key in params})


MODELS = {
    **{name: quick(name) for name, entry in ESTIMATORS.items() if entry.kind == "classifier"},
    "AutoClassifier": quick("AutoClassifier").set_params(cv=2),
    "SeededKMeansClassifier max_agree": SeededKMeansClassifier("max_agree", max_iter=3, random_state=0),
    "CoTrainingClassifier of LogisticRegression": CoTrainingClassifier(
        LogisticRegression(), max_iter=3, random_state=0
    ),
    "BestView": BestView(),
    "BestView of SelfTrainingClassifier": BestView(SelfTrainingClassifier(MultinomialNB(), max_iter=2)),
    "BestView of LabelSpreading": BestView(LabelSpreading("knn", n_neighbors=5)),
    "ConcatenatedViews of a pipeline": ConcatenatedViews(make_pipeline(Normalizer(), LabelSpreading("knn"))),
    "ConcatenatedViews of a classifier of views": ConcatenatedViews(quick("MultiViewNaiveBayes")),
    "a pipeline of topics": make_pipeline(LinkPLSA(2, max_iter=3, random_state=0), ConcatenatedViews(MultinomialNB())),
}
ONE_VIEW = ("DualPLSAClassifier",)


def partly(names, shown=SHOWN, gap=-1):
    """Labels of some objects: those of the others hidden as users do it, in an array that can hold a gap."""
    if gap is None:
        return np.where(shown, names[Y].astype(object), None)
    return mark_unlabeled(np.where(shown, Y, -1), names)


def told(name, target, truth):
    """What a model says after it learned from the target."""
    views = X.select("view1") if name in ONE_VIEW else GAPS
    model = clone(MODELS[name]).fit(views, target)
    proba = model.predict_proba(views) if hasattr(model, "predict_proba") else None
    labels = {key: getattr(model, key) for key in ("labels_", "transduction_") if hasattr(model, key)}
    return model.classes_, model.predict(views), proba, model.score(views, truth), labels


@pytest.mark.filterwarnings("ignore:y contains no unlabeled samples")
@pytest.mark.parametrize("some", [False, True], ids=["all labels", "some labels"])
@pytest.mark.parametrize("name", MODELS)
def test_every_classifier_says_the_same(name, some):
    plain, gap = np.array([0, 1]), -1 if minus_one_is_unlabeled(MODELS[name]) else None
    expected = told(name, partly(plain, SHOWN if some else SHOWN | True, gap), Y)
    for kind, names in {**SOME, **(SIGNS if gap is None else {})}.items():
        target = partly(names, gap=gap) if some else names[Y]
        found = told(name, target, names[Y])
        assert found[0].tolist() == names.tolist(), kind
        assert found[1].tolist() == names[expected[1]].tolist(), kind
        if expected[2] is not None:
            assert_array_equal(found[2], expected[2], kind)
        assert found[3] == expected[3] == np.mean(expected[1] == Y), kind
        assert found[4].keys() == expected[4].keys()
        for key, labels in found[4].items():
            assert_array_equal(encode_labels(labels, classes=names)[0], expected[4][key], f"{kind} {key}")


@pytest.mark.parametrize("kind", [*SOME, "signs"])
def test_streams_say_the_same(kind):
    names = {**KINDS, **SIGNS}[kind]
    for name in ("MultiViewPassiveAggressiveClassifier", "MultiViewNaiveBayes"):
        found, expected = quick(name), quick(name)
        for model, labels in ((found, names), (expected, np.array([0, 1]))):
            for rows in (slice(0, 24), slice(24, N)):
                model.partial_fit(X[rows], partly(labels, ~SHOWN, None)[rows], classes=labels)
        assert found.predict(X).tolist() == names[expected.predict(X)].tolist()


@pytest.mark.parametrize("names", KINDS.values(), ids=KINDS)
def test_minus_one_fits_in_whatever_is_hidden_already(names):
    classes = np.unique(names if names.dtype != object else np.array(names.tolist()))
    target = mark_unlabeled(Y, classes)
    target[~SHOWN] = -1
    assert_array_equal(encode_labels(target)[0], np.where(SHOWN, Y, -1))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_whole_numbers_with_gaps_stay_whole(library):
    frames = pytest.importorskip(library)
    y = frames.Series([0, 1, None, 2], dtype="Int64") if library == "pandas" else frames.Series([0, 1, None, 2])
    codes, classes = encode_labels(y)
    assert_array_equal(codes, [0, 1, -1, 2])
    assert classes.dtype.kind == "i" and classes.tolist() == [0, 1, 2]
