"""What the help of the command line says first, and of each command."""

from __future__ import annotations

__all__ = ["COMMANDS", "START"]

# the one path that a newcomer takes, at most 78 columns wide
START = """Multi-view learning: several feature sets per object.

Start with your own table: cluster its rows, write a report, browse the result.

  coview fit auto tickets.csv
  coview report tickets.coview tickets.csv -o report.html
  coview explore tickets.coview tickets.csv

If a column holds classes for some of the rows, learn them and predict all rows.

  coview fit auto tickets.csv --labels product -o products.coview
  coview predict products.coview tickets.csv -o products.csv
  coview label products.coview tickets.csv -o labels.csv
"""


# what each command is for, and an example that its help ends with
COMMANDS = {
    "fit": (
        "Fit a model to a table or to views from files, and write it to one file.",
        "coview fit LinkPLSA tickets.csv --id id --text words=text --topics 6 -o topics.coview",
    ),
    "predict": (
        "Give each object its class, cluster or first topic.",
        "coview predict topics.coview tickets.csv --proba -o topics.csv",
    ),
    "report": (
        "Write an HTML page on what a model found.",
        "coview report topics.coview tickets.csv --by date -o report.html",
    ),
    "explore": (
        "Browse a model: its groups, objects, search, and what to label next.",
        "coview explore topics.coview tickets.csv",
    ),
    "serve": (
        "Answer other programs from a model, over HTTP.",
        "coview serve topics.coview --port 8000",
    ),
    "search": (
        "Search objects with words, an image, or one of them.",
        'coview search "largest eigenvalues of a sparse matrix" -k 5',
    ),
    "compare": (
        "Compare every method on your data.",
        "coview compare tickets.csv --labels product --share 0.1",
    ),
    "edit": (
        "Name, merge, split, rename or drop topics or clusters.",
        "coview edit topics.coview --merge 0,5=payment --rename 1=battery -o edited.coview",
    ),
    "update": (
        "Teach a model of topics new rows; show which topics are new or gone.",
        "coview update topics.coview new.csv -o updated.coview",
    ),
    "label": (
        "List the objects whose labels would help a classifier most.",
        "coview label products.coview tickets.csv --count 20 -o labels.csv",
    ),
    "stream": (
        "Learn from rows one after the other, and show how accurate that is.",
        "coview stream tickets.csv --text text=text --labels product --save stream.coview",
    ),
    "info": (
        "Show what a model file holds, or versions and models.",
        "coview info topics.coview",
    ),
    "demo": (
        "Cluster, classify and search the Python packages on this machine.",
        "coview demo --out coview-demo",
    ),
}
