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
correlated inside clusters of objects: residuals e of a cluster are multiplied by (1 - its leverage) ** -1/2. Intervals
have the degrees of freedom that such an error would have if noise were independent and of one variance (Satterthwaite);
a curve is tested as a whole by Hotelling's T^2 with estimated degrees of freedom (Pustejovsky and Tipton, 2018). With
Z = QR, G_c = Q_c'Q_c and L of orthonormal rows, all of it needs matrices of the size of the covariates only:

    h_c = L (1 - G_c)^-1/2 Q_c' e_c,     E h_c h_d' = L (1 - G_c)^-1/2 ([c = d] G_c - G_c G_d) (1 - G_d)^-1/2 L'

Where the leverage of a cluster is 1 it is met exactly and says nothing of noise: what depends on it has no interval.
In noise, `spline(x)` of 200 normal x was found at .05 in 4.5 % of 2,000 draws; with x and noise also between 10, 20 and
40 clusters in 0.5, 2.8 and 4.2 %, so that the test is careful where clusters are few (`benchmarks/bench_effects.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse, special

from coview.exceptions import ParameterError, ViewsError
from coview.inspection.prevalence import read_dated
from coview.preprocessing.columns import as_table, as_years, is_missing
from coview.utils.loading import load_member
from coview.utils.messages import cut, listed, quantity, short
from coview.utils.tables import ResultTable
from coview.utils.warn import warn_user
from coview.views.views import Views

if TYPE_CHECKING:
    from coview.inspection.contract import Inspection

__all__ = ["Effects", "LeastSquares", "Term", "estimate_effects", "measure_shares", "read_formula", "show_change"]

SPLINE = 5  # degrees of freedom of a spline that names none: a rise, a fall and a rise
MOST_CATEGORIES = 50  # more are no category, or too few objects each
N_POINTS = 60  # of a curve
ENDS = 0.05, 0.95  # quantiles of the outer knots of a spline, which is a line beyond them
FULL = 1 - 1e-8  # leverage of a cluster that is met exactly
RANK = 1e-9  # singular values of columns of length 1 that say nothing new
RIDGE = 1e-6  # of what the counts of an object cannot tell
BLOCK = 2_000  # objects, or clusters, that are solved at once
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
    spline is of the null hypothesis that the whole curve is flat. Interval and p-value are NaN where the data cannot
    tell them: of a category with one object or cluster, and of a curve with too few clusters.

    Attributes
    ----------
    terms : list of Term
        The covariates.
    coefficients : ndarray (n_columns, n_groups)
        Least squares, the intercept first.
    covariances : ndarray (n_groups, n_columns, n_columns)
        Theirs, of each group.
    names : list of str
        Of the groups.
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
        rows = np.tile(self._fit.means, (len(found.places), 1))
        rows[:, found.columns] = found.basis
        share, wide, _ = self._fit.compare(rows)
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
        bare = re.sub("`[^`]*`", "", part).strip()
        if re.search("[*:-]", bare) or bare in ("0", "1"):
            raise ParameterError(
                f"has {short(part.strip())}: a formula has no products, differences or intercepts, only columns with + "
                "between them. A column of that name stands in back quotes.",
                parameter="formula",
            )
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
        knots = np.quantile(values, np.linspace(*ENDS, df + 1))
        if (np.diff(knots) <= 0).any():  # many objects have the same value
            knots = np.quantile(np.unique(values), np.linspace(*ENDS, df + 1))
        basis, columns = _natural_spline(places, knots), _natural_spline(values, knots)
        contrasts = basis[-1:] - basis[:1]
        labels = [f"{name}, {low:.4g} to {high:.4g}"]
    kind = "number" if dates is None else "time"
    return Term(name, kind, slice(first, first + columns.shape[1]), labels, places, basis, contrasts, []), columns


def _natural_spline(values: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Columns of cubic splines that are lines outside of the knots (Hastie et al., 2009, section 5.2.1)."""
    # a cubic tail would let a few extreme objects pull the curve by themselves
    x, places = ((part - knots[0]) / (knots[-1] - knots[0]) for part in (values, knots))
    cubes = np.maximum(x[:, None] - places, 0) ** 3
    bends = (cubes[:, :-1] - cubes[:, -1:]) / (1 - places[:-1])
    return np.column_stack([x, bends[:, :-1] - bends[:, -1:]])


def _make_categories(name: str, df: int, cells: list[str], first: int) -> tuple[Term, np.ndarray]:
    values, codes = np.unique(cells, return_inverse=True)
    if df:
        raise ParameterError(
            f"has spline({name}), but {name!r} holds texts such as {short(cells[0])}: a spline takes numbers or dates, "
            "written as 2026-11-15, Nov 15 2026 or Sun, 15 Nov 2026 08:30:00 +0100.",
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
    if clusters is not None:
        own = [_empty(cell) for cell in clusters]
        if len(own) != n:
            raise ViewsError(f"clusters must have a value for each of the {n:,} objects, got {len(own):,}.")
    needed = [*cells.values(), *([] if clusters is None else [own])]
    known &= np.array([all(column[row] is not None for column in needed) for row in range(n)], dtype=bool)
    rows = np.flatnonzero(known)
    what = listed(list(cells)) + ("" if clusters is None else " and a cluster")
    if len(rows) < n:
        warn_user(
            f"{quantity(n - len(rows), 'object')} of {n:,} without a value of {what}, or without anything that the "
            "model knows, left out.",
            UserWarning,
            inside=True,
        )
    if not len(rows):
        raise ViewsError(f"No object that the model knows has a value of {what}.")
    terms: list[Term] = []
    parts = [np.ones((len(rows), 1))]
    for name, df in wanted:
        term, columns = make_term(name, df, [cells[name][row] for row in rows], sum(part.shape[1] for part in parts))
        if np.linalg.matrix_rank(_scale(np.hstack([*parts, columns]))[0] / len(rows) ** 0.5, RANK) < term.columns.stop:
            others = listed([each.name for each in terms]) if terms else "being there"
            raise ParameterError(f"names {name!r}, which says nothing beside {others}.", parameter="formula")
        terms.append(term)
        parts.append(columns)
    design, outcome = np.hstack(parts), np.asarray(shares[rows], dtype=np.float64)
    codes = np.arange(len(rows))
    if clusters is not None:
        codes = np.unique([str(own[row]) for row in rows], return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1
    if len(rows) <= design.shape[1] or n_clusters < 2:
        raise ViewsError(
            f"{quantity(design.shape[1], 'coefficient')} cannot be told from {quantity(len(rows), 'object')}"
            + ("." if clusters is None else f" in {quantity(n_clusters, 'cluster')}.")
        )
    fit = LeastSquares(design, outcome, codes)
    facts: dict[str, Any] = {
        "terms": terms,
        "coefficients": fit.coefficients,
        "covariances": fit.covariances,
        "names": list(names),
        "n_objects": len(rows),
        "n_missing": n - len(rows),
        "n_clusters": None if clusters is None else n_clusters,
    }
    title = f"Effects on the shares of {quantity(len(keys), 'group')}: {quantity(len(rows), 'object')}"
    title += "" if clusters is None else f" in {quantity(n_clusters, 'cluster')}"
    return Effects(*_make_table(keys, names, terms, fit, title), _fit=fit, **facts)


def _scale(design: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns but the first centered and of variance 1, their means and deviations; zeros where all are the same."""
    means, scales = design.mean(axis=0), design.std(axis=0)
    means[0], scales[0] = 0, 1
    scales[1:][np.ptp(design[:, 1:], axis=0) == 0] = np.inf
    return (design - means) / scales, means, scales


class LeastSquares:
    """Regression of several outcomes with errors that are robust within clusters of rows.

    Parameters
    ----------
    design : ndarray (n_rows, n_columns)
        Of full rank, ones first.
    outcome : ndarray (n_rows, n_groups)
        What is explained.
    codes : ndarray of int (n_rows,)
        The cluster of each row, from 0.

    Attributes
    ----------
    coefficients : ndarray (n_columns, n_groups)
        Of the columns as they were given.
    covariances : ndarray (n_groups, n_columns, n_columns)
        Of the coefficients, by group.
    means : ndarray (n_columns,)
        Of the design.

    Examples
    --------
    >>> fit = LeastSquares(np.column_stack([np.ones(6), np.arange(6)]), np.arange(6)[:, None] % 2, np.arange(6))
    >>> fit.coefficients.round(2).ravel().tolist()
    [0.29, 0.09]
    """

    def __init__(self, design: np.ndarray, outcome: np.ndarray, codes: np.ndarray) -> None:
        self.means = design.mean(axis=0)
        scaled, *self._scales = _scale(design)
        Q, self._R = np.linalg.qr(scaled)
        self._coefficients = Q.T @ outcome
        residuals = outcome - Q @ self._coefficients
        sizes, order = np.bincount(codes), np.argsort(codes, kind="stable")
        if sizes.max() == 1:
            lengths = np.linalg.norm(Q[order], axis=1)
            self._starts, self._right = np.arange(len(Q)), Q[order] / lengths[:, None]
            leverage, seen = lengths**2, lengths[:, None] * residuals[order]
        else:
            parts = []
            for rows in np.split(order, np.cumsum(sizes)[:-1]):
                left, values, right = np.linalg.svd(Q[rows], full_matrices=False)
                parts.append((right, values**2, values[:, None] * (left.T @ residuals[rows])))
            self._starts = np.cumsum([0, *(len(part[1]) for part in parts[:-1])])
            self._right, leverage, seen = (np.concatenate(each) for each in zip(*parts))
        self._full = leverage > FULL
        self._leverage = leverage
        # (1 - leverage) ** -1/2 of each direction of a cluster; one that is met exactly has no residual
        self._more = 1 / np.sqrt(np.where(self._full, np.inf, 1 - np.minimum(leverage, FULL)))
        scores = (np.add.reduceat(self._right * (self._more * each)[:, None], self._starts, axis=0) for each in seen.T)
        self._covariances = np.array([score.T @ score for score in scores])
        own = self._directions(np.eye(len(self._R)))
        self.coefficients, self.covariances = own @ self._coefficients, own @ self._covariances @ own.T

    def _directions(self, rows: np.ndarray) -> np.ndarray:
        """Combinations of coefficients as those of the orthonormal columns."""
        means, scales = self._scales
        return linalg.solve_triangular(self._R, ((rows - rows[:, :1] * means) / scales).T, trans="T").T

    def _freedom(self, basis: np.ndarray) -> float:
        """Degrees of freedom of an error in these directions (orthonormal rows); NaN where a part is met exactly."""
        if (np.abs(basis @ self._right[self._full].T) > RANK**0.5).any():
            return np.nan
        bounds, total, cross = np.append(self._starts, len(self._right)), 0.0, np.zeros((basis.size, basis.size))
        for start in range(0, len(self._starts), BLOCK):
            ends = bounds[start : start + BLOCK + 1]
            own = slice(ends[0], ends[-1])
            right, seen = self._right[own], self._right[own] @ basis.T
            weighted = seen * (self._leverage * self._more)[own, None]
            a = weighted[:, :, None] * (seen * self._more[own, None])[:, None]
            A, B = (
                np.add.reduceat(part, ends[:-1] - ends[0], axis=0)
                for part in (a, weighted[:, :, None] * right[:, None])
            )
            traces, squares = np.einsum("cqq->c", A), B @ B.transpose(0, 2, 1)
            total += traces @ (traces - 2 * np.einsum("cqq->c", squares)) + np.sum(A * (A - 2 * squares))
            flat = B.reshape(len(B), -1)
            cross += flat.T @ flat
        shape = basis.shape
        products = np.reshape(cross, shape + shape)
        total += np.sum(products * (products + products.swapaxes(0, 2)))
        return len(basis) * (len(basis) + 1) / total

    def compare(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return combinations of coefficients, half of their intervals and p-values (rows x groups).

        Parameters
        ----------
        rows : ndarray (n_rows, n_columns)
            The combinations.
        """
        own = self._directions(rows)
        effects, errors = own @ self._coefficients, np.sqrt(np.einsum("rp,gpq,rq->rg", own, self._covariances, own))
        freedom = np.array([[self._freedom(row[None] / np.linalg.norm(row))] for row in own])
        p_values = 2 * special.stdtr(freedom, -np.abs(effects) / np.maximum(errors, 1e-300))
        return effects, special.stdtrit(freedom, 0.975) * errors, p_values

    def test(self, rows: np.ndarray) -> np.ndarray:
        """Return the p-value of each group that all of these combinations are zero; NaN with too few clusters.

        Parameters
        ----------
        rows : ndarray (n_rows, n_columns)
            Independent combinations.
        """
        basis, width = np.linalg.qr(self._directions(rows).T)[0].T, len(rows)
        freedom, p_values = self._freedom(basis), np.full(len(self._covariances), np.nan)
        if len(self._starts) < width + 2 or not freedom > width - 1:
            return p_values
        for g, (effects, own) in enumerate(zip((basis @ self._coefficients).T, self._covariances)):
            middle = basis @ own @ basis.T
            if np.linalg.matrix_rank(middle, hermitian=True) == width:
                ratio = (freedom - width + 1) / (freedom * width) * (effects @ np.linalg.solve(middle, effects))
                p_values[g] = special.fdtrc(width, freedom - width + 1, ratio)
        return p_values


def _make_table(
    keys: Sequence[str], names: Sequence[str], terms: list[Term], fit: LeastSquares, title: str
) -> tuple[dict[str, list[Any]], str, tuple[list[str], list[list[str]]]]:
    columns: dict[str, list[Any]] = {name: [] for name in ("group", "name", "term", "effect", "low", "high", "p_value")}
    rows, unit = [], np.eye(len(fit.means))
    for term in terms:
        own = term.contrasts @ unit[term.columns]
        for label, effect, wide, p in zip(term.labels, *fit.compare(own)):
            if len(unit[term.columns]) > len(term.labels):  # of a curve: all of its coefficients are zero
                p = fit.test(unit[term.columns])
            table = (list(keys), names, [label] * len(keys), effect, effect - wide, effect + wide, p)
            for column, values in zip(columns.values(), table):
                column += np.asarray(values).tolist()
            shown = zip(effect[:SHOWN_GROUPS], wide)
            cells = (
                show_change(e) + ("" if np.isnan(w) else f" ({show_change(e - w)} to {show_change(e + w)})")
                for e, w in shown
            )
            rows.append([label, *cells])
    if len(keys) > SHOWN_GROUPS:
        title += f"; {quantity(len(keys) - SHOWN_GROUPS, 'group')} not shown"
    return columns, title, (["effect of", *(cut(str(name), NAME_LETTERS) for name in names[:SHOWN_GROUPS])], rows)


def show_change(value: float, decimals: int = 3) -> str:
    """Return a difference with its sign, a small one with two digits.

    Examples
    --------
    >>> show_change(0.0371), show_change(-0.0000123)
    ('+0.037', '-1.2e-05')
    """
    return f"{value:+.{decimals}f}" if abs(value) >= 10**-decimals or not value else f"{value:+.2g}"


def _empty(cell: Any) -> Any:
    """A cell, None where it holds nothing."""
    nothing = is_missing(cell) or (isinstance(cell, (float, np.floating)) and np.isinf(cell))
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
