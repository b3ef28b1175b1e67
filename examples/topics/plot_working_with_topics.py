"""
Working with topics: names, time, categories, edits
===================================================

A table with texts, years, categories and links, from data that is on every machine: the documented functions of NumPy,
SciPy and scikit-learn. The text is the summary and the notes of the docstring, the category is the package, the links
are the functions named under "See Also", and the year is that of the newest work under "References".
"""

# %%
# Make the table. Nothing is downloaded.
import importlib
import inspect as introspection
import re
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline

from coview import (
    LinkPLSA,
    TableViews,
    edit,
    inspect,
    load,
    make_report,
    name_groups,
    save,
)
from coview.plot import PrevalenceDisplay

PACKAGES = {
    "numpy": ["linalg", "random"],
    "scipy": [
        "cluster.hierarchy", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse",
        "spatial", "special", "stats",
    ],
    "sklearn": [
        "cluster", "decomposition", "ensemble", "linear_model", "metrics", "model_selection", "neighbors",
        "preprocessing",
    ],
}  # fmt: skip


def row(name: str, package: str, text: str) -> dict:
    plain = re.sub(r":\w+:`|\.\. \w+::.*", " ", text)  # no markup
    head, *parts = re.split(r"\n(\w[\w ]+)\n-{3,}\n", plain)
    sections = dict(zip(parts[::2], parts[1::2]))
    links = re.findall(r"^\w[\w.]*", sections.get("See Also", ""), re.MULTILINE)
    years = re.findall(r"\b(?:19|20)\d\d\b", sections.get("References", ""))
    return {
        "name": f"{package}.{name}",
        "text": f"{head}\n{sections.get('Notes', '').partition('Array API')[0]}",
        "package": package,
        "see_also": " ".join(link.rpartition(".")[2] for link in links),
        "year": int(max(years)) if years else None,
    }


rows = []
for package in (f"{top}.{part}" for top, parts in PACKAGES.items() for part in parts):
    for name, thing in sorted(vars(importlib.import_module(package)).items()):
        text = (
            introspection.getdoc(thing)
            if callable(thing) and not name.startswith("_")
            else None
        )
        if text and len((one := row(name, package, text))["text"].split()) >= 25:
            rows.append(one)
table = {column: [one[column] for one in rows] for column in rows[0]}
linked, dated = (sum(map(bool, table[column])) for column in ("see_also", "year"))
print(f"{len(rows)} functions, {linked} with links, {dated} with a year")

# %%
# Topics of words and links together, and names for them: phrases that set a topic apart, from both views.
front = TableViews({"words": "text"}, tokens={"links": "see_also"}, id="name")
topics = make_pipeline(front, LinkPLSA(16, n_init=3, random_state=0)).fit(table)
for number, name in name_groups(topics, table).items():
    print(number, name)

# %%
# How good are they? Coherence (NPMI and c_v), how many features they share with each other, how sure objects are.
print(inspect(topics).quality(table))

# %%
# Which topics rose? A year is known for the functions that cite a work; bands are 95 % intervals.
years = PrevalenceDisplay.from_estimator(topics, table, by="year", n_groups=4)

# %%
# And by package: a heat map of mean memberships.
packages = PrevalenceDisplay.from_estimator(topics, table, by="package")

# %%
# Which functions does no topic explain?
print(inspect(topics).outliers(table))

# %%
# Merge the two pairs that are most alike by words and links. A preview says which objects would move; the log of edits
# is saved with the model and applied to new objects.
model = edit(topics)
for _ in range(2):
    tree = inspect(model).hierarchy()
    alike = [model.numbers_[int(leaf)] for leaf in tree.linkage[0, :2]]
    print(model.preview("merge", groups=alike))
    model.merge(alike)
names = name_groups(model, table)
print(*model.log(), sep="\n")

# %%
# Save, load, ask about a text that the model has not seen, and write a report with both columns.
with tempfile.TemporaryDirectory() as folder:
    save(model, Path(folder) / "functions.coview")
    again = load(Path(folder) / "functions.coview")
    report = make_report(again, table, by=["year", "package"])
    report.save(Path(folder) / "functions.html")
new = {
    "name": ["mine"],
    "text": ["Fit a linear model with a penalty on the coefficients."],
    "see_also": [""],
}
number = int(again.predict(new)[0])
print(number, dict(zip(again.numbers_, inspect(again).group_names))[number])
plt.show()
