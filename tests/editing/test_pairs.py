"""Objects that belong together or apart: pairs hold exactly, little else moves, and a refit makes them again."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from coview import AutoClustering, EditedModel, MultiViewPLSA, Views, edit, inspect, load, save
from coview.assignment.pairs import find_disputed, weigh_votes
from coview.cli.app import make_commands
from coview.datasets import make_topic_views
from coview.editing.pairs import place_objects
from coview.exceptions import ParameterError
from coview.metrics import normalized_mutual_info
from coview.model_selection.copies import copy_to_fit

DATA = make_topic_views(n_objects=90, n_clusters=3, random_state=0)
IDS = [f"d{row}" for row in range(90)]
X = Views(dict(DATA.views.items()), ids=IDS)
MODELS = [AutoClustering(3, random_state=0), MultiViewPLSA(3, 6, max_iter=30, random_state=0)]


def pick(model):
    """Two objects of one cluster, and one each of two others."""
    labels = model.labels_
    a, b = np.flatnonzero(labels == 0)[:2]
    return a, b, np.flatnonzero(labels == 1)[0], np.flatnonzero(labels == 2)[0]


def test_places_are_the_best_of_all_that_hold():
    rng = np.random.default_rng(0)
    for _ in range(30):
        values = rng.random((6, 3))
        sides = [rng.choice(6, 2, replace=False).tolist() for _ in range(4)]
        records = [{"edit": kind, "objects": pair} for kind, pair in zip(("together", *["apart"] * 3), sides)]

        def holds(places, records=records):
            return all(
                (places[one] == places[other]) == (record["edit"] == "together")
                for record in records
                for one, other in [record["objects"]]
            )

        allowed = [places for places in product(range(3), repeat=6) if holds(places)]
        if not allowed:
            with pytest.raises(ParameterError, match="too few groups"):
                place_objects(records, {i: i for i in range(6)}, values)
            continue
        named = sorted({each for pair in sides for each in pair})
        best = max(allowed, key=lambda places: sum(values[i, places[i]] for i in named))
        assert place_objects(records, {i: i for i in range(6)}, values) == {i: best[i] for i in named}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_pairs_hold_and_nothing_else_moves(model, tmp_path):
    model = model.fit(X)
    a, b, c, d = pick(model)
    names = np.array(IDS)[[a, b, c, d]].tolist()
    moves = edit(model).preview("together", objects=[names[0], names[2]])
    assert len(moves["id"]) == 1 and moves["id"][0] in (names[0], names[2])
    edited = edit(model).apart(names[:2]).together([names[0], names[2]]).together([names[2], names[3]])
    labels = edited.labels_
    assert labels[a] == labels[c] == labels[d] != labels[b]
    assert (labels != model.labels_).sum() == 2
    assert edited.log()[0] == f"keep {names[0]}, {names[1]} apart"
    assert_array_equal(edited.predict(X), labels)
    assert_array_equal(edited.predict(X[[d, b, a]]), labels[[d, b, a]])  # by their ids
    assert_array_equal(inspect(edited).training.codes, labels)
    assert_array_equal(edited.memberships_.sum(axis=1), model.memberships_.sum(axis=1))
    assert edited.memberships_[a].argmax() == edited.memberships_[c].argmax() == labels[a]
    save(edited, tmp_path / "m.coview")
    assert_array_equal(load(tmp_path / "m.coview").labels_, labels)
    again = EditedModel(model)
    again.__dict__.update(vars(edited))
    order = np.random.default_rng(0).permutation(90)
    again = again.fit(X[order])  # rows in another order are found by their ids
    found = dict(zip(np.array(IDS)[order].tolist(), again.labels_.tolist()))
    assert found[names[0]] == found[names[2]] == found[names[3]] != found[names[1]] and not again.lost_edits_
    with pytest.warns(UserWarning, match="1 of 3 edits could not be made again"):
        again.fit(X[np.flatnonzero(np.arange(90) != b)])
    assert_array_equal(edited.undo(3).labels_, model.labels_)


def test_objects_without_ids_are_named_by_their_rows():
    model = MODELS[1].fit(DATA.views)
    a, b, _, _ = pick(model)
    edited = edit(model).apart([a, b])
    assert edited.labels_[a] != edited.labels_[b]
    assert_array_equal(edited.predict(DATA.views), model.predict(DATA.views))  # nobody knows whose rows
    assert np.ptp(copy_to_fit(edited).fit(DATA.views).labels_[[a, b]])  # these are those of the fit, one by one
    for others in (DATA.views[20:80], DATA.views[::-1]):
        with pytest.warns(UserWarning, match="groups or objects are not in this fit"):
            assert copy_to_fit(edited).fit(others).edits_ == []


def test_pairs_hold_in_noise_and_after_a_drop_or_are_refused(tmp_path):
    model = MODELS[0].fit(X)
    _, a, b, _ = pick(model)
    c, e = np.flatnonzero(model.memberships_[:, 2] == 1)[:2]
    del model.disputed_pairs_
    save(model, tmp_path / "old.coview")  # as before there were any
    kept = edit(load(tmp_path / "old.coview")).mark_noise(0).mark_noise(1).apart([f"d{a}", f"d{b}"])
    assert np.ptp(kept.labels_[[a, b]])
    edited = edit(model).drop(2)
    with pytest.raises(ParameterError, match="without the groups that were dropped is not known"):
        edited.together([f"d{c}", f"d{e}"])
    assert_array_equal(edited.together([f"d{c}", f"d{b}"]).predict(X)[[b, c]], 1)


def test_what_cannot_hold_is_refused_by_the_names_of_two_objects():
    edited = edit(MODELS[1].fit(X)).together(["d0", "d1"]).together(["d1", "d2"])
    with pytest.raises(ParameterError, match="'d0' and 'd2' cannot be apart"):
        edited.apart(["d0", "d2"])
    with pytest.raises(ParameterError, match=r"'d0' and 'd3' cannot be apart: other pairs"):
        edited.apart(["d0", "d3", "d4", "d5"])
    with pytest.raises(ParameterError, match="no object 'x'"):
        edited.together(["d0", "x"])
    with pytest.raises(ParameterError, match="two ids or rows"):
        edited.together(["d0", "d0"])
    edited = edit(MODELS[1]).apart(["d0", "d3"])
    with pytest.raises(ParameterError, match="or too few groups"):
        edited.merge(edited.numbers_)
    assert len(edited.edits_) == 1


def test_the_command_takes_pairs_and_a_table_of_them(tmp_path):
    model = MODELS[1].fit(X)
    a, b, c, d = pick(model)
    save(model, tmp_path / "m.coview")
    (tmp_path / "pairs.csv").write_text(f"one,other,kind\nd{a},d{b},apart\nd{c},d{d},together\n", encoding="utf-8")
    words = ["edit", str(tmp_path / "m.coview"), "--together", f"d{a},d{c}", "--pairs", str(tmp_path / "pairs.csv")]
    ran = CliRunner().invoke(make_commands(["edit"]), [*words, "-o", str(tmp_path / "n.coview")])
    assert ran.exit_code == 0 and f"keep d{a}, d{b} apart" in ran.output
    labels = load(tmp_path / "n.coview").labels_
    assert labels[a] == labels[c] == labels[d] != labels[b]
    (tmp_path / "pairs.csv").write_text("one,other,kind\nd0,d1,near\n", encoding="utf-8")
    ran = CliRunner().invoke(make_commands(["edit"]), words)
    assert ran.exit_code and "'together' or 'apart'" in str(ran.exception) + ran.output


def test_a_refit_of_auto_clustering_believes_the_view_that_agrees_with_the_pairs():
    rng = np.random.default_rng(0)
    ours, others = rng.integers(0, 3, (2, 240))
    centers = 6 * np.eye(3)
    vectors = {name: centers[codes] + rng.normal(size=(240, 3)) for name, codes in (("a", ours), ("b", others))}
    views = Views({**vectors, "c": centers[others] + rng.normal(size=(240, 3))}, ids=[f"d{i}" for i in range(240)])
    model = EditedModel(AutoClustering(3, random_state=0)).fit(views)
    pairs = model.estimator_.disputed_pairs_
    assert len(pairs) == 50 and len(np.unique(pairs)) == 100
    before = normalized_mutual_info(ours, model.labels_)
    for pair in pairs[:10]:
        objects = views.ids[pair]
        model = model.together(objects) if len(set(ours[pair])) == 1 else model.apart(objects)
    after = model.fit(views)
    assert normalized_mutual_info(ours, after.labels_) > before + 0.1
    assert not hasattr(after.estimator_, "_pairs") or not after.estimator_._pairs  # said of one fit


def test_votes_that_agree_no_better_than_guesses_or_are_not_known_count_alike():
    rng = np.random.default_rng(0)
    votes, pairs = rng.integers(0, 3, (60, 20)), rng.permutation(60)[:20].reshape(10, 2)
    assert_array_equal(weigh_votes(votes, pairs, np.arange(10) < 5), votes)
    votes[:, 0] = np.arange(60)
    votes[pairs[:5, 0], 0] = votes[pairs[:5, 1], 0]
    votes[:, 1:5] = votes[:, [0]]
    weighed = weigh_votes(votes, pairs, np.arange(10) < 5)
    assert (weighed == votes[:, [0]]).all(axis=0).sum() > 3 * 5
    known = weigh_votes(np.array([[-1, 0, 0], [-1, 0, 1]] * 20), np.arange(40).reshape(20, 2), np.ones(20, dtype=bool))
    assert (known[1] == -1).sum() < (known[1] == 0).sum()
    votes = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 1], [-1, -1, -1], [-1, -1, -1]])
    assert [max(pair) for pair in find_disputed(votes, 0)] == [2]  # all else is agreed, or not known
