"""Candidates of `AutoClassifier` are judged: by held-out labels, or where there are none by all that they say.

Fold by fold every candidate scores objects whose labels it has not seen (`cross_validation.py`). One that is clearly
worse than the best is given up, and folds are left out once enough labels have been held out. With one label per class
nothing can be held out. Then each candidate is fitted to all labels, and whether the views support the classes that it
gives to all objects is the evidence (`evidence.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from coview.auto.candidates import FAILURES
from coview.auto.cross_validation import FoldPlan, FoldScores, best_so_far, drop_hopeless
from coview.auto.evidence import reliabilities
from coview.auto.pipelines import PipelineCandidate, comparable, needed_view
from coview.engines.deadline import NO_DEADLINE, Deadline
from coview.utils.progress import tell

__all__ = ["Judge", "too_late"]

ENOUGH = 80  # held-out labels
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
                name = each.candidate.name
                tell(f"fold {turn + 1}/{len(numbers)}, {name}", turn * len(turns) + i, len(numbers) * len(turns))
                linked = needed_view(each.candidate.estimator) is not None
                part = 1.0 if linked else len(sample.rows) / len(codes)
                takes, best = part * max(each.seconds, default=0.0), best_so_far(judged, codes)
                reserved = 0.0 if best is None else max(best.seconds)
                if turn + i and (judging.left() < takes or self.deadline.left() < takes + reserved):
                    if not each.seconds:
                        each.dropped = too_late(self.time_budget)
                    continue
                try:
                    seconds = judging.share(1 / (len(turns) - i)).seconds()
                    each.judge(everything if linked else sample, self.classes, folds == number, seconds)
                except FAILURES as error:
                    each.dropped, each.error = f"could not be fitted: {error}", error
                self.log(f"{name}: {each.dropped or f'fold {turn + 1} ({each.seconds[-1]:.1f} s)'}")
            drop_hopeless(judged, codes)
            alive = [each.candidate for each in judged if each.dropped is None]
            sample.prepared.keep(alive)
            whole.prepared.keep(alive)
            if turn and np.isin(folds, numbers[: turn + 1]).sum() >= ENOUGH:
                break
        return judged

    def _consult(self, turns: list[FoldScores]) -> None:
        """Where no label can be held out: what candidates make of all objects, and whether the views support it."""
        sample, everything, judging = self.plan.sample, self.plan.everything, self.deadline.share(JUDGED)
        for i, each in enumerate(turns):
            name = each.candidate.name
            tell(f"candidate {i + 1}/{len(turns)}, {name}", i, len(turns))
            if i and judging.is_over():
                each.dropped = too_late(self.time_budget)
                continue
            linked = needed_view(each.candidate.estimator) is not None
            try:
                seconds = judging.share(1 / (len(turns) - i)).seconds()
                each.consult(everything if linked else sample, self.classes, seconds)
            except FAILURES as error:
                each.dropped, each.error = f"could not be fitted: {error}", error
            self.log(f"{name}: {each.dropped or f'fitted ({each.seconds[-1]:.1f} s)'}")
        opinions = {i: each.opinions[sample.rows] for i, each in enumerate(turns) if each.opinions is not None}
        if len(opinions) < 2:
            return
        tell("evidence")
        views, told = comparable(sample.prepared.views), list(opinions.values())
        found = reliabilities(views, told, len(self.classes), self.seed, self.deadline.share(JUDGED))
        for i, value, own in zip(opinions, found, told):
            each = turns[i]
            each.reliability = float(value) * float(np.mean(own >= 0))  # of objects without its views it says nothing


def too_late(time_budget: float | None) -> str:
    """Why a candidate whose turn never came has no weight."""
    return f"not fitted within the time budget of {time_budget:g} seconds"
