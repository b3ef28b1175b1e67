"""Candidates of `AutoClassifier` are judged: by held-out labels, or where there are none by all that they say.

Fold by fold every candidate scores objects whose labels it has not seen (`cross_validation.py`). One that is clearly
worse than the best is given up, and so is one that has not half of the weight that it would be kept for. Folds are left
out once enough labels have been held out. With one label per class nothing can be held out. Then each candidate is
fitted to all labels, and whether the views support the classes that it gives to all objects is the evidence
(`evidence.py`).

How good the whole is, held-out labels can say only if they have no part in it: temperatures, who is given up, and the
weights are settled once more for each part of them, by the others. That is nested cross-validation, but nobody is
fitted again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from coview.auto.candidates import FAILURES
from coview.auto.cross_validation import FoldPlan, FoldScores, asked_of_all, best_so_far, drop_hopeless
from coview.auto.evidence import reliabilities
from coview.auto.pipelines import PipelineCandidate, comparable, needed_view
from coview.auto.pooling import combine, fit_weights
from coview.auto.subsets import ASKED
from coview.engines.loop import NO_DEADLINE, Deadline
from coview.utils.progress import tell
from coview.views.views import Views

__all__ = ["UNNEEDED", "Judge", "drop_light", "kept_candidates", "nested_probabilities", "too_late", "weigh"]

ENOUGH = 75  # held-out labels
STRENGTH = 15.0  # labels that the prior of the weights counts for
KEPT = 0.03  # least weight of a candidate that is kept
WORTHY = 0.15  # least weight of one that costs more than the heaviest
PROMISING = 0.5  # share of it that a candidate needs for the next fold
UNNEEDED = "adds nothing to the others on held-out labels"
LEAST_RELIABLE = 1e-3  # share of the largest reliability that every candidate has
TRUST = 3  # power of the reliability, where it is all that is known
JUDGED = 0.7  # share of the time for held-out labels; the rest is for the last fits


@dataclass(frozen=True)
class Judge:
    """Who asks the candidates: of which objects and folds, by when; `log` is called with lines of progress."""

    plan: FoldPlan
    classes: np.ndarray
    seed: int
    deadline: Deadline
    time_budget: float | None
    log: Callable[[str], None]

    def judge(self, candidates: list[PipelineCandidate]) -> list[FoldScores]:
        """Scores of held-out objects by each candidate, fold by fold; where time is short the cheapest come first.

        Of many objects a sample is used, but by those that need links, which lead out of a sample: they see all
        objects, and labels of the sample only, as the others do. When enough labels have been held out, the folds that
        are left are not needed. Nobody is asked where the time for the last fit of the best so far would be lost.
        """
        whole, sample, folds, codes = self.plan.whole, self.plan.sample, self.plan.folds, self.plan.whole.codes
        everything, judging = self.plan.everything, self.deadline.share(JUDGED)
        judged = [FoldScores(candidate, np.full((len(codes), len(self.classes)), np.nan)) for candidate in candidates]
        turns = judged if self.deadline == NO_DEADLINE else sorted(judged, key=lambda each: each.candidate.cost)
        numbers = np.unique(folds[folds >= 0]).tolist()
        if not numbers:
            self._consult(turns)
        for turn, number in enumerate(numbers):
            for i, each in enumerate(turns):
                if each.dropped is not None:
                    continue
                place = f"fold {turn + 1}/{len(numbers)}, {each.candidate.name}"
                tell(place, turn * len(turns) + i, len(numbers) * len(turns))
                linked = needed_view(each.candidate.estimator) is not None
                part = 1.0 if linked else len(sample.judging(each.candidate)) / len(codes)
                takes, best = part * max(each.seconds, default=0.0), best_so_far(judged, codes)
                reserved = 0.0 if best is None else max(best.seconds)
                if turn + i and (judging.left() < takes or self.deadline.left() < takes + reserved):
                    if not each.seconds:
                        each.dropped = too_late(self.time_budget)
                    continue
                try:
                    seconds = judging.share(1 / (len(turns) - i)).seconds()
                    keep = turn == 0 and (codes < 0).sum() < ASKED
                    each.judge(everything if linked else sample, self.classes, folds == number, seconds, keep)
                except FAILURES as error:
                    each.dropped, each.error = f"could not be fitted: {error}", error
                self.log(f"{place}: {each.dropped or f'{each.seconds[-1]:.1f} s'}")
            for each in judged:
                if each.dropped is None:
                    each.calibrate(codes)
            drop_hopeless(judged, codes)
            for each in judged:
                each.first_fold = None if each.dropped is not None else each.first_fold
            enough = turn > 0 and np.isin(folds, numbers[: turn + 1]).sum() >= ENOUGH
            if not enough and number != numbers[-1]:
                drop_light(judged, codes, whole.prepared.views)
            alive = [each.candidate for each in judged if each.dropped is None]
            sample.prepared.keep(alive)
            whole.prepared.keep(alive)
            if enough:
                break
        return judged

    def _consult(self, turns: list[FoldScores]) -> None:
        """Where no label can be held out: what candidates make of all objects, and whether the views support it."""
        sample, everything, judging = self.plan.sample, self.plan.everything, self.deadline.share(JUDGED)
        for i, each in enumerate(turns):
            place = f"candidate {i + 1}/{len(turns)}, {each.candidate.name}"
            tell(place, i, len(turns))
            if i and judging.is_over():
                each.dropped = too_late(self.time_budget)
                continue
            linked = needed_view(each.candidate.estimator) is not None
            try:
                seconds = judging.share(1 / (len(turns) - i)).seconds()
                each.consult(everything if linked else sample, self.classes, seconds)
            except FAILURES as error:
                each.dropped, each.error = f"could not be fitted: {error}", error
            self.log(f"{place}: {each.dropped or f'{each.seconds[-1]:.1f} s'}")
        opinions = {i: each.opinions[sample.rows] for i, each in enumerate(turns) if each.opinions is not None}
        if len(opinions) < 2:
            return
        tell("evidence")
        views, told = sample.prepared.views, list(opinions.values())
        seen = {name for each in turns for name in each.candidate.views or views.names}  # no stranger has a say
        views = comparable(views.select(*(name for name in views.names if name in seen)))
        found = reliabilities(views, told, len(self.classes), self.seed, self.deadline.share(JUDGED))
        for i, value, own in zip(opinions, found, told):
            each = turns[i]
            each.reliability = float(value) * float(np.mean(own >= 0))  # of objects without its views it says nothing


def kept_candidates(judged: list[FoldScores], weights: np.ndarray, views: Views, share: float = 1.0) -> list[int]:
    """Candidates to fit, the heaviest first: those with some weight, and who answers from views that they cannot.

    `share` is that of the least weights which is enough.
    """
    order = [i for i in np.argsort(-weights, kind="stable").tolist() if judged[i].dropped is None]
    usual = judged[order[0]].candidate.cost
    least = {i: share * (KEPT if judged[i].candidate.cost <= usual else WORTHY) for i in order[1:]}
    kept = order[:1] + [i for i in order[1:] if weights[i] >= least[i]]
    for name in views.names:
        alone = views.select(name)
        if all(judged[i].candidate.seen(alone) is None for i in kept):
            kept += [i for i in order if judged[i].candidate.seen(alone) is not None][:1]
    return kept


def drop_light(judged: list[FoldScores], codes: np.ndarray, views: Views) -> None:
    """Give up candidates that would not be kept for half the weight, by the objects held out so far."""
    alive = [each for each in judged if each.dropped is None]
    n_rows = len(asked_of_all(alive, codes)) if alive else 0
    if not n_rows:
        return
    promising = kept_candidates(alive, weigh(alive, codes), views, PROMISING)
    for i, each in enumerate(alive):
        if i not in promising:
            each.dropped = f"given up: {UNNEEDED}, the first {n_rows} of them"


def weigh(alive: list[FoldScores], codes: np.ndarray) -> np.ndarray:
    """Weights of calibrated candidates by what they say of held-out objects; where there are none by reliability."""
    prior = np.array([each.candidate.prior for each in alive])
    reliable = np.nan_to_num([each.reliability for each in alive])
    if reliable.max() > 0:
        prior = prior * np.maximum(reliable / reliable.max(), LEAST_RELIABLE) ** TRUST
    rows = asked_of_all(alive, codes)
    return fit_weights(np.array([each.probabilities(rows) for each in alive]), codes[rows], prior, STRENGTH)


def nested_probabilities(
    judged: list[FoldScores], codes: np.ndarray, rows: np.ndarray, n_parts: int, views: Views
) -> np.ndarray:
    """Probabilities of held-out objects (rows x classes) by the combination as it is settled without their labels.

    For a part of the objects, all candidates that have scores for them begin anew, those too that were given up later:
    the labels of the part had a say in that.
    """
    combined = np.empty((len(rows), judged[0].scores.shape[1]))
    asked = np.array([each.judged[rows] for each in judged])
    for whom in np.unique(asked, axis=1).T:
        same = np.flatnonzero((asked == whom[:, None]).all(axis=0))
        parts = np.random.default_rng(0).permutation(len(same)) % n_parts
        for part in np.unique(parts):
            here, shown = same[parts == part], codes.copy()
            shown[rows[here]] = -1
            alive = [replace(judged[i], dropped=None) for i in np.flatnonzero(whom) if judged[i].error is None]
            n_before = 0
            while len(alive) != n_before:  # who is given up makes room for objects that it has no scores for
                n_before = len(alive)
                for each in alive:
                    each.calibrate(shown)
                drop_hopeless(alive, shown)
                drop_light(alive, shown, views)
                alive = [each for each in alive if each.dropped is None]
            told = np.array([each.probabilities(rows[here]) for each in alive])
            combined[here] = combine(told, weigh(alive, shown))
    return combined


def too_late(time_budget: float | None) -> str:
    """Why a candidate whose turn never came has no weight."""
    return f"not fitted within the time budget of {time_budget:g} seconds"
