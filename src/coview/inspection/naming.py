"""Names of a model's topics and clusters that stay with it: found offline, by a function, or given by hand.

Without more, `Inspection.group_names` names groups by the weights of the model (`names`). `name_groups` looks at
objects as well, at the words and phrases that tell the groups apart (`phrases`), or asks any function, such as one that
asks a language model, which is given what all views say of a group. `set_group_names` takes names by hand. Names are
kept in the fitted attribute `group_names_` of the estimator, by the key of the group: they are saved and loaded with
it, and everything that asks `inspect` shows them. A new fit has other groups, and forgets them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from coview.exceptions import ParameterError, ViewsError
from coview.inspection.adapters import inspect
from coview.inspection.choice import views_that
from coview.inspection.contract import GROUP_NOUNS, NAMED_BY_FEATURES, Inspection, answers
from coview.inspection.features import feature_names, features_by_view, group_names, is_measured, top_features
from coview.inspection.names import WORDS, choose_words, distinct_names, log_odds, sum_worth
from coview.inspection.objects import typical_objects
from coview.inspection.phrases import count_phrases
from coview.inspection.reading import read_groups, read_training
from coview.utils.messages import cut, did_you_mean, listed, printable, short
from coview.utils.progress import counted, progress
from coview.utils.sampling import sample_positions
from coview.utils.warn import warn_user
from coview.validation import check_count
from coview.views.views import Views

__all__ = ["GroupCard", "name_groups", "set_group_names"]

MOST_OBJECTS = 20_000  # in which words and phrases are counted
LONGEST_NAME = 80  # letters that a function may give
LONGEST_BY_HAND = 200
LONGEST_FOUND = 160  # letters, so that there is room for the number of the group
SHOWN_LETTERS = 500  # of a text, in what a function is given
N_FEATURES, N_OBJECTS = 10, 3  # the same
LEAST_WORTH = 0.4  # log-odds of a feature, of those of the group's strongest


@dataclass(frozen=True)
class GroupCard:
    """What a function that names groups is given of one group, from all views.

    Parameters
    ----------
    key : str
        Number of the group, as in `Inspection.groups`.
    kind : str
        "topic" or "cluster".
    name : str
        The name found offline.
    size : int or None
        Number of objects that have it as their first group, of those given, else of the fit; None where not known.
    features : dict of lists of (feature, weight)
        By view, the features that set the group apart, first the strongest.
    phrases : list of str
        Telling words and phrases of all views; empty without objects.
    objects : list
        Ids (else rows) of typical objects; empty without objects.
    texts : list of dict of str
        The texts of these objects by view, cut at 500 letters; empty where only matrices are known.
    siblings : dict of str
        Names of all other groups so far, by key.

    Examples
    --------
    >>> card = GroupCard("0", "topic", "fox", 2, {"words": [("fox", 0.7), ("red", 0.3)]}, siblings={"1": "sea"})
    >>> print(card.prompt())
    Name this topic in at most five words. Answer with the name alone.
    words: fox, red
    Other topics: sea
    """

    key: str
    kind: str
    name: str
    size: int | None = None
    features: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    phrases: list[str] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    texts: list[dict[str, str]] = field(default_factory=list)
    siblings: dict[str, str] = field(default_factory=dict)

    def prompt(self) -> str:
        """Return all of it as a request in plain words, for a language model."""
        lines = [f"Name this {self.kind} in at most five words. Answer with the name alone."]
        if self.phrases:
            lines.append(f"Telling phrases: {', '.join(self.phrases)}")
        lines += [f"{view}: {', '.join(name for name, _ in part)}" for view, part in self.features.items() if part]
        for number, texts in enumerate(self.texts, start=1):
            said = " / ".join(" ".join(text.split()) for text in texts.values() if text.strip())
            lines.append(f"Typical object {number}: {said}")
        if self.siblings:
            lines.append(f"Other {GROUP_NOUNS[self.kind]}: {'; '.join(self.siblings.values())}")
        return "\n".join(lines)


def name_groups(
    model: Any,
    X: Any = None,
    namer: Callable[[GroupCard], str] | None = None,
    *,
    n_words: int = WORDS,
    overwrite: bool = False,
) -> dict[str, str]:
    """Name the topics or clusters of a fitted model, and keep the names with it.

    Nothing leaves the machine unless `namer` sends it. Names that people gave, by hand (`set_group_names`, `rename` of
    an edited model) or with seeds, are kept; those that were found before are replaced.

    Parameters
    ----------
    model : fitted estimator of coview, or a Pipeline or search that ends in one
        Its groups must be topics or clusters.
    X : what the model takes, optional
        Objects, such as those of the fit. With them groups are named by the words and phrases that their objects
        contain more often than the others, by weighted log-odds (`coview.inspection.names`); without, by the weights
        of the model alone. Phrases need the raw texts: a model that was fitted on a table. Of more than 20,000 objects
        a sample is taken.
    namer : function of a GroupCard that returns a str, optional
        Called once for each group whose name is not kept, one after the other; the card has what all views say of the
        group, typical objects with their texts, and ``prompt()``, all of it in words. White space, control characters
        and quotation marks around a name are taken out, and of what is longer than 80 letters the rest is cut. Where
        the function fails for a group, or returns nothing, the group keeps its offline name.
    n_words : int, default=3
        Most words or phrases of an offline name.
    overwrite : bool, default=False
        Replace the names that people gave, too.

    Returns
    -------
    dict of str
        All names that the model has then, by the key of the group; no two are the same.

    See Also
    --------
    set_group_names : Names by hand.

    Examples
    --------
    >>> from coview import LinkPLSA, TextViews, inspect, name_groups
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["the red fox", "a red fox and a fox", "one red fox", "the deep sea", "deep sea", "a deep sea"]
    >>> model = make_pipeline(TextViews(stop_words="english"), LinkPLSA(2, random_state=0)).fit(texts)
    >>> sorted(name_groups(model, texts).values())
    ['deep sea', 'red fox']
    >>> sorted(name_groups(model, texts, namer=lambda group: f"About {group.phrases[0]}").values())
    ['About deep sea', 'About red fox']
    >>> sorted(inspect(model).group_names)
    ['About deep sea', 'About red fox']
    """
    check_count("n_words", n_words, 1)
    if namer is not None and not callable(namer):
        raise ParameterError(
            f"must be a function of a GroupCard that returns a name, got {short(namer)}.", parameter="namer"
        )
    estimator = _named_estimator(model)
    kept = {} if overwrite else estimator._names_by_hand()
    inspection = inspect(model)
    inspection = replace(inspection, structure=replace(inspection.structure, given_names={}))
    with progress("names"):
        cards = _cards(inspection, X, n_words, kept)
        names = {card.key: card.name for card in cards}
        asked = [card for card in cards if card.key not in kept]
        failures = {}
        for card in counted(asked, inspection.kind, len(asked)):
            if namer is None:
                break
            others = {key: name for key, name in names.items() if key != card.key}
            try:
                answer = namer(replace(card, siblings=others))
                names[card.key] = _cleaned(answer) or card.name
            except Exception as error:  # of one group of many, the answers for which may have been paid
                failures[card.key] = cut(f"{type(error).__name__}: {error}")
    if failures:
        key, why = next(iter(failures.items()))
        warn_user(
            f"namer failed for {len(failures)} of {len(asked)} {GROUP_NOUNS[inspection.kind]} ({inspection.kind} "
            f"{key}: {why.rstrip('.')}); they keep the names found offline.",
            UserWarning,
        )
    names = dict(zip(names, distinct_names(list(names.values()), inspection.groups, kept)))
    if names != inspect(model).structure.given_names:
        estimator._keep_names(names, False)
    return dict(names)


def set_group_names(model: Any, names: Mapping[Any, str | None] | Sequence[str] | None) -> dict[str, str]:
    """Name topics or clusters of a fitted model by hand.

    Parameters
    ----------
    model : fitted estimator of coview, or a Pipeline or search that ends in one
        Its groups must be topics or clusters.
    names : mapping from the number of a group to its name, list of a name for each group, or None
        Groups that a mapping does not name keep what they are called; a name of None is taken back. None takes all
        names back.

    Returns
    -------
    dict of str
        Names by the key of the group, of those that were given or found by `name_groups`.

    See Also
    --------
    name_groups : Find names by what tells groups apart, or by a function.

    Examples
    --------
    >>> from coview import LinkPLSA, inspect, set_group_names
    >>> from coview.datasets import make_topic_views
    >>> model = LinkPLSA(3, random_state=0).fit(make_topic_views(30, n_clusters=3, random_state=0).views)
    >>> set_group_names(model, {0: "Mail"})
    {'0': 'Mail'}
    >>> inspect(model).group_names
    ['Mail', 'topic 1', 'topic 2']
    """
    estimator, inspection = _named_estimator(model), inspect(model)
    groups = inspection.groups
    if names is None:
        estimator._keep_names({}, True)
        return {}
    if not isinstance(names, Mapping):
        if isinstance(names, str) or np.ndim(names) != 1 or len(names) != len(groups):
            raise ParameterError(
                f"must have a name for each of the {len(groups)} groups, got {short(names)}.", parameter="names"
            )
        names = dict(zip(groups, names))
    given: dict[str, str | None] = dict(inspection.structure.given_names)
    for key, name in ((str(key), name) for key, name in names.items()):
        if key not in groups:
            problem = f"names the group {key!r:.60}, but the groups are {listed(groups)}.{did_you_mean(key, groups)}"
            raise ParameterError(problem, parameter="names")
        text = name is None or (isinstance(name, str) and name.isprintable() and name.strip())
        if not text or len(name or "") > LONGEST_BY_HAND:
            problem = f"must have a text of at most {LONGEST_BY_HAND} letters for group {key!r}, got {short(name)}."
            raise ParameterError(problem, parameter="names")
        given[key] = name and " ".join(name.split())
    own = {key: name for key in groups if (name := given.get(key)) is not None}
    for name, count in Counter(own.values()).most_common(1):
        if count > 1:
            same = listed(key for key in own if own[key] == name)
            raise ParameterError(
                f"has the name {short(name)} for the groups {same}: names must differ.", parameter="names"
            )
    estimator._keep_names(own, True)
    return dict(own)


def _named_estimator(model: Any) -> Any:
    """What keeps the names: the estimator of coview at the end of a model."""
    inspection = inspect(model)
    if not inspection.groups or inspection.kind not in NAMED_BY_FEATURES:
        what = "classes have names of their own" if inspection.kind == "class" else f"it gives a {inspection.kind}"
        raise ViewsError(f"{inspection.name} has no topics or clusters to name: {what}.")
    if not answers(inspection.estimator):
        raise ViewsError(
            f"{inspection.name} is no estimator of coview, and would keep the names of its clusters over a new fit. "
            "Use a clusterer of coview, such as SphericalKMeans."
        )
    return inspection.estimator


# -- names that are found


def _cleaned(answer: Any) -> str:
    """What a function answered as a name: the first line that says something, without signs that are no letters."""
    if not isinstance(answer, str):
        raise TypeError(f"it returned {short(answer)}")
    lines = ["".join(sign for sign in line if sign.isprintable() or sign == "\t") for line in answer.splitlines()]
    name = next((" ".join(line.split()).strip("\"'`“”„‘’*# ").rstrip(".") for line in lines if line.strip()), "")
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME].rsplit(' ', 1)[0]}..."


def _cards(inspection: Inspection, X: Any, n_words: int, kept: Mapping[str, str]) -> list[GroupCard]:
    """What is known of each group, by objects where there are any; names of `kept` groups are these."""
    groups, views, texts = inspection.groups, None, dict[str, list[str]]()
    codes, ids = read_training(inspection).codes, range(0)
    phrases: list[list[str]] = [[] for _ in groups]
    typical: list[list[int]] = [[] for _ in groups]
    if X is not None:
        views = inspection.preparation.prepare_views(X)
        rows = sample_positions(len(views), MOST_OBJECTS)
        if inspection.preparation.front is not None and not isinstance(X, Views):
            texts = {view: [part[row] for row in rows] for view, part in inspection.preparation.raw_texts(X).items()}
        views = views[rows]
        reading = read_groups(inspection, views, prepared=True)
        codes, ids = reading.codes, range(len(views)) if views.ids is None else views.ids
        if codes is None:
            raise ViewsError(f"{inspection.name} cannot tell which groups these objects are in: leave them out.")
        phrases = _find_phrases(inspection, views, codes, texts, max(n_words, N_FEATURES))
        typical = typical_objects(reading, len(groups), views, N_OBJECTS)
    features = {
        view: top_features(part, feature_names(inspection, view, views), N_FEATURES)
        for view, part in features_by_view(inspection, views, codes).items()
    }
    found = [", ".join(said[:n_words]) for said in phrases]
    named = [own or other for own, other in zip(found, group_names(inspection, views, codes))]
    names = [kept.get(key, cut(printable(name), LONGEST_FOUND)) for key, name in zip(groups, named)]
    sizes = None if codes is None else np.bincount(codes[codes >= 0], minlength=len(groups)).tolist()
    return [
        GroupCard(
            groups[k],
            inspection.kind,
            name,
            None if sizes is None else sizes[k],
            {view: [(feature, weight) for feature, weight, _ in lists[k]] for view, lists in features.items()},
            phrases[k],
            [ids[row] for row in typical[k]],
            [{view: part[row][:SHOWN_LETTERS] for view, part in texts.items()} for row in typical[k] if texts],
        )
        for k, name in enumerate(distinct_names(names, groups, kept))
    ]


def _find_phrases(
    inspection: Inspection, views: Views, codes: np.ndarray, texts: Mapping[str, list[str]], n: int
) -> list[list[str]]:
    """Words of all views, and phrases of the texts, that tell each group from the other objects, by log-odds."""
    noise = views_that(inspection.selection.relations, "noise")
    words = [
        (views[view], feature_names(inspection, view, views))
        for view in views.names
        if (view in views.feature_names or inspection.views[view].feature_names is not None)
        and view not in noise
        and not is_measured(inspection, view, views)
    ]
    lists = {
        view for view, part in inspection.preparation.inputs.items() if getattr(part.vectorizer, "separator", None)
    }
    phrases = [found for view in texts if view not in lists and (found := count_phrases(texts[view])) is not None]
    known = np.flatnonzero(codes >= 0)
    shape = (len(inspection.groups), len(codes))
    belongs = sparse.csr_array((np.ones(len(known)), (codes[known], known)), shape=shape)
    sizes = belongs.sum(axis=1)

    def worth(parts: list[tuple[Any, list[str]]]) -> list[dict[str, float]]:
        present = [(sparse.csr_array(matrix != 0, dtype=np.float64), names) for matrix, names in parts]
        return sum_worth([(log_odds((belongs @ part).toarray(), sizes), names) for part, names in present], len(sizes))

    return [choose_words(*pair, LEAST_WORTH) for pair in zip(worth(words), [n] * len(sizes), worth(phrases))]
