"""
Your own table: the packages of a Debian machine
================================================

A raw table with a title, a description and a list of dependencies per object, as people have it. Every Debian or Ubuntu
machine has this one. Elsewhere the script says so and ends.
"""

# %%
# The table. `TableViews` counts words without function words, and splits the dependencies at their commas.
import sys

import numpy as np
from sklearn.pipeline import make_pipeline

from coview import CrossModalRetriever, MultiViewNaiveBayes, SphericalKMeans, TableViews, TfidfViews, inspect
from coview.datasets import load_debian_packages
from coview.exceptions import DataFileError

try:
    corpus = load_debian_packages(20_000)
except DataFileError as error:
    sys.exit(str(error))
table = corpus.table
front = TableViews({"words": "description", "title": "title"}, tokens={"deps": "depends"}, id="name")
print(front.fit_transform(table))

# %%
# Clusters, and the words by which they differ from the others.
clusters = make_pipeline(front, TfidfViews(), SphericalKMeans(20, random_state=0)).fit(table)
for name, size in zip(inspect(clusters).group_names, np.bincount(clusters[-1].labels_)):
    print(f"{size:5}  {name}")

# %%
# Classes from few labels: the section of one package in a hundred is known.
known = np.random.default_rng(0).random(len(corpus.target)) < 0.01
labels = [corpus.target_names[code] for code in corpus.target]
rows = {name: [value for value, use in zip(column, known) if use] for name, column in table.items()}
few = [label for label, use in zip(labels, known) if use]
model = make_pipeline(front, MultiViewNaiveBayes()).fit(rows, few)
hidden = ~known
rest = {name: [value for value, use in zip(column, hidden) if use] for name, column in table.items()}
truth = np.array(labels)[hidden]
print(f"{known.sum()} labels: {np.mean(model.predict(rest) == truth):.0%} of the other sections are right")

# %%
# Search: with words in all views, and for packages that resemble one.
retriever = CrossModalRetriever(front).fit(table)
titles = dict(zip(table["name"], table["title"]))
for query in ("edit photos and raw images", "email client"):
    print(query)
    for name, score in retriever.search(query, k=5)[0]:
        print(f"  {score:.2f}  {name}: {titles[name]}")
first = retriever.search("partition editor", k=1).ids[0, 0]
print(f"near {first}:", ", ".join(name for name, _ in retriever.near(first, k=5)[0]))
