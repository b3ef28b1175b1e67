"""Model files: `save` writes a fitted (or unfitted) estimator to one file, `load` gives it back; never pickle.

A model file is an archive (`coview.utils.archive`) of names and numbers: the name of the class, its constructor
parameters and its fitted attributes. Loading looks the class up by that name, among the estimators of coview and the
public ones of scikit-learn, calls its constructor and sets the attributes; no other code is reached. An estimator of
coview is then checked against what its class says of its attributes (`coview.utils.fitted_state`). An estimator of
scikit-learn that holds none of coview is stored by skops, whose list of trusted types is extended by `_TRUSTED`.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from coview import catalog
from coview._version import __version__
from coview.assignment.ontology import Ontology
from coview.auto.table import CandidateTable
from coview.exceptions import ModelFileError, ParameterError
from coview.io.tables import has_table_extension
from coview.retrieval.index import ObjectIndex
from coview.retrieval.lexical import SharedWords
from coview.utils import fitted_state as rules
from coview.utils.archive import read_archive, write_archive
from coview.utils.parameters import check_parameters
from coview.views.arrays import is_dask_collection

__all__ = ["load", "outline", "save"]

_FORMAT = 1
_ALSO: dict[str, rules.Rule] = {  # private, but scikit-learn's mixins need them after a fit
    "_n_features_out": rules.optional(rules.count(1)),
    "_sklearn_output_config": rules.optional(rules.mapping(rules.choice("default", "pandas", "polars"))),
}
_CALLBACKS = ("_callbacks", "_skl_callbacks")  # where set_callbacks keeps ours and those of scikit-learn
_OBJECTS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {  # class, to a tree, and back
    "path": (Path, str, Path),
    "slice": (slice, lambda value: (value.start, value.stop, value.step), lambda tree: slice(*tree)),
    "bunch": (Bunch, dict, lambda tree: Bunch(**tree)),
    "dtype": (np.dtype, lambda dtype: dtype.str, np.dtype),
    "ontology": (
        Ontology,
        lambda o: {"labels": o.labels, "subset": o.subset, "mutex": o.mutex},
        lambda t: Ontology(**t),
    ),
    "object_index": (ObjectIndex, ObjectIndex.__getstate__, ObjectIndex.from_state),
    # NumPy trusts the state of a generator, so a file holds a seed that is drawn from a copy of it
    "random_state": (np.random.RandomState, lambda r: copy.deepcopy(r).randint(2**31), np.random.RandomState),
    "generator": (np.random.Generator, lambda g: copy.deepcopy(g).integers(2**31), np.random.default_rng),
    "candidate_table": (CandidateTable, dict, CandidateTable),
    "shared_words": (SharedWords, vars, lambda tree: SharedWords(**tree)),
}
_UNKNOWN = " is no attribute that a fit gives it"
# what is run, and folders that are written to and unpickled from: no file decides on that
_GIVEN_AGAIN = ("encoder", "cache", "memory")
# what estimators of scikit-learn hold beside the types that skops trusts: compiled trees and their like, which are data
_TRUSTED = [
    "numpy.dtype",
    "numpy.mean",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_selection._mutual_info.mutual_info_classif",
    "sklearn.feature_selection._univariate_selection.chi2",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
]
_SHOWN = 20  # parts of a list or dict that an outline shows


def save(model: Any, path: str | Path) -> None:
    """Write an estimator to one file.

    The file holds the parameters, the fitted attributes and the versions of coview, NumPy, SciPy and scikit-learn, with
    checksums. Estimators inside the model (of coview, and public ones of scikit-learn) are written with it. It appears
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
        Functions, callbacks, engine objects, the encoders of `EmbeddingViews` and folders to cache in are left out; the
        loaded model has the defaults of those parameters.

    See Also
    --------
    load : Read the file back.

    Notes
    -----
    A random generator of an estimator of coview is stored as a seed drawn from it: the loaded model draws other numbers
    than the saved one.

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
    write_archive(path, tree, kind="model", version=_FORMAT, extend=packer)
    if packer.left_out:
        warnings.warn(
            f"save left out {', '.join(dict.fromkeys(packer.left_out))}: functions, callbacks, engine objects and "
            "folders to cache in are not written. The loaded model will use the defaults; set them again with "
            "set_params or set_callbacks.",
            UserWarning,
            stacklevel=2,
        )


def load(path: str | Path) -> Any:
    """Read an estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

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
    return _read(path)[0]["estimator"]


def _read(path: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the estimator of a file with the versions that wrote it, and the header."""
    try:
        tree, header = read_archive(path, kind="model", newest=_FORMAT, revive=_Unpacker(Path(path)))
    except ModelFileError:
        if has_table_extension(Path(path)) and Path(path).is_file():
            raise ModelFileError(f"{path} is a table; a model file is needed.") from None
        raise
    if not isinstance(tree, dict) or not isinstance(tree.get("estimator"), BaseEstimator):
        raise ModelFileError(f"{path} holds no estimator. Use a file that coview.save wrote.")
    return tree, header


def outline(path: str | Path) -> dict[str, Any]:
    """Describe what a model file holds in plain values: class, parameters, shapes, views, versions.

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
    tree, header = _read(path)
    about = {"format": header["version"], "versions": tree.get("versions", {}), "bytes": Path(path).stat().st_size}
    return {**_outline_estimator(tree["estimator"]), **about}


def _outline_estimator(model: BaseEstimator) -> dict[str, Any]:
    """Return one estimator in plain values; the estimators inside it by their names."""
    params = model.get_params(deep=False)
    settings = {key: _shorten(value) for key, value in params.items() if key != "steps"}
    shown = {"model": type(model).__name__, "parameters": settings}
    if isinstance(model, Pipeline):
        return {**shown, "steps": [_outline_estimator(step) for _, step in model.steps if step != "passthrough"]}
    fitted = {key: value for key, value in vars(model).items() if key not in params and not key.startswith("_")}
    return {**shown, "fitted": {key: _shorten(value) for key, value in fitted.items()}}


def _shorten(value: Any) -> Any:
    """Return a value of an outline as JSON has it, cut where it is long."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Pipeline):
        return _outline_estimator(value)
    if isinstance(value, dict):
        first = {str(key): _shorten(part) for key, part in list(value.items())[:_SHOWN]}
        return first if len(value) <= _SHOWN else {**first, "...": f"{len(value)} in all"}
    if isinstance(value, (list, tuple)):
        short = [_shorten(part) for part in value[:_SHOWN]]
        return short if len(value) <= _SHOWN else [*short, f"... {len(value)} in all"]
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO":
        return _shorten(value.tolist())
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        kind = value.dtype.name if isinstance(value, np.ndarray) else type(value).__name__
        return f"{' x '.join(map(str, value.shape))} {kind}"
    return value.item() if isinstance(value, np.generic) else type(value).__name__


# -- objects to trees


class _Packer:
    """What the archive calls for values it does not know: (tag, tree), or None for those unknown here too."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def __call__(self, value: Any, where: str) -> tuple[str, Any] | None:
        if isinstance(value, BaseEstimator):
            return "estimator", self._pack_estimator(value, where)
        if _is_scalar_type(value):
            return "type", np.dtype(value).str
        for tag, (cls, pack, _) in _OBJECTS.items():
            if isinstance(value, cls):
                return tag, pack(value)
        return None

    def _pack_estimator(self, model: BaseEstimator, where: str) -> dict[str, Any]:
        cls, params = type(model), model.get_params(deep=False)
        attributes = {key: value for key, value in vars(model).items() if key not in params}
        if any([attributes.pop(name, None) for name in _CALLBACKS]):  # noqa: C419  # all of them
            self.left_out.append(f"{cls.__name__}.set_callbacks")
        # refused when saving: a file that cannot be loaded is worse than none
        if _find_class(cls.__name__) is not cls:
            raise TypeError(
                f"Cannot store {where}: {cls.__name__} is neither in the catalog of coview nor a public estimator of "
                "scikit-learn."
            )
        if not any(_is_ours(type(part)) for part in (model, *_estimators_inside(model))):
            content = _dump(self._without_folders(model), where)
            return {"class": cls.__name__, "version": sklearn.__version__, "skops": content}
        packed: dict[str, Any] = {"class": cls.__name__, "params": self._close(cls, params)}
        if _is_ours(cls):
            attributes = {key: _gather(value) for key, value in attributes.items() if _is_kept(cls, key)}
            try:
                _check(model, attributes)
            except rules.StateMismatch as error:
                raise ModelFileError(
                    f"Cannot store {where}: load would refuse this {cls.__name__}, since {error}. Fit it again."
                ) from None
        else:
            # attributes of scikit-learn change between its versions, ours are checked by rules
            packed["version"] = sklearn.__version__
        return {**packed, "attributes": attributes}

    def _without_folders(self, model: BaseEstimator) -> BaseEstimator:
        """Return an estimator of scikit-learn that has nothing of `_GIVEN_AGAIN`, a copy where it had."""
        if not _list_given_again(model):
            return model
        model = copy.deepcopy(model)
        for part, name in _list_given_again(model):
            part.set_params(**{name: None})
            self.left_out.append(f"{type(part).__name__}.{name}")
        return model

    def _close(self, cls: type, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters without functions and open objects, which have their defaults after loading."""
        signature = inspect.signature(cls).parameters
        closed = {}
        for name, value in params.items():
            if value is None or not (name in _GIVEN_AGAIN or (_is_ours(cls) and _is_open(name, value))):
                closed[name] = value
            # without a default the loaded model could not be made
            elif signature[name].default is inspect.Parameter.empty:
                raise TypeError(
                    f"Cannot store {cls.__name__}: its parameter {name!r} is or holds {value!r}, which is not written, "
                    "and it has no default to go back to."
                )
            else:
                self.left_out.append(f"{cls.__name__}.{name}")
        return closed


def _estimators_inside(model: BaseEstimator) -> list[BaseEstimator]:
    return [part for part in model.get_params().values() if isinstance(part, BaseEstimator)]


def _list_given_again(model: BaseEstimator) -> list[tuple[BaseEstimator, str]]:
    """List the parameters of an estimator, and of those inside it, on which no file decides and which are set."""
    parts = [model, *_estimators_inside(model)]
    named = [(part, part.get_params(deep=False), name) for part in parts for name in _GIVEN_AGAIN]
    return [(part, name) for part, params, name in named if params.get(name) is not None]


def _dump(model: BaseEstimator, where: str) -> np.ndarray:
    """Return the bytes that skops makes of an estimator of scikit-learn; one that could not be read is refused."""
    skops = _import_skops()
    dumps, get_untrusted_types = skops.dumps, skops.get_untrusted_types

    try:
        content = dumps(model)
        foreign = sorted(set(get_untrusted_types(data=content)) - set(_TRUSTED))
    except (TypeError, RecursionError, AttributeError) as error:
        raise TypeError(f"Cannot store {where}, a {type(model).__name__}: {error}") from error
    if foreign:
        raise TypeError(f"Cannot store {where}: its {type(model).__name__} holds {foreign[0]}, which no file may name.")
    return np.frombuffer(content, dtype=np.uint8)


def _import_skops() -> Any:
    """Import skops, which walks through all packages of scikit-learn: one of them imports torch, for seconds."""
    if "skops.io" in sys.modules:
        return sys.modules["skops.io"]
    importlib.import_module("scipy.stats")  # which a command may have left out, and which would not load without torch
    hidden = [name for name in ("torch", "dask") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: cannot be imported
    try:
        return importlib.import_module("skops.io")
    finally:
        for name in hidden:
            del sys.modules[name]


def _is_ours(cls: type) -> bool:
    return not cls.__module__.startswith("sklearn.")


def _find_class(name: str) -> type | None:
    """Return the class of a name: an estimator of coview, else a public one of scikit-learn, else None."""
    try:
        return catalog.resolve(name)
    # ours first: no class of scikit-learn can take the place of one of coview
    except KeyError:
        return catalog.sklearn_class(name)


def _gather(value: Any) -> Any:
    """Return values with those that are on a cluster computed here."""
    if type(value) is dict:
        return {key: _gather(part) for key, part in value.items()}
    return np.asarray(value) if is_dask_collection(value) else value


def _is_kept(cls: type, name: str) -> bool:
    """Whether an attribute of a coview estimator belongs into its file."""
    public = name.endswith("_") and not name.startswith("_")
    return public or name in _ALSO or name in rules.fitted_state(cls)


def _is_open(name: str, value: Any) -> bool:
    """Tell whether a parameter is or holds something that only lives in this process."""
    if name == "engine":
        return not (value is None or isinstance(value, str) or (isinstance(value, (list, tuple)) and not value))
    if isinstance(value, (list, tuple)):
        return any(_is_open(name, item) for item in value)
    if isinstance(value, dict):
        return any(_is_open(name, item) for item in value.values())
    return callable(value) and not isinstance(value, BaseEstimator) and not _is_scalar_type(value)


def _is_scalar_type(value: Any) -> bool:
    """Whether a value is a type that stands for a dtype, such as numpy.float32 or int."""
    return isinstance(value, type) and issubclass(value, (np.number, np.bool_, bool, int, float))


# -- and back


class _Unpacker:
    """What the archive calls for the tags that `_Packer` gave."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self, tag: str, tree: Any, header: dict[str, Any]) -> Any:
        if tag == "estimator":
            return self._build_estimator(tree, header["coview"])
        if tag == "type":
            return np.dtype(tree).type
        try:
            return _OBJECTS[tag][2](tree)
        except rules.StateMismatch as error:
            raise ModelFileError(f"{self._path} contradicts itself: of its {tag}, {error}. Write it again.") from None

    def _build_estimator(self, tree: dict[str, Any], version: str) -> Any:
        name = tree["class"]
        cls = _find_class(name)
        if cls is None:
            raise ModelFileError(
                f"{self._path} holds a {name}, which neither coview {__version__} nor scikit-learn "
                f"{sklearn.__version__} has; it needs coview >= {version}."
            )
        if "skops" in tree:
            return self._build_sklearn(cls, tree)
        params, attributes = tree["params"], tree["attributes"]
        self._check_given_again([(name, key) for key in _GIVEN_AGAIN if {**params, **attributes}.get(key) is not None])
        # a sentence in place of the TypeError of a call: the file may be of another version
        unknown = [key for key in params if key not in inspect.signature(cls).parameters]
        if unknown:
            raise ModelFileError(
                f"{self._path} gives {name} a parameter that it does not have in coview {__version__} with "
                f"scikit-learn {sklearn.__version__}: {unknown[0]!r}. It was written by coview {version}."
            )
        # the constructor only stores parameters, as scikit-learn demands: no work is done by it
        model = cls(**params)
        vars(model).update(attributes)
        if _is_ours(cls):
            self._check(model, attributes, version)
        else:
            _warn_of_version(name, tree["version"])
        return model

    def _build_sklearn(self, cls: type, tree: dict[str, Any]) -> Any:
        """Return what skops stored, which must be of the class that the file names."""
        loads = _import_skops().loads

        _warn_of_version(cls.__name__, tree["version"])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InconsistentVersionWarning)  # issued above, once for all parts
                model = loads(tree["skops"].tobytes(), trusted=_TRUSTED)
        except Exception as error:  # damaged parts fail wherever they are used first
            raise ModelFileError(
                f"{self._path} holds a {cls.__name__} that cannot be read ({type(error).__name__}: {error}). Use "
                "another copy of it, or fit the model again."
            ) from error
        if type(model) is not cls:
            raise ModelFileError(f"{self._path} contradicts itself: its {cls.__name__} is a {type(model).__name__}.")
        self._check_given_again([(type(part).__name__, key) for part, key in _list_given_again(model)])
        return model

    def _check_given_again(self, decided: list[tuple[str, str]]) -> None:
        """Refuse a file that sets what runs, or a folder that is unpickled from: (estimator, parameter)."""
        for name, key in decided:
            raise ModelFileError(
                f"{self._path} is refused: it sets {key!r} of its {name}, which no file may decide on. Use a file that "
                "coview.save wrote."
            )

    def _check(self, model: Any, attributes: dict[str, Any], version: str) -> None:
        """Refuse a fitted estimator whose parts contradict each other, before anything of it is used."""
        try:
            _check(model, attributes)
        except rules.StateMismatch as error:
            why = f"{self._path}, written by coview {version}, contradicts itself or coview {__version__}"
            advice = "Use another copy of it, or fit the model again"
            if version == __version__ and str(error).endswith((" is not there", _UNKNOWN)):
                why, advice = f"{self._path} was written by an earlier state of coview {version}", "Fit the model again"
            raise ModelFileError(f"{why}: of its {type(model).__name__}, {error}. {advice}.") from None


def _warn_of_version(name: str, version: str) -> None:
    if version != sklearn.__version__:
        versions = {"current_sklearn_version": sklearn.__version__, "original_sklearn_version": version}
        warnings.warn(InconsistentVersionWarning(estimator_name=name, **versions), stacklevel=2)


def _check(model: Any, attributes: dict[str, Any]) -> None:
    """Refuse a fitted estimator of coview whose parameters and attributes contradict each other or its class."""
    described = {**_ALSO, **rules.fitted_state(type(model))}
    if not attributes.keys() - _ALSO.keys():
        return  # not fitted
    # a class from outside of coview need not describe its attributes; what it does not describe is not checked
    free = not type(model).__module__.startswith("coview.")
    unknown = [name for name in attributes if name not in described and not (free and _is_kept(type(model), name))]
    if unknown:
        raise rules.StateMismatch(f"{unknown[0]!r}{_UNKNOWN}")
    try:
        # the rules of attributes rest on parameters, such as the number of clusters
        check_parameters(model)
    except ParameterError as error:
        raise rules.StateMismatch(str(error).rstrip(".").replace("The '", "the '", 1)) from None
    rules.check_state(described, {**vars(model), **attributes})
