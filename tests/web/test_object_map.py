"""The map of the explorer: places and groups as arrays, colors of columns, and what a text finds."""

from __future__ import annotations

import httpx
import numpy as np
import pytest
from scipy import sparse

from coview import LinkPLSA, MultiViewCCA, MultiViewNaiveBayes, Views, inspect
from coview.exceptions import ViewsError
from coview.web import object_map
from coview.web.api import make_app
from coview.web.explorer import Explorer
from coview.web.object_map import unpacked
from coview.web.run import running
from coview.web.service import Service

N = 60


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return {
        "title": [f"The {i}th story" for i in range(N)],
        "date": [f"20{10 + i % 10}-03-0{1 + i % 7}" if i else None for i in range(N)],
        "venue": [f"v{i % 3}" for i in range(N)],
        "rare": [f"r{min(i % 30, 14)}" for i in range(N)],
        "pages": rng.integers(1, 400, N).astype(float),
        "same": ["one"] * N,
        "lists": [[1, 2]] * N,
    }


@pytest.fixture(scope="module")
def explorer(small, table):
    X, y = small
    return Explorer(Service(MultiViewNaiveBayes().fit(X, y), X, table=table))


def test_every_object_is_placed_near_its_group(explorer, small):
    X, y = small
    answer = explorer.map.answer
    places, groups = unpacked(answer["places"], "<f4").reshape(-1, 2), unpacked(answer["codes"], "<i2")
    model = MultiViewNaiveBayes().fit(X, y)
    assert answer["shown"] == answer["total"] == N and answer["how"] == "t-SNE of memberships and features"
    assert groups.tolist() == inspect(model).codes(model.predict(X)).tolist()
    assert places.min() == 0 and places.max() == 1
    assert [group["size"] for group in answer["groups"]] == np.bincount(groups, minlength=3).tolist()
    middles = np.array([group["middle"] for group in answer["groups"]])
    np.testing.assert_allclose(middles, [np.median(places[groups == k], axis=0) for k in range(3)], atol=1e-6)
    nearest = np.linalg.norm(places[:, None] - middles, axis=2).argmin(axis=1)
    assert (nearest == groups).mean() > 0.9


def test_objects_without_groups_are_placed_by_the_space_of_the_model(small):
    X, _ = small
    answer = Explorer(Service(MultiViewCCA(3, random_state=0).fit(X), X)).map.answer
    assert answer["shown"] == N and answer["groups"] == [] and set(unpacked(answer["codes"], "<i2")) == {-1}
    assert Explorer(Service(MultiViewCCA(2, random_state=0).fit(X))).map.answer["shown"] == 0


def test_a_sample_is_shown_of_many_and_called_by_its_positions(small, table, monkeypatch):
    monkeypatch.setattr(object_map, "MOST_SHOWN", 20)
    X, y = small
    part = Explorer(Service(MultiViewNaiveBayes().fit(X, y), X, table=table)).map
    answer, rows = part.answer, part.rows
    assert answer["shown"] == 20 and answer["total"] == N and len(unpacked(answer["places"], "<f4")) == 40
    assert sum(group["size"] for group in answer["groups"]) == N  # sizes are those of all
    assert [one["id"] for one in part.objects([0, 19])] == [X.ids[rows[0]], X.ids[rows[19]]]
    venues = unpacked(part.column("venue")["codes"], "<i2")
    assert venues.tolist() == (rows % 3).tolist()
    assert unpacked(part.search("story")["at"], "<i4").tolist() == list(range(20))


def test_columns_color_by_category_by_time_and_by_number(explorer, table):
    assert explorer.map.answer["columns"] == ["date", "venue", "rare", "pages"]  # no texts, lists, or one value
    venue = explorer.map.column("venue")
    assert not venue["ordered"] and [value["name"] for value in venue["values"]] == ["v0", "v1", "v2"]
    assert unpacked(venue["codes"], "<i2").tolist() == [i % 3 for i in range(N)] and venue["rest"] is None
    date = explorer.map.column("date")
    codes = unpacked(date["codes"], "<i2")
    assert date["ordered"] and date["without"] == 1 and codes[0] == -1
    years = np.array([int(text[:4]) for text in table["date"][1:]])
    assert (np.diff(codes[1:][np.argsort(years, kind="stable")]) >= 0).all()
    pages = explorer.map.column("pages")
    codes = unpacked(pages["codes"], "<i2")
    assert pages["ordered"] and (np.diff(codes[np.argsort(table["pages"])]) >= 0).all()
    assert sum(value["size"] for value in pages["values"]) == N


def test_rare_categories_share_the_color_of_the_rest(explorer):
    rare = explorer.map.column("rare")
    assert len(rare["values"]) == 10 and rare["rest"] == 9 and rare["values"][9]["name"] == "6 others"
    assert rare["values"][0] == {"name": "r14", "index": 0, "size": 32}


def test_what_cannot_color_is_refused(explorer):
    for name in ("title", "lists", "nothing"):
        with pytest.raises(ViewsError, match=f"cannot be colored by '{name}'; the columns are 'date', 'venue'"):
            explorer.map.column(name)


def test_a_text_finds_names_captions_and_words_of_the_views(explorer, small):
    X, _ = small
    assert explorer.map.search("OBJECT 17")["first"][0]["id"] == "object 17"
    assert unpacked(explorer.map.search("12th story")["at"], "<i4").tolist() == [12]
    words = X["words"].toarray()
    both = np.flatnonzero((words[:, 0] > 0) & (words[:, 3] > 0))
    assert unpacked(explorer.map.search("wordaa worDda")["at"], "<i4").tolist() == both.tolist()
    begin = np.flatnonzero((words[:, [0, 26]] > 0).any(axis=1))  # wordaa, wordab
    assert unpacked(explorer.map.search("worda")["at"], "<i4").tolist() == begin.tolist()
    for nothing in ("", "  ", "wordaa zebra", "w"):
        assert explorer.map.search(nothing)["total"] == 0


def test_zeros_that_are_kept_in_a_sparse_matrix_are_not_found(small):
    X, y = small
    words = sparse.csr_array(X["words"].toarray())
    words.data[words.indices == 0] = 0  # stored zeros
    shown = Views(words=words, image=X["image"], feature_names={"words": X.feature_names["words"]}, ids=X.ids)
    assert Explorer(Service(MultiViewNaiveBayes().fit(X, y), shown)).map.search("wordaa")["total"] == 0


def test_objects_that_are_not_on_the_map_are_refused(explorer):
    for at in ([N], [-1], [3, 10**9]):
        with pytest.raises(ViewsError, match="There are 60 objects on the map, numbered from 0"):
            explorer.map.objects(at)


def test_objects_stand_beside_their_neighbors(explorer):
    assert explorer.map.answer["how"] == "t-SNE of memberships and features"


def test_the_map_answers_over_http(small, table):
    X, _ = small
    service = Service(LinkPLSA(3, random_state=0, max_iter=5).fit(X), X, table=table)
    with running(make_app(service, page=True)) as url, httpx.Client(base_url=url) as client:
        answer = client.get("/api/map").json()
        assert len(unpacked(answer["places"], "<f4")) == 2 * N
        assert client.get("/api/map/column", params={"name": "venue"}).json()["name"] == "venue"
        assert client.get("/api/map/search", params={"q": "story"}).json()["total"] == N
        assert client.get("/api/map/objects?at=3&at=5").json()[1]["id"] == "object 5"
        for wrong in ("/api/map/column?name=x", "/api/map/objects?at=60", "/api/map/objects"):
            assert client.get(wrong).status_code == 422
        assert client.get("/api/map/objects?" + "&".join(["at=1"] * 1001)).status_code == 422
