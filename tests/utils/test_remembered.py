"""What is made of the same data is made once inside the context, and always anew outside of it."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import FunctionTransformer

from coview import EachView, Views
from coview.utils.remembered import remembered, remembering

RNG = np.random.default_rng(0)
WORDS = sparse.csr_array(RNG.poisson(0.5, (40, 12)).astype(float))
IMAGE = RNG.normal(size=(40, 7))


def test_nothing_is_remembered_after_the_context_and_one_within_another_shares_its_own():
    made: list[int] = []
    with remembering():
        remembered((1,), lambda: made.append(1))
        with remembering():
            remembered((1,), lambda: made.append(2))
        remembered((2,), lambda: made.append(3))
    remembered((1,), lambda: made.append(4))
    with remembering():
        remembered((1,), lambda: made.append(5))
    assert made == [1, 3, 4, 5]


def test_a_transformer_of_the_same_view_is_fitted_once():
    """Other views beside it do not matter; other values, seeds and widths do."""

    def fitted(width: int = 3, seed: int = 0, **views: object) -> TruncatedSVD:
        names = {"words": TruncatedSVD(width, random_state=seed)}
        return EachView(names).fit(Views(**views)).transformers_["words"]

    alone = fitted(words=WORDS)
    with remembering():
        beside = fitted(words=WORDS, image=IMAGE)
        assert fitted(words=WORDS.copy()) is beside
        others = [fitted(words=WORDS * 2), fitted(words=WORDS, seed=1), fitted(words=WORDS, width=4)]
        assert all(other is not beside for other in others)
    assert fitted(words=WORDS) is not beside
    assert_array_equal(beside.components_, alone.components_)


def test_what_cannot_be_compared_is_made_anew():
    double = EachView(FunctionTransformer(lambda x: 2 * x))
    with remembering():
        for _ in range(2):
            assert_array_equal(double.fit_transform(Views(image=IMAGE))["image"], 2 * IMAGE)
