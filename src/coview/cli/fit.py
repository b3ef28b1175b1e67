"""`coview fit`: a model from files to a file."""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from coview.cli.files import check_input, guess_views, read_input, report_views, table_front
from coview.cli.labels import check_labels, read_target
from coview.cli.options import Json, Labels, Objects, TableOptions, stop_when_interrupted
from coview.cli.settings import build_model, clusters_parameter, find_entry, parse_settings
from coview.cli.summary import summarize_fit
from coview.cli.taking import take_options
from coview.exceptions import DataFileError
from coview.utils.messages import printable, quantity
from coview.utils.progress import print_line, progress, tell

__all__ = ["fit"]

_FEWEST = 20  # rows to find groups in: of two halves, each has ten


@take_options
def fit(
    *,
    model: Annotated[
        str, typer.Argument(help="A model, topics (LinkPLSA), or auto: classes with --labels, else clusters.")
    ],
    objects: Objects,
    raw: TableOptions,
    labels: Labels = None,
    clusters: Annotated[
        int | None, typer.Option("--clusters", "--topics", min=1, help="Number of clusters, or of topics.")
    ] = None,
    seeds: Annotated[
        Path | None,
        typer.Option(
            "--seeds",
            help='What topics are to be about (models of PLSA): a JSON file, {"sport": ["game", "team"]}.',
        ),
    ] = None,
    ontology: Annotated[
        Path | None,
        typer.Option("--ontology", help="What is above the labels: edges child,parent (.csv) or a JSON tree."),
    ] = None,
    set: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the model: n_clusters=7; can be repeated.")
    ] = None,
    step: Annotated[
        list[str] | None,
        typer.Option("--step", help="A transformer before the model: TfidfViews, StandardScaler; can be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The model file to write.")] = None,
    as_json: Json = False,
) -> None:
    """Fit a model on a raw table or on views from files, and write it to one file.

    coview fit auto table.csv needs nothing else: what the columns are is found by their values and printed as options.
    """
    name = find_entry(_choose_model(model, labels, clusters))
    if ontology is not None and labels is None:
        raise ValueError("--ontology describes the labels: pass these with --labels.")
    check_input(objects)
    path = _choose_path(objects) if out is None else out
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file.")
    settings = parse_settings(set)
    if clusters is not None:
        settings.setdefault(clusters_parameter(name), clusters)
    elif model.lower() == "auto" and name == "AutoClustering":
        settings.setdefault("n_clusters", None)  # chosen by the data
    if seeds is not None:
        settings.setdefault("seeds", _read_seeds(seeds))
    elif model.lower() == "topics":  # from a factorization they read better than from random mixtures
        settings.setdefault("init", "nmf")
    if ontology is not None:
        from coview.assignment.ontology import Ontology

        settings.setdefault("ontology", Ontology.read(ontology))
    with progress(verbose=0 if as_json else None):
        tell("reading")
        X = read_input(objects)
        check_labels(labels, X)
        no_number = all(settings.get(each) is None for each in ("n_clusters", "n_components"))
        if no_number and not seeds and name in ("AutoClustering", "LinkPLSA") and len(X) < _FEWEST:
            option = "--topics" if name == "LinkPLSA" else "--clusters"
            raise ValueError(
                f"{quantity(len(X), 'row')} cannot be clustered: at least {_FEWEST} are needed to find groups that are "
                f"more than chance. Pass {option} K to have K groups all the same."
            )
        raw, words = guess_views(raw, objects, X, labels)
        estimator = build_model(name, settings, step or [], table_front(raw, objects, X, labels), seed)
        y = read_target(labels, X, raw.id)
        _check_need(estimator, name, y)
        if out is None and path.exists():
            raise ValueError(f"{path} is there already: pass -o {path} to replace it, or -o with another name.")
        if words:
            given = [word for word in sys.argv[1:] if word != "--quiet"]
            typed = ["coview", *given, *words, *([] if out is not None else ["-o", str(path)])]
            print_line(f"coview: the columns are read as if you had typed\n  {shlex.join(typed)}")
        seconds, views = _fit(estimator, X, y)
        tell("writing")

        from coview import inspect, save
        from coview.inspection.known import count_equal
        from coview.validation import minus_one_is_unlabeled, unlabeled_rows
        from coview.views.views import Views

        save(estimator, path)
        fitted = inspect(estimator)
        gaps: Any = [] if y is None else unlabeled_rows(y, semi_supervised=minus_one_is_unlabeled(fitted.estimator))
        labeled = sum(not gap for gap in gaps)
        commands = _suggest_commands(fitted, str(path), labels, objects)
        report_views(fitted.preparation.front, X, labels)
        equal = count_equal(views) if isinstance(views, Views) else 0  # lazy ones are not read again
    if as_json:
        from coview.report.report import describe

        about = {
            "out": str(path),
            "seconds": round(seconds, 2),
            "options": words,
            "equal_rows": equal,
            "labeled": labeled,
            "next": commands,
        }
        print(json.dumps({**describe(estimator), **about}))
        return
    lines = summarize_fit(fitted)
    if no_number and fitted.kind in ("topic", "cluster"):
        lines.append(f"Pass --{fitted.kind}s K for another number.")
    if equal:
        lines.append(f"{equal:,} of {quantity(len(X), 'row')} are equal to another one in what the model reads.")
    if 0 < labeled < len(X):
        lines.append(f"{labeled:,} of {quantity(len(X), 'row')} had a label.")
    if labels is not None and fitted.kind != "class":
        lines.append("The labels were not learned from; the report compares them with the groups.")
    lines += [f"Written to {printable(path)} ({seconds:.1f} s). Next:", *(f"  {printable(each)}" for each in commands)]
    print("\n".join(lines))


def _choose_model(name: str, labels: str | None, clusters: int | None) -> str:
    """Name of the model: `auto` is a classifier where there are labels and no clusters are asked for."""
    if name.lower() != "auto":
        return "LinkPLSA" if name.lower() == "topics" else name
    return "AutoClustering" if labels is None or clusters is not None else "AutoClassifier"


def _choose_path(objects: Objects) -> Path:
    """The model file of data whose name is not given: table.coview."""
    if objects.data is None:
        raise ValueError("Specify where to write the model: --out model.coview")
    return Path(f"{objects.data.resolve().name.split('.')[0]}.coview")


def _read_seeds(path: Path) -> Any:
    """Seeds of topics in a JSON file; a key that is a whole number is the number of a topic."""
    try:
        seeds = json.loads(path.read_bytes())
    except ValueError as error:
        raise DataFileError(f"{path} is no JSON ({error}).") from None
    if not isinstance(seeds, dict):
        raise DataFileError(f'{path} must name the words of each topic, such as {{"sport": ["game", "team"]}}.')
    return {int(key) if key.isdecimal() else key: part for key, part in seeds.items()}


def _check_need(estimator: Any, name: str, y: Any) -> None:
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if y is None and get_tags(last).target_tags.required:
        raise ValueError(f"{name} needs labels: add --labels with a column of the table, or a file.")


def _fit(estimator: Any, X: Any, y: Any) -> tuple[float, Any]:
    """Fit, and return the seconds and what the last step was fitted to; after Ctrl-C nothing is to be written."""
    from sklearn.pipeline import Pipeline

    tell("fitting")
    begun = time.perf_counter()
    with stop_when_interrupted():
        if isinstance(estimator, Pipeline):  # its own fit, which would not give what the steps return
            X, estimator = estimator[:-1].fit_transform(X, y), estimator[-1]
        estimator.fit(X) if y is None else estimator.fit(X, y)
    return time.perf_counter() - begun, X


def _suggest_commands(model: Any, out: str, labels: str | None, objects: Objects) -> list[str]:
    """Commands that put the model to use, on the data that it was fitted to."""
    data, known = objects.words(), [] if labels is None else ["--labels", labels]
    learned = model.kind == "class" and bool(known)
    commands = [["info", out], ["report", out, *data, *known]]
    if objects.data is not None:
        commands.append(["explore", out, *data, *(known if learned else [])])
    if model.structure.retriever is not None:
        shown = [] if objects.table is None else ["--table", str(objects.table)]
        commands.append(["search", "--near", str(model.structure.retriever.indexed_ids()[0]), "--model", out, *shown])
    else:
        from coview.inspection.reading import can_predict

        place = [] if can_predict(model) or model.kind == "topic" else ["--coordinates"]
        commands.append(["predict", out, *data, *place])
    if model.kind == "topic" and model.structure.retriever is None and objects.table is not None:
        commands.append(["edit", out, *data, "--name", "-o", out])
    if learned and len(model.groups) > 1:
        commands.append(["label", out, *data, *known])
    return [shlex.join(["coview", *words]) for words in commands]
