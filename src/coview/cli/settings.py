"""Models by name and settings, as ``coview fit MultiViewPLSA --set n_clusters=7`` gives them; nothing is executed."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve, sklearn_class
from coview.utils.messages import did_you_mean

__all__ = ["build_model", "clusters_parameter", "find_entry", "parse_settings"]

_WORDS = {"true": True, "false": False, "none": None}


def find_entry(name: str) -> str:
    """Return the cataloged name of an estimator or transformer, without loading it; capitals do not matter.

    Examples
    --------
    >>> find_entry("multiviewplsa")
    'MultiViewPLSA'
    """
    known = {each.lower(): each for each in (*ESTIMATORS, *TRANSFORMERS)}
    if name.lower() not in known:
        hint = did_you_mean(name, known.values(), most=3)
        raise ValueError(f"There is no model {name!r}.{hint} `coview info` lists them all.")
    return known[name.lower()]


def parse_settings(options: Sequence[str] | None) -> dict[str, Any]:
    """Return the values of ``name=value`` options: numbers, texts, lists, dicts, and estimators by name.

    Examples
    --------
    >>> parse_settings(["n_clusters=7", "tol=1e-4", "init=nmf", "n_components={'words': 20}", "shuffle=false"])
    {'n_clusters': 7, 'tol': 0.0001, 'init': 'nmf', 'n_components': {'words': 20}, 'shuffle': False}
    >>> parse_settings(["model=LinkPLSA(20, random_state=0)"])
    {'model': LinkPLSA(n_components=20, random_state=0)}
    """
    settings: dict[str, Any] = {}
    for option in options or []:
        name, sign, text = option.partition("=")
        if not sign or not name.strip().isidentifier():
            raise ValueError(f"--set needs NAME=VALUE, got {option!r}. Example: --set n_clusters=7")
        settings[name.strip()] = _read_value(text.strip())
    return settings


def build_model(name: str, settings: dict[str, Any], steps: Sequence[str], front: Any, seed: int) -> Any:
    """Return an unfitted model: alone, or a pipeline after the step that makes views of tables and further steps.

    A retriever holds such a pipeline inside instead, so that it can be asked with raw text.
    """
    from sklearn.pipeline import make_pipeline

    from coview.decomposition.cca import MultiViewCCA

    cls = resolve(find_entry(name))
    for value in settings.values():
        _set_seed(value, seed)
    before = [*([] if front is None else [front]), *(_read_step(step, seed) for step in steps)]
    if "random_state" in inspect.signature(cls).parameters:
        settings = {"random_state": seed, **settings}
    if cls.__name__ == "CrossModalRetriever":
        inner = settings.get("model") or (MultiViewCCA(random_state=seed) if steps else None)
        stages = [*before, *([] if inner is None else [inner])]
        model = make_pipeline(*stages) if len(stages) > 1 else stages[0] if stages else None
        return _construct(cls, {**settings, "model": model})
    model = _construct(cls, settings)
    return make_pipeline(*before, model) if before else model


def clusters_parameter(name: str) -> str:
    """Return the parameter that --clusters sets: the number of clusters, or of topics; others have neither.

    Examples
    --------
    >>> clusters_parameter("MultiViewPLSA"), clusters_parameter("LinkPLSA")
    ('n_clusters', 'n_components')
    """
    from coview.plsa.mixture import MixtureModel

    cls = resolve(find_entry(name))
    known = inspect.signature(cls).parameters
    if "n_clusters" not in known and issubclass(cls, MixtureModel):
        return "n_components"
    if "n_clusters" not in known:
        raise ValueError(f"{cls.__name__} finds neither clusters nor topics: leave out --clusters.")
    return "n_clusters"


def _construct(cls: type[Any], settings: dict[str, Any]) -> Any:
    known = {name: each for name, each in inspect.signature(cls).parameters.items() if each.kind != each.VAR_KEYWORD}
    for name in settings:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(f"{cls.__name__} has no parameter {name!r}; it has {', '.join(known)}.{hint}")
    for name, each in known.items():
        if each.default is inspect.Parameter.empty and name not in settings:
            raise ValueError(f"{cls.__name__} needs {name}. Add: --set {name}=...")
    return cls(**settings)


def _read_step(text: str, seed: int) -> Any:
    """A transformer of views, or one of scikit-learn's, such as a scaler, which is applied to each view."""
    step = _read_value(text if "(" in text else f"{text}()")
    if not hasattr(step, "transform"):
        raise ValueError(f"--step needs a transformer, got {text!r}. Example: --step TfidfViews")
    _set_seed(step, seed)
    return resolve("EachView")(step) if type(step).__module__.startswith("sklearn.") else step


def _set_seed(value: Any, seed: int) -> None:
    """Give a seed to an estimator, and to those inside it, that have none."""
    if hasattr(value, "get_params"):
        free = [name for name, each in value.get_params().items() if name.endswith("random_state") and each is None]
        value.set_params(**dict.fromkeys(free, seed))


def _read_value(text: str) -> Any:
    """A value as Python writes it, an estimator with its settings, or the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return text  # plain text, such as a path
    try:
        return _evaluate(node)
    except (TypeError, SyntaxError, ValueError) as error:
        if isinstance(node, (ast.Call, ast.Dict)):
            problem = f"{text!r} is neither a value nor an estimator with its settings"
            raise ValueError(f"{problem}: {error}") from None
        return text


def _evaluate(node: ast.expr) -> Any:
    """The value of plain values, and of ``Name(10, option="x")``: a name of coview or scikit-learn."""
    if isinstance(node, ast.Dict):
        return {_evaluate(key): _evaluate(value) for key, value in zip(node.keys, node.values) if key is not None}
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    name = ast.unparse(node.func)
    known = {each.lower() for each in (*ESTIMATORS, *TRANSFORMERS)}
    cls = (sklearn_class(name) if name.lower() not in known else None) or resolve(find_entry(name))
    settings = inspect.signature(cls).bind_partial(*map(_evaluate, node.args)).arguments
    return _construct(cls, settings | {str(each.arg): _evaluate(each.value) for each in node.keywords})
