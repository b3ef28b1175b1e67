"""The demonstration as people see it."""

from __future__ import annotations

from typing import Any

__all__ = ["show_demo"]


def show_demo(found: dict[str, Any], console: Any) -> None:
    """Print what `run_demo` found."""
    from rich.table import Table

    widths = ", ".join(f"{width:,} {view} features" for view, width in found["views"].items())
    console.print(
        f"\n[bold]{found['objects']:,} functions and classes[/bold] of {found['labels']} packages, "
        f"two views of each: {widths}.\n"
    )
    _bars(console, "Clusters without labels: agreement with the packages (NMI)", found["clustering_nmi"])
    table = Table(title="The largest clusters: nobody said which package is which", title_justify="left")
    table.add_column("objects", justify="right", style="dim")
    table.add_column("mostly", style="bold")
    table.add_column("words of the docstring")
    table.add_column("names in the code", style="cyan")
    for row in found["clusters"]:
        mostly = f"{row['package']} {100 * row['share']:.0f} %"
        table.add_row(str(row["objects"]), mostly, " ".join(row["words"]), " ".join(row["code"]))
    console.print(table)
    share = 100 * found["labeled_objects"] / found["objects"]
    title = f"Packages from one label each ({share:.1f} % labeled): accuracy in files without a label"
    _bars(console, title, found["few_labels_accuracy"])
    table = Table(title="Code found with plain words", title_justify="left", show_header=False)
    table.add_column(ratio=2)
    table.add_column(ratio=3, overflow="fold", style="cyan")
    for query, hits in found["queries"].items():
        table.add_row(query, "\n".join(hits))
    console.print(table)
    console.print(
        f"\nDone in {found['seconds']:.0f} s. The report of the clustering: [bold]{found['report']}[/bold]\n"
        'Next: [bold]coview search "cubic spline"[/bold] or [bold]coview fit --help[/bold].\n',
        soft_wrap=True,
    )


def _bars(console: Any, title: str, scores: dict[str, float]) -> None:
    """One bar a method, the best one bold."""
    from rich.table import Table

    best = max(scores.values())
    table = Table(title=title, title_justify="left", show_header=False, box=None, pad_edge=False)
    for name, score in scores.items():
        style = "bold green" if score == best else ""
        table.add_row(f"  {name}", "█" * round(30 * score), f"{score:.3f}", style=style)
    console.print(table)
    console.print()
