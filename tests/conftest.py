"""Fitted models of every kind, once for all tests of inspection, figures and reports."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from shutil import which
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline

from coview import AutoClassifier, Report, Views, make_report
from coview.auto.experts import Expert, propose_experts
from coview.catalog import ESTIMATORS, estimators

SMALL = {"n_components": 3, "n_clusters": 3, "max_iter": 10, "n_init": 1, "random_state": 0}


@cache
def corpus(n: int = 60) -> tuple[Views, np.ndarray]:
    """Three groups of objects in two views that both know the groups; some objects lack the second view."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 3
    words, links = rng.gamma(0.3, size=(3, 24)), rng.gamma(0.3, size=(3, 15))
    return (
        Views(
            words=sparse.csr_array(rng.poisson(8 * words[y] + 0.1).astype(float)),
            links=sparse.csr_array(rng.poisson(6 * links[y] + 0.1).astype(float)),
            feature_names={"words": [f"word{j}" for j in range(24)]},
        ),
        np.array(["ant", "bee", "cat"])[y],
    )


@cache
def fitted(name: str) -> Any:
    """A small fitted model of the catalog, by name."""
    cls = estimators()[name]
    allowed = cls().get_params()
    X, y = corpus()
    return cls(**{key: value for key, value in SMALL.items() if key in allowed}).fit(X, y)


@cache
def reported(name: str) -> Report:
    """Its report, with objects and labels."""
    return make_report(fitted(name), *corpus(), map_method="pca")


@pytest.fixture(params=sorted(ESTIMATORS))
def model(request: pytest.FixtureRequest) -> Any:
    """Every kind of model, one after the other."""
    return fitted(request.param)


@pytest.fixture
def data() -> tuple[Views, np.ndarray]:
    """Objects and their labels."""
    return corpus()


@pytest.fixture
def report(model: Any) -> Report:
    """The report of every kind of model, with objects and labels."""
    return reported(type(model).__name__)


@pytest.fixture
def make() -> Any:
    """A fitted model by name."""
    return fitted


@pytest.fixture
def stop_at() -> Callable[..., Callable[[Any], None]]:
    """A callback that ends a fit after so many sweeps, as Ctrl-C does, or by another error."""

    def make(number: int, error: BaseException | type[BaseException] = KeyboardInterrupt) -> Callable[[Any], None]:
        def stop(sweep: Any) -> None:
            if sweep.number == number:
                raise error

        return stop

    return make


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser, for modules that are skipped where there is none."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def fit_auto() -> Callable[..., AutoClassifier]:
    """Fit an `AutoClassifier` whose pool has these experts only: names of default ones, (name, classifier) of others.

    What a pool does is told best where a test says who is in it.
    """

    def fit(given: Sequence[str | tuple[str, Any]], X: Any, y: Any, **settings: Any) -> AutoClassifier:
        def chosen(views: Views, links: str | None, seed: int) -> list[Expert]:
            default = {expert.name: expert for expert in propose_experts(views, links, seed)}
            return [default[each] if isinstance(each, str) else own_expert(*each, views) for each in given]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("coview.auto.classifier.propose_experts", chosen)
            return AutoClassifier(**{"random_state": 0, **settings}).fit(X, y)

    return fit


def own_expert(name: str, classifier: Any, views: Views) -> Expert:
    """An expert of all views that is no default one."""
    pipeline = classifier if isinstance(classifier, Pipeline) else make_pipeline(classifier)
    return Expert(name, pipeline, tuple(views.names))
