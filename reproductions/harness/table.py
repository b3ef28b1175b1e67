"""`table.md`: ours beside theirs, as Markdown. It depends on the kept runs and `paper.toml` only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from harness.paper import BY, Note, Paper, Table
from harness.summary import POINTS, Numbers, check_claims, column_name, verdict

__all__ = ["table_text"]


def table_text(paper: Paper, numbers: Numbers, absent: Mapping[str, str] | None = None) -> str:
    """Return the whole page. `absent` holds the data sets that could not be had."""
    raw = paper.raw
    lines = [
        f"# {raw['title']}",
        "",
        f"{raw['authors']} ({raw['year']}). Written by `reproductions/run.py {paper.folder.name}` from the runs in "
        "`results.jsonl` and the published figures in `paper.toml`; do not edit.",
        "",
        raw["measure"],
        "",
        *([raw["legend"], ""] if "legend" in raw else []),
        f"Each of our figures is the mean ± standard deviation of {numbers.runs} runs. **within**: our mean differs "
        f"from the published one by at most the published standard deviation or {POINTS:g} point, whichever is more; "
        "else **above** or **below**; explained, if a note under the table says why. Rows without a line of the paper "
        "are not in the paper.",
        *_absent_lines(paper, absent or {}),
        *_time_lines(paper, numbers),
        "",
        "## In short",
        "",
        *_short(paper, numbers),
        "",
        "What the paper says in words:",
        "",
        *_claim_lines(paper, numbers),
    ]
    for table in paper.tables:
        lines += ["", f"## {table.title}", *_by_lines(table), *_runs_lines(paper, table, numbers)]
        lines += ["", table.note] if table.note else []
        lines += _figure_lines(table)
        for data in table.rows:
            without = data in paper.unavailable or data in (absent or {})
            lines += ["", f"### {paper.title_of(data)}", "", *_rows(table, data, numbers, without)]
    lines += ["", "## What differs from the paper, and why", "", *(f"- {text}" for text in raw["differences"])]
    return "\n".join(lines) + "\n"


def _absent_lines(paper: Paper, absent: Mapping[str, str]) -> list[str]:
    lines = []
    if absent:
        names = ", ".join(paper.title_of(data) for data in absent)
        lines += [
            "",
            f"**Not found: {names}.** Their missing runs were skipped; set COVIEW_DATA to a folder that has the data.",
        ]
    for data, reason in paper.unavailable.items():
        lines += ["", f"**Not to be had: {paper.title_of(data)}.** {reason}"]
    return lines


def _time_lines(paper: Paper, numbers: Numbers) -> list[str]:
    keys = [cell.key(paper.protocol) for cell in paper.cells(runs=numbers.runs)]
    seconds = [numbers.results.runs[key]["seconds"] for key in keys if key in numbers.results.runs]
    return ["", f"The {len(seconds):,} runs took {sum(seconds) / 60:.1f} minutes of processor time."] if seconds else []


def _by_lines(table: Table) -> list[str]:
    """Say which rows run the published algorithm, which are coview's and which are there to compare with."""
    if not table.by:
        return []
    heads = dict(zip(BY, ("The published algorithm", "coview's own, not in the paper", "For comparison")))
    rows = dict.fromkeys(row for names in table.rows.values() for row in names)
    lists = {kind: "; ".join(row for row in rows if table.by.get(row, "baseline") == kind) for kind in BY}
    said = " ".join(f"**{heads[kind]}:** {names}." for kind, names in lists.items() if names)
    return ["", said]


def _runs_lines(paper: Paper, table: Table, numbers: Numbers) -> list[str]:
    runs = paper.runs_of(table.experiment, numbers.runs)
    return [] if runs == numbers.runs else ["", f"Means of {runs} runs here."]


def _short(paper: Paper, numbers: Numbers) -> Iterator[str]:
    yield "| | figures | within | above | below | of these explained | not run |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for table in paper.tables:
        counts = Counter(word for data in table.rows for word in _verdicts(table, data, numbers))
        explained = counts.pop("explained", 0)
        if counts:
            cells = (counts["within"], counts["above"], counts["below"], explained, counts["not run"])
            yield f"| {table.title.partition(':')[0]} | {counts.total()} | " + " | ".join(map(str, cells)) + " |"


def _verdicts(table: Table, data: str, numbers: Numbers) -> Iterator[str]:
    """One word for each published figure, and "explained" once more where a note explains it."""
    notes = [note for note in table.notes if data in note.data and note.explained]
    for row, figures in table.published[data].items():
        found = numbers.of_row(table, data, row, table.metrics[0])
        for column, ours, figure in zip(table.columns[data] or (None,), found, figures):
            word = "not run" if ours is None else verdict(ours.mean, figure)
            yield word
            if word in ("above", "below") and any(note.covers(row, column) for note in notes):
                yield "explained"


def _claim_lines(paper: Paper, numbers: Numbers) -> Iterator[str]:
    claims = [(table.name, claim) for table in paper.tables for claim in check_claims(table, numbers)]
    both = any(claim.coview for _, claim in claims)
    yield (
        "| where | the paper | as published | found | coview | found |"
        if both
        else "| where | the paper | here | found |"
    )
    yield "|---|---|---|---|---|---|" if both else "|---|---|---|---|"
    for name, claim in claims:
        cells = [name, claim.text, _holds(claim.holds), claim.found]
        if both:
            cells += ["", ""] if claim.coview is None else [_holds(claim.coview[0]), claim.coview[1]]
        yield f"| {' | '.join(cells)} |"


def _holds(holds: bool | None) -> str:
    return "not run" if holds is None else "holds" if holds else "does not hold"


def _figure_lines(table: Table) -> list[str]:
    return ["", f"![{table.title}](figures/{table.name}.png)"] if table.figure else []


def _rows(table: Table, data: str, numbers: Numbers, absent: bool) -> Iterator[str]:
    """Two lines for each row that has published figures, ours and theirs; one for the others; then the notes."""
    columns = table.columns[data] or (None,)
    notes = [note for note in table.notes if data in note.data]
    heads = [column_name(table, column) for column in columns]
    if len(table.metrics) > 1 or not table.across:
        heads = [f"{metric} {head}".strip() for metric in table.metrics for head in heads]
    yield "| | | " + " | ".join(heads) + " |"
    yield "|---|---|" + "--:|" * len(heads)
    for row in table.rows[data]:
        figures = table.published[data].get(row)
        cells = []
        for metric in table.metrics:
            for c, ours in enumerate(numbers.of_row(table, data, row, metric)):
                if ours is None:
                    cells.append("not run (no data)" if absent else "not run")
                    continue
                word = f" **{verdict(ours.mean, figures[c])}**" if figures else ""
                marks = "".join(f" ({n})" for n, note in enumerate(notes, 1) if note.covers(row, columns[c]))
                cells.append(f"{ours.mean:.2f} ± {ours.std:.2f}{word}{marks}")
        kind = {"paper": "as published", "coview": "coview"}.get(table.by.get(row, ""), "ours")
        yield f"| {row} | {kind} | " + " | ".join(cells) + " |"
        if figures:
            yield "| | paper | " + " | ".join(figure.text for figure in figures) + " |"
    if notes:
        yield ""
    for n, note in enumerate(notes, 1):
        yield f"- ({n}) {_explained(note)}{note.text}"


def _explained(note: Note) -> str:
    return "" if note.explained is None else "Explained: " if note.explained else "Unexplained: "
