"""
Texts with embeddings
=====================

An embedding says what a text means, its words say which terms it uses, and other columns say other things. Here they
are views of one model: `EmbeddingViews` makes vectors of the texts by any function, beside the words that `TableViews`
counts. How much do they help when few objects have labels?
"""

# %%
# A table with two columns of text: documentation and code of functions in installed packages, which are the target.
import numpy as np

from coview.datasets import load_python_packages

corpus = load_python_packages()


def texts_of(view):
    """Words of each object, as one text."""
    words, counts = corpus.views.feature_names[view], corpus.views[view]
    parts = np.split(
        np.repeat(words[counts.indices], counts.data.astype(int)),
        np.cumsum(counts.sum(axis=1)).astype(int)[:-1],
    )
    return [" ".join(part) for part in parts]


table = {"doc": texts_of("words"), "code": texts_of("code")}
print(table["doc"][0][:90])

# %%
# The encoder is a function from a list of texts to one vector each. Usually it is a language model:
# ``SentenceTransformer("all-MiniLM-L6-v2").encode``, or a call of an HTTP endpoint. So that this example runs anywhere,
# sequences of letters reduced to 96 dimensions stand in for one: they know that "cluster" and "clustering" are related.
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

letters = make_pipeline(
    TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), min_df=3, sublinear_tf=True
    ),
    TruncatedSVD(n_components=96, random_state=0),
).fit(table["doc"])
calls = []


def encode(texts):
    """Return the vectors of a batch of texts."""
    calls.append(len(texts))
    return letters.transform(texts).astype(np.float32)


# %%
# With ``cache``, vectors are kept on disk by the content of the texts and the name of the encoder. The second time
# nothing is computed: the encoder is not called at all.
import tempfile

from coview import EmbeddingViews, TableViews

meaning = EmbeddingViews(
    encode,
    {"meaning": "doc"},
    name="letters-96",
    cache=tempfile.mkdtemp(),
    batch_size=256,
)
front = TableViews({"words": "doc", "code": "code"}, embeddings=meaning)
X = front.fit_transform(table)
print(X)
before, X = len(calls), front.fit_transform(table)
print("batches:", before, "and after a second run:", len(calls))

# %%
# A topic model of both: words are counts, vectors have means and noise (``likelihood_``). The numbers of a vector mean
# nothing one by one, so a topic is explained by its words, and by the functions whose vectors lie nearest to its mean.
from coview import LinkPLSA, describe, inspect

pair = X.select("words", "meaning")
topics = LinkPLSA(8, view_weights={"meaning": 20}, random_state=0).fit(pair)
print(topics.likelihood_)
nearest = describe(topics, pair, held_out=False)["examples"]["nearest"]["meaning"]
for number, words in enumerate(topics.top_features("words", n=5)):
    near = [
        f"    {table['doc'][one['id']][:80]}" for one in nearest.get(str(number), [])
    ]
    print(", ".join(word for word, _ in words), *near[:2], sep="\n")

# %%
# How much of the vectors do the topics explain, and which topics? As in factor analysis, a share of the variance.
for name, share in zip(
    inspect(topics).group_names, topics.variance_explained_["meaning"]
):
    print(f"{share:.3f} {name}")

# %%
# Sparse counts and dense vectors go into one model. Few labels, the same for all; accuracy on the unlabeled objects.
from coview import SeededKMeansClassifier, TfidfViews

codes = np.unique(corpus.target, return_inverse=True)[1]
X = TfidfViews(views=["words", "code"]).fit_transform(X)
choices = [
    ("words",),
    ("meaning",),
    ("words", "meaning"),
    ("words", "code"),
    ("words", "code", "meaning"),
]
n_labels = [1, 3, 10]  # of each package
scores = {names: [] for names in choices}
for n in n_labels:
    rng = np.random.default_rng(0)
    labels = np.full(len(codes), -1)
    for label in range(codes.max() + 1):
        known = rng.permutation(np.flatnonzero(codes == label))[:n]
        labels[known] = label
    hidden = labels < 0
    for names in choices:
        model = SeededKMeansClassifier(random_state=0).fit(X.select(*names), labels)
        scores[names].append(np.mean(model.transduction_[hidden] == codes[hidden]))

# %%
# The vectors alone do about as well as the words. Added to words and code they help at every number of labels, most
# where there are few.
import matplotlib.pyplot as plt

for names, found in scores.items():
    print(f"{' + '.join(names):24s}", *(f"{score:.2f}" for score in found))

fig, axis = plt.subplots(figsize=(7, 4), layout="constrained")
colors = ["#9db8d9", "#f0c08a", "#d9822b", "#3b6fb6", "#b3402e"]
for i, (names, found) in enumerate(scores.items()):
    axis.bar(
        np.arange(3) + 0.16 * (i - 2),
        found,
        width=0.15,
        color=colors[i],
        label=" + ".join(names),
    )
axis.set_xticks(range(3), [f"{n} label{'s' if n > 1 else ''} each" for n in n_labels])
axis.set_ylabel("accuracy on unlabeled functions")
axis.set_ylim(0, 1)
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, ncols=2, loc="upper left")
plt.show()
