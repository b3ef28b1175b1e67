"""Results go back into MuData and AnnData, by the names of the objects."""

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression

from coview import PLSA, ConcatenatedViews, SphericalKMeans, Views, as_views, to_mudata
from coview.datasets import make_topic_views

pytestmark = pytest.mark.filterwarnings("ignore:.*pull_on_update")

DATA = make_topic_views(30, {"words": 20, "links": 12}, n_clusters=2, random_state=0)
IDS = [f"o{i}" for i in range(30)]
X = Views(DATA.views, ids=IDS)


def cells():
    data = anndata.AnnData(
        sparse.csr_matrix(X["words"]), obs=pd.DataFrame(index=IDS), var=pd.DataFrame(index=[f"w{i}" for i in range(20)])
    )
    data.obsm["X_links"] = X["links"].toarray().astype(np.float32)
    return data


def test_clusters_go_into_an_anndata_in_place():
    data = cells()
    model = SphericalKMeans(2, random_state=0).fit(as_views(data))
    assert to_mudata(data, model) is data
    assert data.obs["coview"].cat.codes.tolist() == model.predict(as_views(data)).tolist()
    assert data.obs["coview"].cat.categories.tolist() == ["0", "1"]
    assert data.obsm["coview"].shape == (30, 2)
    assert data.uns["coview"]["model"] == "SphericalKMeans" and data.uns["coview"]["kind"] == "cluster"
    assert len(data.uns["coview"]["names"]) == 2


def test_views_in_obsm_are_found_by_name():
    data = cells()
    views = as_views(data, obsm="X_links")
    model = ConcatenatedViews(LogisticRegression()).fit(views, DATA.target)
    to_mudata(data, model, key="section")
    assert (data.obs["section"].astype(int) == model.predict(views)).all()
    np.testing.assert_allclose(data.obsm["section"], model.predict_proba(views))


def test_new_objects_are_predicted_and_others_have_no_group():
    model = SphericalKMeans(2, random_state=0).fit(X.select("words")[:20])
    data = to_mudata(X)
    to_mudata(data, model)
    assert (data.obs["coview"].cat.codes == model.predict(X.select("words"))).all()


def test_objects_without_the_views_of_the_model_have_no_group():
    arrays = {name: part.toarray() for name, part in X.items()}
    arrays["words"][3] = 0
    partly = Views(arrays, ids=IDS, present={"words": np.arange(30) != 3})
    data = to_mudata(partly)
    assert data["words"].n_obs == 29 and data["links"].n_obs == 30 and set(data.obs_names) == set(IDS)
    own = as_views(data).select("words")  # MuData has objects of the first modality first
    model = SphericalKMeans(2, random_state=0).fit(own)
    to_mudata(data, model)
    assert list(data.obs_names[data.obs["coview"].isna()]) == ["o3"]
    assert list(data.obs_names[np.isnan(data.obsm["coview"]).any(axis=1)]) == ["o3"]
    expected = dict(zip(IDS, model.predict(X.select("words"))))
    del expected["o3"]
    assert {name: int(group) for name, group in data.obs["coview"].dropna().items()} == expected
    line = ConcatenatedViews(LinearRegression()).fit(X.select("words"), np.arange(30.0))
    assert list(data.obs_names[to_mudata(data, line).obs["coview"].isna()]) == ["o3"]


def test_views_become_modalities_and_come_back():
    data = to_mudata(X, PLSA(3, random_state=0, max_iter=5).fit(X))
    assert isinstance(data, mudata.MuData) and data.obsm["coview"].shape == (30, 3)
    again = as_views(data)
    assert again.ids.tolist() == IDS and all((again[name] != X[name]).nnz == 0 for name in X.names)
    assert again.feature_names.keys() == {"words", "links"}


def test_results_survive_a_file(tmp_path):
    data = to_mudata(X, SphericalKMeans(2, random_state=0).fit(X.select("words")))
    data.write_h5mu(tmp_path / "data.h5mu")
    again = mudata.read_h5mu(tmp_path / "data.h5mu")
    assert again.obs["coview"].tolist() == data.obs["coview"].tolist()
    np.testing.assert_array_equal(again.obsm["coview"], data.obsm["coview"])
    assert list(again.uns["coview"]["groups"]) == ["0", "1"]
