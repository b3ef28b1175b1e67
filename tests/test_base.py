"""What every estimator of coview has from its base."""

import gc
import weakref

import pytest

from coview import PLSA, AutoClustering, TimeBudget
from coview.base import MultiViewEstimator


class Made(MultiViewEstimator):
    def __init__(self, first=1, second=2):
        self.first, self.second = first, second


def test_classes_that_nobody_uses_any_more_are_freed():
    class Local(PLSA):
        pass

    Local(3).get_params()
    known = weakref.ref(Local)
    del Local
    gc.collect()
    assert known() is None


def test_names_of_parameters_can_be_changed_by_who_asked_for_them():
    Made._get_param_names().append("third")
    assert Made._get_param_names() == ["first", "second"]


def test_another_init_has_its_own_parameters():
    class Below(Made):
        pass

    assert Below._get_param_names() == ["first", "second"]

    def init(self, only=3):
        self.only = only

    Below.__init__ = init
    assert Below._get_param_names() == ["only"] and Below().get_params() == {"only": 3}
    assert Made._get_param_names() == ["first", "second"]


def test_a_model_without_callbacks_says_who_takes_them():
    model = AutoClustering(2)
    assert not hasattr(model, "set_callbacks")  # as scikit-learn asks
    with pytest.raises(AttributeError, match=r"^AutoClustering takes no callbacks; .* a parameter time_budget"):
        model.set_callbacks(TimeBudget(1))
