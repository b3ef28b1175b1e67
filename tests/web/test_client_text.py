"""Texts of clients are never opened as files: models that would are refused before they are served."""

import httpx
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from coview import CrossModalRetriever, LinkPLSA, MultiViewNaiveBayes, TextViews, save
from coview.exceptions import ViewsError
from coview.preprocessing import images
from coview.web.api import make_app
from coview.web.run import running
from coview.web.service import Service, load_service

TEXTS = ["red fox runs", "blue sea waves", "red fox jumps", "blue sea salt"]
LABELS = ["land", "sea", "land", "sea"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files with a text each, and a secret that no client may see."""
    folder = tmp_path_factory.mktemp("texts")
    for i, text in enumerate(TEXTS):
        (folder / f"{i}.txt").write_text(text)
    return [str(folder / f"{i}.txt") for i in range(len(TEXTS))]


def plain(files, vectorizer):
    return make_pipeline(vectorizer, MultinomialNB()).fit(files, LABELS)


def in_views(files, vectorizer):
    return make_pipeline(TextViews(vectorizer={"text": vectorizer}), MultiViewNaiveBayes()).fit({"text": files}, LABELS)


def in_search(files, vectorizer):
    search = GridSearchCV(make_pipeline(vectorizer, MultinomialNB()), {"multinomialnb__alpha": [1.0]}, cv=2)
    return search.fit(files, LABELS)


def in_retriever(files, vectorizer):
    views = TextViews({"a": "a", "b": "b"}, {"a": vectorizer})
    return CrossModalRetriever(make_pipeline(views, LinkPLSA(2, random_state=0))).fit({"a": files, "b": TEXTS})


@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
@pytest.mark.parametrize("model", [plain, in_views, in_search, in_retriever])
def test_a_vectorizer_of_files_is_refused(files, model, vectorizer):
    options = {"alternate_sign": False, "n_features": 64} if vectorizer is HashingVectorizer else {}
    fitted = model(files, vectorizer(input="filename", **options))
    with pytest.raises(ViewsError, match="input='filename' would open the texts of clients"):
        Service(fitted)


def test_a_model_file_that_reads_files_is_refused(files, tmp_path):
    save(in_views(files, CountVectorizer(input="filename")), tmp_path / "m.coview")
    save(in_views(TEXTS, CountVectorizer()), tmp_path / "good.coview")
    with pytest.raises(ViewsError, match="as files"):
        load_service(tmp_path / "m.coview")
    with pytest.raises(ViewsError, match="as files"):
        load_service(tmp_path / "good.coview", also=[tmp_path / "m.coview"])


class Colors(TransformerMixin, BaseEstimator):
    """How red, green and blue images are."""

    def fit(self, X, y=None):
        self.n_features_out_ = 3
        return self

    def transform(self, X):
        return sparse.csr_array(np.array([images.read_image(image).sum(axis=(0, 1)) for image in X]))

    def get_feature_names_out(self, input_features=None):
        return np.array(["channel0", "channel1", "channel2"], dtype=object)


def test_texts_for_a_view_of_images_are_not_opened(tmp_path, monkeypatch):
    io = pytest.importorskip("skimage.io")
    files = [str(tmp_path / f"{i}.png") for i in range(4)]
    for i, file in enumerate(files):
        io.imsave(file, np.full((8, 8, 3), 60 * i, dtype=np.uint8), check_contrast=False)
    views = TextViews({"words": "caption", "colors": "file"}, {"colors": Colors()})
    model = CrossModalRetriever(make_pipeline(views, LinkPLSA(2, random_state=0)))
    service = Service(model.fit({"caption": TEXTS, "file": files}))
    monkeypatch.setattr(images, "read_image", lambda *given, **options: pytest.fail("a client opened a file"))
    with running(make_app(service)) as url:
        for query in ({"query": files[0]}, {"queries": files}):
            body = {**query, "source": "colors", "target": "words"}
            answer = httpx.post(f"{url}/search", json=body, timeout=60)
            assert answer.status_code == 422 and "View 'colors' takes no text" in answer.json()["error"]
        assert httpx.post(f"{url}/search", json={"query": "fox", "target": "colors"}, timeout=60).status_code == 200
    with pytest.raises(ViewsError, match="takes no text"):
        service.why(files[0], "colors", "words", [0])
