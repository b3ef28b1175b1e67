"""Model files: `save` writes a fitted (or unfitted) estimator to one file, `load` gives it back; never pickle.

A model file is an archive (`coview.utils.archive`) of names and numbers: the catalog name of the class, its constructor
parameters and its fitted attributes. Loading looks the class up by that name in the catalog, calls its constructor and
sets the attributes, so the file decides nothing about which code runs beyond choosing among known estimators. Before
anything is used, the attributes are held against what the class says of them (`coview.utils.fitted_state`).
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from coview import catalog
from coview._version import __version__
from coview.assignment.ontology import Ontology
from coview.auto.table import CandidateTable
from coview.engines.checkpoint import Checkpoint
from coview.exceptions import ModelFileError, ParameterError
from coview.io.random_states import pack_generator, pack_random_state, unpack_generator, unpack_random_state
from coview.io.sklearn_state import check_pattern, check_sklearn, is_known
from coview.retrieval.index import ObjectIndex
from coview.retrieval.lexical import SharedWords
from coview.utils import fitted_state as rules
from coview.utils.archive import Packed, read_archive, write_archive
from coview.utils.parameters import check_parameters
from coview.views.arrays import is_dask_collection

__all__ = ["load", "outline", "save"]

_FORMAT = 1
_ALSO: dict[str, rules.Rule] = {  # private, but scikit-learn's mixins need them after a fit
    "_n_features_out": rules.optional(rules.count(1)),
    "_sklearn_output_config": rules.optional(rules.mapping(rules.one_of("default", "pandas", "polars"))),
}
_CALLBACKS = "_skl_callbacks"  # where scikit-learn's set_callbacks keeps them
_TYPES: dict[str, type] = {  # stand for a dtype in parameters; of two 64-bit integers the later, numpy.int64, is kept
    **{cls.__name__: cls for cls in (bool, int, float, complex, str, object)},
    **{f"numpy.{np.dtype(code).name}": np.dtype(code).type for code in "?bhiqlBHIQLefdFD"},
}
_OBJECTS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {  # class, to a tree, and back
    "path": (Path, str, Path),
    "slice": (slice, lambda value: (value.start, value.stop, value.step), lambda tree: slice(*tree)),
    "checkpoint": (Checkpoint, lambda c: {"path": str(c.path), "every": c.every}, lambda tree: Checkpoint(**tree)),
    "bunch": (Bunch, dict, lambda tree: Bunch(**tree)),
    "ontology": (
        Ontology,
        lambda o: {"labels": o.labels, "subset": o.subset, "mutex": o.mutex},
        lambda t: Ontology(**t),
    ),
    "object_index": (ObjectIndex, ObjectIndex.__getstate__, ObjectIndex.from_state),
    "random_state": (np.random.RandomState, pack_random_state, unpack_random_state),
    "generator": (np.random.Generator, pack_generator, unpack_generator),
    "candidate_table": (CandidateTable, dict, CandidateTable),
    "shared_words": (SharedWords, vars, lambda tree: SharedWords(**tree)),
}
_GIVEN_AGAIN = {"EmbeddingViews": ("encoder", "cache")}  # what is run, and where it writes: no file decides on that
_SHOWN = 20  # parts of a list or dict that an outline shows
_DTYPE = re.compile(r"[<>|=][biufcUO]\d*")


def save(model: Any, path: str | Path) -> None:
    """Write an estimator to one file.

    The file holds the parameters, the fitted attributes and the versions of coview, NumPy, SciPy and scikit-learn, with
    checksums. Estimators inside the model (of coview, and plain ones of scikit-learn) are written with it. It appears
    whole or not at all: a save that fails leaves an older file as it was.

    Parameters
    ----------
    model : estimator
        An estimator of coview, fitted or not, or one of scikit-learn around or instead of it, such as a Pipeline.
    path : str or Path
        Where to write; by custom the name ends in ``.coview``.

    Warns
    -----
    UserWarning
        Functions, callbacks, engine objects and the encoders of `EmbeddingViews` are left out; the loaded model has the
        defaults of those parameters.

    See Also
    --------
    load : Read the file back.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> from coview.io.models import load, save
    >>> model = MultinomialNB(alpha=0.5).fit(np.eye(3), ["a", "b", "a"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/words.coview")
    ...     again = load(f"{folder}/words.coview")
    >>> again
    MultinomialNB(alpha=0.5)
    >>> again.predict(np.eye(3)).tolist()
    ['a', 'b', 'a']
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save needs an estimator, got {type(model).__name__}. Example: save(PLSA(10).fit(X), path).")
    packer = _Packer()
    versions = {"coview": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    tree = {"estimator": model, "versions": {**versions, "scikit-learn": sklearn.__version__}}
    try:
        write_archive(path, tree, kind="model", version=_FORMAT, extend=packer)
    except TypeError as error:
        from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

        if not isinstance(model, (GridSearchCV, RandomizedSearchCV)):
            raise
        raise TypeError(
            f"A model file cannot hold all of this {type(model).__name__}. Save search.best_estimator_ instead."
        ) from error
    left_out = dict.fromkeys(packer.left_out)
    if left_out:
        warnings.warn(
            f"save left out {', '.join(left_out)}: functions, callbacks and engine objects are not written. "
            "The loaded model will use the defaults; set them again with set_params.",
            UserWarning,
            stacklevel=2,
        )


def load(path: str | Path, *, mmap: bool = False) -> Any:
    """Read an estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.
    mmap : bool, default=False
        Leave the arrays in the file, mapped into memory: a large model takes little memory of its own, and several
        processes share it. The checksums are checked all the same, which reads the file once.

    Returns
    -------
    estimator
        Equal to the saved one in parameters and fitted attributes.

    Raises
    ------
    ModelFileError
        The file is absent, truncated, altered, not a model file, or needs a newer coview; or its parts contradict each
        other. Nothing in it is executed.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> from coview.io.models import load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(MultinomialNB(alpha=0.5), f"{folder}/words.coview")
    ...     load(f"{folder}/words.coview")
    MultinomialNB(alpha=0.5)
    """
    tree, _ = read_archive(path, kind="model", newest=_FORMAT, revive=_Unpacker(Path(path)), mmap=mmap)
    model = tree.get("estimator") if isinstance(tree, dict) else None
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"{path} holds no estimator. Use a file that coview.save wrote.")
    return model


def outline(path: str | Path) -> dict[str, Any]:
    """Say what a model file holds without loading its arrays: class, parameters, shapes, views, versions.

    Examples
    --------
    >>> import tempfile
    >>> from coview import PLSA
    >>> from coview.datasets import make_topic_views
    >>> from coview.io.models import outline, save
    >>> file = tempfile.mkdtemp() + "/topics.coview"
    >>> save(PLSA(3, max_iter=5).fit(make_topic_views(20, random_state=0).views), file)
    >>> about = outline(file)
    >>> about["model"], about["parameters"]["n_components"], about["fitted"]["memberships_"]
    ('PLSA', 3, '20 x 3 float64')
    """
    tree, header = read_archive(path, kind="model", newest=_FORMAT, outline=True)
    if not isinstance(tree, dict) or not isinstance(tree.get("estimator"), Packed):
        raise ModelFileError(f"{path} holds no estimator. Use a file that coview.save wrote.")
    about = {"format": header["version"], "versions": tree.get("versions", {}), "bytes": Path(path).stat().st_size}
    return {**_outlined(tree["estimator"]), **about}


# -- what a file holds, in plain values and without its arrays


def _outlined(node: Packed) -> dict[str, Any]:
    """One packed estimator in plain values; the estimators inside it by their names."""
    params, attributes = node.get("params", {}), node.get("attributes", {})
    summary: dict[str, Any] = {
        "model": node.get("class"),
        "parameters": {k: _short_plain(v) for k, v in params.items()},
    }
    steps = params.get("steps")
    if isinstance(steps, list):
        parts = [step[1] for step in steps if isinstance(step, tuple) and isinstance(step[1], Packed)]
        summary["parameters"].pop("steps")
        return {**summary, "steps": [_outlined(part) for part in parts]}
    return {**summary, "fitted": {k: _short_plain(v) for k, v in attributes.items() if not k.startswith("_")}}


def _short_plain(value: Any) -> Any:
    """A value of an outline as JSON knows it; of what is long, the beginning."""
    if isinstance(value, Packed) and "params" in value:
        inner = _outlined(value)
        return inner if "steps" in inner else inner["model"]
    if isinstance(value, dict):
        first = {str(key): _short_plain(part) for key, part in list(value.items())[:_SHOWN]}
        return first if len(value) <= _SHOWN else {**first, "...": f"{len(value)} in all"}
    if isinstance(value, (list, tuple)):
        short = [_short_plain(part) for part in value[:_SHOWN]]
        return short if len(value) <= _SHOWN else [*short, f"... {len(value)} in all"]
    if isinstance(value, np.ndarray):
        return _short_plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


# -- objects to trees


class _Packer:
    """What the archive calls for values it does not know: (tag, tree), or None for those unknown here too."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def __call__(self, value: Any, where: str) -> tuple[str, Any] | None:
        if isinstance(value, BaseEstimator):
            return self._estimator(value, where)
        if isinstance(value, np.dtype) and _DTYPE.fullmatch(value.str):
            return "dtype", value.str
        if isinstance(value, type) and _type_name(value):
            return "type", _type_name(value)
        known = (tag for tag, (cls, _, _) in _OBJECTS.items() if type(value) is cls)
        tag = "path" if isinstance(value, Path) else next(known, None)
        tree = None if tag is None else _OBJECTS[tag][1](value)
        return None if tag is None or tree is None else (tag, tree)

    def _estimator(self, model: BaseEstimator, where: str) -> tuple[str, Any]:
        cls = type(model)
        params = model.get_params(deep=False)
        attributes = {key: value for key, value in vars(model).items() if key not in params}
        if attributes.pop(_CALLBACKS, None):
            self.left_out.append(f"{cls.__name__}.set_callbacks")
        if cls.__module__.startswith("sklearn."):
            if catalog.sklearn_class(cls.__name__) is not cls:
                raise TypeError(f"Cannot store {where}: {cls.__name__} is not a public estimator of scikit-learn.")
            _check_saved(model, where, attributes)
            about = {"class": cls.__name__, "version": sklearn.__version__}
            return "sklearn", {**about, "params": params, "attributes": attributes}
        try:
            name = catalog.name_of(cls)
        except KeyError:
            raise TypeError(
                f"Cannot store {where}: {cls.__name__} is neither in the catalog of coview nor a public estimator of "
                "scikit-learn."
            ) from None
        kept = {
            # what is still on a cluster comes here now
            key: _brought_home(value)
            for key, value in attributes.items()
            if _is_kept(cls, key)
        }
        _check_saved(model, where, kept)
        return "estimator", {"class": name, "params": self._closed(cls, params), "attributes": kept}

    def _closed(self, cls: type, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters without the functions and open objects, which get their defaults again when loading."""
        signature = inspect.signature(cls).parameters
        closed = {}
        for name, value in params.items():
            if not _is_open(name, value) and (value is None or name not in _GIVEN_AGAIN.get(cls.__name__, ())):
                closed[name] = value
            elif signature[name].default is inspect.Parameter.empty:
                raise TypeError(
                    f"Cannot store {cls.__name__}: its parameter {name!r} is or holds {value!r}, which is not written, "
                    "and it has no default to go back to."
                )
            else:
                self.left_out.append(f"{cls.__name__}.{name}")
        return closed


def _brought_home(value: Any) -> Any:
    if isinstance(value, dict):
        parts = {key: _brought_home(part) for key, part in value.items()}
        return CandidateTable(parts) if isinstance(value, CandidateTable) else parts
    return np.asarray(value) if is_dask_collection(value) else value


def _is_kept(cls: type, name: str) -> bool:
    """Tell whether an attribute of a coview estimator belongs into its file."""
    public = name.endswith("_") and not name.startswith("_")
    return public or name in _ALSO or name in rules.fitted_state(cls)


def _is_known(cls: type, name: str) -> bool:
    """Tell whether an estimator may have an attribute: of ours, those that it describes."""
    ours = cls.__module__.startswith("coview.")
    return name in _ALSO or name in rules.fitted_state(cls) if ours else _is_kept(cls, name)


def _is_open(name: str, value: Any) -> bool:
    """Tell whether a parameter is or holds something that only lives in this process."""
    if name in ("callbacks", "engine"):
        return not (value is None or isinstance(value, str) or (isinstance(value, (list, tuple)) and not value))
    if isinstance(value, (list, tuple)):
        return any(_is_open(name, item) for item in value)
    if isinstance(value, dict):
        return any(_is_open(name, item) for item in value.values())
    known_type = isinstance(value, type) and _type_name(value) is not None
    return callable(value) and not isinstance(value, BaseEstimator) and not known_type


def _type_name(cls: type) -> str | None:
    return next((name for name, known in _TYPES.items() if known is cls), None)


# -- and back


class _Unpacker:
    """What the archive calls for the tags that `_Packer` gave."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, tag: str, tree: Any, header: dict[str, Any]) -> Any:
        if tag == "estimator":
            return self._estimator(tree, header["coview"])
        if tag == "sklearn":
            return self._sklearn(tree)
        if tag == "dtype" and _DTYPE.fullmatch(tree):
            return np.dtype(tree)
        if tag == "type":
            return _TYPES[tree]
        if tag in _OBJECTS:
            try:
                return _OBJECTS[tag][2](tree)
            except rules.StateMismatch as error:
                raise ModelFileError(
                    f"{self._path} holds a {_OBJECTS[tag][0].__name__} in a state that it cannot be in: {error}. Use "
                    "another copy of it, or write it again."
                ) from None
        raise ModelFileError(f"{self._path} holds an object {tag!r} that coview {__version__} does not know.")

    def _estimator(self, tree: dict[str, Any], version: str) -> Any:
        name = tree["class"]
        try:
            cls = catalog.resolve(name)
        except KeyError:
            raise ModelFileError(
                f"{self._path} holds a {name}, which coview {__version__} does not have; it needs coview >= {version}."
            ) from None
        decided = [key for key in _GIVEN_AGAIN.get(name, ()) if tree["params"].get(key) is not None]
        if decided:
            raise ModelFileError(
                f"{self._path} is refused: it sets {decided[0]!r} of its {name}, which no file may decide on. Use a "
                "file that coview.save wrote."
            )
        model = self._built(cls, tree["params"], f"coview {__version__}", f"coview {version}")
        unknown = [key for key in tree["attributes"] if not _is_known(cls, key)]
        if unknown:
            raise ModelFileError(
                f"{self._path} holds attributes of {name} that coview {__version__} does not have: "
                f"{', '.join(map(repr, unknown))}. It was written by coview {version}."
            )
        vars(model).update(tree["attributes"])
        self._check(model, tree["attributes"], version)
        return model

    def _check(self, model: Any, attributes: dict[str, Any], version: str = __version__) -> None:
        """Refuse a fitted estimator whose parts contradict each other, before anything of it is used.

        `version` is the one of coview that wrote it. Another may have kept other attributes, or fewer.
        """
        try:
            _check_state(model, attributes)
        except rules.StateMismatch as error:
            if version != __version__ or isinstance(error, rules.StateMissing):
                other = version != __version__
                by = f"coview {version}" if other else "another version of coview, or altered"
                raise ModelFileError(
                    f"{self._path} was written by {by}: of its {type(model).__name__}, {error}. Fit the model again "
                    f"with coview {__version__}{f', or load it with {version}' if other else ''}."
                ) from None
            raise ModelFileError(
                f"{self._path} contradicts itself: of its {type(model).__name__}, {error}. Use another copy of it, or "
                "write it again."
            ) from None

    def _sklearn(self, tree: dict[str, Any]) -> Any:
        name, version = tree["class"], tree["version"]
        here = f"scikit-learn {sklearn.__version__}"
        cls = catalog.sklearn_class(name)
        if cls is None:
            raise ModelFileError(
                f"{self._path} holds a {name}, which {here} does not have; it was written with scikit-learn {version}."
            )
        if version != sklearn.__version__:
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=name, current_sklearn_version=sklearn.__version__, original_sklearn_version=version
                ),
                stacklevel=2,
            )
        model = self._built(cls, tree["params"], here, f"scikit-learn {version}")
        vars(model).update(tree["attributes"])
        try:
            check_pattern(model)  # which is run by vectorizers that are not fitted, too
        except rules.StateMismatch as error:
            raise ModelFileError(f"{self._path} is refused: of its {name}, {error}.") from None
        self._check(model, tree["attributes"])
        return model

    def _built(self, cls: type, params: dict[str, Any], here: str, there: str) -> Any:
        known = inspect.signature(cls).parameters
        unknown = [key for key in params if key not in known]
        if unknown:
            raise ModelFileError(
                f"{self._path} gives {cls.__name__} parameters that it does not have in {here}: "
                f"{', '.join(map(repr, unknown))}. It was written with {there}."
            )
        return cls(**params)


# -- what `load` and `save` hold models against


def _check_state(model: Any, attributes: dict[str, Any]) -> None:
    """Refuse a fitted estimator whose parameters and attributes contradict each other or its class."""
    if not attributes.keys() - _ALSO.keys() and not isinstance(model, Pipeline):
        return  # not fitted; a pipeline has no attributes of its own
    if type(model).__module__.startswith("sklearn."):
        fresh = vars(type(model)(**model.get_params(deep=False)))  # some constructors set more than parameters
        if attributes.keys() - fresh.keys() and not is_known(type(model)):
            raise ModelFileError(
                f"No model file holds a fitted {type(model).__name__}: damaged arrays could end the process, and no "
                "rule tells them. Use another estimator, or keep this one with skops."
            )
        check_sklearn(model)
    else:
        check_ours(model, {**vars(model), **attributes})


def _check_saved(model: Any, where: str, attributes: dict[str, Any]) -> None:
    """Refuse to write what `load` would refuse to read."""
    ours = not type(model).__module__.startswith("sklearn.")
    try:
        unknown = [key for key in attributes if ours and not _is_known(type(model), key)]
        if unknown:
            raise rules.StateMismatch(f"{unknown[0]!r} is no attribute that a fit gives it")
        if not ours:
            check_pattern(model)
        _check_state(model, attributes)
    except rules.StateMismatch as error:
        raise ModelFileError(
            f"Cannot store {where}: load would refuse this {type(model).__name__}, since {error}. Fit it again."
        ) from None


def check_ours(model: Any, state: dict[str, Any]) -> None:
    """Refuse a fitted estimator of coview that is not what its class says."""
    try:
        check_parameters(model)
    except ParameterError as error:
        raise rules.StateMismatch(f"the parameter {str(error).rstrip('.')}") from None
    if isinstance(model, CountVectorizer):  # which has scikit-learn's checks of parameters
        check_sklearn(model)
    rules.check_state({**_ALSO, **rules.fitted_state(type(model))}, state)
