"""Updates: prior counts by hand, numbers, names and edits that stay, and events in simulated streams."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from coview import (
    PLSA,
    CoPLSA,
    DualPLSA,
    EditedModel,
    LinkPLSA,
    MultiViewPLSA,
    TextViews,
    Views,
    edit,
    inspect,
    load,
    make_report,
    save,
    set_group_names,
    update,
)
from coview.cli.app import make_commands
from coview.exceptions import ParameterError

WIDTHS, LENGTHS = {"words": 200, "tags": 50}, {"words": 40, "tags": 6}


def topics(rng, n=5):
    return {name: rng.dirichlet(np.full(width, 0.1), n) for name, width in WIDTHS.items()}


def draw(rng, mixtures, F):
    """Rows of topics; those after the first 40 may lack the tags."""
    counts = {}
    for name, topic in F.items():
        lengths = 1 + rng.poisson(LENGTHS[name], len(mixtures))
        counts[name] = np.array([rng.multinomial(n, p) for n, p in zip(lengths, mixtures @ topic)], dtype=float)
    return Views(counts)


def old_and_new(seed=0, n=400):
    rng = np.random.default_rng(seed)
    F = topics(rng)
    old = draw(rng, rng.dirichlet(np.full(5, 0.2), 900), F)
    return rng, F, old, rng.dirichlet(np.full(5, 0.2), n)


def fit(old):
    return LinkPLSA(5, n_init=3, max_iter=60, random_state=0).fit(old)


def matched(model, F):
    """For each true topic the number of the one of the model."""
    return np.argmax(F["words"] @ model.topic_feature_["words"].T, axis=1)


def test_old_topics_are_prior_counts():
    X = np.random.default_rng(0).poisson(1.0, (60, 12)).astype(float)
    model = PLSA(2, random_state=0, algorithm="published", max_iter=20).fit(X[:30])
    found = update(model, X[30:], strength=7).model
    F, new = model.topic_feature_["x"].T, X[30:]
    prior = 7 * model.memberships_.mean(axis=0) * new.sum() / len(new) * F
    theta = model.transform(new)
    for _ in range(30):
        ratio = new / (theta @ F.T)
        counts = prior + F * (ratio.T @ theta)
        theta = theta * (ratio @ F)
        theta, F = theta / theta.sum(axis=1, keepdims=True), counts / counts.sum(axis=0)
    assert_allclose(found.topic_feature_["x"].T, F, atol=1e-6)
    assert_allclose(found.memberships_[30:], theta, atol=1e-5)
    assert_allclose(found.memberships_[:30], model.memberships_)


@pytest.mark.parametrize(
    "model", [PLSA(5), PLSA(5, background=0.3), DualPLSA(5, 8), MultiViewPLSA(5, 8), LinkPLSA(5)], ids=repr
)
def test_topics_that_count_much_stay_as_they_are(model):
    rng, F, old, theta = old_and_new()
    model = model.set_params(max_iter=20, random_state=0).fit(old)
    new = draw(rng, theta, F)
    found = update(model, new, strength=1e9, reference=old)
    for before, after in zip(inspect(model)._profiles().values(), inspect(found.model)._profiles().values()):
        assert_allclose(after[:, :5], before, atol=1e-5)
    assert len(found.model.memberships_) == 1300
    assert_allclose(found.model.transform(new.select("tags")).sum(axis=1), 1, atol=1e-6)


def test_a_stream_that_does_not_change_keeps_its_topics():
    events = []
    for seed in range(8):
        rng, F, old, theta = old_and_new(seed)
        events += update(fit(old), draw(rng, theta, F), random_state=seed)["event"]
    assert set(events) <= {"kept", "drifted"} and events.count("drifted") <= 1


@pytest.mark.parametrize("seed", range(4))
def test_a_topic_of_two_percent_is_born(seed):
    rng, F, old, theta = old_and_new(seed, 600)
    planted, theta = topics(rng, 1), np.column_stack([theta, np.zeros(600)])
    theta[:12] = 0.15 * theta[:12] + 0.85 * np.eye(6)[5]
    new = draw(rng, theta, {name: np.vstack([F[name], planted[name]]) for name in F})
    found = update(fit(old), new, random_state=seed)
    assert found["event"].count("born") == 1 and found["event"][5] == "born"
    assert (found.model.memberships_[900:, 5] > 0.5).nonzero()[0].tolist() == list(range(12))
    assert np.isnan(found["before"][5]) and found["now"][5] == pytest.approx(0.02, abs=0.01)
    reference = update(fit(old), new, reference=new)
    assert "born" not in reference["event"]


def test_a_topic_that_is_no_longer_there_has_died():
    rng, F, old, theta = old_and_new()
    model = fit(old)
    theta[:, 2] = 0
    found = update(model, draw(rng, theta / theta.sum(axis=1, keepdims=True), F))
    gone = matched(model, F)[2]
    assert [g for g, event in enumerate(found["event"]) if event == "died"] == [gone]


def test_a_topic_of_other_words_has_drifted():
    rng, F, old, theta = old_and_new(1)
    model = fit(old)
    moved = {name: part.copy() for name, part in F.items()}
    moved["words"][1] = 0.7 * F["words"][1] + 0.3 * rng.dirichlet(np.full(200, 0.1))
    found = update(model, draw(rng, theta, moved))
    at = matched(model, F)[1]
    assert found["event"][at] == "drifted" and found["distance"][at] == max(found["distance"])


def test_a_topic_of_two_subjects_is_split_and_two_that_come_together_are_merged():
    rng, F, old, theta = old_and_new()
    more = topics(rng, 2)
    both = {name: np.vstack([F[name][:4], 0.5 * (part[0] + part[1])]) for name, part in more.items()}
    apart = {name: np.vstack([F[name][:4], part]) for name, part in more.items()}
    model = fit(draw(rng, rng.dirichlet(np.full(5, 0.2), 900), both))
    side = rng.random(400) < 0.5
    new = draw(rng, np.column_stack([theta[:, :4], theta[:, 4] * side, theta[:, 4] * ~side]), apart)
    found = update(model, new)
    assert (
        found["event"].count("split") == 2 and found["event"][-1] == found["event"][matched(model, both)[4]] == "split"
    )
    pair, model = theta.copy(), fit(old)
    pair[:, [0, 1]] = pair[:, [0, 1]].mean(axis=1, keepdims=True)
    found = update(model, draw(rng, pair, F))
    assert {g for g, event in enumerate(found["event"]) if event == "merged"} == set(matched(model, F)[:2])


def test_numbers_names_and_edits_stay(tmp_path):
    rng, F, old, theta = old_and_new()
    planted, theta = topics(rng, 1), np.column_stack([theta, np.zeros(400)])
    theta[:20, 5], theta[:20, :5] = 1, 0
    new = draw(rng, theta, {name: np.vstack([F[name], planted[name]]) for name in F})
    model = edit(fit(old)).merge([1, 3], name="both").rename(2, "two").split(4, old)
    numbers = model.numbers_
    found = update(model, new)
    after = found.model
    assert isinstance(after, EditedModel) and model.numbers_ == numbers
    assert after.numbers_ == [*numbers, max(numbers) + 1] and after.log() == model.log()
    names = dict(zip(inspect(after).groups, inspect(after).group_names))
    assert (names["1"], names["2"]) == ("both", "two")
    assert found["group"] == [str(number) for number in after.numbers_] and len(found.model.estimator_.updates_) == 1
    assert len(after.labels_) == 1300 and (after.labels_[900:920] == after.numbers_[-1]).all()
    save(after, tmp_path / "m.coview")
    assert_allclose(load(tmp_path / "m.coview").transform(new), after.transform(new))
    assert inspect(load(tmp_path / "m.coview")).structure.updates == inspect(after).structure.updates
    assert f"<b>{after.numbers_[-1]} born</b>" in make_report(after, new, held_out=False).html
    assert after.undo(3).numbers_ == [0, 1, 2, 3, 4, max(numbers) + 1]


def test_a_pipeline_of_texts_is_updated_from_files(tmp_path):
    rng = np.random.default_rng(0)
    subjects = [["red", "fox", "den", "hen"], ["sea", "ship", "sail", "salt"], ["snow", "ice", "ski", "cold"]]
    rows = [" ".join(rng.choice(subjects[i % 3 if i > 200 else i % 2], 12)) for i in range(400)]
    pipeline = make_pipeline(TextViews(), LinkPLSA(2, random_state=0))
    pipeline.fit({"text": rows[:200] + [" ".join(word for subject in subjects for word in subject)] * 3})
    set_group_names(pipeline, {0: "first"})
    save(pipeline, tmp_path / "m.coview")
    (tmp_path / "new.csv").write_text("text\nyak yak\n" + "\n".join(rows[200:]), encoding="utf-8")
    words = ["update", str(tmp_path / "m.coview"), str(tmp_path / "new.csv"), "-o", str(tmp_path / "n.coview")]
    ran = CliRunner().invoke(make_commands(["update"]), [*words, "--json"])
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout, parse_constant=pytest.fail)  # NaN is no JSON
    assert told["event"][2] == "born" and told["before"][2] is None
    again = inspect(load(tmp_path / "n.coview"))
    assert again.group_names[0] == "first" and len(again.groups) == 3
    assert again.memberships({"text": ["snow and ice"]})[0, 2] > 0.9
    shown = CliRunner().invoke(make_commands(["update"]), words[:3])
    assert "200 new objects" in shown.stdout and "Nothing was written" in shown.stdout
    assert "0.1% of the words are unknown to the model and left out: 'yak' (2)." in shown.stdout


def test_evidence_names_the_topics_of_an_edited_model_as_the_table_does():
    rng, F, old, theta = old_and_new()
    more = topics(rng, 2)
    both = {name: np.vstack([F[name][:4], 0.5 * (part[0] + part[1])]) for name, part in more.items()}
    apart = {name: np.vstack([F[name][:4], part]) for name, part in more.items()}
    model = fit(draw(rng, rng.dirichlet(np.full(5, 0.2), 900), both))
    held = matched(model, both)[4]
    other = matched(model, both)[0]
    edited = edit(model).split(int(other), old)  # takes the next numbers
    side = rng.random(400) < 0.5
    new = draw(rng, np.column_stack([theta[:, :4], theta[:, 4] * side, theta[:, 4] * ~side]), apart)
    found = update(edited, new)
    evidence, born = dict(zip(found["group"], found["evidence"])), found["group"][-1]
    assert int(born) > 5 and evidence[born].startswith(f"part of {held}; ")
    assert evidence[str(held)] == f"its objects make two topics, one is {born}"
    told = {event["group"]: event["evidence"] for event in inspect(found.model).structure.updates[0]["events"]}
    assert told[str(held)] == evidence[str(held)]


def test_one_topic_alone_merges_with_none(recwarn, monkeypatch):
    X = np.random.default_rng(0).poisson(1.0, (40, 6)).astype(float)
    found = update(PLSA(1, max_iter=2).fit(X[:20]), X[20:])
    assert found["event"][0] in ("kept", "drifted") and not recwarn.list
    assert str(found).split()[-4:] == found["evidence"][0].split()[-4:]  # goes on in the next line
    monkeypatch.setenv("COLUMNS", "180")
    assert found["evidence"][0] in str(found)  # whole where the line is wide


def test_objects_that_the_model_knows_already_are_counted_in_a_warning():
    X = np.random.default_rng(0).poisson(1.0, (40, 6)) + 1.0
    views = Views({"x": X}, ids=[f"d{i}" for i in range(40)])
    model = PLSA(2, max_iter=2, random_state=0).fit(views[:25])
    with pytest.warns(UserWarning, match="5 of 20 new objects"):
        update(model, views[20:])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda X: KMeans(2, n_init=1).fit(X), "must be PLSA, LinkPLSA"),
        (lambda X: CoPLSA(2, max_iter=2).fit(Views(a=X, b=X)), "got CoPLSA"),
        (lambda X: LinkPLSA(2, max_iter=2, likelihood="gaussian").fit(X), "as vectors"),
    ],
)
def test_models_that_cannot_be_updated_are_refused(make, says):
    X = np.random.default_rng(0).poisson(1.0, (30, 5)).astype(float)
    with pytest.raises(ParameterError, match=says):
        update(make(X), X)
    with pytest.raises(ParameterError, match="10 objects or more"):
        update(PLSA(2, max_iter=2).fit(X), X[:5])


def test_what_was_split_or_dropped_by_hand_is_not_found_again():
    rng = np.random.default_rng(0)
    F = topics(rng, 6)
    old, new = (draw(rng, rng.dirichlet(np.full(6, 0.1), n), F) for n in (600, 400))
    model = LinkPLSA(5, max_iter=60, random_state=0).fit(old)
    found = update(model, new)
    whole, part = (key for key, event in zip(found["group"], found["event"]) if event == "split")
    assert found["evidence"][int(part)].startswith(f"part of {whole}; ") and "Without a reference" in found.title
    edited = edit(model).split(int(whole), old)
    apart = update(edited, new)
    assert set(apart["event"]) <= {"kept", "drifted"}
    found = update(edited.drop(0).merge([1, 2]), new)
    assert found["group"] == ["1", "3", "4", "5"] and "born" not in found["event"]
    assert_allclose(found["now"][0], sum(apart["now"][1:3]))
    hole = Views({name: old[name] * (np.arange(600) != 3)[:, None] for name in old.names})  # row 3 is left out
    for same in (old[:300], old[-300:], hole):
        with pytest.raises(ParameterError, match="must hold new objects"):
            update(model, same)
    with pytest.raises(ParameterError, match="X must have all views of the model, and lacks 'tags'"):
        update(model, new.select("words"))
    both = Views({name: np.vstack([old[name], new[name]]) for name in old.names})
    with pytest.warns(UserWarning, match="600 of 1,000 new objects are known"):
        update(model, both)
