"""`coview fit`: a model from files to a file."""

from __future__ import annotations

import json
import shlex
import sys
import time
import warnings
from collections.abc import Callable
from math import isnan
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from coview.cli.files import check_input, check_table, check_there, guess_views, read_input, read_target, table_front
from coview.cli.options import (
    Json,
    Labels,
    Objects,
    TableOptions,
    take_options,
)
from coview.cli.settings import build_model, clusters_parameter, find_entry, parse_settings
from coview.exceptions import DataFileError, InterruptedFitWarning
from coview.utils.messages import make_text_error, printable
from coview.utils.progress import print_line, progress, tell

__all__ = ["fit"]


@take_options
def fit(
    *,
    model: Annotated[
        str | None, typer.Argument(help="Name of the model, or auto: classes with --labels, else clusters.")
    ] = None,
    objects: Objects,
    raw: TableOptions,
    labels: Labels = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters",
            "--topics",
            min=1,
            help="Number of clusters (--set n_clusters=K), or of topics (--set n_components=K).",
        ),
    ] = None,
    seeds: Annotated[
        Path | None,
        typer.Option(
            "--seeds",
            help='What topics are to be about (models of PLSA): a JSON file, {"sport": ["game", "team"]}, '
            "or a list of names, whose words are the seeds.",
        ),
    ] = None,
    links: Annotated[
        str | None, typer.Option("--links", help="A view of links among the objects: short for --set links=NAME.")
    ] = None,
    ontology: Annotated[
        Path | None,
        typer.Option(
            "--ontology",
            help="What is above the labels, for models that learn from it: edges child,parent (.csv) or a JSON tree.",
        ),
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
    asked = SimpleNamespace(
        **{"model": model, "labels": labels, "clusters": clusters, "seeds": seeds, "links": links},
        **{"ontology": ontology, "set": set, "step": step, "seed": seed, "out": out},
    )
    with progress(verbose=0 if as_json else None):
        summary = _fit(asked, objects, raw)
    if as_json:
        print(json.dumps(summary))
    else:
        _show(summary)


def _fit(asked: Any, objects: Objects, raw: TableOptions) -> dict[str, Any]:
    """Fit and save by the options of the command; return what `coview fit --json` prints."""
    if asked.model is None:
        raise ValueError("Name a model. Example: coview fit auto table.csv")
    out = _free_path(objects) if asked.out is None else asked.out
    if out.is_dir():
        raise ValueError(f"{out} is a folder; give the name of a file, such as {out / 'model.coview'}.")
    auto = asked.model.lower() == "auto"
    asked.model = _chosen_model(asked)
    find_entry(asked.model)
    settings = parse_settings(asked.set or [])
    if asked.clusters is not None:
        settings.setdefault(clusters_parameter(asked.model, asked.clusters), asked.clusters)
    if asked.links is not None:
        settings.setdefault("links", asked.links)
    if asked.seeds is not None:
        settings.setdefault("seeds", _read_seeds(asked.seeds))
    if asked.ontology is not None:
        if asked.labels is None:
            raise ValueError("--ontology says what is above the labels: pass these with --labels.")
        settings.setdefault("ontology", _read_ontology(asked.ontology))
    if auto and asked.model == "AutoClustering":
        settings.setdefault("n_clusters", None)  # chosen by the data, and the summary says so
    check_table(raw, objects, asked.labels)
    check_input(objects)

    from sklearn.utils import get_tags

    from coview.inspection import inspect
    from coview.io.models import save

    X = None
    if objects.table is not None and not (raw.names_views or objects.view):
        tell("reading")
        X = read_input(objects)
    raw, guessed = guess_views(raw, objects, X, asked.labels)
    words = [*guessed, *([] if asked.out is not None else ["-o", str(out)])]
    if guessed:
        print_line("coview: the columns are read as if you had typed")
        print_line(f"  {shlex.join(['coview', *sys.argv[1:], *words])}")
    estimator = build_model(
        asked.model, settings, asked.step or [], table_front(raw, objects, X, asked.labels), asked.seed
    )
    if asked.labels is None and get_tags(_last(estimator)).target_tags.required:
        where = "FILE" if objects.table is None else "COLUMN or FILE"
        raise ValueError(f"{asked.model} needs labels: add --labels {where}.")
    tell("reading")
    X = read_input(objects) if X is None else X
    y = read_target(asked.labels, X, raw.id)
    tell("fitting")
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)  # Ctrl-C: nothing is written
        try:
            estimator.fit(X) if y is None else estimator.fit(X, y)
        except InterruptedFitWarning as error:
            raise KeyboardInterrupt(str(error)) from None
    seconds = time.perf_counter() - begun
    tell("writing")
    save(estimator, out)
    fitted = inspect(estimator)
    summary = _summary(fitted, y)
    if guessed:
        summary["options"] = words
    if "number" not in summary and (count := _default_number(fitted, settings)) is not None:
        summary["default_number"] = {f"{fitted.kind}s": count}
    if auto and "compared" in summary.get("labels", {}):
        summary["labels"]["compared"] += "; leave out --clusters to learn from them"
    return {
        **summary,
        "seconds": round(seconds, 2),
        "out": str(out),
        "next": _next(fitted, str(out), asked.labels, objects),
    }


def _free_path(objects: Objects) -> Path:
    """The model file of data whose name is not given: table.coview, which must not be there."""
    data = objects.table or objects.data
    if data is None:
        raise ValueError("Specify where to write the model: --out model.coview")
    path = Path(f"{data.resolve().name.split('.')[0] or 'model'}.coview")
    if path.exists():
        raise ValueError(f"{path} is there already: pass -o {path} to replace it, or -o with another name.")
    return path


def _read_seeds(path: Path) -> Any:
    """Seeds of topics in a JSON file; a key that is a whole number is the number of a topic."""
    check_there(path)
    try:
        seeds = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise make_text_error(path, error) from None
    except ValueError as error:
        raise DataFileError(f"{path} is no JSON ({error}).") from None
    if isinstance(seeds, dict):
        return {int(key) if key.isdecimal() else key: part for key, part in seeds.items()}
    return seeds


def _read_ontology(path: Path) -> Any:
    check_there(path)
    from coview.assignment.ontology import Ontology

    return Ontology.read(path)


def _chosen_model(asked: Any) -> str:
    """Name of the model: `auto` is a classifier where there are labels and nobody asks for clusters."""
    if asked.model.lower() != "auto":
        return str(asked.model)
    return "AutoClustering" if asked.labels is None or asked.clusters is not None else "AutoClassifier"


def _default_number(model: Any, settings: dict[str, Any]) -> int | None:
    """Return how many clusters or topics a model finds by default, where nobody asked for a number of them."""
    if model.kind not in ("cluster", "topic") or model.retriever is not None:
        return None
    parameters = model.estimator.get_params(deep=False)
    name = "n_clusters" if "n_clusters" in parameters else "n_components"
    return parameters[name] if isinstance(parameters.get(name), int) and name not in settings else None


def _next(model: Any, out: str, labels: str | None, objects: Objects) -> list[str]:
    """Return commands that put the model to use, on the data that it was fitted to."""
    data, known = objects.words(), [] if labels is None else ["--labels", labels]
    whole = objects.data is not None or objects.table is not None
    learned = model.kind == "class" and bool(known)
    sep = 0 if objects.sep is None else 2  # the explorer reads it from the header
    shown = [*data[: len(data) - sep], *(known if learned else [])] if whole else []
    commands = [["info", out], ["report", out, *data, *known], ["explore", out, *shown]]
    if model.retriever is not None:
        views = [*model.inputs, *model.inputs]
        commands.append(["search", "...", "--model", out, "--source", views[0], "--target", views[1]])
    else:
        commands += [["edit", out, *data, "--name"]] if model.kind == "topic" and objects.table is not None else []
        coordinates = [] if model.predicts or model.kind == "topic" else ["--coordinates"]
        commands.append(["predict", out, *data, *coordinates])
    if learned and len(model.groups) > 1:
        commands.append(["label", out, *data, *known])
    return [shlex.join(["coview", *words]) for words in commands]


def _last(estimator: Any) -> Any:
    """The model itself, where steps stand before it."""
    from sklearn.pipeline import Pipeline

    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _summary(model: Any, y: Any) -> dict[str, Any]:
    """What a fit came to, in plain values."""
    import numpy as np

    from coview.auto.classifier import AutoClassifier
    from coview.auto.clustering import AutoClustering
    from coview.catalog import ESTIMATORS
    from coview.inspection import NAMED_BY_FEATURES
    from coview.inspection.choice import describe_number, describe_votes, links_used
    from coview.validation import minus_one_is_unlabeled, unlabeled_rows

    summary: dict[str, Any] = {"model": model.name, "views": list(model.inputs)}
    if model.likelihoods:
        summary["likelihood"] = dict(model.likelihoods)
    if model.scalings:
        summary["scaling"] = {view: model.scalings[view] for view in model.views if view in model.scalings}
    objective = model.history.get("objective")
    if model.name in ESTIMATORS and ESTIMATORS[model.name].monotone:  # of others the two ends of the curve say nothing
        if model.n_iter is not None:
            summary["iterations"] = int(model.n_iter)
        if objective:
            summary["objective"] = [float(objective[0]), float(objective[-1])]
    if model.candidates:
        table = model.candidates
        summary["candidates"] = {name: round(float(weight), 2) for name, weight in zip(table["name"], table["weight"])}
        for key in ("without", "dropped"):  # views that a candidate leaves out; why one has no weight
            notes = {name: note for name, note in zip(table["name"], table.get(key, ())) if note}
            summary.update({key: notes} if notes else {})
    if isinstance(model.estimator, (AutoClassifier, AutoClustering)) and (links := model.estimator.links_) is not None:
        summary["links"] = {name: links[name] for name in ("view", "n_links", "why")} | {"used": links_used(links)}
    if model.relations:
        summary["relations"] = dict(zip(model.relations["view"], model.relations["verdict"]))
    if model.votes:
        summary["votes"] = describe_votes(model.votes)
    if model.numbers.get("n_clusters"):
        summary["number"] = {"n_clusters": len(model.groups), "why": describe_number(model.numbers)}
    if y is not None and model.kind in ("class", "cluster"):
        known = ~unlabeled_rows(y, semi_supervised=minus_one_is_unlabeled(model.estimator))
        summary["labels"] = {"labeled": int(known.sum()), "objects": len(y)}
        if model.kind == "cluster":
            summary["labels"]["compared"] = "compared with the clusters, which were found without them"
    if model.kind == "class" and model.candidates:
        summary["held_out"] = {
            name: None if isnan(value) else round(value, 4) for name, value in model.held_out.items()
        }
    codes = model.training.codes
    if model.kind in ("class", "cluster") and model.retriever is None:
        kind = "classes" if model.kind == "class" else "clusters"
        summary[kind] = model.groups
        if codes is not None:
            known = codes[codes >= 0]
            sizes = np.bincount(known, minlength=len(model.groups))
            summary["objects"] = len(codes)
            summary[kind] = {name: int(size) for name, size in zip(model.groups, sizes) if size}
            if y is not None and kind == "clusters":  # a classifier has learned from them: that would be no test
                summary["scores"] = _against(y, codes)
    if model.kind in NAMED_BY_FEATURES and model.retriever is None:
        summary["names"] = dict(zip(model.groups, model.group_names))
        if model.kind == "topic" and model.group_sizes is not None:
            summary["sizes"] = dict(zip(model.groups, model.group_sizes))
    return summary


def _against(y: Any, labels: Any) -> dict[str, float]:

    from coview.metrics import clustering_accuracy, normalized_mutual_info
    from coview.validation import is_gap

    known = [i for i, label in enumerate(y.tolist()) if not is_gap(label)]
    if not known:
        return {}
    truth = [y[i] for i in known]
    return {
        "nmi": round(float(normalized_mutual_info(truth, labels[known])), 4),
        "accuracy": round(float(clustering_accuracy(truth, labels[known])), 4),
    }


def _show(summary: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid(title=f"{summary['model']} fitted", show_header=False)
    for key, value in summary.items():
        if key in ("model", "options", "out", "next", "without", "dropped", "sizes") or (
            key == "clusters" and "names" in summary
        ):
            continue
        if key == "names":
            sizes = summary.get("clusters", summary.get("sizes", {}))
            numbers = sizes if isinstance(sizes, dict) else {}
            lines = [
                f"{number}: {name}" + (f" ({numbers[number]:,})" if number in numbers else "")
                for number, name in value.items()
            ]
            shown = _first([printable(line) for line in lines], between="\n")
            grid.add_row("clusters" if "clusters" in summary else "topics", shown)
            continue
        if key == "candidates":
            grid.add_row(key, "\n".join(printable(line) for line in _candidate_lines(summary)))
            continue
        if key in SENTENCES:
            if sentence := SENTENCES[key](value):
                grid.add_row(TITLES.get(key, key), printable(sentence, lines=True))
            continue
        if key == "objective":
            value = f"{value[0]:,.1f} -> {value[1]:,.1f}"
        elif isinstance(value, dict):
            value = _first([f"{name}: {part}" for name, part in value.items()])
        elif isinstance(value, list):
            value = _first(list(map(str, value)))
        grid.add_row(key, printable(value))
    console = Console(highlight=False, markup=False)  # names of features are no markup
    console.print(grid)
    out = summary["out"]
    for line in (f"Written to {out}. Next:", *(f"  {command}" for command in summary["next"])):
        console.print(printable(line), soft_wrap=True)


def _about_labels(found: dict[str, Any]) -> str:
    compared = f", {found['compared']}" if "compared" in found else ""
    return f"{found['labeled']:,} of {found['objects']:,} objects{compared}"


def _about_held_out(found: dict[str, Any]) -> str:
    """How far the classes and their probabilities are to be trusted, in words."""
    from coview.inspection.choice import describe_accuracy

    base = f"the largest class has {100 * found['largest_class']:.0f} % of the labels"
    text = f"accuracy {describe_accuracy(found)}; {base}"
    if found["calibration_error"] is None:
        return f"{text}\ntoo few to tell how far its probabilities can be trusted"
    return f"{text}\nprobabilities are off by {found['calibration_error']:.2f} on average (calibration error)"


def _about_likelihoods(found: dict[str, str]) -> str:
    """What each view was taken for, and how to say otherwise."""
    taken = {"gaussian": "Gaussian (vectors)", "multinomial": "multinomial (counts)"}
    name, likelihood = next(iter(found.items()))
    other = "gaussian" if likelihood == "multinomial" else "multinomial"
    lines = [f"{view}: {taken.get(one, one)}" for view, one in found.items()]
    return "\n".join([*lines, f'Say otherwise by view: --set "likelihood={{{name!r}: {other!r}}}"'])


def _about_scalings(found: dict[str, str]) -> str:
    """What each view was taken for, and how its columns were made comparable."""
    from coview.inspection.choice import describe_scaling

    return "\n".join(f"{view}: {describe_scaling(scaling)}" for view, scaling in found.items())


def _about_links(found: dict[str, Any]) -> str:
    from coview.inspection.choice import describe_links

    return describe_links(found)


def _about_relations(verdicts: dict[str, str]) -> str:
    from coview.inspection.choice import describe_relations

    return "\n".join(describe_relations({"view": list(verdicts), "verdict": list(verdicts.values())}))


def _about_default_number(found: dict[str, int]) -> str:
    kind, number = next(iter(found.items()))
    return f"{number}, the default. Pass --{kind} K for another number."


TITLES = {
    "default_number": "how many",
    "held_out": "held-out labels",
    "number": "number of clusters",
    "relations": "unrelated views",
    "scaling": "views treated as",
}
SENTENCES: dict[str, Callable[[Any], str]] = {
    "likelihood": _about_likelihoods,
    "scaling": _about_scalings,
    "links": _about_links,
    "relations": _about_relations,
    "labels": _about_labels,
    "held_out": _about_held_out,
    "default_number": _about_default_number,
    "number": lambda found: f"{found['n_clusters']}. {found['why']} Pass --clusters K for another number.",
}


def _candidate_lines(summary: dict[str, Any]) -> list[str]:
    """One line for each candidate, the heaviest first: its weight and the views it leaves out, or why it is unused."""
    lines = []
    for name, weight in sorted(summary["candidates"].items(), key=lambda each: -each[1]):
        without, why = (summary.get(key, {}).get(name) for key in ("without", "dropped"))
        if why:
            lines.append(f"{name}: not used ({why})")
        else:
            share = f"weight {weight:g}" if weight else "answers only where the others cannot"
            lines.append(f"{name}: {share}" + (f", without {without}" if without else ""))
    return lines


def _first(parts: list[str], most: int = 30, between: str = ", ") -> str:
    more = f"{between}... ({len(parts):,} in all)" if len(parts) > most else ""
    return between.join(parts[:most]) + more
