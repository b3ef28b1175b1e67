"""Every public name is documented as numpydoc wants it: each parameter once, with its type, in the signature's order.

Methods may say in a sentence what they do with X, y and up to two parameters; with more, they list all of them.
"""

import importlib
import inspect
import re

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import coview
from coview.catalog import ESTIMATORS, TRANSFORMERS, resolve
from coview.datasets import make_blobs_views, make_topic_views

pytest.importorskip("numpydoc", reason="numpydoc is not installed: docstrings are not checked")

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

MODULES = ("coview", "coview.datasets", "coview.metrics", "coview.plot", "coview.exceptions")
PUBLIC = [f"{module}.{name}" for module in MODULES for name in importlib.import_module(module).__all__]
CODES = {
    "GL01", "GL02", "GL03", "GL07", "GL08",  # there is a docstring, laid out as all others; sections in order
    "PR01", "PR02", "PR03", "PR04", "PR05", "PR07", "PR08", "PR09", "PR10",  # parameters
    "SS03", "SS04", "SS06",  # a summary of one line
}  # fmt: skip
LEFT_TO_SENTENCES = {"self", "cls", "X", "y", "sample_weight", "classes", "input_features"}
# made by the library and never by a user: described by their attributes
RESULTS = {"ClusterChoice", "Comparison", "LabelAudit", "LabelSuggestions", "StreamResult", "Update"}
# what their methods do is said once, in `ReferenceEngine`
ENGINES = {"CpuEngine", "DaskEngine"}


def errors(path: str, skip: frozenset[str] = frozenset()) -> list[str]:
    return [f"{path}: {code} {text}" for code, text in validate(path)["errors"] if code in CODES - skip]


def methods(cls: type) -> list[tuple[str, object]]:
    """Public methods and properties that coview defines, by path."""
    found = []
    for name in dir(cls):
        owner = next(base for base in cls.__mro__ if name in vars(base)) if not name.startswith("_") else object
        value = vars(owner).get(name)
        kinds = (property, classmethod, staticmethod)
        if owner.__module__.startswith("coview") and (inspect.isfunction(value) or isinstance(value, kinds)):
            found.append((f"{owner.__module__}.{owner.__qualname__}.{name}", getattr(cls, name)))
    return found


def says_enough(method: object) -> bool:
    """Whether a method has so few parameters that its sentence can name them."""
    doc = NumpyDocString(inspect.getdoc(method) or "")
    if not callable(method) or doc["Parameters"]:
        return not callable(method)
    return len(set(inspect.signature(method).parameters) - LEFT_TO_SENTENCES) <= 2


@pytest.mark.no_cover
@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_are_valid(name):
    module, _, last = name.rpartition(".")
    value = getattr(importlib.import_module(module), last)
    if not callable(value):
        return
    path = f"{value.__module__}.{value.__qualname__}"
    as_their_root = isinstance(value, type) and issubclass(value, Exception) and "__init__" not in vars(value)
    found = errors(path, frozenset({"PR01"}) if last in RESULTS or as_their_root else frozenset())
    for path, method in methods(value) if isinstance(value, type) and last not in ENGINES else ():
        found += errors(path, frozenset({"PR01"}) if says_enough(method) else frozenset())
    assert found == []


def test_results_name_every_attribute():
    for name in RESULTS:
        assert NumpyDocString(inspect.getdoc(getattr(coview, name)) or "")["Attributes"], name


SMALL = {"n_clusters": 3, "n_components": 3, "max_iter": 3, "n_init": 1, "n_words": 3, "random_state": 0}
SETTINGS = {
    "NeighborViews": {"labels": True},
    "EachView": {"transformers": StandardScaler()},
    "TextViews": {"columns": {"words": "body"}},
    "EmbeddingViews": {"encoder": lambda texts: np.ones((len(texts), 2)), "columns": "body"},
    "TableViews": {"text": {"words": "body"}, "columns": {"meta": ["year"]}},
}
IMAGES = ("SiftWords",)


def fitted(name):
    """A fitted estimator or transformer of the catalog."""
    target = np.arange(24) % 3
    if name in IMAGES:
        pytest.importorskip("skimage", reason="scikit-image is not installed: words of images are not checked")
        X = [np.kron(np.random.default_rng(i).random((9, 9, 3)), np.ones((8, 8, 1))) for i in range(24)]
    elif name in ("TextViews", "TableViews", "EmbeddingViews"):
        X = {"body": ["ant bee", "bee cat", "cat ant"] * 8, "year": list(range(24))}
    elif name == "TextVectorizer":
        X = ["ant bee", "bee cat", "cat ant"] * 8
    elif name == "EachView":
        X = make_blobs_views(24, random_state=0).views
    else:
        X = make_topic_views(24, {"words": 30, "links": 24}, 3, random_state=0).views
    model = resolve(name)(**SETTINGS.get(name, {}))
    known = model.get_params(deep=False)
    return model.set_params(**{key: value for key, value in SMALL.items() if key in known}).fit(X, target)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", [*ESTIMATORS, *TRANSFORMERS])
def test_every_fitted_attribute_is_documented(name):
    model = fitted(name)
    attributes = NumpyDocString(inspect.getdoc(type(model)) or "")["Attributes"]
    documented = {part.strip() for entry in attributes for part in entry.name.split(",")}
    properties = (key for key, value in inspect.getmembers(type(model)) if isinstance(value, property))
    public = {key for key in (*vars(model), *properties) if key.endswith("_") and not key.startswith("_")}
    assert public - documented == set()


@pytest.mark.parametrize("name", [*ESTIMATORS, *TRANSFORMERS])
def test_editors_see_every_documented_attribute(name):
    """It is annotated, a property, or set by name in a class of the estimator: `setattr` alone says nothing."""
    cls = resolve(name)
    documented = [each.name for each in NumpyDocString(inspect.getdoc(cls) or "")["Attributes"]]
    names = {part.strip() for each in documented for part in each.split(",")}
    seen = {part for base in cls.__mro__ for part in (*vars(base), *vars(base).get("__annotations__", {}))}
    ours = "".join(inspect.getsource(base) for base in cls.__mro__ if base.__module__.startswith("coview"))
    seen |= set(re.findall(r"self\.(\w+_)\b(?=(?:, self\.\w+| *,\n?)*(?:: [^=\n]+)? =)", ours))
    for targets in re.findall(r"^ +((?:self\.\w+(?:\[\w+\])?, )+self\.\w+(?:\[\w+\])?) =", ours, re.MULTILINE):
        seen |= set(re.findall(r"self\.(\w+)", targets))
    assert not names - seen
