"""`table.md`: ours beside theirs, as Markdown. It depends on the kept runs and `paper.toml` only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from harness.paper import Paper, Table
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
        "else **above** or **below**. Rows without a line of the paper are not in the paper.",
        *_absent_lines(paper, absent or {}),
        *_time_lines(numbers),
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
        lines += ["", f"## {table.title}", *(["", table.note] if table.note else []), *_figure_lines(table)]
        for data in table.rows:
            lines += ["", f"### {paper.title_of(data)}", "", *_rows(table, data, numbers, data in (absent or {}))]
    lines += ["", "## What differs from the paper, and why", "", *(f"- {text}" for text in raw["differences"])]
    return "\n".join(lines) + "\n"


def _absent_lines(paper: Paper, absent: Mapping[str, str]) -> list[str]:
    if not absent:
        return []
    names = ", ".join(paper.title_of(data) for data in absent)
    return [
        "",
        f"**Not found: {names}.** Their missing runs were skipped; set COVIEW_DATA to a folder that has the data.",
    ]


def _time_lines(numbers: Numbers) -> list[str]:
    sessions = numbers.results.sessions
    if not sessions:
        return []
    clock, made = sum(session["seconds"] for session in sessions) / 60, sum(session["runs"] for session in sessions)
    work = sum(run["seconds"] for run in numbers.results.runs.values()) / 60
    processes = max(session["processes"] for session in sessions)
    return [
        "",
        f"The {made:,} runs took {work:.1f} minutes of processor time, and {clock:.1f} minutes by the clock in "
        f"{processes} processes.",
    ]


def _short(paper: Paper, numbers: Numbers) -> Iterator[str]:
    yield "| | figures | within | above | below | not run |"
    yield "|---|--:|--:|--:|--:|--:|"
    for table in paper.tables:
        counts = Counter(word for data in table.rows for words in _verdicts(table, data, numbers) for word in words)
        if counts:
            cells = (counts[word] for word in ("within", "above", "below", "not run"))
            yield f"| {table.title.partition(':')[0]} | {counts.total()} | " + " | ".join(map(str, cells)) + " |"


def _verdicts(table: Table, data: str, numbers: Numbers) -> Iterator[list[str]]:
    for row, figures in table.published[data].items():
        found = numbers.of_row(table, data, row, table.metrics[0])
        yield ["not run" if ours is None else verdict(ours.mean, f) for ours, f in zip(found, figures)]


def _claim_lines(paper: Paper, numbers: Numbers) -> Iterator[str]:
    both = any(table.coview for table in paper.tables)
    yield (
        "| where | the paper | as published | found | coview | found |"
        if both
        else "| where | the paper | here | found |"
    )
    yield "|---|---|---|---|---|---|" if both else "|---|---|---|---|"
    for table in paper.tables:
        for claim in check_claims(table, numbers):
            cells = [table.name, claim.text, _holds(claim.holds), claim.found]
            if both:
                cells += ["", ""] if claim.coview is None else [_holds(claim.coview[0]), claim.coview[1]]
            yield f"| {' | '.join(cells)} |"


def _holds(holds: bool | None) -> str:
    return "not run" if holds is None else "holds" if holds else "does not hold"


def _figure_lines(table: Table) -> list[str]:
    return ["", f"![{table.title}](figures/{table.name}.png)"] if table.figure else []


def _rows(table: Table, data: str, numbers: Numbers, absent: bool) -> Iterator[str]:
    """Two lines for each row that has published figures, ours and theirs; one for the others."""
    columns = table.columns[data] or (None,)
    heads = [column_name(table, column) for column in columns]
    if len(table.metrics) > 1:
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
                text = f"{ours.mean:.2f} ± {ours.std:.2f}"
                cells.append(f"{text} **{verdict(ours.mean, figures[c])}**" if figures else text)
        kind = "as published" if row in table.coview else "coview" if row in table.coview.values() else "ours"
        yield f"| {row} | {kind} | " + " | ".join(cells) + " |"
        if figures:
            yield "| | paper | " + " | ".join(figure.text for figure in figures) + " |"
