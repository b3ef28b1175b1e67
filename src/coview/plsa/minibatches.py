"""Online EM of PLSA and link-PLSA: `partial_fit` folds a batch in, then moves running expected counts towards its own.

    s_t  =  (1 - rho_t) s_(t-1) + rho_t s(batch t),     rho_t = (10 + t) ** -learning_decay

with s the expected counts (or sums of vectors) that an M step takes: Cappe and Moulines (2009). The offset weakens the
first batches, as in scikit-learn's LDA. The first batch of a new model is learned on its own for some EM iterations.
After `fit`, what was learned counts like the batches before the first.
"""

from __future__ import annotations

from typing import Any

from coview.engines.loop import sweep
from coview.engines.protocol import Engine, Holder, State, Tree, floating_type, tree_map
from coview.exceptions import ViewsError
from coview.plsa.starts import FitContext
from coview.validation import base_seed
from coview.views.lazy import LazyViews
from coview.views.views import Views

__all__ = ["learn_stream"]

FIRST_ITERATIONS = 10  # of the first batch: what it teaches is all there is to fold the second one into


def has_learned(model: Any) -> bool:
    """Tell whether a model has been fitted to anything."""
    return "topic_feature_" in vars(model)


def learn_stream(model: Any, X: Any) -> None:
    """Learn from one minibatch; of lazy views, every part is one. The first one says what the views of a model are."""
    views = model._new_views(X) if has_learned(model) else model._fit_views(X)
    if not isinstance(views, LazyViews):
        _learn_batch(model, views)
        return
    model._read_seeds(views)
    for part in views.parts():
        _learn_batch(model, model._numbers(part, False))


def _learn_batch(model: Any, views: Views) -> None:
    missing = [name for name in model.view_names_ if name not in views]
    if missing:
        raise ViewsError(
            f"partial_fit needs every view of the first batch, but X lacks {', '.join(map(repr, missing))}."
        )
    first, known = not has_learned(model), vars(model).get("batch_counts_")
    if first or known is None:
        # the history of `fit` is one of EM iterations over all objects, and does not go on with batches
        model.n_batches_, model.history_ = 0, {"objective": []}
        vars(model).pop("fit_seconds_", None)
    weight = 1.0 if first else (10.0 + model.n_batches_) ** -model.learning_decay
    if "background" in vars(model):
        vars(model).setdefault("background_", {})
        model._move_background(views, weight)
    ids, seeds = model._ids_of(views), model._read_seeds(views)  # pseudo-objects have no ids
    extra: dict[str, Any] = {}
    if seeds is not None:
        extra = model._of_seeds(views, seeds) if first else {"labels": seeds.labels(len(views))}
        views = model._with_seeds(views, seeds)
    engine, dtype = model._engine(), floating_type(views)
    if first:
        steps, shared, holder = _learn_first(model, views, extra, engine)
    else:
        steps, shared = model._fitted_steps(), _on_engine(model._restored(), engine, dtype)
        holder = Holder(list(model._each_block(views, engine, steps.width, extra)), engine)
    # E step: the batch is folded into the topics as they are, and one row step more gives its expected counts
    stats: Tree = {}
    mixtures: list[Tree] = []
    for block in holder.blocks:
        rows: Tree = {"mixture": engine.asarray(model._fold_in(block, steps, shared, engine))}
        rows, _ = steps.row_step(block, rows, shared, engine, stats)
        mixtures.append(rows)
    # per object, so that batches of different sizes count alike
    pulls = steps.pulls(stats, shared)
    old = {name: shared[name] for name in pulls}
    new: Tree = tree_map(lambda value, pull: engine.to_numpy(value * pull) / len(views), old, pulls)
    if "moments" in stats:
        new["moments"] = tree_map(lambda part: engine.to_numpy(part) / len(views), stats["moments"])
    if not first:
        if known is None:  # after `fit`: its parameters, as counts with the masses of this batch
            known = steps.as_counts(tree_map(engine.to_numpy, old), new)
            if "moments" in new:
                known["moments"] = steps.as_moments(tree_map(engine.to_numpy, shared), new["moments"])
        new = tree_map(lambda b, a: (1 - weight) * a + weight * b, new, known)
    model.batch_counts_ = new
    # M step; `update` multiplies by the old parameters, hence the division
    learned = steps.update(
        shared,
        {name: tree_map(lambda c, o: engine.asarray(c, dtype) / o, new[name], part) for name, part in old.items()},
        engine,
    )
    if "moments" in new:
        learned |= steps.update_vectors(shared, new["moments"], engine)
    vars(model).update(model._attributes(State(mixtures, learned), holder))
    model._object_ids = ids
    if seeds is not None and first:
        model.group_names_ = seeds.group_names()
    model.n_batches_ += 1
    model.n_iter_ = model.n_batches_
    model.history_.setdefault("objective", []).append(float(stats["objective"]))


def _learn_first(model: Any, views: Views, extra: dict[str, Any], engine: Engine) -> tuple[Any, Tree, Holder]:
    """Return steps, shared parameters after some EM iterations on the first batch, and its holder."""
    seed = base_seed(model.random_state)
    context = FitContext(seed, engine=engine, start=extra.get("start"))
    make, carried = model._begin_all(views, context)
    steps, shared = model._steps(), _on_engine(make(seed), engine, floating_type(views))
    holder = Holder(list(model._each_block(views, engine, steps.width, {**carried, **extra})), engine)
    state = State(holder.start(steps, shared, seed, 0), shared)
    for _ in range(FIRST_ITERATIONS):
        sweep(steps, holder, state)
    return steps, state.shared, holder


def _on_engine(tree: Tree, engine: Engine, dtype: Any) -> Tree:
    return tree_map(lambda array: engine.asarray(array, dtype), tree)
