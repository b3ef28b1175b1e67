"""A small retriever with words, served over real HTTP for the tests of a module."""

from importlib.util import find_spec

import numpy as np
import pytest

if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "httpx")):
    collect_ignore_glob = ["test_*.py"]  # the extra `web` is not installed


@pytest.fixture(scope="session")
def small():
    """Views of words and image features, of three groups."""
    from coview import Views
    from coview.datasets import make_topic_views

    data = make_topic_views(60, {"words": 30, "image": 20}, n_clusters=3, random_state=0)
    names = {"words": [f"word{chr(97 + j % 26)}{chr(97 + j // 26)}" for j in range(30)]}
    ids = np.array([f"object {i}" for i in range(60)])
    return Views(dict(data.views.items()), feature_names=names, ids=ids), data.target


@pytest.fixture(scope="session")
def retriever(small):
    from coview import CrossModalRetriever, LinkPLSA

    return CrossModalRetriever(LinkPLSA(3, random_state=0)).fit(small[0])


@pytest.fixture(scope="module")
def client(retriever, small):
    """A client of the retriever's service, with the explorer."""
    import httpx

    from coview.web.api import make_app
    from coview.web.run import running
    from coview.web.service import Service

    with running(make_app(Service(retriever, small[0]), page=True)) as url, httpx.Client(base_url=url) as found:
        yield found
