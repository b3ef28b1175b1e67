"""Effects of covariates on the shares of groups: a regression of each object's shares on what is known of it.

With Z the covariates (objects x columns, splines and categories spread out) and theta the shares (objects x groups),

    theta = Z B + noise,     B = (Z'Z)^-1 Z' theta

The fold-in of an object is a maximum on the simplex, which is biased at its edges: topics that a short object has not
are given to it, so that effects come out too small, and draws around it keep that (Roberts et al., 2014, compose them
so). Where the model is a mixture of profiles F with E[x] = n F theta, theta is measured without bias instead, by
weighted least squares, whatever the object has:

    theta = (sum_v n_v F_v' D_v F_v)^-1 sum_v F_v' D_v x_v,     D_v = diag(1 / mean profile)

Such a share of one object may lie outside of 0 and 1, but means of them do not drift, and what the counts leave open
of an object is part of the noise. Errors are those of Bell and McCaffrey (2002), for noise of any variance that may be
correlated inside clusters of objects: residuals of a cluster are multiplied by (1 - its leverage) ** -1/2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse, special
from sklearn.preprocessing import SplineTransformer

from coview.exceptions import ParameterError, ViewsError
from coview.inspection.prevalence import read_dated
from coview.preprocessing.columns import as_table, as_years
from coview.utils.loading import load_member
from coview.utils.messages import cut, listed, quantity, short
from coview.utils.tables import ResultTable
from coview.utils.warn import warn_user
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = ["Effects", "Term", "estimate_effects", "measure_shares", "read_formula"]

SPLINE = 5  # degrees of freedom of a spline that names none: a rise, a fall and a rise
MOST_CATEGORIES = 50  # more are no category, or too few objects each
N_POINTS = 60  # of a curve
RIDGE = 1e-6  # of what the counts of an object cannot tell
BLOCK = 2_000  # objects whose systems are solved at once
SHOWN_GROUPS, NAME_LETTERS = 6, 24
_TERM = re.compile(r"(?:(spline)\(\s*)?(`[^`]+`|[^`(),+~]+?)\s*(?:,\s*(\d+)\s*)?(\))?")


@dataclass(frozen=True, eq=False)
class Term:
    """A covariate of a formula in a design matrix.

    Parameters
    ----------
    name : str
        The column.
    kind : {"number", "time", "category"}
        What it holds.
    columns : slice
        Its columns in the design matrix.
    labels : list of str
        One for each row of the table of effects.
    places : ndarray
        Values where the shares are shown: numbers, years, or positions of the categories.
    basis : ndarray (n_places, n_columns)
        The columns of the design matrix at these values.
    contrasts : ndarray (n_labels, n_columns)
        What the rows of the table compare.
    values : list
        The categories, the one that others are compared with first; empty for numbers and dates.
    """

    name: str
    kind: str
    columns: slice
    labels: list[str]
    places: np.ndarray
    basis: np.ndarray
    contrasts: np.ndarray
    values: list[str]


class Effects(ResultTable):
    """Effects of covariates on the shares of groups, returned by `Inspection.effects`.

    A dict of lists that prints as a table, one row for each effect on each group: "group", "name", "term" (what is
    compared), "effect" (the difference in share), "low" and "high" (its interval at 95 %) and "p_value". That of a
    spline is of the null hypothesis that the whole curve is flat.

    Attributes
    ----------
    terms : list of Term
        The covariates.
    coefficients : ndarray (n_columns, n_groups)
        Least squares, the intercept first.
    covariances : ndarray (n_groups, n_columns, n_columns)
        Theirs, of each group.
    n_objects, n_missing, n_clusters : int
        Objects that count, objects left out because a covariate is missing or the model knows nothing of them, and
        clusters of objects, where there are any.

    Examples
    --------
    >>> from coview import LinkPLSA, inspect
    >>> from coview.datasets import make_topic_views
    >>> data = make_topic_views(n_objects=200, n_clusters=3, random_state=0)
    >>> model = LinkPLSA(3, random_state=0).fit(data.views)
    >>> effects = inspect(model).effects(data.views, "~ label", {"label": data.target.astype(str)})
    >>> effects.predict("label").share.shape
    (3, 3)
    """

    def predict(self, term: Any = None) -> Any:
        """Return the expected share of each group at values of one covariate, the others at their means.

        Parameters
        ----------
        term : str, optional
            The column; by default the first one of the formula.

        Returns
        -------
        ResultTable
            With `places`, `share`, `low` and `high` (places x groups), and the `term`.
        """
        names = [each.name for each in self.terms]
        if term is not None and term not in names:
            raise ParameterError(f"must be one of {listed(names)}, got {short(term)}.", parameter="term")
        found = self.terms[0 if term is None else names.index(term)]
        rows = np.tile(self.means, (len(found.places), 1))
        rows[:, found.columns] = found.basis
        share, wide = rows @ self.coefficients, self.quantile * _standard_errors(rows, self.covariances)
        columns = {"value": found.values or found.places.tolist()}
        columns |= {name: share[:, g].tolist() for g, name in enumerate(self.names)}
        facts = {"share": share, "low": share - wide, "high": share + wide, "places": found.places, "term": found}
        return ResultTable(columns, f"Expected shares by {found.name}", **facts)

    def plot(self, term: Any = None, *, n_groups: int = 8, ax: Any = None) -> Any:
        """Draw the expected shares by one covariate with their intervals; see `coview.plot.EffectsDisplay`.

        Parameters
        ----------
        term : str, optional
            The column; by default the first one of the formula.
        n_groups : int, default=8
            Groups that are drawn: those whose share changes most.
        ax : matplotlib Axes, optional
            Where to draw.
        """
        return load_member("coview.plot", "EffectsDisplay")(self, term, n_groups=n_groups).plot(ax)


def read_formula(formula: Any) -> list[tuple[str, int]]:
    """Return the columns of a formula with the degrees of freedom of their splines, 0 for none.

    Examples
    --------
    >>> read_formula("~ party + spline(date) + spline(`length, words`, 3)")
    [('party', 0), ('date', 5), ('length, words', 3)]
    """
    text = formula.strip().removeprefix("~") if isinstance(formula, str) else ""
    terms = []
    # a + inside back quotes belongs to a name
    for part in re.split(r"\+(?=(?:[^`]*`[^`]*`)*[^`]*$)", text):
        found = _TERM.fullmatch(part.strip())
        if not found or bool(found[1]) != bool(found[4]) or (found[3] and not found[1]):
            raise ParameterError(
                "must be such as '~ party + spline(date)': columns with + between them, spline(COLUMN) or "
                f"spline(COLUMN, 4) for curves, `odd + names` in back quotes; got {short(formula)}.",
                parameter="formula",
            )
        df = int(found[3] or SPLINE) if found[1] else 0
        if found[1] and df < 3:
            raise ParameterError(f"has spline({found[2]}, {df}): a spline takes 3 or more.", parameter="formula")
        terms.append((found[2].strip("`"), df))
    return terms


def make_term(name: str, df: int, cells: Sequence[Any], first: int) -> tuple[Term, np.ndarray]:
    """Return a covariate and its columns in the design matrix, the first of which has this position."""
    table = as_table({name: cells})
    dates, column = read_dated(list(cells), name)[0], table.column(name)
    if dates is None and (column.ndim > 1 or column.dtype.kind not in "iuf"):
        return _make_categories(name, df, [str(cell).strip() for cell in cells], first)
    if dates is not None and np.isnat(dates).any():
        raise ParameterError(f"names {name!r}, of which some cells are no dates.", parameter="formula")
    values = (column if dates is None else as_years(dates)).astype(np.float64)
    low, high = values.min(), values.max()
    places = np.linspace(low, high, N_POINTS)
    if not df:
        basis, columns, contrasts = places[:, None], values[:, None], np.ones((1, 1))
        labels = [name if dates is None else f"{name}, a year"]
    else:
        if len(np.unique(values)) <= df:
            raise ParameterError(
                f"has spline({name}, {df}), but {name!r} has {quantity(len(np.unique(values)), 'different value')}: "
                f"use {name} alone, or fewer degrees of freedom.",
                parameter="formula",
            )
        spline = SplineTransformer(df - 1, degree=3, knots="quantile", include_bias=False).fit(values[:, None])
        basis, columns = spline.transform(places[:, None]), spline.transform(values[:, None])
        contrasts = basis[-1:] - basis[:1]
        labels = [f"{name}, {low:.4g} to {high:.4g}"]
    kind = "number" if dates is None else "time"
    return Term(name, kind, slice(first, first + columns.shape[1]), labels, places, basis, contrasts, []), columns


def _make_categories(name: str, df: int, cells: list[str], first: int) -> tuple[Term, np.ndarray]:
    values, codes = np.unique(cells, return_inverse=True)
    if df:
        raise ParameterError(
            f"has spline({name}), but {name!r} holds texts such as {short(cells[0])}: a spline takes numbers or dates.",
            parameter="formula",
        )
    if not 2 <= len(values) <= MOST_CATEGORIES:
        what = f"only {short(cells[0])}" if len(values) == 1 else f"{len(values):,} different texts"
        raise ParameterError(
            f"names {name!r}, which holds {what}: a category has 2 to {MOST_CATEGORIES} values.", parameter="formula"
        )
    basis = np.eye(len(values))[:, 1:]
    labels = [f"{name} {value}" for value in values[1:]]
    columns = slice(first, first + len(labels))
    contrasts = np.eye(len(labels))
    term = Term(name, "category", columns, labels, np.arange(len(values)), basis, contrasts, values.tolist())
    return term, basis[codes]


def estimate_effects(
    keys: Sequence[str],
    names: Sequence[str],
    shares: np.ndarray,
    formula: Any,
    covariates: Mapping[str, Sequence[Any]],
    clusters: Any = None,
) -> Effects:
    """Regress shares (objects x groups) on covariates; rows of NaN and objects without a covariate are left out.

    Examples
    --------
    >>> shares = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    >>> effects = estimate_effects(["0", "1"], ["sea", "fox"], shares, "~ party", {"party": ["a", "a", "b", "b"]})
    >>> [round(value, 2) for value in effects["effect"]], effects["term"][0]
    ([-0.5, 0.5], 'party b')
    """
    wanted = read_formula(formula)
    n, cells = len(shares), {name: [_empty(cell) for cell in covariates[name]] for name, _ in wanted}
    for name, column in cells.items():
        if len(column) != n:
            raise ViewsError(f"{name!r} must have a value for each of the {n:,} objects, got {len(column):,}.")
    known = ~np.isnan(shares).any(axis=1)
    known &= np.array([all(column[row] is not None for column in cells.values()) for row in range(n)], dtype=bool)
    rows = np.flatnonzero(known)
    if len(rows) < n:
        warn_user(
            f"{quantity(n - len(rows), 'object')} of {n:,} without a value of {listed(list(cells))}, or without "
            "anything that the model knows, left out.",
            UserWarning,
            inside=True,
        )
    if not len(rows):
        raise ViewsError(f"No object has a value of {listed(list(cells))}.")
    terms: list[Term] = []
    parts = [np.ones((len(rows), 1))]
    for name, df in wanted:
        term, columns = make_term(name, df, [cells[name][row] for row in rows], sum(part.shape[1] for part in parts))
        if np.linalg.matrix_rank(np.hstack([*parts, columns])) < term.columns.stop:
            others = listed([each.name for each in terms]) if terms else "being there"
            raise ParameterError(f"names {name!r}, which says nothing beside {others}.", parameter="formula")
        terms.append(term)
        parts.append(columns)
    design, outcome = np.hstack(parts), np.asarray(shares[rows], dtype=np.float64)
    codes = np.arange(len(rows))
    if clusters is not None:
        texts = ["" if _empty(cell) is None else str(cell) for cell in clusters]
        if len(texts) != n:
            raise ViewsError(f"clusters must have a value for each of the {n:,} objects, got {len(texts):,}.")
        codes = np.unique(np.array(texts)[rows], return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1
    freedom = len(rows) - design.shape[1] if clusters is None else n_clusters - 1
    if min(freedom, len(rows) - design.shape[1]) < 1:
        raise ViewsError(
            f"{quantity(design.shape[1], 'coefficient')} cannot be told from {quantity(len(rows), 'object')}"
            + ("." if clusters is None else f" in {quantity(n_clusters, 'cluster')}.")
        )
    coefficients, covariances = fit_least_squares(design, outcome, codes)
    facts: dict[str, Any] = {
        "terms": terms,
        "coefficients": coefficients,
        "covariances": covariances,
        "names": list(names),
    }
    facts |= {"means": design.mean(axis=0), "quantile": special.stdtrit(freedom, 0.975), "n_objects": len(rows)}
    facts |= {"n_missing": n - len(rows), "n_clusters": None if clusters is None else n_clusters}
    title = f"Effects on the shares of {quantity(len(keys), 'group')}: {quantity(len(rows), 'object')}"
    title += "" if clusters is None else f" in {quantity(n_clusters, 'cluster')}"
    return Effects(*_make_table(keys, terms, freedom, facts, title), **facts)


def fit_least_squares(design: np.ndarray, outcome: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (columns x groups) and their covariances by group, robust within clusters of rows."""
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ outcome
    residuals, root = outcome - design @ coefficients, np.linalg.cholesky(inverse)
    order = np.argsort(codes, kind="stable")
    sums = []
    for rows in np.split(order, np.cumsum(np.bincount(codes))[:-1]):
        own = design[rows]
        # (1 - H)^-1/2 of a cluster, whose leverage has the rank of its few columns
        left, values, _ = np.linalg.svd(own @ root, full_matrices=False)
        more = 1 / np.sqrt(np.maximum(1 - values**2, 1e-8)) - 1
        adjusted = residuals[rows] + left @ (more[:, None] * (left.T @ residuals[rows]))
        sums.append(own.T @ adjusted)
    middle = np.einsum("cpg,cqg->gpq", np.array(sums), np.array(sums))
    return coefficients, inverse @ middle @ inverse


def _standard_errors(rows: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Of linear combinations (rows x columns) of the coefficients of each group: rows x groups."""
    return np.sqrt(np.einsum("rp,gpq,rq->rg", rows, covariances, rows))


def _make_table(
    keys: Sequence[str], terms: list[Term], freedom: int, facts: Mapping[str, Any], title: str
) -> tuple[dict[str, list[Any]], str, tuple[list[str], list[list[str]]]]:
    coefficients, covariances, names = facts["coefficients"], facts["covariances"], facts["names"]
    columns: dict[str, list[Any]] = {name: [] for name in ("group", "name", "term", "effect", "low", "high", "p_value")}
    rows = []
    for term in terms:
        own, width = np.zeros((len(term.labels), len(coefficients))), term.basis.shape[1]
        own[:, term.columns] = term.contrasts
        effects, errors = own @ coefficients, _standard_errors(own, covariances)
        for label, effect, error in zip(term.labels, effects, errors):
            p = 2 * special.stdtr(freedom, -np.abs(effect) / np.maximum(error, 1e-300))
            if width > len(term.labels):  # of a curve: all of its coefficients are zero
                parts = coefficients[term.columns].T, covariances[:, term.columns, term.columns]
                wald = [b @ np.linalg.lstsq(v, b, rcond=None)[0] / width for b, v in zip(*parts)]
                p = special.fdtrc(width, freedom, wald)
            wide = facts["quantile"] * error
            table = (list(keys), names, [label] * len(keys), effect, effect - wide, effect + wide, p)
            for column, values in zip(columns.values(), table):
                column += np.asarray(values).tolist()
            shown = zip(effect[:SHOWN_GROUPS], wide)
            rows.append([label, *(f"{e:+.3f} ({e - w:+.3f} to {e + w:+.3f})" for e, w in shown)])
    if len(keys) > SHOWN_GROUPS:
        title += f"; {quantity(len(keys) - SHOWN_GROUPS, 'group')} not shown"
    return columns, title, (["effect of", *(cut(str(name), NAME_LETTERS) for name in names[:SHOWN_GROUPS])], rows)


def _empty(cell: Any) -> Any:
    """A cell, None where it holds nothing."""
    nothing = cell is None or (isinstance(cell, float) and not np.isfinite(cell))
    return None if nothing or (isinstance(cell, str) and not cell.strip()) else cell


# -- shares


def measure_shares(inspection: Inspection, objects: Any) -> np.ndarray | None:
    """Return shares of objects in groups (objects x groups), without bias where the model is a mixture of profiles.

    Rows of objects that hold nothing are NaN. Of other models they are the memberships.
    """
    if inspection._edits is not None:
        inner, apply = inspection._edits
        shares = measure_shares(inner, objects)
        return None if shares is None else apply(shares)
    shares = inspection.memberships(objects, prepared=True)
    mixed = inspection._profiles is not None and inspection._memberships_by_view is None
    vectors = any(likelihood != "multinomial" for likelihood in inspection.structure.likelihoods.values())
    if shares is None or not mixed or vectors or not isinstance(objects, Views):
        return shares
    parts = _matrices(inspection, objects)
    masses = np.column_stack([np.asarray(X.sum(axis=1)).ravel() for X, _ in parts])
    shares = np.where(masses.sum(axis=1, keepdims=True) > 0, shares, np.nan)
    # where a topic is one distribution over all views, an object that lacks one has shares of another kind
    rows = np.flatnonzero(masses.sum(axis=1) > 0)
    if len(parts) < len(objects.names):
        rows = rows[objects.present[rows].all(axis=1)]
    mean = shares[rows].mean(axis=0)
    n_groups = shares.shape[1]
    sides, squares = np.zeros((len(objects), n_groups)), []
    for X, profiles in parts:
        weighted = profiles / np.maximum(profiles @ mean, 1e-15)[:, None]
        sides += X @ weighted
        squares.append(weighted.T @ profiles)
    for start in range(0, len(rows), BLOCK):
        some = rows[start : start + BLOCK]
        left = np.einsum("dv,vgh->dgh", masses[some], np.array(squares))
        ridge = RIDGE * np.trace(left, axis1=1, axis2=2)[:, None] / n_groups
        left += ridge[:, :, None] * np.eye(n_groups)
        shares[some] = np.linalg.solve(left, (sides[some] + ridge * mean)[:, :, None])[:, :, 0]
    return shares


def _matrices(inspection: Inspection, objects: Views) -> list[tuple[Any, np.ndarray]]:
    """Counts and profiles (features x groups) that sum to one: by view, or of all views side by side."""
    assert inspection._profiles is not None
    profiles = {view: part.astype(np.float64) for view, part in inspection._profiles().items() if view in objects}
    matrices = {view: sparse.csr_array(objects[view], dtype=np.float64) for view in profiles}
    if all(np.allclose(part.sum(axis=0), 1, atol=1e-3) for part in profiles.values()):
        return [(matrices[view], part) for view, part in profiles.items() if view not in inspection.unused_views]
    whole = np.vstack(list(profiles.values()))
    return [(sparse.hstack(list(matrices.values()), format="csr"), whole / whole.sum(axis=0))]
