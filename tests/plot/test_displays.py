"""Figures: drawn for each kind of model, with the numbers that they should show."""

import numpy as np
import pytest
from matplotlib import pyplot
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression

from coview import ConcatenatedViews, LinkPLSA, MultiViewPassiveAggressiveClassifier, Views, evaluate_stream, inspect
from coview.inspection.features import keyed_names
from coview.plot import EffectsDisplay, ObjectMapDisplay, PrevalenceDisplay, StreamDisplay, TopicsDisplay


@pytest.fixture(autouse=True)
def closed():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def drawn(display) -> None:
    display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_


def test_maps_are_drawn_for_each_kind(model, data):
    X, y = data
    display = ObjectMapDisplay.from_estimator(model, X, y)
    assert display.positions.shape == (60, 2) and np.isfinite(display.positions).all()


def test_features_are_drawn_for_each_kind(model, data):
    display = TopicsDisplay.from_estimator(model, data[0], groups=[0], n_features=4)
    assert display.axes_.shape[0] == 1
    assert all(len(panel.patches) <= 4 for panel in display.axes_.flat) and display.axes_[0, 0].patches


def test_a_model_without_groups_has_no_features_to_draw(data):
    model = ConcatenatedViews(LinearRegression()).fit(data[0], np.arange(60.0))
    with pytest.raises(ValueError, match="does not describe its groups by features"):
        TopicsDisplay.from_estimator(model, data[0])


@pytest.fixture
def vectors(data):
    X, y = data
    codes = np.unique(y, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    sizes = np.column_stack([codes + 0.5, 1000.5 * (codes == 1)]) + 0.1 * rng.normal(size=(60, 2))
    arrays = {"words": X["words"], "vector": np.eye(3)[codes] + 0.1 * rng.normal(size=(60, 3)), "size": sizes}
    return Views(arrays, feature_names={"size": ["age", "price"]})


def test_prevalence_is_drawn_as_lines_over_time_and_as_a_map_of_categories(data):
    X, y = data
    model = LinkPLSA(3, random_state=0).fit(X.select("words"))
    dates = [f"{2000 + i % 5}-06-01" for i in range(60)]
    display = PrevalenceDisplay.from_estimator(model, X.select("words"), by=dates, n_groups=2)
    drawn(display)
    assert len(display.ax_.lines) == len(display.drawn) == 2
    for line, g in zip(display.ax_.lines, display.drawn):
        assert_allclose(line.get_ydata(), display.table.shares[:, g])
    classes = PrevalenceDisplay.from_estimator(model, X.select("words"), by=[f"class {label}" for label in y])
    drawn(classes)
    assert_allclose(np.asarray(classes.ax_.images[0].get_array()), classes.table.shares[:, classes.drawn])


def test_effects_are_drawn_as_curves_and_as_points(data):
    X, y = data
    known = {"year": np.arange(60) % 7, "class": [f"class {label}" for label in y]}
    model = LinkPLSA(3, random_state=0).fit(X.select("words"))
    effects = inspect(model).effects(X.select("words"), "~ spline(year, 3) + class", known)
    display = effects.plot()
    drawn(display)
    for line, g in zip(display.ax_.lines, display.drawn):
        assert_allclose(line.get_ydata(), effects.predict("year").share[:, g])
    points = EffectsDisplay(effects, "class", n_groups=2).plot()
    drawn(points)
    assert len(points.drawn) == len(points.ax_.containers) == 2
    assert display.ax_.get_ylim()[0] == min(0, effects.predict("year").low.min())


def test_measurements_are_drawn_by_deviations_and_vectors_not_at_all(vectors):
    model = LinkPLSA(3, random_state=0).fit(vectors)
    display = TopicsDisplay.from_estimator(model, vectors)
    assert list(display.features) == ["words", "size"]
    assert display.axes_[-1, 1].get_xlabel() == "standard deviations from the mean of all objects"
    means, (center, spread) = model.group_means_["size"], model.column_moments_["size"]
    for row, lines in zip((means - center) / spread, display.features["size"]):
        assert {name: value for name, value, _ in lines} == pytest.approx(dict(zip(["age", "price"], row)))
    with pytest.raises(ValueError, match="The views of LinkPLSA hold vectors, whose columns have no names"):
        TopicsDisplay.from_estimator(LinkPLSA(3, max_iter=2).fit(vectors.select("vector")))


def test_a_stream_is_drawn_and_the_model_is_left_alone(data):
    X, y = data
    model = MultiViewPassiveAggressiveClassifier()
    display = StreamDisplay.from_estimator(model, X, y, every=20, measures=["accuracy", "loss"])
    drawn(display)
    assert not hasattr(model, "classes_") and len(display.axes_) == 2
    result = evaluate_stream(MultiViewPassiveAggressiveClassifier(), X, y, every=20)
    two = StreamDisplay.from_results({"one": result, "two": result}, measures=["accuracy"])
    assert len(two.ax_.lines) == 2
    assert_allclose(two.ax_.lines[0].get_ydata(), display.tables[type(model).__name__]["accuracy"])


def test_they_draw_into_axes_that_are_given(make, data):
    X, y = data
    figure, axes = pyplot.subplots(2, 2)
    assert ObjectMapDisplay.from_estimator(make("PLSA"), X, y, ax=axes[0, 1]).figure_ is figure
    assert TopicsDisplay.from_estimator(make("PLSA"), ax=pyplot.subplots(3, 2)[1]).axes_.shape == (3, 2)
    alone = TopicsDisplay.from_estimator(make("PLSA"), views=["words"], groups=[0], ax=axes[1, 0])
    assert alone.ax_ is axes[1, 0]
    with pytest.raises(ValueError, match="3 x 2 panels are drawn, but ax has 1"):
        TopicsDisplay.from_estimator(make("PLSA"), ax=axes[1, 0])
    assert TopicsDisplay.from_estimator(make("PLSA"), views=["words"], ax=pyplot.subplots(3, 1)[1]).axes_.shape == (
        3,
        1,
    )


def test_groups_are_called_by_number_and_name(make, data):
    X, _ = data
    model = make("MultiViewPLSA")
    known = inspect(model)
    assert all(": word" in name for name in keyed_names(known))
    assert ObjectMapDisplay.from_estimator(model, X).names == keyed_names(known)
    display = TopicsDisplay.from_estimator(model, X)
    assert display.names == keyed_names(known)
    title = display.axes_[0, 0].get_title(loc="left").replace("\n", " ")
    assert title == f"cluster {keyed_names(known)[0]}, words"
