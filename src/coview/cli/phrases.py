"""Sentences of the library in the words of the command line: options in place of Python's arguments.

The library says ``y``, ``source=`` or ``TextViews``, which is right in Python; who types commands has ``--labels``,
``--source`` and ``--text``. Only what is shown is changed, nothing below the apps knows of it.
"""

from __future__ import annotations

import re

__all__ = ["in_options"]

_TABLE = "Give the table by --table FILE, with --text NAME=COLUMN for text and --columns NAME=COLUMN for categories"
_RULES: list[tuple[str, str]] = [
    # labels
    (
        r"This estimator requires y to be passed, but the target y is None\.",
        "This model learns from labels: give --labels.",
    ),
    (r"(?:^|(?<=[.:;,] ))y (?=must|has|holds|mixes|is empty|contains)", "--labels "),
    (r"-1, None or NaN", "-1 or nothing"),
    (r"\btask='(\w+)' needs y\b", r"--task \1 needs --labels"),
    (r"n_clusters=7, or --clusters 7\. select_clusters\(X\) helps to choose it\.", "--clusters 7."),
    # views and tables
    (r"Text and categories come in through TextViews and ColumnViews", _TABLE),
    (r"Turn text into counts with TextViews and categories into indicators with ColumnViews", _TABLE),
    (r"\b(?:TableViews|TextViews|ColumnViews) needs the column", "The table needs the column"),
    (r"\bTextViews needs text\b", "--text needs text"),
    (r"\bColumnViews takes\b", "--columns takes"),
    (r"\buse ColumnViews\b", "use --columns"),
    (r"Join rows by id with Views\.align\(.*?\)\.(?= |$)", "Give the files an id column to join their rows by."),
    (
        r"; mark rows that lack the whole view by present=.*",
        ", or leave all cells of a row empty where the object lacks the view.",
    ),
    (r"read it with read_views\(path\)", "give it alone, by --data"),
    (r"with Codebook\(\.\.\.\)", "with --step Codebook"),
    (r", or leave it out with views=\[\.\.\.\]", ", or leave it out"),
    (r"Read them with X\.collect\(\), or fit", "Give one file per view, or fit"),
    (
        r"Put TextViews\(\.\.\.\) in front of the model, or give a matrix: Views\(.*?\)\.",
        "Fit it on a raw table, by --table and --text.",
    ),
    (r"Give feature_names, or", "Give files whose columns have names, or"),
    (
        r"\bcv must be a number of folds from (\d+) to (\d+)(.*?), or a splitter, got",
        r"--folds must be from \1 to \2\3, got",
    ),
    # searching and reports
    (r"^method must be (?='pca')", "--map must be "),
    (r"\b(source|target)= one of", r"--\1 one of"),
    # settings
    (
        r"\bn_samples=(\d+) should be >= n_clusters=(\d+)",
        r"There are \1 objects, too few for n_clusters=\2: use n_clusters=\1",
    ),
    (r", or CudaEngine\(.*?\) to try the same code without a GPU", ""),
]
_FIT: list[tuple[str, str]] = [  # the command that has --set
    (r"\bSet (n_\w+) to at most (\d+)", r"Use --set \1=\2 or fewer"),
    (r"(?<!--set )\b([Uu]se) ([a-zA-Z_]+)=['\"]?([\w.-]+?)['\"]?(?=[\s,.;:]|$)", r"\1 --set \2=\3"),
]
_STREAM: list[tuple[str, str]] = [
    (r"label= \(--label\), or say label=None", r'--label, or say --label ""'),
    (r"views=\{'(.+?)': 3000, \.\.\.\}", r"--views \1=3000,..."),
    (r"with views=\.", "with --views."),
    (r"\bupdate='(\w+)'", r"--update \1"),
]


def in_options(sentence: str, command: str = "") -> str:
    """Return a sentence of the library as one who typed a command can use it.

    Examples
    --------
    >>> in_options("y must hold one label per object: 3 labels for 4 objects.", "fit")
    '--labels must hold one label per object: 3 labels for 4 objects.'
    >>> in_options("Say which view to search in: target= one of 'code', 'links'.", "search")
    "Say which view to search in: --target one of 'code', 'links'."
    """
    rules = _STREAM if command == "stream" else [*_RULES, *(_FIT if command == "fit" else [])]
    for pattern, said in rules:
        sentence = re.sub(pattern, said, sentence)
    return sentence
