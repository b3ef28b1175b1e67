"""Configuration of the documentation; it builds offline and without a warning."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import typer

from coview.cli.app import make_commands

os.environ.setdefault("MPLBACKEND", "Agg")
# the gallery runs in this process, whose figures nobody looks at
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")

project = "coview"
author = "The coview developers"
copyright = "2026, The coview developers"
release = installed_version("coview")
version = release

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]

exclude_patterns = ["_build", "_templates", "**/GALLERY_HEADER.rst", "generated/commands.md"]
templates_path = ["_templates"]
default_role = "py:obj"  # as in the docstrings: `PLSA` is a name of the library
nitpicky = False
smartquotes = False  # options begin with two dashes

# -- the API pages

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the class template lists them
numpydoc_xref_param_type = False

# -- Markdown

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# -- the gallery

SECTIONS = ["clusters", "topics", "few_labels", "search_and_streams", "tools"]
sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "subsection_order": [f"../examples/{name}" for name in SECTIONS],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("coview",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"coview": None},
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1e9,  # times of one machine say little about another
    "write_computation_times": False,
    "plot_gallery": "True",
}

# -- HTML

html_theme = "pydata_sphinx_theme"
html_title = "coview"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["coview.css"]
html_sidebars = {"getting_started": []}
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}


def _skip_foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a class inherits from other libraries: it is documented there."""
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None)
    if what == "class" and isinstance(module, str) and not module.startswith("coview"):
        return True
    return None


def _commands_page() -> Iterator[str]:
    """What `--help` says of each command, in Markdown."""
    commands: dict[str, Any] = typer.main.get_command(make_commands()).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        yield f"### coview {name}\n\n{command.help}\n"
        yield f"```text\n$ {command.epilog.removeprefix('Example: ')}\n```\n"
        yield "| | |\n|---|---|"
        for each in command.params:
            words = [each.name.upper()] if each.param_type_name == "argument" else [*each.opts, *each.secondary_opts]
            meaning = each.help.translate({ord(sign): f"\\{sign}" for sign in "|<*"})
            shown = isinstance(each.default, int | float | str | Path) and not isinstance(each.default, bool)
            yield f"| `{'`, `'.join(words)}` | {meaning}{f' Default: {each.default}.' * shown} |"
        yield ""


def _write_commands(app: Any) -> None:
    page = Path(app.srcdir) / "generated" / "commands.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n".join(_commands_page()), encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the hooks."""
    app.connect("builder-inited", _write_commands)
    app.connect("autodoc-skip-member", _skip_foreign)
