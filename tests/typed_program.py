"""What an editor should know of coview: a small program that mypy and pyright check; nothing runs it."""

import numpy as np

from coview import AutoClassifier, AutoClustering, MultiViewPLSA, Views, inspect, load, save


def program() -> None:
    """Use what most programs use."""
    X = Views(words=np.eye(4), links=np.ones((4, 2)))
    clusters: np.ndarray = AutoClustering(2, random_state=0).fit(X).predict(X)
    shares: np.ndarray = AutoClassifier(random_state=0).fit(X, [0, 1, 0, 1]).predict_proba(X)
    model: MultiViewPLSA = MultiViewPLSA(n_clusters=2).fit(X)
    names: tuple[str, ...] = X.names
    half: Views = X[:2].select("words")
    kind: str = inspect(model).kind
    save(model, "model.coview")
    print(clusters, shares, names, half, kind, load("model.coview"))


def mistakes() -> None:
    """Make mistakes that an editor underlines."""
    AutoClustering("two")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Views(words=np.eye(4)).select(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
