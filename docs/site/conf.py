"""How Sphinx makes the site of the Markdown files that GitHub also shows: `make site`.

The pages stay where they are. README.md is the first one, and `CONTENTS` is the order of reading.
"""

import re
import shutil
import sys
import tomllib
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "client" / "src")]

import global_integers  # noqa: E402
import global_integers.testing  # noqa: E402

import components  # noqa: E402
import components.testing  # noqa: E402
from components.settings.args import SETTINGS  # noqa: E402
from global_integers_core.names import camel  # noqa: E402

# The package has another name once it is installed.
for module in [name for name in sys.modules if name.partition(".")[0] == "components"]:
    sys.modules[module.replace("components", "pulumi_global_integers", 1)] = sys.modules[module]

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

CONTENTS = {
    "For everybody": ["docs/tasks", "docs/moving"],
    "For callers": [
        "docs/client",
        "docs/recipes",
        "docs/api",
        "docs/reference/client",
        "docs/reference/typescript",
        "docs/reference/testing",
    ],
    "For operators": [
        "docs/settings",
        "docs/operations",
        "docs/runbook",
        "docs/pipeline",
        "One domain <docs/domain>",
        "API Gateway <docs/gateway>",
        "docs/permissions",
        "docs/audit",
        "Performance and price <docs/performance>",
        "Use in any Pulumi program <examples/README>",
        "docs/reference/component",
    ],
    "For contributors": [
        "CONTRIBUTING",
        "docs/architecture",
        "Layouts <docs/layouts>",
        "docs/glossary",
        "Alternatives <docs/alternatives>",
        "SECURITY",
        "CHANGELOG",
    ],
}
"""Caption in the sidebar → its pages. Sphinx refuses a page that is in no list."""

project = "Global integers"
author = PYPROJECT["project"]["authors"][0]["name"]
version = release = PYPROJECT["project"]["version"]
copyright = author  # noqa: A001 (Sphinx's name)

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/reference/*", "examples/README.md"]
exclude_patterns = [".*", *(f"{path.name}/**" for path in ROOT.iterdir() if path.name not in ("docs", "examples"))]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(.*\.)?[A-Z]|Output|Self|Unpack|(collections|httpx|pulumi|typing)\..*")]
"""Types of other packages: their documentation is elsewhere."""

myst_heading_anchors = 4  # as GitHub makes them

autoclass_content = "both"  # the text of __init__, too
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

html_theme = "furo"
html_title = project
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_search_scorer = str(ROOT / "docs" / "site" / "search_scorer.js")
html_copy_source = html_show_sourcelink = False
html_domain_indices = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2f5bd0", "color-brand-content": "#2f5bd0"},
    "dark_css_variables": {"color-brand-primary": "#8fb0ff", "color-brand-content": "#8fb0ff"},
}


def add_contents(_: Sphinx, page: str, source: list[str]) -> None:
    """Add the order of reading to the first page. It shows in the sidebar only."""
    if page == root_doc:
        for caption, pages in CONTENTS.items():
            source[0] += "\n".join(["\n```{toctree}", ":hidden:", f":caption: {caption}\n", *pages, "```\n"])


def name_sources(app: Sphinx, document: nodes.document) -> None:
    """Let links to sources lead to the repository. Without one, the file's path is named.

    What is in docs/ is part of the site: a link to it is a download.
    """
    for link in [*document.findall(addnodes.download_reference), *document.findall(addnodes.pending_xref)]:
        if link.get("refdomain") or link["reftype"] != "myst":
            continue
        source = (app.env.doc2path(app.env.docname).parent / link["reftarget"].partition("#")[0]).resolve()
        if not source.exists() or not source.is_relative_to(ROOT) or source.parent == ROOT / "docs":
            continue
        path = source.relative_to(ROOT).as_posix()
        if app.config.repository:
            url = f"{app.config.repository}/{'tree' if source.is_dir() else 'blob'}/main/{path}"
            link.replace_self(nodes.reference("", "", *link.children, refuri=url))
        else:
            link.replace_self([*link.children, nodes.Text(" ("), nodes.literal("", path), nodes.Text(")")])


OBJECTS = {
    **{name: f"global_integers.testing.{name}" for name in global_integers.testing.__all__},
    **{name: f"global_integers.{name}" for name in global_integers.__all__},
    **{name: f"pulumi_global_integers.{name}" for name in components.__all__},
    "Mocks": "pulumi_global_integers.testing.Mocks",
}
"""The classes of the reference by name: a docstring's `Integers` is a link."""


def in_restructured_text(app: Sphinx, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Write a docstring, which is Markdown, as Sphinx reads it. Of a setting, add the default."""
    class_, _, member = name.rpartition(".")
    settings = class_.endswith(".GlobalIntegersArgs")

    def code(found: re.Match[str]) -> str:
        text = found[1]
        first, _, attribute = text.partition(".")
        in_python = {camel(setting): setting for setting in SETTINGS}
        if settings and text in in_python:
            return f":py:attr:`{in_python[text]} <{class_}.{in_python[text]}>`"
        if first in OBJECTS:
            return f":py:obj:`{text} <{OBJECTS[first]}{'.' * bool(attribute)}{attribute}>`"
        return f"``{text}``"

    text = "\n".join(lines)
    text = re.sub(r"`([^`]+)`", code, text)
    text = re.sub(r"\[([^\]]+)\]\((\w+)\.md(#[\w-]+)?\)", r"`\1 <../\2.html\3>`__", text)
    # Code is indented after an empty line.
    text = re.sub(r"(?m)^(\S.*)\n\n(?=    \S)", r"\1\n\n::\n\n", text)
    if settings and member in SETTINGS:
        setting, default = SETTINGS[member], SETTINGS[member].metadata["allowed"].default
        if setting.default is MISSING:
            text += "\n\nRequired.\n"
        elif default is not None:
            text += f"\n\nDefault: ``{default!r}``.\n"
    # Of an attribute, napoleon takes what is before a colon in the first line for its type: here, of a comment.
    lines[:] = ["..", "", *text.split("\n")] if what in ("attribute", "property") else text.split("\n")


NOT_CALLED = ("Counter", "AsyncCounter", "GlobalIntegersArgs", "Region")
"""The classes whose arguments are left out: callers don't make them, or the arguments are listed below."""


def without_arguments(
    app: Sphinx, what: str, name: str, of: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None] | None:
    """Leave out the arguments of errors and of `NOT_CALLED`, and name a client's own class of counters."""
    if name.endswith(".__getitem__"):
        return signature, "AsyncCounter" if ".Async" in name else "Counter"
    left_out = what == "exception" or name.rpartition(".")[2] in NOT_CALLED
    return ("", None) if signature and left_out else None


def without_none(app: Sphinx, domain: str, kind: str, content: nodes.Element) -> None:
    """Leave out ` = None` of an attribute: None stands for the default, which its text has."""
    if kind == "attribute":
        for value in list(content.parent.findall(addnodes.desc_annotation)):
            if value.astext().strip() == "= None":
                value.parent.remove(value)


def by_public_name(app: Sphinx, env: BuildEnvironment, link: addnodes.pending_xref, text: nodes.Element) -> Any:
    """Let a type lead to where callers import it from, and not to the module that it is written in."""
    found = OBJECTS.get(link["reftarget"].rpartition(".")[2]) if link.get("refdomain") == "py" else None
    if found is None:
        return None
    return env.domains.python_domain.resolve_xref(env, link["refdoc"], app.builder, "obj", found, link, text)


def add_first_page(app: Sphinx, failed: Exception | None) -> None:
    """Write the first page a second time, under the name that servers look for."""
    if failed is None:
        shutil.copyfile(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def setup(app: Sphinx) -> None:
    """Take part in the build."""
    app.add_config_value("repository", PYPROJECT["tool"]["global-integers"]["repository"], "env", str)
    app.connect("source-read", add_contents)
    app.connect("doctree-read", name_sources, priority=100)  # before downloads are collected
    app.connect("autodoc-process-docstring", in_restructured_text, priority=100)  # before the sections are read
    app.connect("autodoc-process-signature", without_arguments)
    app.connect("object-description-transform", without_none)
    app.connect("missing-reference", by_public_name)
    app.connect("build-finished", add_first_page)
