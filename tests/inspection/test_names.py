"""Names of clusters and topics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coview import (
    AutoClustering,
    MultiViewCCA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    SpectralClusteringViews,
    SphericalKMeans,
    Views,
    inspect,
)
from coview.datasets import make_topic_views
from coview.inspection import Selection
from coview.inspection.features import group_names
from coview.inspection.names import characteristic_names
from coview.inspection.reading import read_groups

SUBJECTS = (("photo camera image images", "libjpeg"), ("mail imap inbox sender", "libetpan"), ("chess game", "libsdl"))
WORDS = sorted({"the", *(word for words, _ in SUBJECTS for word in words.split())})
DEPENDS = ["libc6", *(name for _, name in SUBJECTS)]


@pytest.fixture(scope="module")
def packages():
    """Packages of three subjects; the most frequent feature of each view is everywhere."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    rates = [np.array([[3.0 if word in words.split() else 0.05 for word in WORDS] for words, _ in SUBJECTS])]
    rates.append(np.array([[2.0 if name == own else 0.05 for name in DEPENDS] for _, own in SUBJECTS]))
    rates[0][:, WORDS.index("the")], rates[1][:, 0] = 9.0, 7.0
    words, depends = (rng.poisson(part[y]).astype(float) for part in rates)
    return Views(words=words, depends=depends, feature_names={"words": WORDS, "depends": DEPENDS}), y


@pytest.mark.parametrize(
    "make", [lambda: MultiViewPLSA(3, 5, random_state=0), lambda: SphericalKMeans(3, random_state=0)]
)
def test_clusters_are_named_by_what_is_theirs_in_all_views(packages, make):
    X, y = packages
    model = inspect(make().fit(X))
    codes = read_groups(model, X).codes
    for k, (words, depends) in enumerate(SUBJECTS):
        name = model.group_names[np.bincount(codes[y == k]).argmax()].split(", ")
        assert depends in name and set(name) <= {depends, *words.split()}
        assert not {"image", "images"} <= set(name)  # one word
    assert model.groups == ["0", "1", "2"]  # the key


def test_classes_and_components_keep_their_names(packages):
    X, y = packages
    assert inspect(MultiViewNaiveBayes().fit(X, [SUBJECTS[k][1] for k in y])).group_names == [
        "libetpan",
        "libjpeg",
        "libsdl",
    ]
    assert inspect(MultiViewCCA(2, random_state=0).fit(X)).group_names == ["component 0", "component 1"]


def test_a_model_without_features_is_named_by_its_objects(packages):
    X, y = packages
    model = replace(inspect(SpectralClusteringViews(3, random_state=0).fit(X)), _features=lambda view: None)
    assert model.group_names == ["cluster 0", "cluster 1", "cluster 2"]
    codes = model.training.codes
    for k, (words, depends) in enumerate(SUBJECTS):
        name = group_names(model, X, codes)[np.bincount(codes[y == k]).argmax()].split(", ")
        assert len(name) == 3 and set(name) <= {depends, *words.split()}


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (4, 6), elements=st.floats(-1, 3) | st.just(0.0)), st.booleans())
def test_names_are_distinct_whatever_the_weights(weights, signed):
    weights = weights if signed else np.maximum(weights, 0)
    keys = [f"cluster {k}" for k in range(4)]
    names = characteristic_names({"a": weights, "b": weights}, {"a": list("uvwxyz"), "b": list("uvwxyz")}, keys)
    assert len(set(names)) == 4 and all(names)


def test_sizes_count_in_the_corpus():
    # the second group is nearly the whole corpus: what it is about tells nothing of it, but for what the first lacks
    weights = np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
    names = {"words": ["cat", "dog", "eel"]}
    assert characteristic_names({"words": weights}, names, ["0", "1"], np.array([1, 99])) == ["cat", "eel"]
    assert characteristic_names({"words": weights * 0 + 1}, names, ["0", "1"]) == ["0", "1"]


def test_what_most_groups_share_names_none_of_them():
    """Every package needs libc6; two of ten groups need it most, and it is what they have most of."""
    weights = np.hstack([np.full((10, 1), 2.0), np.zeros((10, 40))])
    weights[:2, 0] = 30.0
    weights[np.repeat(np.arange(10), 3), 1 + np.arange(30)] = 1.0
    names = {"depends": ["libc6", *(f"{chr(97 + j // 6)}{chr(97 + j % 6)}lib" for j in range(40))]}
    found = characteristic_names({"depends": weights}, names, [f"cluster {k}" for k in range(10)])
    assert not any("libc6" in name for name in found)
    assert [set(name.split(", ")) for name in found] == [
        set(names["depends"][1 + 3 * k : 4 + 3 * k]) for k in range(10)
    ]


@pytest.mark.parametrize("model", [AutoClustering(2, random_state=0), SpectralClusteringViews(2, random_state=0)])
def test_a_view_that_few_objects_have_does_not_name_their_cluster(model):
    """One option of 2 in 100 pages is the whole view of theirs; words that most pages have name the cluster."""
    rng = np.random.default_rng(0)
    half = np.repeat([0, 1], 50)
    words = rng.poisson(np.where(half[:, None] == [0, 0, 1, 1], 3.0, 0.1))
    present = np.zeros((100, 2), dtype=bool)
    present[:, 0], present[[3, 60], 1] = True, True
    options = np.zeros((100, 2))
    options[3, 0] = options[60, 1] = 1
    names = {"words": ["photo", "camera", "mail", "inbox"], "options": ["--no-overwrite", "--no-reply"]}
    X = Views(words=words, options=options, present=present, feature_names=names)
    named = inspect(model.fit(X)).group_names
    assert sorted(set(name.split(", ")) <= {"photo", "camera"} for name in named) == [False, True]
    assert sorted(set(name.split(", ")) <= {"mail", "inbox"} for name in named) == [False, True]


def test_rare_features_name_a_group_that_has_no_others():
    names = {"words": ["cat", "dog", "eel"]}
    weights = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    shares = {"words": np.array([[0.05, 0.5, 0.0], [0.0, 0.5, 0.4]])}
    assert characteristic_names({"words": weights}, names, ["0", "1"], frequencies=shares) == ["cat", "eel"]


def test_a_view_of_noise_names_no_group():
    made = make_topic_views(60, {"words": 20}, n_clusters=2, random_state=0)
    hum = np.random.default_rng(0).poisson(0.3, (60, 20))
    names = {"words": [f"word{j}" for j in range(20)], "hum": [f"hum{j}" for j in range(20)]}
    fitted = inspect(
        SphericalKMeans(2, random_state=0).fit(Views(words=made.views["words"], hum=hum, feature_names=names))
    )
    noise = Selection(relations={"view": ["words", "hum"], "verdict": ["shares", "noise"]})
    assert "hum" in " ".join(fitted.group_names)
    assert "hum" not in " ".join(replace(fitted, selection=noise).group_names)
    alone = inspect(SphericalKMeans(2, random_state=0).fit(Views(hum=hum, feature_names={"hum": names["hum"]})))
    assert "hum" in " ".join(replace(alone, selection=noise).group_names)  # there is no other
