"""The groups of numbers: what each edit makes of them, and what is refused."""

import datetime
import pickle

import numpy as np
import pytest

from coview import (
    PLSA,
    AutoClustering,
    EditedModel,
    LinkPLSA,
    MultiViewNaiveBayes,
    SphericalKMeans,
    Views,
    edit,
    inspect,
    load,
    make_report,
    save,
)
from coview.datasets import make_topic_views
from coview.editing.log import EditedGroups, describe_record
from coview.exceptions import ParameterError
from coview.web.service import Service


def test_each_edit_does_what_it_says_to_the_numbers():
    records = [
        {"edit": "merge", "groups": [5, 1, 3], "name": None},
        {"edit": "split", "group": 1, "into": [6, 1, 7]},
        {"edit": "drop", "group": 0},
        {"edit": "noise", "group": 2},
        {"edit": "rename", "group": 4, "name": "boats"},
        {"edit": "reduce", "n": 2, "groups": [[4, 6, 7]]},
    ]
    groups = EditedGroups(range(6), records)
    assert list(groups.columns) == [1, 2, 4] and groups.shown == [1, 4] and groups.names == {4: "boats"}
    gone = {0: "dropped", 3: "merged into 1", 5: "merged into 1", 6: "merged into 4", 7: "merged into 4"}
    assert groups.gone == gone and groups.noise == {2}
    assert groups.next_number == 8


def test_names_that_were_found_are_those_of_groups_as_they_are():
    found = [{"edit": "rename", "group": n, "name": name, "found": True} for n, name in enumerate("abcd")]
    changes = [{"edit": "merge", "groups": [0, 1], "name": None}, {"edit": "rename", "group": 2, "name": "e"}]
    assert EditedGroups(range(5), [*found, *changes]).names == {2: "e", 3: "d"}
    split = {"edit": "split", "group": 3, "into": [3, 5]}
    assert EditedGroups(range(5), [*found, split]).names == {0: "a", 1: "b", 2: "c"}
    by_hand = {"edit": "rename", "group": 1, "name": "x"}
    assert EditedGroups(range(5), [*found, by_hand]).by_hand == {1}
    assert EditedGroups(range(5), [by_hand, *found]).by_hand == set()


def test_the_last_group_stays():
    one_left = [{"edit": "merge", "groups": [0, 1, 2], "name": None}]
    for record in ({"edit": "drop", "group": 0}, {"edit": "noise", "group": 0}):
        with pytest.raises(ParameterError, match="Group 0 is the last one"):
            EditedGroups(range(3), [*one_left, record])


def test_a_group_whose_parts_are_all_dropped_is_dropped():
    split = {"edit": "split", "group": 1, "into": [1, 3]}
    one = EditedGroups(range(3), [split, {"edit": "drop", "group": 3}])
    assert one.columns == {0: [(0, 0)], 1: [(1, 0)], 2: [(0, 2)]} and one.dropped == [set(), {1}]
    both = EditedGroups(range(3), [split, {"edit": "drop", "group": 3}, {"edit": "drop", "group": 1}])
    assert both.columns == {0: [(0, 0)], 2: [(0, 2)]} and both.dropped[0] == {1}


def test_a_record_in_words():
    words = [
        ({"edit": "merge", "groups": [7, 3, 5], "name": None}, "merge 3, 5 and 7 into 3"),
        ({"edit": "split", "group": 4, "into": [10, 4]}, "split 4 into 4 and 10"),
        ({"edit": "reduce", "n": 3, "groups": [[9, 1], [2, 4]]}, "reduce to 3: 1 and 9 into 1, 2 and 4 into 2"),
        ({"edit": "reduce", "n": 3, "groups": []}, "reduce to 3"),
        ({"edit": "noise", "group": 1}, "mark 1 as noise"),
        ({"edit": "drop", "group": 1}, "drop 1"),
        ({"edit": "rename", "group": 1, "name": None, "found": False}, "take back the name of 1"),
    ]
    for record, sentence in words:
        assert describe_record(record) == sentence


# -- Objects of a fit by their ids, without the objects: kept by models of topics and clusters, and no others

DATA = make_topic_views(n_objects=60, n_clusters=3, random_state=0)
IDS = [f"p{i}" for i in range(60)]
X = Views(dict(DATA.views.items()), ids=IDS)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinkPLSA(3, random_state=0),
        lambda: SphericalKMeans(3, random_state=0),
        lambda: EditedModel(LinkPLSA(3, random_state=0)),
    ],
)
def test_a_model_names_the_objects_of_its_fit(make, tmp_path):
    model = make().fit(X)
    save(model, tmp_path / "m.coview")
    for each in (model, load(tmp_path / "m.coview")):
        assert inspect(each).training.ids.tolist() == IDS
        moves = edit(each).preview("merge", groups=[0, 2])
        assert moves["id"] == [IDS[row] for row in moves["row"]] and moves["id"]
        assert edit(each).merge([0, 2]).fit(X[:40]).preview("noise", group=1)["id"][0] in IDS[:40]
    assert inspect(make().fit(DATA.views)).training.ids is None
    assert inspect(make().fit(X).fit(DATA.views)).training.ids is None  # those of the last fit


@pytest.mark.parametrize(
    "model", [PLSA(3, random_state=0), LinkPLSA(3, random_state=0, max_iter=10)], ids=lambda model: type(model).__name__
)
def test_a_model_that_learns_from_batches_names_the_objects_of_the_last(model):
    model.partial_fit(X[:30]).partial_fit(X[30:])  # as many in both
    assert inspect(model).training.ids.tolist() == IDS[30:]
    assert inspect(model.partial_fit(DATA.views[:30])).training.ids is None


def test_only_ids_that_a_file_holds_are_kept_and_only_beside_groups(tmp_path):
    numbered = LinkPLSA(3, random_state=0).fit(Views(dict(X.items()), ids=np.arange(100, 160)))
    save(numbered, tmp_path / "m.coview")
    assert inspect(load(tmp_path / "m.coview")).training.ids.tolist() == list(range(100, 160))
    days = np.array([datetime.date(2026, 1, 1) + datetime.timedelta(i) for i in range(60)], dtype=object)
    dated = LinkPLSA(3, random_state=0).fit(Views(dict(X.items()), ids=days))
    save(dated, tmp_path / "m.coview")
    assert inspect(load(tmp_path / "m.coview")).training.ids is None
    classifier = MultiViewNaiveBayes().fit(X, DATA.target)
    assert classifier._object_ids is None
    auto = AutoClustering(3, random_state=0).fit(X)
    assert pickle.dumps(auto).count(b"p17") == 1  # not once more in each model inside


def test_explorer_and_report_name_them_without_data():
    model = LinkPLSA(3, random_state=0).fit(X)
    assert Service(model).ids == IDS and Service(edit(model).merge([0, 1])).ids == IDS
    placed = make_report(model, map_method="pca").summary["map"]
    assert set(placed["ids"]) == set(IDS)
