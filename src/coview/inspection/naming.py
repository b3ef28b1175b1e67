"""Names of a model's topics and clusters that stay with it: found offline, by a function, or given by hand.

Without more, `Inspection.group_names` names groups by the weights of the model (`names`). `name_groups` looks at
objects as well, at the words and phrases that tell the groups apart (`phrases`), or asks any function, such as one that
asks a language model, which is given what all views say of a group. `set_group_names` takes names by hand. Names are
kept in the fitted attribute `group_names_` of the estimator, by the key of the group: they are saved and loaded with
it, and everything that asks `inspect` shows them. A new fit has other groups, and forgets them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coview.exceptions import ParameterError, ViewsError
from coview.inspection.adapters import inspect
from coview.inspection.contract import GROUP_NOUNS, NAMED_BY_FEATURES, Inspection, Reading, answers
from coview.inspection.features import feature_names, group_names, is_measured
from coview.inspection.names import WORDS, distinct_names
from coview.inspection.objects import typical_objects
from coview.inspection.phrases import count_phrases, telling_features
from coview.inspection.vectors import explain_groups
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
    n_features: int = 10,
    n_objects: int = 3,
    overwrite: bool = False,
    verbose: int | None = None,
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
        contain more often than the others, by weighted log-odds (`coview.inspection.phrases`); without, by the weights
        of the model alone. Phrases need the raw texts: a model that was fitted on a table. Of more than 20,000 objects
        a sample is taken.
    namer : function of a GroupCard that returns a str, optional
        Called once for each group whose name is not kept, one after the other; the card has what all views say of the
        group, typical objects with their texts, and ``prompt()``, all of it in words. White space, control characters
        and quotation marks around a name are taken out, and of what is longer than 80 letters the rest is cut. Where
        the function fails for a group, or returns no text, the group keeps its offline name, with a warning.
    n_words : int, default=3
        Most words or phrases of an offline name.
    n_features, n_objects : int, default=10, 3
        Most features of a view, and typical objects, on a card.
    overwrite : bool, default=False
        Replace the names that people gave, too.
    verbose : int or None, default=None
        1 shows where it stands, 0 does not; None shows it in notebooks and on the command line.

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
    check_count("n_features", n_features, 1)
    check_count("n_objects", n_objects, 0)
    if namer is not None and not callable(namer):
        raise ParameterError(
            f"must be a function of a GroupCard that returns a name, got {short(namer)}.", parameter="namer"
        )
    estimator = _named_estimator(model)
    kept = {} if overwrite else estimator._names_by_hand()
    nameless = replace(inspect(model), given_names={})
    with progress("names", verbose):
        names = _found_names(nameless, X, namer, n_words, n_features, n_objects, kept)
    if names != inspect(model).given_names:
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
        listed_names = isinstance(names, (list, tuple)) or (isinstance(names, np.ndarray) and names.ndim == 1)
        if not listed_names or len(names) != len(groups):
            raise ParameterError(
                f"must have a name for each of the {len(groups)} groups, got {short(names)}.", parameter="names"
            )
        names = dict(zip(groups, names))
    given = {str(key): name for key, name in names.items()}
    for key, name in given.items():
        if key not in groups:
            raise ParameterError(
                f"names the group {key!r:.60}, but the groups are {listed(groups)}.{did_you_mean(key, groups)}",
                parameter="names",
            )
        if name is not None:
            given[key] = _checked_name(key, name)
    together = {**inspection.given_names, **given}
    own = {key: name for key in groups if (name := together.get(key)) is not None}
    called = list(own.values())
    twice = next((name for name in called if called.count(name) > 1), None)
    if twice is not None:
        same = [key for key, name in own.items() if name == twice]
        raise ParameterError(
            f"has the name {short(twice)} for the groups {listed(same)}: names must differ.", parameter="names"
        )
    estimator._keep_names(own, True)
    return dict(own)


def _checked_name(key: str, name: Any) -> str:
    """A name that was given by hand."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(f"must have a text for group {key!r}, got {short(name)}.", parameter="names")
    name = " ".join(name.split())
    if len(name) > LONGEST_BY_HAND:
        raise ParameterError(
            f"has a name of {len(name)} letters for group {key!r}: give at most {LONGEST_BY_HAND}.",
            parameter="names",
        )
    if printable(name) != name:
        raise ParameterError(
            f"has a control character in {printable(name)!r:.60}, for group {key!r}.", parameter="names"
        )
    return name


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


def _found_names(
    inspection: Inspection,
    X: Any,
    namer: Callable[[GroupCard], str] | None,
    n_words: int,
    n_features: int,
    n: int,
    kept: Mapping[str, str],
) -> dict[str, str]:
    objects = None if X is None else _NamedObjects.read(inspection, X)
    fallback = inspection.group_names
    phrases: list[list[str]] = [[] for _ in inspection.groups]
    if objects is not None:
        fallback = group_names(inspection, objects.views, objects.reading.codes)
        most = max(n_words, n_features) if namer is not None else n_words
        phrases = objects.telling(inspection, most)
    found = [", ".join(part[:n_words]) or other for part, other in zip(phrases, fallback)]
    offline = [kept.get(key, cut(printable(name), LONGEST_FOUND)) for key, name in zip(inspection.groups, found)]
    offline = distinct_names(offline, inspection.groups, kept)
    if namer is None:
        return dict(zip(inspection.groups, offline))
    cards = [card for card in _cards(inspection, objects, offline, phrases, n_features, n) if card.key not in kept]
    names, failures = list(offline), {}
    for card in counted(cards, inspection.kind, len(cards)):
        k = inspection.groups.index(card.key)
        others = {key: names[j] for j, key in enumerate(inspection.groups) if j != k}
        try:
            answer = namer(GroupCard(**{**vars(card), "siblings": others}))
        except Exception as error:
            failures[card.key] = cut(f"{type(error).__name__}: {error}")
            continue
        name = _cleaned(answer) if isinstance(answer, str) else ""
        if name:
            names[k] = name
        else:
            failures[card.key] = f"it returned {short(answer)}"
    if failures:
        key, why = next(iter(failures.items()))
        told = f"{inspection.kind} {key}: {why.rstrip('.')}"
        if len(failures) == len(cards):
            raise ViewsError(f"namer gave no name for any of the {len(cards)} {GROUP_NOUNS[inspection.kind]} ({told}).")
        warn_user(
            f"namer gave no name for {len(failures)} of {len(cards)} {GROUP_NOUNS[inspection.kind]} ({told}); they "
            "keep the names found offline.",
            UserWarning,
        )
    return dict(zip(inspection.groups, distinct_names(names, inspection.groups, kept)))


def _cleaned(answer: str) -> str:
    """What a function answered as a name: the first line that says something, without signs that are no letters."""
    lines = ["".join(sign for sign in line if printable(sign) == sign or sign == "\t") for line in answer.splitlines()]
    name = next((" ".join(line.split()).strip("\"'`“”„‘’*# ").rstrip(".") for line in lines if line.strip()), "")
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME].rsplit(' ', 1)[0]}..."


@dataclass(frozen=True)
class _NamedObjects:
    """Objects, or a sample of them, as the estimator sees them, with their raw texts."""

    views: Views
    reading: Reading
    texts: dict[str, list[str]]

    @classmethod
    def read(cls, inspection: Inspection, X: Any) -> _NamedObjects:
        views = inspection.prepare_views(X)
        raw = inspection.front is not None and not isinstance(X, Views)
        texts = inspection.raw_texts(X) if raw else {}
        rows = sample_positions(len(views), MOST_OBJECTS)
        reading = inspection.read(views[rows], prepared=True)
        if reading.codes is None:
            raise ViewsError(f"{inspection.name} cannot tell which groups these objects are in: leave them out.")
        return cls(views[rows], reading, {view: [part[row] for row in rows] for view, part in texts.items()})

    def telling(self, inspection: Inspection, n: int) -> list[list[str]]:
        """Telling words of all views, and phrases of the texts, of each group."""
        parts, judged = {}, dict(zip(inspection.relations.get("view", ()), inspection.relations.get("verdict", ())))
        for view in self.views.names:
            named = view in self.views.feature_names or inspection.views[view].feature_names is not None
            if named and not is_measured(inspection, view, self.views) and judged.get(view) != "noise":
                parts[view] = (self.views[view], feature_names(inspection, view, self.views))
        phrases = [found for view in self._prose(inspection) if (found := count_phrases(self.texts[view])) is not None]
        codes, n_groups = np.asarray(self.reading.codes), len(inspection.groups)
        return telling_features(parts, phrases, codes, n_groups, n)

    def _prose(self, inspection: Inspection) -> list[str]:
        """Views of texts that are no lists."""
        vectorizers = {view: taken.vectorizer for view, taken in inspection.inputs.items()}
        lists = {view for view, one in vectorizers.items() if one is not None and vars(one).get("separator")}
        return [view for view in self.texts if view not in lists]


def _cards(
    inspection: Inspection,
    objects: _NamedObjects | None,
    names: list[str],
    phrases: list[list[str]],
    n_features: int,
    n_objects: int,
) -> list[GroupCard]:
    """What is known of each group."""
    n_groups = len(inspection.groups)
    views, reading = (None, inspection.training_reading()) if objects is None else (objects.views, objects.reading)
    told = explain_groups(inspection, views, None if objects is None else reading.codes, n_features, 0)
    sizes = None if reading.codes is None else np.bincount(reading.codes[reading.codes >= 0], minlength=n_groups)
    rows: list[list[int]] = [[] for _ in names]
    ids: Any = None
    if objects is not None:
        rows, ids = typical_objects(reading, n_groups, n_objects, objects.views), objects.views.ids
    texts = {} if objects is None else objects.texts
    return [
        GroupCard(
            key,
            inspection.kind,
            names[k],
            None if sizes is None else int(sizes[k]),
            told[k].features,
            phrases[k],
            [row if ids is None else ids[row] for row in rows[k]],
            [{view: part[row][:SHOWN_LETTERS] for view, part in texts.items()} for row in rows[k]] if texts else [],
        )
        for k, key in enumerate(inspection.groups)
    ]
