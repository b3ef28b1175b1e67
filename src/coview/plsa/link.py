"""Link-PLSA: one topic mixture per object for all views, one distribution per topic and view.

    p(f | d, v) = sum_y p(y|d) p(f|y,v),     maximize sum_v w_v sum_df x_vdf log p(f | d, v)

The model of Cohn and Hofmann (2001), who link words and citations in this way; w_v are the shares of the views there.

    E step    p(y | f, d, v)  =  p(f|y,v) p(y|d) / p(f | d, v)
    M step    p(y|d)  ~  sum_v w_v sum_f x_vdf p(y | f, d, v)          p(f|y,v)  ~  sum_d x_vdf p(y | f, d, v)

are the steps of `MixtureSteps` in `steps.py` as they stand. Unlike views side by side, each view is a distribution of
its own: an object's long view does not drown its short one in the topics, and a view that an object lacks says nothing
about its topics. All that is said here is where the model starts.
"""

from __future__ import annotations

from typing import Any

from coview.plsa.fitted_rules import background_rule, batch_rule
from coview.plsa.minibatches import learn_stream
from coview.plsa.mixture import MixtureModel
from coview.plsa.starts import SEED_PARAMETERS, FitContext, find_likeliest_arrays
from coview.utils.docs import shared_parameters
from coview.utils.parameters import MAPPING, one_of

__all__ = ["LinkPLSA"]


@shared_parameters
class LinkPLSA(MixtureModel):
    """Topics of several views with one topic mixture per object.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics.
    <shared: vector_weights, background, seeds, seed_strength, max_iter, tol, n_init>
    init : {"auto", "nmf", "random", "likeliest"} or dict, default="auto"
        Where to start. "auto" is "nmf" with a background, else "random". "nmf" factorizes the tf-idf of the views into
        nonnegative topics, in a few iterations (every n-th object, where there are more than 5,000 and 100 per topic),
        or clusters the vectors by k-means where there are no counts; "random" starts from `n_init` random mixtures, as
        published, "likeliest" from the most likely, after a few EM iterations, of several consensus clusterings of the
        views. A dict holds any of ``memberships`` and ``topic_feature`` (an array where there is one view, else
        ``{view: array}``) in the shapes of the fitted attributes; the rest is random.
    <shared: likelihood, algorithm, engine, n_jobs>
    <shared: learning_decay>
    <shared: random_state, verbose>

    Attributes
    ----------
    <shared: topic_feature_, background_>
    memberships_ : ndarray (n_objects, n_components)
        ``p(topic | object)`` of the training objects, shared by all views.
    <shared: group_names_>
    <shared: view_weights_, likelihood_, noise_variance_, variance_explained_>
    <shared: group_means_, column_moments_>
    <shared: history_, fit_seconds_, n_iter_, stopped_by_>
    <shared: fitted views>

    References
    ----------
    D. Cohn, T. Hofmann: The missing link: a probabilistic model of document content and hypertext connectivity.
    NIPS 2001.

    Examples
    --------
    >>> from coview import LinkPLSA
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=100, n_clusters=3, random_state=0)
    >>> model = LinkPLSA(n_components=3, random_state=0).fit(data.views)
    >>> model.transform(data.views.select("view1")).shape
    (100, 3)
    """

    _takes_vectors = True
    # joint is False: each view of a topic is a distribution that sums to one
    # running counts of `partial_fit` are those of topics, over a background or not
    _fitted_state = {"background_": background_rule(joint=False), "batch_counts_": batch_rule()}
    _parameters = {**SEED_PARAMETERS, "init": one_of("auto", "nmf", "random", "likeliest") | MAPPING}

    def __init__(
        self,
        n_components: int = 10,
        *,
        view_weights: Any = None,
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
        self.view_weights = view_weights
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

    def partial_fit(self, X: Any, y: Any = None) -> LinkPLSA:
        """Update the model with one minibatch (online EM); every batch must have the views of the first."""
        learn_stream(self, X)
        return self

    def _initial_arrays(self, views: Any, context: FitContext) -> dict[str, Any]:
        # seeds say themselves where objects start, and without counts there is nothing to compare clusterings by
        if context.start is not None or self.init != "likeliest" or self._leading_views(views):
            return super()._initial_arrays(views, context)
        return find_likeliest_arrays(
            views, self.n_components, context, self._weights_of(views), self.n_jobs, dense=self._vector_views()
        )

    def _fixed_start(self) -> bool:
        # the likeliest of several clusterings is one start: restarts would find the same
        return (isinstance(self.init, str) and self.init == "likeliest") or super()._fixed_start()
