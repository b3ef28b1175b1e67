"""Searching one view with another: scores against a plain formula, raw queries, the index, tags and explanations."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from coview import LinkPLSA, MultiViewPLSA, TextViews, TfidfViews, Views, inspect, load, save
from coview.datasets import make_topic_views
from coview.decomposition.cca import MultiViewCCA
from coview.exceptions import ViewsError
from coview.inspection.reading import read_groups
from coview.preprocessing import images
from coview.retrieval.retriever import CrossModalRetriever
from coview.retrieval.semantic import SemanticCorrelationMatching

MODELS = {
    "MultiViewPLSA": MultiViewPLSA(4, 6, random_state=0),
    "MultiViewCCA": MultiViewCCA(4, random_state=0),
    "SemanticCorrelationMatching": SemanticCorrelationMatching(4, random_state=0),
    "pipeline": make_pipeline(TfidfViews(), LinkPLSA(4, random_state=0)),
}
TABLE = {
    "title": ["red fox jumps", "blue sea wave", "red fox den", "sea wave blue"] * 8,
    "body": ["fox forest red", "wave beach sea", "forest fox hunt", "beach sea sand"] * 8,
}


@pytest.fixture(scope="module")
def data():
    return make_topic_views(180, {"words": 80, "image": 50}, n_clusters=4, random_state=0)


@pytest.fixture(scope="module")
def linked(data):
    return CrossModalRetriever(LinkPLSA(4, random_state=0)).fit(data.views[:140], data.target[:140])


@pytest.fixture(scope="module")
def texts():
    model = make_pipeline(TextViews(), TfidfViews(), LinkPLSA(2, random_state=0))
    return CrossModalRetriever(model).fit(TABLE)


def correlation(a: np.ndarray, b: np.ndarray, mean_a: np.ndarray, mean_b: np.ndarray) -> np.ndarray:
    a, b = a - mean_a, b - mean_b
    return (a / np.linalg.norm(a, axis=1, keepdims=True)) @ (b / np.linalg.norm(b, axis=1, keepdims=True)).T


# -- scores


def test_topic_space_is_the_centered_correlation_of_topic_proportions(data, linked):
    model, train, new = linked.models_[0], data.views[:140], data.views[140:]
    words, image = (model.transform(train.select(name)) for name in ("words", "image"))
    query = model.transform(new.select("words"))
    expected = correlation(query, image, words.mean(axis=0), image.mean(axis=0))
    np.testing.assert_allclose(linked.similarities(new, "words", "image"), expected, atol=1e-5)


def test_semantic_space_is_the_centered_correlation_of_class_probabilities(data):
    train, new, y = data.views[:140], data.views[140:], data.target[:140]
    retriever = CrossModalRetriever(LinkPLSA(4, random_state=0), "semantic", C=2.0).fit(train, y)
    found = {}
    for name, part in (("words", new), ("image", train)):
        places = retriever.models_[0].transform(train.select(name))
        head = LogisticRegression(C=2.0, max_iter=1000).fit(places, y)
        found[name] = (
            head.predict_proba(retriever.models_[0].transform(part.select(name))),
            head.predict_proba(places),
        )
    expected = correlation(
        found["words"][0], found["image"][0], found["words"][1].mean(axis=0), found["image"][1].mean(axis=0)
    )
    np.testing.assert_allclose(retriever.similarities(new, "words", "image"), expected, atol=2e-3)


def test_scores_of_some_objects_are_those_among_all():
    table = {"title": ["red fox", "blue sea", "red den", None] * 5, "body": ["fox den", "sea wave", None, "den"] * 5}
    retriever = CrossModalRetriever(TextViews(), lexical=0.4).fit(table)
    queries = ["red fox", "blue den"]
    for source, target in ((None, None), ("title", "body")):
        every = retriever.similarities(queries, source, target)
        ids = retriever.indexed_ids(target)
        chosen = [7, 3, 12]
        some = retriever.similarities(queries, source, target, ids=ids[chosen].tolist())
        np.testing.assert_allclose(some, every[:, chosen], atol=1e-6)
    with pytest.raises(ValueError, match="No object 99 is in the index"):
        retriever.similarities("red", ids=[99])


@pytest.mark.parametrize("space", ["topic", "semantic"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_model_finds_objects_of_the_same_cluster_through_the_other_view(data, model, space):
    retriever = CrossModalRetriever(model, space).fit(data.views[:140], data.target[:140])
    for source, target in (("words", "image"), ("image", "words")):
        hits = retriever.search(data.views[140:].select(source), target=target, k=5)
        assert np.mean(data.target[hits.ids] == data.target[140:, None]) > 0.9
        scores = retriever.similarities(data.views[140:], source, target)
        np.testing.assert_allclose(hits.scores, np.sort(scores, axis=1)[:, ::-1][:, :5], atol=1e-6)
        query = data.views[150].select(source)
        match = retriever.explain(query, hits.ids[10, 0])
        assert match.score == pytest.approx(hits.scores[10, 0], abs=1e-5)
        assert sum(match.contributions.values()) == pytest.approx(match.score)


def test_the_target_view_is_no_part_of_the_query_unless_it_is_named(data, linked):
    new = data.views[140:]
    by_words = linked.similarities(new.select("words"), target="image")
    np.testing.assert_array_equal(linked.similarities(new, target="image"), by_words)
    assert not np.allclose(linked.similarities(new, "image", "image"), by_words)


def test_the_score_of_several_models_is_the_mean_of_theirs(data):
    models = [LinkPLSA(4, random_state=0), MultiViewCCA(3, random_state=0)]
    each = [CrossModalRetriever(model).fit(data.views[:140]) for model in models]
    both = CrossModalRetriever(models).fit(data.views[:140])
    expected = np.mean([one.similarities(data.views[140:], "words", "image") for one in each], axis=0)
    np.testing.assert_allclose(both.similarities(data.views[140:], "words", "image"), expected, atol=1e-6)


# -- shared words


def lexical_data() -> Views:
    counts = np.random.default_rng(0).poisson(0.5, size=(40, 12)).astype(float)
    names = [f"w{j}" for j in range(12)]
    return Views(a=counts, b=sparse.csr_array(counts[:, ::-1]), feature_names={"a": names, "b": names[::-1]})


def naive_bm25(queries, objects):
    """BM25 as the textbook has it, of dense counts over the same words; frequencies are those of both views."""
    frequency = sum(np.count_nonzero(part, axis=0) for part in (queries, objects))
    n_rows = sum(np.count_nonzero(part.sum(axis=1)) for part in (queries, objects))
    idf = np.log(1 + (n_rows - frequency + 0.5) / (frequency + 0.5))
    scores = np.zeros((len(queries), len(objects)))
    mean = objects.sum() / np.count_nonzero(objects.sum(axis=1))
    for i, query in enumerate(queries):
        for j, row in enumerate(objects):
            for w in np.flatnonzero((query > 0) & (row > 0)):
                saturated = row[w] * 2.5 / (row[w] + 1.5 * (0.25 + 0.75 * row.sum() / mean))
                scores[i, j] += (1 + np.log(query[w])) * idf[w] * saturated
    return scores


def test_lexical_alone_is_bm25_as_a_share_of_the_best():
    X = lexical_data()
    scores = CrossModalRetriever(LinkPLSA(3, random_state=0), lexical=1.0).fit(X).similarities(X, "a", "b")
    expected = naive_bm25(X["a"], X["b"].toarray()[:, ::-1])
    best = expected.max(axis=1, keepdims=True)
    np.testing.assert_allclose(scores, expected / np.where(best > 0, best, 1), atol=1e-6)


def test_a_text_alone_is_searched_for_in_all_views(texts):
    hits = texts.search("red fox", k=4)
    assert {key % 2 for key in hits.ids[0].tolist()} == {0}  # those with a fox
    scores = texts.similarities(["red fox", "sea"])
    np.testing.assert_allclose(hits.scores[0], np.sort(scores[0])[::-1][:4], atol=1e-6)
    match = texts.explain("red fox", hits.ids[0, 0])
    assert match.score == pytest.approx(hits.scores[0, 0], abs=1e-5)
    with pytest.raises(ValueError, match=r"Nothing in the query 'zebra' is known to any view\. Use other"):
        texts.search(["sea", "zebra"])


def test_near_finds_objects_that_resemble_one():
    retriever = CrossModalRetriever(TextViews()).fit(TABLE)
    hits = retriever.near(5, k=7)
    assert 5 not in hits.ids
    assert [TABLE["title"][key] for key in hits.ids[0]] == [TABLE["title"][5]] * 7
    with pytest.raises(ValueError, match=r"No object 99 is in the index, which holds 32 objects\.$"):
        retriever.near(99)


def test_a_hybrid_search_gives_the_largest_similarities_after_adding_and_removing():
    X = lexical_data()
    retriever = CrossModalRetriever(LinkPLSA(3, random_state=0), lexical=0.5).fit(X[:25])
    retriever.remove([3, 4]).add(X[25:])
    scores = retriever.similarities(X, "a", "b")
    hits = retriever.search(X, "a", "b", k=4)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :4]
    assert np.array_equal(hits.ids, retriever.indexed_ids("b")[order])


def test_words_of_an_object_do_not_depend_on_its_company():
    table = {
        "title": ["the die of the foundry", "a sea and the waves", "the hard fox", "on the fox"] * 4,
        "body": ["the die is hard", "it is a wave in the sea", "a fox in the forest", "the fox"] * 4,
    }
    new = {"title": ["die hard", "fox die"], "body": ["die hard", "hard fox"]}  # "die" is a function word in German
    scores = []
    for parts in ([[0, 1]], [[0], [1]]):
        retriever = CrossModalRetriever(TextViews(), lexical=1.0).fit(table).clear()
        for rows in parts:
            retriever.add({name: [texts[i] for i in rows] for name, texts in new.items()})
        scores.append(retriever.similarities("die hard", "title", "body"))
    assert scores[0][0, 0] == 1.0
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6, atol=1e-7)
    alone = retriever.similarities("die", "title", "body")[0]
    assert alone[0] == 1.0 and alone[1] == 0.0


# -- raw queries


def test_raw_text_is_what_the_table_says(texts):
    raw = texts.search("red fox", source="title", target="body", k=4)
    table = texts.search({"title": ["red fox"]}, target="body", k=4)
    assert np.array_equal(raw.ids, table.ids) and np.array_equal(raw.scores, table.scores)
    assert set((raw.ids % 4).ravel()) <= {0, 2}  # foxes, not seas


def test_several_texts_are_several_queries(texts):
    hits = texts.search(["red fox", "blue sea"], source="title", k=3)
    assert hits.ids.shape == (2, 3) and set((hits.ids[1] % 4).tolist()) <= {1, 3}


def test_raw_text_is_counted_over_named_features_where_there_is_no_vectorizer():
    views = TextViews().fit_transform(TABLE)
    retriever = CrossModalRetriever(LinkPLSA(2, random_state=0)).fit(views)
    by_text = retriever.similarities("Red FOX, unknown!", "title", "body")
    counts = np.isin(views.feature_names["title"], ["red", "fox"]).astype(float)
    np.testing.assert_allclose(by_text, retriever.similarities(counts, "title", "body"), atol=1e-6)


class Colors(TransformerMixin, BaseEstimator):
    """How red, green and blue images are."""

    def fit(self, X, y=None):
        self.n_features_out_ = 3
        return self

    def transform(self, X):
        return sparse.csr_array(np.array([images.read_image(image).sum(axis=(0, 1)) for image in X]))

    def get_feature_names_out(self, input_features=None):
        return np.array(["channel0", "channel1", "channel2"], dtype=object)


def test_images_find_texts_and_their_paths_are_no_words(tmp_path):
    io = pytest.importorskip("skimage.io")
    names, table = ("red wall", "blue sea"), {"words": [], "file": []}
    for i in range(12):
        path = tmp_path / names[i % 2].replace(" ", "-") / f"{i}.png"  # the words of the text
        path.parent.mkdir(exist_ok=True)
        image = np.full((8, 8, 3), [(200 + i, 0, 0), (0, 0, 200 + i)][i % 2], dtype=np.uint8)
        io.imsave(path, image, check_contrast=False)
        table["words"].append(names[i % 2])
        table["file"].append(str(path))
    front = TextViews({"words": "words", "colors": "file"}, {"colors": Colors()})
    retriever = CrossModalRetriever(make_pipeline(front, LinkPLSA(2, random_state=0))).fit(table)
    assert not retriever.words_.lengths
    for query in (table["file"][1], image):
        assert (retriever.search(query, source="colors", target="words", k=6).ids % 2 == 1).all()


def test_words_that_nothing_knows_are_named():
    table = {**TABLE, "body": [f"the {text}" for text in TABLE["body"]]}
    retriever = CrossModalRetriever(TextViews(), lexical=0.0).fit(table)
    hits = retriever.search(["the red quokka, and a fox!", "sea", "Zebra red zebra-like"], source="title")
    assert hits.ignored == [["quokka"], [], ["Zebra", "zebra-like"]]
    assert "Ignored, not in the vocabulary: 'Zebra', 'zebra-like'." in repr(hits)
    assert retriever.search("the red quokka").ignored == [["quokka"]]
    assert retriever.search({"title": ["red quokka"]}, target="body").ignored == []
    assert retriever.near(0).ignored == []


def test_a_word_that_only_objects_know_is_not_ignored():
    front = TextViews(min_df=2)
    table = {"title": [*TABLE["title"], "red quokka"], "body": [*TABLE["body"], "fox quokka"]}
    retriever = CrossModalRetriever(front, lexical=0.5).fit(table)
    assert "quokka" not in retriever.front_.vectorizers_["title"].vocabulary_
    for views in ({}, {"source": "title", "target": "body"}):
        hits = retriever.search("quokka zebra", k=1, **views)
        assert hits.ids.tolist() == [[32]] and hits.ignored == [["zebra"]]
    silent = CrossModalRetriever(front, lexical=0.0).fit(table)
    assert silent.search("red quokka", source="title").ignored == [["quokka"]]


# -- groups of hits


def test_hits_name_the_group_of_each_object(data, linked, tmp_path):
    retriever = pickle.loads(pickle.dumps(linked)).remove([0, 5]).add(data.views[140:])
    save(retriever, tmp_path / "r.coview")
    model = inspect(linked.models_[0])
    codes = [*model.training.codes.tolist(), *read_groups(model, data.views[140:]).codes.tolist()]
    for searcher in (retriever, load(tmp_path / "r.coview")):
        hits = searcher.search(data.views[:20].select("words"), target="image", k=178)
        assert hits.groups.tolist() == [[codes[key] for key in row] for row in hits.ids.tolist()]
        assert hits.group_names.tolist() == [[model.group_names[code] for code in row] for row in hits.groups.tolist()]
    near = retriever.near(1, k=2)
    assert near.group_names[0, 0] in repr(near)
    frozen = FrozenEstimator(linked.models_[0])  # remembers other objects
    hits = CrossModalRetriever(frozen).fit(data.views[40:]).search(data.views[:1], "words", "image", k=140)
    assert hits.groups[0].tolist() == read_groups(model, data.views[40:]).codes[hits.ids[0]].tolist()


def test_classes_are_groups_and_components_are_not(data):
    classes = np.array(["land", "sea", "sky", "fire"])[data.target]
    matching = CrossModalRetriever(SemanticCorrelationMatching(4, random_state=0)).fit(data.views, classes)
    hits = matching.search(data.views[:30].select("words"), target="image", k=1)
    assert set(hits.group_names.ravel()) <= set(classes) and np.mean(hits.group_names[:, 0] == classes[:30]) > 0.9
    plain = CrossModalRetriever(MultiViewCCA(4, random_state=0)).fit(data.views)
    assert plain.search(data.views[:3], "words", "image").group_names is None
    # of several models, the first with groups
    both = CrossModalRetriever([MultiViewCCA(4, random_state=0), LinkPLSA(4, random_state=0)]).fit(data.views)
    hits = both.search(data.views[:3], "words", "image")
    assert hits.group_names[0, 0] in inspect(both).group_names and inspect(both).kind == "topic"


def test_an_object_without_views_has_no_group_and_no_explanation(data, linked):
    retriever = pickle.loads(pickle.dumps(linked))
    rows = {name: data.views[name][[140, 140]].toarray() * [[1], [0]] for name in data.views.names}
    retriever.add(Views(rows, present={name: [True, False] for name in rows}), ids=[500, 501])
    hits = retriever.near(500, k=200)
    at = hits.ids[0].tolist().index(501)
    assert hits.groups[0, at] == -1 and hits.group_names[0, at] is None and hits.scores[0, at] == 0
    named = CrossModalRetriever(TextViews()).fit(TABLE).add({"title": [None], "body": [None]}, ids=[99])
    match = named.explain("red fox", 99)
    assert match.score == 0 and match.contributions == {}


# -- the index


def test_identifiers_are_those_of_the_views():
    X = Views(a=np.eye(4), b=np.eye(4), ids=["p", "q", "r", "s"])
    retriever = CrossModalRetriever(MultiViewCCA(3, random_state=0)).fit(X)
    assert retriever.search(X[X.ids == "q"], "a", "b", k=1).ids.tolist() == [["q"]]
    with pytest.raises(ValueError, match="'q' is already in the index"):
        retriever.add(X[1:2])
    with pytest.raises(ValueError, match="of one type"):
        retriever.add(X[1:2], ids=[7])
    with pytest.raises(ValueError, match="No object 'zz' is in the index"):
        retriever.remove(["zz"])
    with pytest.raises(ValueError, match="'new' is already in the index"):
        retriever.add(X[:2], ids=["new", "new"])


def test_objects_are_indexed_by_the_views_that_they_have(data):
    retriever = CrossModalRetriever(LinkPLSA(4, random_state=0)).fit(data.views[:100]).clear()
    retriever.add(data.views[100:120].select("words")).add(data.views[120:140])
    assert len(retriever.indexed_ids("words")) == 40 and len(retriever.indexed_ids("image")) == 20
    hits = retriever.search(data.views[150].select("words"), target="image", k=50)
    assert sorted(hits.ids[0].tolist()) == list(range(20, 40))
    with pytest.raises(ValueError, match="lacks view 'image'"):
        retriever.explain(data.views[150].select("words"), 7, target="image")


# -- tags and explanations


def test_an_explanation_says_what_the_score_loses_without_each_word():
    retriever = CrossModalRetriever(TextViews()).fit(TABLE)
    hit = int(retriever.search("red quokka fox", k=1).ids[0, 0])
    whole, rest = retriever.similarities(["red quokka fox", "quokka fox"], ids=[hit])[:, 0]
    ((worth,),) = [retriever.explain_words("red quokka fox", [hit])]
    assert set(worth) == {"red", "fox"} and worth["red"] == pytest.approx(whole - rest, abs=1e-5)
    assert retriever.explain_words("fox", [hit])[0]["fox"] == pytest.approx(retriever.similarities("fox", ids=[hit])[0])


def test_a_word_that_the_object_does_not_have_explains_nothing():
    texts = ["red fox den", "red fox", "fox den", "deep blue sea", "blue sea wave", "deep sea"] * 5
    table = {"title": texts, "body": texts}
    model = make_pipeline(TextViews(min_df=1, max_df=1.0), LinkPLSA(2, random_state=0))
    words, vectors = (CrossModalRetriever(model, lexical=share).fit(table) for share in (0.6, 0))
    worth = vectors.explain_words("blue red", range(6))  # no words are kept that could tell
    assert any(set(row) - set(text.split()) for row, text in zip(worth, texts))
    for query in ("blue red", "Blue Red"):
        for hit, worth in enumerate(words.explain_words(query, range(6))):
            assert all(word.lower() in texts[hit].split() for word, value in worth.items() if value > 0)
        assert [word.lower() for word in words.explain_words(query, [3])[0]] == ["blue"]


def test_ranked_tags_are_the_likeliest_features_of_the_mixture(data, linked):
    new = data.views[140:143].select("image")
    shares = linked.models_[0].transform(new) @ linked.models_[0].topic_feature_["words"]
    for row, tags in zip(shares, linked.tags(new, 6)):
        assert [name for name, _ in tags] == [f"f{j}" for j in np.argsort(-row)[:6]]
        np.testing.assert_allclose([p for _, p in tags], np.sort(row)[::-1][:6])


# -- what is refused


def test_of_several_rows_those_have_no_hits(texts):
    hits = texts.search({"title": ["red fox", "zzz"]}, target="body", k=3)
    assert hits[1] == []
    assert hits.ids[1].tolist() == [None] * 3
    assert hits[0] == texts.search({"title": ["red fox"]}, target="body", k=3)[0]
    assert "no hits" in repr(hits)


def test_words_of_views_without_names_are_asked_for():
    front = TextViews(vectorizer=HashingVectorizer(n_features=64, alternate_sign=False, norm=None))
    retriever = CrossModalRetriever(front, lexical=0.5).fit(TABLE)
    new = {"title": ["red fox"], "body": ["fox forest"]}
    with pytest.raises(ViewsError, match="The words of view 'title' count in the score, but Views do not hold them"):
        retriever.add(retriever.front_.transform(new), ids=[40])
    assert retriever.add(new, ids=[40]).search("red fox", "title", "body", k=33).ids.shape == (1, 33)
    silent = CrossModalRetriever(front, lexical=0.0).fit(TABLE)
    silent.add(silent.front_.transform(new), ids=[40])


def test_a_query_of_several_views_stands_between_them(data, linked):
    both = linked.transform(data.views[140:])
    each = [linked.transform(data.views[140:].select(name)) for name in ("words", "image")]
    expected = sum(each) / np.linalg.norm(sum(each), axis=1, keepdims=True)
    np.testing.assert_allclose(both, expected)
