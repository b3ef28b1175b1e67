"""PLSA: each object a mixture of topics, each topic a distribution over features.

    p(f|d) = sum_y p(f|y) p(y|d),     maximize sum_df x_df log p(f|d)

Hofmann (1999). EM alternates

    E step    p(y | f, d)  =  p(f|y) p(y|d) / p(f|d)
    M step    p(y|d)  ~  sum_f x_df p(y | f, d)          p(f|y)  ~  sum_d x_df p(y | f, d)

With A = p(y|d) (objects x topics), F = p(f|y) (features x topics) and R = X / (A F^T) on the non-zeros of X, that is
A <- rows(A * R F), F <- columns(F * R^T A): `MixtureSteps.row_step` and `update_columns` in `steps.py`.
`algorithm="fast"` recomputes R between the two, and adds momentum; "published" uses one R for both. Several views are
one matrix side by side. With `background` there is one more distribution, fixed, that all objects share.
"""

from __future__ import annotations

from typing import Any

from coview.plsa.fitted_rules import background_rule, batch_rule
from coview.plsa.minibatches import learn_stream
from coview.plsa.mixture import MixtureModel
from coview.plsa.starts import SEED_PARAMETERS
from coview.utils import fitted_state as rules
from coview.utils.docs import shared_parameters
from coview.utils.parameters import MAPPING, one_of

__all__ = ["PLSA"]


@shared_parameters
class PLSA(MixtureModel):
    """Probabilistic latent semantic analysis of one view; several views are concatenated.

    Views have no weights: a vector of a Gaussian view counts as one token. `LinkPLSA` weighs views.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    <shared: background, seeds, seed_strength, max_iter, tol, n_init>
    init : {"auto", "nmf", "random"} or dict, default="auto"
        Where to start. "auto" is "nmf" with a background, else "random". "nmf" factorizes the tf-idf of the views into
        nonnegative topics, in a few iterations (every n-th object, where there are more than 5,000 and 100 per topic),
        or clusters the vectors by k-means where those lead; "random" starts from `n_init` random mixtures, as
        published. A dict holds any of ``memberships``, ``topic_feature`` (an array where there is one view, else
        ``{view: array}``) and ``topic_view`` in the shapes of the fitted attributes; the rest is random.
    <shared: likelihood, algorithm, engine, n_jobs>
    <shared: learning_decay>
    <shared: random_state, verbose>

    Attributes
    ----------
    <shared: topic_feature_, background_>
    topic_view_ : ndarray (n_components, n_views)
        ``p(view | topic)``: how much of each topic lies in each view; 0 for Gaussian views, where there are others.
    memberships_ : ndarray (n_objects, n_components)
        ``p(topic | object)`` of the training objects.
    <shared: group_names_>
    <shared: likelihood_, noise_variance_, variance_explained_>
    <shared: group_means_, column_moments_>
    <shared: history_, fit_seconds_>
    <shared: n_iter_, stopped_by_>
    <shared: fitted views>

    References
    ----------
    T. Hofmann: Probabilistic latent semantic analysis. UAI 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from coview import PLSA
    >>> X = np.array([[4, 3, 0, 0], [5, 4, 0, 0], [0, 0, 3, 4], [0, 1, 6, 5]])
    >>> model = PLSA(n_components=2, random_state=0).fit(X)
    >>> topics = model.transform(X).argmax(axis=1)
    >>> bool(topics[0] == topics[1]), bool(topics[2] == topics[3]), bool(topics[0] == topics[2])
    (True, True, False)
    >>> model.topic_feature_["x"].sum(axis=1)
    array([1., 1.])
    """

    _takes_vectors = True
    _takes_weights = False  # tokens of all views are draws from one distribution, and count alike
    _joint = True  # a topic is one distribution over all views
    # what has a row for each topic, and so goes with it where topics are merged, split or dropped
    _group_rows: tuple[str, ...] = ("topic_feature_", "topic_view_")
    _start_names = ("memberships", "topic_feature", "topic_view")
    _fitted_state = {
        "view_weights_": None,  # what the base has, and this model lacks
        "topic_view_": rules.shares("topics", "views"),
        "background_": background_rule(joint=True),
        "batch_counts_": batch_rule(),
    }
    _parameters = {**SEED_PARAMETERS, "init": one_of("auto", "nmf", "random") | MAPPING}

    def __init__(
        self,
        n_components: int = 10,
        *,
        background: float = 0.0,
        seeds: Any = None,
        seed_strength: float = 0.03,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 1,
        init: Any = "auto",
        likelihood: Any = "auto",
        algorithm: str = "fast",
        engine: Any = "auto",
        n_jobs: int | None = None,
        learning_decay: float = 0.7,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.background = background
        self.seeds = seeds
        self.seed_strength = seed_strength
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.likelihood = likelihood
        self.algorithm = algorithm
        self.engine = engine
        self.n_jobs = n_jobs
        self.learning_decay = learning_decay
        self.random_state = random_state
        self.verbose = verbose

    def partial_fit(self, X: Any, y: Any = None) -> PLSA:
        """Update the model with one minibatch (online EM); every batch must have the views of the first."""
        learn_stream(self, X)
        return self
