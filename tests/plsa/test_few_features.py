"""Mixtures of a few new objects: only the features that they have are laid out, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from coview import PLSA, DualPLSA, LinkPLSA, MultiViewPLSA, MultiViewPLSAClassifier, Views
from coview.plsa import mixture

WIDE = 400


def made(n: int, seed: int) -> Views:
    """Two wide views of few counts each."""
    rng = np.random.default_rng(seed)
    words, links = (sparse.csr_array(rng.multinomial(12, np.full(WIDE, 1 / WIDE), n).astype(float)) for _ in range(2))
    return Views(words=words, links=links)


@pytest.mark.parametrize(
    "model",
    [
        PLSA(4),
        PLSA(4, background=0.3),
        LinkPLSA(4),
        LinkPLSA(4, background=0.3),
        MultiViewPLSA(3, n_components=4),
        DualPLSA(3, n_components=4),
        MultiViewPLSAClassifier(),
    ],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'background', None)}",
)
@pytest.mark.parametrize("names", [("words", "links"), ("links",)])
def test_mixtures_are_those_with_all_features(model, names, monkeypatch):
    X, new = made(60, 0), made(3, 1).select(*names)
    model.set_params(max_iter=5, random_state=0).fit(X, np.arange(60) % 3)
    ask = getattr(model, "predict_proba", None) or model.transform
    laid_out = []
    whole = mixture.MixtureModel._topics_of

    def counted(self, view, some=mixture.EVERY_FEATURE):
        found = whole(self, view, some)
        laid_out.append(len(found))
        return found

    monkeypatch.setattr(mixture.MixtureModel, "_topics_of", counted)
    few = ask(new)
    assert max(laid_out) <= 3 * 12
    monkeypatch.setattr(mixture, "FEW_FEATURES", np.inf)
    every = ask(new)
    assert max(laid_out) == WIDE
    np.testing.assert_allclose(few, every, rtol=1e-10, atol=1e-12)


def test_an_object_with_nothing_is_an_even_mixture():
    X = made(60, 0)
    model = PLSA(4, max_iter=5, random_state=0).fit(X)
    nothing = Views({name: sparse.csr_array((1, WIDE)) for name in X.names})
    np.testing.assert_allclose(model.transform(nothing), 0.25)
