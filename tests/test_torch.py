"""What is done with torch, where it is installed: tensors are data; the CUDA engine's plain path, on the processor."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="torch is not installed: the CUDA engine's plain path is not checked")

from coview import (  # noqa: E402
    CoPLSA,
    DualPLSA,
    EmbeddingViews,
    LazyViews,
    LinkPLSA,
    MultiViewPLSA,
    MultiViewPLSAClassifier,
    SpectralClusteringViews,
    Views,
)
from coview.classification.naive_bayes import learn_label_start  # noqa: E402
from coview.datasets import make_topic_views  # noqa: E402
from coview.engines.cuda import CudaEngine  # noqa: E402
from coview.engines.held import HeldViews  # noqa: E402
from coview.engines.loop import select_engine  # noqa: E402
from coview.plsa.starts import FitContext, find_likeliest_arrays, find_likeliest_start  # noqa: E402

pytestmark = pytest.mark.no_cover

CUDA = CudaEngine("cpu")


def test_every_batch_model_runs_on_torch_and_agrees_with_the_cpu():
    made = make_topic_views(n_objects=80, n_clusters=3, random_state=0)
    y = np.where(np.arange(80) < 9, made.target, -1)
    for model in (
        LinkPLSA(3, max_iter=40),  # momentum sets in
        DualPLSA(3, 4, init="random", algorithm="published", max_iter=10),
        MultiViewPLSA(3, 4, max_iter=10),
        MultiViewPLSAClassifier(4, max_iter=10),
        CoPLSA(3, max_iter=10),
    ):
        engines = [clone(model).set_params(engine=engine, tol=0, random_state=0) for engine in (CUDA, "cpu")]
        ours, right = (each.fit(made.views, y) for each in engines)
        assert_allclose(ours.history_["objective"], right.history_["objective"], rtol=1e-10)
        assert_allclose(ours.transform(made.views), right.transform(made.views), atol=1e-8)


def test_starts_on_torch_are_those_of_the_processor():
    made = make_topic_views(n_objects=120, n_clusters=3, random_state=0)
    present = np.random.default_rng(0).random((120, 2)) < 0.8
    X = Views({n: m.toarray() * present[:, [v]] for v, (n, m) in enumerate(made.views.items())}, present=present)
    ours, right = (find_likeliest_start(X, 3, FitContext(0, engine=engine), {}, None) for engine in (CUDA, None))
    assert_allclose(ours, right, atol=1e-8)
    arrays = [find_likeliest_arrays(X, 3, FitContext(0, engine=engine), {}, None) for engine in (CUDA, None)]
    assert_allclose(*(part["topic_feature"]["view1"] for part in arrays), rtol=1e-8)
    codes = np.where(np.arange(120) % 10 == 0, made.target, -1)
    held = HeldViews.on_device(X, CUDA, 3)
    assert_allclose(learn_label_start(X, codes, 3, held=held)(X, held), learn_label_start(X, codes, 3)(X), rtol=1e-7)


def test_rounding_does_not_choose_among_starts_of_equal_likelihood():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=120)
    words, _ = (rng.poisson(np.exp(rng.normal(size=(3, width)))[y]) for width in (40, 30))
    X = {"size": rng.normal(size=(3, 5))[y] * 3 + rng.normal(size=(120, 5)), "words": words}
    ours, right = (
        MultiViewPLSA(3, 2, engine=engine, random_state=0, max_iter=1, tol=0).fit(X).history_["objective"]
        for engine in (CUDA, "cpu")
    )
    assert_allclose(ours, right, rtol=1e-9)  # two of its starts are the same clusters in another order


def test_views_that_do_not_fit_twice_are_not_held(monkeypatch):

    X = Views(words=sparse.random_array((100, 50), density=0.5, format="csr", rng=np.random.default_rng(0)))
    size = X["words"].data.nbytes + X["words"].indices.nbytes
    for free, fits in ((100 * size, True), (3 * size, False)):
        monkeypatch.setattr(CudaEngine, "free_bytes", free)
        assert (HeldViews.on_device(X, CUDA, 3) is not None) == fits
    assert HeldViews.on_device(LazyViews.from_views(X, 10), CUDA, 3) is None
    assert HeldViews.on_device(X, select_engine("cpu"), 3) is None


def test_nearest_rows_on_torch_are_the_same_in_pieces(monkeypatch):
    wide = sparse.random_array((60, 90), density=0.3, format="csr", rng=np.random.default_rng(3))
    X = CUDA.prepare(sparse.csr_array(wide * np.geomspace(1, 1e-3, 90)))
    whole = CUDA.nearest_rows(X, None, 5)
    monkeypatch.setattr("coview.kernels.torch_neighbors._VALUES", 200)  # several pieces of a few rows
    for ours, right in zip(CUDA.nearest_rows(X, None, 5), whole):
        assert_allclose(ours, right, atol=1e-12)


def test_spectral_clusters_are_the_same_with_neighbors_from_torch():
    made = make_topic_views(150, n_clusters=3, random_state=0)
    engines = CUDA, "cpu", "auto"
    models = [SpectralClusteringViews(3, engine=e, random_state=0).fit(made.views) for e in engines]
    for model in models[1:]:
        assert_array_equal(models[0].labels_, model.labels_)
        assert_array_equal(models[0].predict(made.views), model.predict(made.views))


def test_encoders_may_give_tensors():
    half = EmbeddingViews(lambda texts: torch.full((len(texts), 2), 0.5, dtype=torch.bfloat16))
    assert half.fit_transform(["red fox", "blue sea"])["text"].dtype == np.float32
    lengths = EmbeddingViews(lambda texts: torch.tensor([[float(len(text))] for text in texts], requires_grad=True))
    assert_array_equal(lengths.fit_transform(["red fox", "sea"])["text"], [[7], [3]])
