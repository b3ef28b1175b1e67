"""
Effects of covariates
=====================

How the shares of topics depend on a category and on time, with intervals: tickets of a shop, by product and date.
"""

# %%
# The topics of 300 tickets, named by phrases.
import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline

from coview import LinkPLSA, TableViews, inspect, name_groups, read_table

tickets = read_table("../tickets.csv")
front = TableViews({"words": "text"}, id="id")
topics = make_pipeline(front, LinkPLSA(6, n_init=3, random_state=0)).fit(tickets)
names = name_groups(topics, tickets)

# %%
# The formula says what each share is regressed on: a category, compared with the first of the alphabet, and a curve over
# the dates. Effects are differences in share, the rest held equal.
effects = inspect(topics).effects(tickets, "~ product + spline(date, 4)")
print(effects)

# %%
# Expected shares by date, of a mix of products as in all tickets, and by product.
figure, axes = plt.subplots(2, 1, figsize=(9, 7), layout="constrained")
effects.plot("date", n_groups=4, ax=axes[0])
effects.plot("product", n_groups=4, ax=axes[1])
plt.show()
