"""Names of clusters and topics."""

import re
from dataclasses import replace
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.pipeline import make_pipeline

from coview import (
    AutoClustering,
    GroupCard,
    LinkPLSA,
    MultiViewCCA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    SpectralClusteringViews,
    SphericalKMeans,
    TableViews,
    Views,
    inspect,
    load,
    make_report,
    name_groups,
    save,
    set_group_names,
)
from coview.inspection.features import group_names
from coview.inspection.names import characteristic_names, choose_words, log_odds
from coview.inspection.phrases import _RUN, count_phrases
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


def test_clusters_of_one_measurement_are_named_by_what_tells_them_apart():
    price = np.repeat(np.arange(6) * 4.0, 20)[:, None] + np.tile([-0.1, 0.1], 60)[:, None]
    model = AutoClustering(6, random_state=0).fit(Views(shop=price, feature_names={"shop": ["price"]}))
    assert sorted(inspect(model).group_names) == ["price 0", "price 12", "price 16", "price 20", "price 4", "price 8"]


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
    X = Views(words=sparse.csr_array(words), options=options, present=present, feature_names=names)
    named = inspect(model.fit(X)).group_names
    assert sorted(set(name.split(", ")) <= {"photo", "camera"} for name in named) == [False, True]
    assert sorted(set(name.split(", ")) <= {"mail", "inbox"} for name in named) == [False, True]


def test_rare_features_name_a_group_that_has_no_others():
    names = {"words": ["cat", "dog", "eel"]}
    weights = np.array([[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]])
    shares = {"words": np.array([[0.05, 0.5, 0.0], [0.0, 0.5, 0.4]])}
    assert characteristic_names({"words": weights}, names, ["0", "1"], frequencies=shares) == ["cat", "eel"]


# -- Names that stay with a model

TABLE = {
    "key": [f"p{i}" for i in range(20)],
    "body": ["the space shuttle in orbit", "a space shuttle and its crew"] * 5
    + ["the ice hockey team", "ice hockey"] * 5,
    "tags": ["nasa"] * 10 + ["nhl"] * 10,
}


@pytest.fixture
def model():
    front = TableViews({"words": "body"}, tokens={"tags": "tags"}, id="key", stop_words="english")
    return make_pipeline(front, LinkPLSA(2, random_state=0)).fit(TABLE)


def code_of(model, word):
    return next(k for k, name in enumerate(inspect(model).group_names) if word in name)


def test_offline_names_are_phrases_and_words_of_all_views(model):
    names = set(name_groups(model, TABLE).values())
    assert {frozenset(name.split(", ")) for name in names} == {
        frozenset({"space shuttle", "nasa", "crew"}),
        frozenset({"ice hockey", "nhl", "team"}),
    }


def test_a_function_is_given_what_all_views_say(model):
    cards = []

    def namer(card):
        cards.append(card)
        return f"name {card.key}"

    assert name_groups(model, TABLE, namer) == {"0": "name 0", "1": "name 1"}
    card = cards[code_of(model, "name 0")]
    assert isinstance(card, GroupCard)
    assert card.kind == "topic" and card.size == 10 and set(card.features) == {"words", "tags"}
    assert len(card.objects) == len(card.texts) == 3
    for key, text in zip(card.objects, card.texts):
        row = TABLE["key"].index(key)
        assert text == {"words": TABLE["body"][row], "tags": TABLE["tags"][row]}
    assert cards[1].siblings == {"0": "name 0"}
    prompt = card.prompt()
    assert all(
        part in prompt for part in (card.phrases[0], card.texts[0]["words"], "nasa" if "nasa" in prompt else "nhl")
    )


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("  Space\tflight \n", "Space flight"),
        ('"Space flight."', "Space flight"),
        ("\x1b[31mSpace\u202e flight", "[31mSpace flight"),
        ("\n\n**Space flight**\nbecause of the words", "Space flight"),
        ("word " * 50, " ".join(["word"] * 16) + "..."),
    ],
)
def test_what_a_function_returns_is_cleaned(model, answer, name):
    names = name_groups(model, TABLE, lambda card: answer if card.key == "0" else "other")
    assert names["0"] == name


def test_names_by_hand_are_kept_and_found_ones_are_found_anew(model, tmp_path):
    found = name_groups(model, TABLE)
    set_group_names(model, {1: "Mine"})
    save(model, tmp_path / "m")
    for one in (model, load(tmp_path / "m")):
        asked = []
        names = name_groups(one, TABLE, lambda card: asked.append(card.key) or "New")  # noqa: B023
        assert names == {"0": "New", "1": "Mine"} and asked == ["0"]
        assert dict(zip(("0", "1"), inspect(one).group_names)) == names
        assert name_groups(one, TABLE) == {"0": found["0"], "1": "Mine"}
        assert name_groups(one, TABLE, lambda card: "Mine")["0"] == "Mine (0)"
        assert name_groups(one, TABLE, overwrite=True) == found
        assert name_groups(one, TABLE, lambda card: f"n{card.key}") == {"0": "n0", "1": "n1"}


def test_names_of_seeds_are_kept():
    model = make_pipeline(TableViews({"words": "body"}), LinkPLSA(2, seeds={"Ice": ["hockey"]}, random_state=0))
    model.fit(TABLE)
    key = next(iter(inspect(model).structure.given_names))
    assert name_groups(model, TABLE)[key] == "Ice"
    assert name_groups(model, TABLE, overwrite=True)[key] != "Ice"


@pytest.mark.parametrize("bad", [lambda: 1 / 0, lambda: None, lambda: 7])
def test_a_group_for_which_a_function_fails_keeps_its_offline_name(model, bad):
    offline = name_groups(model, TABLE)
    with pytest.warns(UserWarning, match=r"failed for 1 of 2 topics .topic 1: .*keep the names found offline"):
        names = name_groups(model, TABLE, lambda card: "Fine" if card.key == "0" else bad())
    assert names == {"0": "Fine", "1": offline["1"]}


def test_names_are_saved_shown_in_reports_and_forgotten_by_a_new_fit(model, tmp_path):
    set_group_names(model, {0: "Rockets"})
    save(model, tmp_path / "m.coview")
    again = load(tmp_path / "m.coview")
    assert inspect(again).group_names[0] == "Rockets"
    assert make_report(again, TABLE).summary["group_names"]["0"] == "Rockets"
    model.fit(TABLE)
    assert inspect(model).structure.given_names == {}


def test_a_name_by_hand_can_be_taken_back_and_no_other_group_has_it(model):
    word = inspect(model).group_names[1]
    set_group_names(model, {0: word})
    assert inspect(model).group_names == [word, f"{word} (1)"]
    assert set_group_names(model, {"0": None}) == {}
    assert inspect(model).group_names[1] == word


# -- Phrases of texts, and the words and phrases that tell groups apart


def test_log_odds_are_those_of_the_formula_one_feature_at_a_time():
    rng = np.random.default_rng(0)
    sizes = np.array([20, 35, 50])
    counts = rng.binomial(sizes[:, None], rng.uniform(0.1, 0.9, (3, 6)))
    z = log_odds(counts, sizes)
    for g in range(3):
        for j in range(6):
            y, n, a, total = counts[g, j], sizes[g], counts[:, j].sum(), sizes.sum()
            rest, others = a - y, total - n
            inside = log((y + a) / (n + total - y - a))
            outside = log((rest + a) / (others + total - rest - a))
            assert z[g, j] == pytest.approx((inside - outside) / sqrt(1 / (y + a) + 1 / (rest + a)))


def test_phrases_have_no_function_word_at_their_ends_and_cross_no_punctuation():
    texts = ["The state of the art is here. Red foxes"] * 3
    _, names = count_phrases(texts)
    assert names == ["red foxes"]  # "state of the art" is longer than three words
    _, names = count_phrases(["a point of view, north pole"] * 3)
    assert names == ["north pole", "point of view"]


def test_runs_of_words_are_those_that_have_two():
    pieces = ["a", "fox", "3d", "x-", "'s", " ", "  ", ".", "_u", "é"]
    two = re.compile(r"[^\W\d_][\w'’-]*(?: +[^\W\d_][\w'’-]*)+")
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = "".join(rng.choice(pieces, 12))
        assert [run for run in _RUN.findall(text) if " " in run] == two.findall(text)


def test_a_phrase_takes_the_place_of_its_words_and_of_no_others():
    words = {"space": 3.0, "shuttle": 3.0, "launch": 3.0}
    phrases = {"space shuttle": 3.0, "shuttle launch": 3.0, "ice hockey": 9.0}
    assert choose_words(words, 3, phrases) == ["shuttle launch", "space"]
    assert choose_words(words, 3, {"space shuttle": 1.0}) == ["launch", "shuttle", "space"]  # worth too little
