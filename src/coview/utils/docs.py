"""Parameters and attributes that many estimators share, described once; docstrings are filled in when a class is made.

A line ``<shared: engine, n_jobs>`` among the parameters of a docstring becomes the full description of each, and a line
``<same: max_iter, init>`` the descriptions in the docstring of another class or function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import cleandoc, isfunction
from textwrap import indent
from typing import Any, TypeVar

__all__ = ["SHARED", "parameters_of", "shared_parameters"]

SHARED = {
    "history_": """history_ : dict of lists
    "objective" and "seconds" after each EM iteration; entry 0 is the initialization.""",
    "fit_seconds_": """fit_seconds_ : dict of float
    What the last call of `fit` took before, in and after its EM iterations: "start", "iterations" and "end".""",
    "n_iter_": """n_iter_ : int
    EM iterations from the best initialization.""",
    "stopped_by_": """stopped_by_ : str
    Why the fit ended: "tol", "max_iter", "time" (also where it left no room for all restarts), "callback" or
    "interrupt".""",
    "likelihood": """likelihood : {"auto", "multinomial", "gaussian"} or {view: such a value}, default="auto"
    What the values of each view are: "multinomial" counts, or "gaussian" vectors and measurements, which are mixtures
    of the groups' mean vectors and noise. "auto" takes whole numbers of at least 0, sparse views and those of at
    least 0 that are mostly 0 for counts; dense views with other numbers, or of one column, are Gaussian. Other whole
    numbers that are no counts, such as ages or embeddings quantized to bytes, are so taken for counts: name them,
    ``{view: "gaussian"}``.""",
    "likelihood_": """likelihood_ : dict of str
    Likelihood of each view, as chosen or given; the parameter `likelihood` overrides it.""",
    "noise_variance_": """noise_variance_ : dict of float
    Variance of the noise of each Gaussian view, as the model uses it. It is at least a share of the variance of the
    view, .4 times (n_groups - 1) / n_features and at most .4: mixtures of as many groups as a view has columns explain
    them whatever they hold. Where it is that floor (`inspect` says so), it is no estimate of the noise.""",
    "column_moments_": """column_moments_ : dict of ndarray (2, n_features of the view)
    Mean and standard deviation of each column of the Gaussian views, over up to 2,000 objects of the fit or the first
    batch: what `top_features` measures distances by.""",
    "background": """background : float, default=0.0
    Share of every object's counts that the frequencies of the features in all objects explain, from 0 to 0.95.
    Topics are left with what differs from these, so that their first words set them apart; try 0.8 or 0.9 on whether
    words occur (0 and 1), and less on counts of long texts.""",
    "background_": """background_ : dict of ndarray (n_features of the view,)
    The part of ``p(feature | object)`` that all objects have in common. It adds up to `background`, in each view of
    counts (`PLSA`: over all of them). Empty without one.""",
    "seeds": """seeds : {topic: features or {view: features}} or None, default=None
    What topics are to be about. A topic is a number, or a name: then it gets the first number that is free, and keeps
    the name (`group_names_`). Features are names, or columns of a view without names, in a list or with a weight each;
    without a view, they count in every view of counts that has them. Objects start in the topics whose seeds they
    contain, in place of a strategy of `init`.""",
    "seed_strength": """seed_strength : float, default=0.03
    Pseudo-counts that the seeds of a topic add in each view, as a share of the counts that a topic has there on
    average. 0 uses seeds for the start alone.""",
    "group_names_": """group_names_ : dict of str
    Names of topics by their number, where there are any: of `seeds`, `name_groups` or `set_group_names`.""",
    "variance_explained_": """variance_explained_ : dict of ndarray (n_groups,)
    Share of the variance of each Gaussian view that each group explains, at least 0; they add up to that of all groups,
    and are divided by how far the means of the groups' objects lie from that of all.""",
    "group_means_": """group_means_ : dict of ndarray (n_groups, n_features of the view)
    Mean vectors of the objects of each group in each Gaussian view, weighted by their memberships. Those in
    `topic_feature_` are the ends of the mixtures, which may lie outside of the data.""",
    "topic_feature_": """topic_feature_ : dict of ndarray (n_topics, n_features of the view)
    ``p(feature | topic, view)`` by view; rows sum to one. Of a Gaussian view the mean vectors.""",
    "view_weights_": """view_weights_ : dict of float
    Weight of each view.""",
    "changed_views_": """changed_views_ : list of str
    Views that are changed; the others pass through as they are.""",
    "fitted views": """view_names_ : list of str
    Names of the views.
n_features_by_view_ : dict of int
    Number of features of each view.
feature_names_by_view_ : dict of ndarray
    Names of the features, of the views that have them.
n_features_in_ : int
    Number of features of all views.
feature_names_in_ : ndarray
    Names of the columns, after a fit on one data frame.""",
    "algorithm": """algorithm : {"fast", "published"}, default="fast"
    "fast" updates topics from fresh mixtures, and adds momentum once EM iterations gain little; that holds two more
    copies of mixtures and topics. "published" is plain EM, with all updates from the same expectations. Neither lowers
    the objective, up to rounding.""",
    "engine": """engine : str or engine, default="auto"
    Where to compute: "auto", "cpu", "cuda", "dask", "reference", or an engine object.""",
    "learning_decay": """learning_decay : float, default=0.7
    `partial_fit` gives minibatch t the weight ``(10 + t) ** -learning_decay``.""",
    "inspected": """X : what the model takes
    The objects.""",
    "prepared": """prepared : bool, default=False
    Whether X has been through `prepare`.""",
    "max_iter": """max_iter : int, default=200
    Maximum number of EM iterations.""",
    "n_init": """n_init : int, default=1
    Number of initializations; the fit with the highest objective is kept.""",
    "n_jobs": """n_jobs : int or None, default=None
    Number of threads; None uses every core that threadpoolctl allows. Results do not depend on it.""",
    "random_state": """random_state : int, RandomState, Generator or None, default=None
    Seed of everything that is random; an integer makes the fit reproducible.""",
    "tol": """tol : float, default=1e-5
    Stop when the objective changes by less than this, relative to itself; 0 runs exactly `max_iter` EM iterations.""",
    "verbose": """verbose : int or None, default=None
    1 shows where a fit stands, 0 does not. None shows it in notebooks and on the command line, once a fit takes more
    than a moment.""",
    "view_weights": """view_weights : float, {view: float} or None, default=None
    Weight of each view; 1 by default.""",
    "vector_weights": """view_weights : float, {view: float} or None, default=None
    Weight of each view; 1 by default. Vectors beside counts are weighed by default: as one token where they know
    nothing, and else as up to one for each column, fewer the more the columns' noise goes together
    (`coview.plsa.dense`).""",
}

_LINE = re.compile(r"^( *)<(shared|same): ([^>]+)>$", re.M)
T = TypeVar("T")


def shared_parameters(cls: T) -> T:
    """Fill in the shared parameters of the docstrings of a class and of its methods.

    Examples
    --------
    >>> @shared_parameters
    ... class Model:
    ...     '''A model.
    ...
    ...     <shared: verbose>
    ...     '''
    >>> print(Model.__doc__.splitlines()[2].strip())
    verbose : int or None, default=None
    """
    # only methods of the class itself: those of bases were filled in there
    for method in filter(isfunction, vars(cls).values()):
        _fill_in(method, SHARED)
    return _fill_in(cls, SHARED)


def parameters_of(other: Any) -> Callable[[T], T]:
    """Fill in the parameters and attributes that a docstring has in common with that of another class or function."""
    # an entry is "name : type" at the margin, with the indented lines below it
    entries = re.findall(r"^((\w+) : .*(?:\n +.*)*)", cleandoc(other.__doc__ or ""), re.M)
    described = SHARED | {name: entry for entry, name in entries}
    return lambda documented: _fill_in(documented, described)


def _fill_in(documented: T, described: Mapping[str, str]) -> T:
    def entries(line: re.Match[str]) -> str:
        return "\n".join(indent(described[name.strip()], line[1]) for name in line[3].split(","))

    if documented.__doc__:  # python -OO has none
        documented.__doc__ = _LINE.sub(entries, documented.__doc__)
    return documented
