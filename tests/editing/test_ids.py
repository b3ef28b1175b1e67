"""Objects of a fit by their ids, without the objects: kept by models of topics and clusters, and no others."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pytest

from coview import (
    PLSA,
    AutoClustering,
    CoPLSA,
    EditedModel,
    LinkPLSA,
    MultiViewNaiveBayes,
    MultiViewPLSA,
    SphericalKMeans,
    Views,
    edit,
    inspect,
    load,
    make_report,
    save,
)
from coview.datasets import make_topic_views
from coview.web.service import Service

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
    "model",
    [PLSA(3, random_state=0), MultiViewPLSA(3, 3, random_state=0, max_iter=10), CoPLSA(3, random_state=0, max_iter=3)],
    ids=lambda model: type(model).__name__,
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
