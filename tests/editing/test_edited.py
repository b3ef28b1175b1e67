"""Edited models: every edit against sums, means and labels made by hand; undo, refits, files, pipelines."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from coview import (
    EditedModel,
    LinkPLSA,
    SphericalKMeans,
    TextViews,
    Views,
    edit,
    inspect,
    load,
    make_report,
    name_groups,
    save,
    set_group_names,
)
from coview.catalog import ESTIMATORS, resolve
from coview.datasets import make_topic_views
from coview.exceptions import ModelFileError, ParameterError
from coview.inspection.features import described_features, keyed_names
from coview.inspection.reading import read_groups, transform_objects
from coview.plsa.dense import GAUSSIAN

DATA = make_topic_views(n_objects=90, n_clusters=4, random_state=0)
X = DATA.views
TOPICS = LinkPLSA(5, random_state=0, max_iter=20).fit(X)
M = TOPICS.memberships_


@pytest.fixture
def model():
    return edit(TOPICS)


def answers(model, objects=X):
    return model.transform(objects), model.predict(objects), model.labels_, model.memberships_, model.numbers_


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one, other)


# -- single edits


def test_without_edits_the_model_says_what_the_one_inside_says(model):
    assert_array_equal(model.transform(X), TOPICS.transform(X))
    assert_array_equal(model.labels_, M.argmax(axis=1))
    shown, own = inspect(model), inspect(TOPICS)
    assert shown.groups == own.groups and shown.group_names == own.group_names
    for view in X.names:
        assert_array_equal(shown.features(view), own.features(view))


def test_groups_that_no_edit_changed_keep_their_names():
    words = Views(words=X["view0"], feature_names={"words": [f"w{j}" for j in range(X["view0"].shape[1])]})
    topics = LinkPLSA(5, random_state=0, max_iter=20).fit(words)
    before = inspect(topics).group_names
    merged, dropped = (inspect(edit(topics).merge([0, 3])), inspect(edit(topics).drop(2)))
    assert merged.group_names[1:] == [before[1], before[2], before[4]]
    assert merged.group_names[0] != before[0]
    assert dropped.group_names == [before[0], before[1], before[3], before[4]]


def test_memberships_of_a_merged_group_are_sums_and_its_features_are_means_by_size(model):
    model.merge([3, 1])
    assert model.numbers_ == [0, 1, 2, 4]
    assert_allclose(model.memberships_, np.column_stack([M[:, 0], M[:, 1] + M[:, 3], M[:, 2], M[:, 4]]))
    new = X.select("view1")
    whole = TOPICS.transform(new)
    assert_allclose(model.transform(new)[:, 1], whole[:, 1] + whole[:, 3])
    size = M.sum(axis=0)
    mean = (size[1] * TOPICS.topic_feature_["view0"][1] + size[3] * TOPICS.topic_feature_["view0"][3]) / size[
        [1, 3]
    ].sum()
    features = inspect(model).features("view0")
    assert_allclose(features[1], mean)
    assert_array_equal(features[[0, 2, 3]], TOPICS.topic_feature_["view0"][[0, 2, 4]])


def test_a_dropped_group_leaves_its_objects_to_the_next_best(model):
    model.drop(2)
    rest = {view: np.delete(part, 2, axis=0) for view, part in TOPICS.topic_feature_.items()}
    four = LinkPLSA(4, random_state=0, max_iter=1, init={"topic_feature": rest}).fit(X)
    four.topic_feature_ = rest
    assert_allclose(model.transform(X), four.transform(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(model.predict(X), np.array([0, 1, 3, 4])[four.transform(X).argmax(axis=1)])


def test_noise_takes_the_objects_of_its_group_and_no_others(model):
    before = model.labels_
    model.mark_noise(2)
    assert_array_equal(model.labels_, np.where(before == 2, -1, before))
    assert_array_equal(model.memberships_, np.delete(M, 2, axis=1))
    assert inspect(model).groups == ["0", "1", "3", "4"]
    assert all(part.shape == (90, 4) for part in inspect(model).memberships_by_view(X).values())
    assert_array_equal(read_groups(inspect(model), X).codes == -1, model.predict(X) == -1)
    assert (model.predict(X) == -1).any()


def test_a_split_shares_out_the_memberships_of_the_group(model):
    group = int(np.bincount(model.labels_).argmax())
    model.split(group, X, n=3)
    into = model.edits_[-1]["into"]
    assert sorted(into) == [group, 5, 6] and model.numbers_ == [0, 1, 2, 3, 4, 5, 6]
    parts = [model.numbers_.index(number) for number in into]
    assert_allclose(model.memberships_[:, parts].sum(axis=1), M[:, group])
    assert_allclose(model.transform(X).sum(axis=1), 1)
    sizes = np.bincount(model.labels_[M.argmax(axis=1) == group], minlength=7)[into]
    rows = np.flatnonzero(M.argmax(axis=1) == group)
    # the same model, fitted by hand to the objects of the group
    alone = LinkPLSA(3, random_state=0, max_iter=20).fit(X[rows])
    assert_allclose(model.memberships_[rows][:, parts], M[rows][:, [group]] * alone.transform(X[rows]))
    assert sizes[into.index(group)] == sizes.max()
    assert_array_equal(inspect(model).features("view0")[parts], alone.topic_feature_["view0"])


def test_a_name_stands_wherever_groups_are_named(model):
    model.rename(2, "steam engines")
    assert inspect(model).group_names[2] == "steam engines"
    assert "2: steam engines" in keyed_names(inspect(model))
    assert model.number_of("Steam engines") == model.number_of("2") == model.number_of(2) == 2
    assert "steam engines" in make_report(model, X).html
    assert_same(answers(model), answers(edit(TOPICS)))
    model.rename(4, "2").rename(3, "1999")  # a word that is a number does not hide the group of that number
    assert model.number_of("2") == 2 and model.number_of("1999") == 3


def test_names_that_are_found_or_set_go_into_the_log_one_by_one():
    named = LinkPLSA(4, random_state=0, max_iter=10).fit(X)
    set_group_names(named, {0: "zero", 1: "one"})
    model = edit(named)
    assert inspect(model).structure.given_names == {"0": "zero", "1": "one"}
    assert inspect(model.merge([1, 3])).structure.given_names == {"0": "zero"}  # 1 is another group now
    found = name_groups(model, X)
    assert inspect(model).structure.given_names == found and model.edits_[-1]["found"]
    set_group_names(model, {2: "two"})
    assert inspect(model).structure.given_names == {**found, "2": "two"} and model.log()[-1] == "rename 2 to 'two'"
    set_group_names(model, {0: None, 2: None})
    assert inspect(model).structure.given_names == {"1": found["1"]}
    assert model.log()[-2:] == ["take back the name of 0", "take back the name of 2"]
    assert inspect(model.rename(2, "x").rename(2, None)).structure.given_names == {"1": found["1"]}
    assert inspect(model.undo(len(model.edits_))).structure.given_names == {"0": "zero", "1": "one"}
    assert inspect(named).structure.given_names == {"0": "zero", "1": "one"}
    model.mark_noise(1)
    set_group_names(model, {2: "two", 0: "nil"})
    assert inspect(model).structure.given_names == {"0": "nil", "2": "two"} and len(model.edits_) == 3


def test_a_reduction_cuts_the_tree_of_the_groups(model):
    cut = inspect(TOPICS).hierarchy().cut(2)
    model.reduce(2)
    assert len(model.numbers_) == 2
    together = cut[:, None] == cut
    assert [[number for number in range(5) if together[first, number]] for first in model.numbers_] == [
        sorted({first, *(number for part in model.edits_[0]["groups"] if first in part for number in part)})
        for first in model.numbers_
    ]
    assert_allclose(model.memberships_.sum(axis=1), 1)
    assert edit(TOPICS).reduce(1).numbers_ == [0]


# -- what is refused


def test_a_group_that_is_none_is_refused_with_what_was_meant(model):
    model.rename(2, "steam engines").merge([0, 1])
    for group, sentence in [
        ("steem engines", "Did you mean 'steam engines'"),
        (1, "There is no group 1: it was merged into 0"),
        ("1", "There is no group 1: it was merged into 0"),
        (True, "A group must be a number or a name"),
        (7, "There is no group 7, only 0, 2, 3, 4"),
    ]:
        with pytest.raises(ParameterError, match=sentence):
            model.drop(group)
    assert len(model.edits_) == 2


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        (lambda m: m.reduce(9), "at most the number of groups, 5, got 9"),
        (lambda m: m.split(0, X[:10]), "must hold the objects of the fit to split a group"),
        (lambda m: m.apply("split", group=0), "X is needed to split"),
        (lambda m: m.merge(3), r"Groups must be a list of two or more, such as \[3, 4\], got 3"),
        (lambda m: m.merge([[0, 1], [2, 3]]), "A group must be a number or a name"),
        (lambda m: m.drop("9" * 5000), "There is no group '9"),
        (lambda m: m.split(0, X, n=1), "n must be"),
        (lambda m: m.split(0, X, n=80), "cannot be split into 80 parts"),
        (lambda m: m.undo(), "The log holds 0 edits: 1 cannot be taken back"),
        (lambda m: m.drop(0).undo(2), "holds 1 edit: 2 cannot"),
        (lambda m: m.apply("merg", groups=[0, 1]), "Did you mean 'merge'"),
        (lambda m: m.apply(3), "There is no edit 3"),
        (lambda m: m.apply("drop", group=0, name="x"), "takes 'group'"),
        (lambda m: m.apply("split", X, group=0, name="x"), "takes 'group', 'into', got"),
    ],
)
def test_a_bad_edit_is_refused(model, edits, sentence):
    with pytest.raises(ParameterError, match=sentence):
        edits(model)


def told(model, objects):
    """What a model says; of the objects of the fit only where no group is dropped."""
    said = model.transform(objects), model.predict(objects), model.numbers_
    if any(record["edit"] == "drop" for record in model.edits_):
        with pytest.raises(AttributeError, match=r"Ask predict\(X\)"):
            _ = model.labels_
        return said
    return *said, model.labels_, model.memberships_


@given(st.data())
@settings(max_examples=12, deadline=None)
def test_any_edits_keep_the_laws_and_undo_is_the_identity_to_the_bit(data):
    model, few = edit(TOPICS), X[:8]
    states = [told(model, few)]
    for _ in range(data.draw(st.integers(1, 6))):
        kind = data.draw(st.sampled_from(["merge", "drop", "noise", "rename", "reduce", "undo"]))
        numbers = model.numbers_
        if kind == "undo" and model.edits_:
            model.undo()
            states.pop()
        elif kind == "merge" and len(numbers) > 1:
            model.merge(data.draw(st.lists(st.sampled_from(numbers), min_size=2, max_size=3, unique=True)))
        elif kind in ("drop", "noise") and len(numbers) > 1:
            model.apply(kind, X, group=data.draw(st.sampled_from(numbers)))
        elif kind == "rename":
            model.rename(data.draw(st.sampled_from(numbers)), f"name {len(model.edits_)}")
        elif kind == "reduce":
            model.reduce(data.draw(st.integers(1, len(numbers))))
        else:
            continue
        if kind != "undo":
            states.append(told(model, few))
        again = edit(TOPICS)
        for record in json.loads(json.dumps(model.edits_)):
            again.apply(record, X)
        now, anew = told(model, few), told(again, few)
        assert_same(now, states[-1])
        assert_same(now, anew)
        memberships, predicted, numbers, *_ = anew
        labels = anew[3] if len(anew) > 3 else predicted
        assert memberships.shape == (len(few), len(numbers))
        assert (memberships >= 0).all() and (memberships.sum(axis=1) <= 1 + 1e-9).all()
        assert set(predicted) | set(labels) <= {*numbers, -1}
    while model.edits_:
        assert_same(told(model, few), states.pop())
        model.undo()
    assert_same(told(model, few), states[0])


def test_a_preview_says_which_objects_move_and_changes_nothing(model):
    before = model.labels_
    moves = model.preview("merge", groups=[0, 1, 2])
    assert model.edits_ == []
    after = model.merge([0, 1, 2]).labels_
    rows = np.flatnonzero(before != after)
    assert moves["row"] == rows.tolist()
    assert moves["before"] == before[rows].tolist() and moves["after"] == after[rows].tolist()
    assert sum(moves.counts["n_objects"]) == len(rows) and moves.n_objects == 90
    assert str(moves).startswith(f"merge 0, 1 and 2 into 0: {len(rows)} of 90 objects move")


# -- fitting again


def test_a_fit_with_the_same_seed_makes_the_same_edits_again():
    model = EditedModel(LinkPLSA(5, random_state=0, max_iter=20)).fit(X)
    model.merge([1, 3], name="animals").split(0, X).drop(2).mark_noise(4)
    expected, edits = told(model, X), json.dumps(model.edits_)
    assert_same(told(model.fit(X), X), expected)
    assert json.dumps(model.edits_) == edits and model.lost_edits_ == []


def test_groups_of_another_fit_are_matched_by_their_objects():
    easy = make_topic_views(n_objects=200, n_clusters=4, random_state=1)
    first = LinkPLSA(4, random_state=0).fit(easy.views)
    model = edit(first).merge([0, 2], name="both")
    before = model.predict(easy.views)
    for seed in (1, 2, 3):
        again = edit(model).set_params(estimator__random_state=seed).fit(easy.views)
        assert (again.predict(easy.views) == before).mean() > 0.95
        assert inspect(again).structure.given_names == {"0": "both"}


# -- other models


def clusters():
    dense = np.vstack([np.random.default_rng(i).normal(6 * i, 1, size=(20, 3)) for i in range(4)])
    return dense, np.repeat(np.arange(4), 20)


@pytest.mark.parametrize("name", [entry.name for entry in ESTIMATORS.values() if entry.kind != "classifier"])
def test_every_model_of_the_catalog_with_groups_takes_edits_and_makes_them_again(name):
    some, y = X[:60], DATA.target[:60]
    cls = resolve(name)
    known = cls().get_params(deep=False)
    small = {"n_clusters": 4, "n_components": 4, "max_iter": 4, "n_init": 1, "random_state": 0, "n_neighbors": 8}
    if name == "EditedModel":
        small["estimator"] = LinkPLSA(4, max_iter=4, random_state=0)
    fitted = cls(**{key: value for key, value in small.items() if key in known}).fit(some, y)
    own = inspect(fitted)
    if own.kind not in ("topic", "cluster"):
        with pytest.raises(ParameterError, match="must have topics or clusters to edit"):
            edit(fitted)
        return
    model = edit(fitted)
    assert_array_equal(model.labels_, own.training.codes)
    whole, codes = own.memberships(some), read_groups(own, some).codes
    model.merge([0, 1])
    assert_allclose(model.transform(some)[:, 0], whole[:, 0] + whole[:, 1], rtol=1e-6)
    kept = np.isin(codes, [0, 1])
    assert (model.predict(some)[kept] == 0).all()
    model.split(0, some).mark_noise(2)
    expected = model.labels_, model.predict(some)
    model.fit(some)
    assert_same((model.labels_, model.predict(some)), expected)
    assert len(model.edits_) == 3


def test_a_clusterer_of_scikit_learn_is_edited_too():
    dense, y = clusters()
    for fitted in (
        KMeans(4, n_init=3, random_state=0),
        make_pipeline(StandardScaler(), KMeans(4, n_init=3, random_state=0)),
    ):
        model = edit(fitted.fit(dense))
        codes = fitted.predict(dense)
        first, second = codes[0], codes[20]
        model.merge([first, second])
        merged = np.isin(codes, [first, second])
        assert_array_equal(model.predict(dense), np.where(merged, min(first, second), codes))
        assert_array_equal(inspect(model).predict(Views(dense)), model.predict(dense))
        center = inspect(model).features("x")[model.numbers_.index(min(first, second))]
        expected = fitted[0].transform(dense) if isinstance(fitted, Pipeline) else dense
        assert_allclose(center, expected[merged].mean(axis=0))
        model.split(min(first, second), dense)
        parts = model.predict(dense)
        assert len(set(zip(parts, y))) == 4
        assert_array_equal(model.fit_predict(dense), parts)


def test_a_pipeline_of_raw_texts_is_edited_whole(tmp_path):
    table = {
        "body": ["cat dog cat", "dog cat pet", "tax law tax", "law tax court", "sea ship sea", "ship sea port"] * 4
    }
    pipeline = make_pipeline(TextViews({"words": "body"}), LinkPLSA(3, random_state=0)).fit(table)
    model = edit(pipeline)
    names = inspect(model).group_names
    model.merge(names[:2], name="both")
    assert_allclose(model.transform(table)[:, 0], pipeline.transform(table)[:, :2].sum(axis=1))
    shown = inspect(model)
    assert isinstance(shown.preparation.front, TextViews) and shown.group_names[0] == "both"
    assert_array_equal(shown.predict(table), model.predict(table))
    assert_array_equal(transform_objects(shown, table), model.transform(table))
    save(model, tmp_path / "model.coview")
    assert_array_equal(load(tmp_path / "model.coview").predict(table), model.predict(table))
    expected = model.predict(table)
    assert_array_equal(model.fit(table).predict(table), expected)


def test_means_and_deviations_of_measurements_stay_those_of_all_objects():
    rng = np.random.default_rng(0)
    age = np.concatenate([rng.normal(20 * (1 + k), 1, size=(30, 1)) for k in range(3)])
    counts = rng.poisson(1 + 9 * np.repeat(np.eye(3), 30, axis=0))
    views = Views(words=counts, age=age, feature_names={"age": ["age"]})
    fitted = LinkPLSA(3, likelihood={"age": GAUSSIAN}, random_state=0).fit(views)
    model = edit(fitted).merge([0, 1]).split(0, views)
    described = described_features(inspect(model), "age")
    mean, spread = age.mean(), age.std()
    assert_allclose(described.deviations, (described.weights - mean) / spread, atol=1e-6)
    assert_allclose(np.sort(described.weights.ravel()), np.sort(inspect(fitted).features("age").ravel()), rtol=0.1)


# -- model files


def write(model, path):
    """Save a model that `save` would refuse, as somebody else's program could."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coview.io.models._check", lambda *_: None)
        save(model, path)


def put(name, value):
    return lambda model: setattr(model, name, value)


def alter_split(**parts):
    return lambda model: setattr(model, "splits_", [{**model.splits_[0], **parts}])


SPLIT = {"edit": "split", "group": 0, "into": [0, 5]}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (put("edits_", "merge"), "There is no edit 'm'"),
        (put("edits_", [SPLIT, {"edit": "drop", "group": 9}]), "There is no group 9"),
        (put("edits_", [SPLIT, {"edit": "drop", "group": "1"}]), "A group must have a whole number"),
        (put("edits_", [SPLIT, {"edit": "merge", "groups": (1, 2), "name": None}]), "does not go with the models"),
        (put("edits_", [SPLIT, {"edit": "rename", "group": 1, "name": "\x1b[2J"}]), "A name must be a text"),
        (put("edits_", [SPLIT, {"edit": "run", "group": 1}]), "There is no edit 'run'"),
        (put("edits_", []), "does not go with the models"),
        (put("edits_", [SPLIT, {**SPLIT, "group": 1, "into": [1, 6]}]), "does not go with the models"),
        (put("edits_", [{**SPLIT, "into": [0, 5, 6]}]), "does not go with the models"),
        (put("edits_", [{**SPLIT, "into": [0, 4]}]), "gives new ones"),
        (put("lost_edits_", "none"), "must be a list"),
        (put("inner_numbers_", np.array([0, 1, 2, 3, 3])), "does not go with the models"),
        (put("inner_numbers_", np.array([0, 1, 2, 3, 10**9])), "must have some from 0 to 999999999"),
        (put("inner_numbers_", np.arange(5.0)), "must be an array of the kinds iu"),
        (put("estimator_", LinkPLSA(5)), "is not fitted"),
        (put("splits_", []), "does not go with the models"),
        (alter_split(model=SphericalKMeans(2, random_state=0).fit(X)), "does not go with the models"),
        (alter_split(model=LinkPLSA(2, max_iter=2).fit(X.select("view0"))), "does not go with the models"),
        (alter_split(shares=np.full((89, 2), 0.5)), "does not go with the models"),
        (alter_split(shares=np.full((90, 2), 7.0)), "holds 7"),
        (alter_split(shares=None), "does not go with the models"),
    ],
)
def test_a_file_with_a_log_that_cannot_be_is_refused(model, tmp_path, change, sentence):
    model.split(0, X)
    assert model.edits_ == [SPLIT] or model.edits_ == [{**SPLIT, "into": [5, 0]}]
    change(model)
    write(model, tmp_path / "model.coview")
    with pytest.raises(ModelFileError, match=sentence):
        load(tmp_path / "model.coview")


def test_a_file_keeps_the_log_and_goes_on_from_there(model, tmp_path):
    model.merge([1, 3], name="animals").split(0, X).mark_noise(2)
    expected = [answers(model)]
    save(model, tmp_path / "model.coview")
    model = load(tmp_path / "model.coview")
    assert model.log() == ["merge 1 and 3 into 1, 'animals'", "split 0 into 0 and 5", "mark 2 as noise"]
    assert_same(answers(model), expected[0])
    assert_same(answers(model.undo(3)), answers(edit(TOPICS)))


def test_edits_of_groups_that_are_gone_are_told_of(model):
    model.merge([3, 4]).rename(2, "x").drop(1)
    model.set_params(estimator__n_components=1)
    with pytest.warns(UserWarning, match="edits could not be made again"):
        model.fit(X)
    lost = len(model.lost_edits_)
    assert lost >= 2 and lost + len(model.edits_) == 3
    assert inspect(model).groups == [str(number) for number in model.numbers_] and len(model.numbers_) == 1


def test_a_fit_on_other_views_makes_the_edits_by_number_and_says_so(model):
    model.merge([1, 3])
    with pytest.warns(UserWarning, match="edits are made again by number"):
        model.fit(X.rename({"view0": "other"}))
    assert model.log() == ["merge 1 and 3 into 1"] and model.view_names_ == ["other", "view1"]
