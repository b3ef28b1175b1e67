"""Models by name and settings, as ``coview fit MultiViewPLSA --set n_clusters=7`` gives them; nothing is executed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve, sklearn_class
from coview.utils.messages import did_you_mean

__all__ = ["build_model", "clusters_parameter", "find_class", "find_entry", "parse_settings"]

_WORDS = {"true": True, "false": False, "none": None}


def find_class(name: str) -> type[Any]:
    """Return the class of a cataloged estimator or transformer; capitals do not matter.

    Examples
    --------
    >>> find_class("multiviewplsa").__name__
    'MultiViewPLSA'
    """
    return resolve(find_entry(name))


def find_entry(name: str) -> str:
    """Return the cataloged name of an estimator or transformer, without loading it; capitals do not matter."""
    known = {each.lower(): each for each in (*ESTIMATORS, *TRANSFORMERS)}
    if name.lower() not in known:
        hint = did_you_mean(name, known.values(), most=3)
        raise ValueError(f"There is no model {name!r}.{hint} `coview info` lists them all.")
    return known[name.lower()]


def parse_settings(options: Sequence[str]) -> dict[str, Any]:
    """Return the values of ``name=value`` options: numbers, texts, lists, dicts, and estimators by name.

    Examples
    --------
    >>> parse_settings(["n_clusters=7", "tol=1e-4", "init=nmf", "n_components={'words': 20}", "shuffle=false"])
    {'n_clusters': 7, 'tol': 0.0001, 'init': 'nmf', 'n_components': {'words': 20}, 'shuffle': False}
    >>> parse_settings(["model=LinkPLSA(20, random_state=0)"])
    {'model': LinkPLSA(n_components=20, random_state=0)}
    >>> parse_settings(["transformers=StandardScaler(with_mean=False)"])
    {'transformers': StandardScaler(with_mean=False)}
    """
    settings: dict[str, Any] = {}
    for option in options:
        name, sign, text = option.partition("=")
        if not sign or not name.strip().isidentifier():
            raise ValueError(f"--set needs NAME=VALUE, got {option!r}. Example: --set n_clusters=7")
        settings[name.strip()] = _value(text.strip())
    return settings


def build_model(name: str, settings: dict[str, Any], steps: Sequence[str], front: Any, seed: int | None) -> Any:
    """Return an unfitted model: alone, or a pipeline after the step that makes views of tables and further steps.

    A retriever holds such a pipeline inside instead, so that it can be asked with raw text.
    """
    from sklearn.base import BaseEstimator
    from sklearn.pipeline import make_pipeline

    from coview.decomposition.cca import MultiViewCCA

    cls = find_class(name)
    for value in settings.values():
        if isinstance(value, BaseEstimator) and value.get_params(deep=False).get("random_state", seed) is None:
            value.set_params(random_state=seed)
    before = [*([front] if front is not None else []), *(_step(step, seed) for step in steps)]
    if "random_state" in inspect.signature(cls).parameters:
        settings = {"random_state": seed, **settings}
    if cls.__name__ == "CrossModalRetriever":
        inner = settings.get("model") or (MultiViewCCA(random_state=seed) if steps else None)
        stages = [*before, *([] if inner is None else [inner])]
        model = make_pipeline(*stages) if len(stages) > 1 else stages[0] if stages else None
        return _construct(cls, {**settings, "model": model})
    model = _construct(cls, settings)
    return make_pipeline(*before, model) if before else model


def clusters_parameter(name: str, number: int) -> str:
    """Return the parameter that --clusters sets: the number of clusters, or of topics; others have neither.

    Examples
    --------
    >>> clusters_parameter("MultiViewPLSA", 5), clusters_parameter("LinkPLSA", 5)
    ('n_clusters', 'n_components')
    """
    from coview.plsa.mixture import MixtureModel

    cls = find_class(name)
    known = inspect.signature(cls).parameters
    if "n_clusters" in known or "n_components" not in known:
        return "n_clusters"
    if issubclass(cls, MixtureModel):
        return "n_components"
    raise ValueError(f"{cls.__name__} makes no clusters. In place of --clusters, use --set n_components={number}.")


def _construct(cls: type[Any], settings: dict[str, Any]) -> Any:
    known = {name: each for name, each in inspect.signature(cls).parameters.items() if each.kind != each.VAR_KEYWORD}
    for name in settings:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(f"{cls.__name__} has no parameter {name!r}; it has {', '.join(known)}.{hint}")
    for name, each in known.items():
        if each.default is inspect.Parameter.empty and name not in settings:
            raise ValueError(
                f"{cls.__name__} needs {name}. Add: --set {name}={'10' if name.startswith('n_') else '...'}"
            )
    return cls(**settings)


def _step(text: str, seed: int | None) -> Any:
    """A transformer of views, or one of scikit-learn's, such as a scaler, which is applied to each view."""
    from sklearn.utils import get_tags

    step = _value(text)
    if isinstance(step, str):
        step = _construct(_class_inside(step), {})
    foreign = type(step).__module__.startswith("sklearn.")
    if not hasattr(step, "transform") or (foreign and not get_tags(step).input_tags.two_d_array):  # as LabelEncoder
        raise ValueError(f"--step needs a transformer, got {text!r}. Example: --step TfidfViews")
    seeds = [name for name, value in step.get_params().items() if name.endswith("random_state") and value is None]
    step.set_params(**dict.fromkeys(seeds, seed))
    return resolve("EachView")(step) if foreign else step


def _class_inside(name: str) -> type[Any]:
    """Class of a step, or of an estimator inside another: a cataloged one, or a public one of scikit-learn."""
    known = {each.lower() for each in (*ESTIMATORS, *TRANSFORMERS)}
    other = sklearn_class(name) if name.lower() not in known else None
    return find_class(name) if other is None else other


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text  # plain text, such as a path
    if isinstance(node, ast.Call):
        return _call(node, text)
    try:
        return ast.literal_eval(node)
    except (TypeError, ValueError):
        return text


def _call(node: ast.Call, text: str) -> Any:
    """Make an estimator of ``Name(10, option="x")``: a name of coview or scikit-learn, and plain values alone."""
    if not isinstance(node.func, ast.Name):
        raise ValueError(f"{text!r} is neither a value nor an estimator with its settings.")
    cls = _class_inside(node.func.id)
    names = [name for name, each in inspect.signature(cls).parameters.items() if each.kind != each.KEYWORD_ONLY]
    if len(node.args) > len(names) or any(keyword.arg is None for keyword in node.keywords):
        raise ValueError(f"{text!r} does not fit {cls.__name__}, whose settings are {', '.join(names)}.")
    parts = [*zip(names, node.args), *((str(keyword.arg), keyword.value) for keyword in node.keywords)]
    return _construct(cls, {name: _part(part, text) for name, part in parts})


def _part(node: Any, text: str) -> Any:
    """A plain value, an estimator, or a dict of such."""
    if isinstance(node, ast.Call):
        return _call(node, text)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {_plain(key, text): _part(value, text) for key, value in zip(node.keys, node.values) if key}
    return _plain(node, text)


def _plain(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (TypeError, ValueError):
        raise ValueError(f"{text!r} may hold plain values only.") from None
