"""Checks a built site: `python -m tools.built_site dist/site`.

Every link to a page of the site leads to an id that is there, and a browser loads nothing from elsewhere.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"action", "data", "poster", "src", "srcset", "xlink:href"}
"""Attributes with what a browser requests, whichever element has them; and `href`, but for links to pages."""

LEADING = ("next", "prev", "search", "index", "author", "copyright", "canonical")
"""The relations of a `<link>` that lead to a page; a browser requests all others."""

LINKS, LOADS = "links to", "loads"

IN_CSS = re.compile(r"""url\(\s*["']?(?!data:|#)([^"')]+)|@import\s*["']([^"']+)""")


@dataclass
class Page(HTMLParser):
    """What a page or a picture has and refers to."""

    ids: set[str] = field(default_factory=set[str])
    urls: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What each of them is for: to load, or a link to follow."""
    _in_style: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element's ids, links and requests."""
        attributes = {name: value or "" for name, value in attrs}
        self.ids |= {attributes[name] for name in ("id", "name") if name in attributes}
        self._in_style = tag == "style"
        leads = tag in ("a", "area") or attributes.get("rel") in LEADING
        if "href" in attributes:
            self.urls.append((LINKS if leads else LOADS, attributes["href"]))
        for name in attributes.keys() & LOADED:
            each = attributes[name].split(",") if name == "srcset" else [attributes[name]]
            self.urls += [(LOADS, url.split()[0]) for url in each if url.split()]
        self.urls += in_css(attributes.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Note the requests of a style sheet in the page."""
        if self._in_style:
            self.urls += in_css(data)


def in_css(text: str) -> list[tuple[str, str]]:
    """Return the URLs that a style sheet loads."""
    return [(LOADS, first or second) for first, second in IN_CSS.findall(text)]


def found_in(site: Path) -> Iterator[str]:
    """Return what is wrong: a line for each link or request."""
    site = site.resolve()

    @cache
    def page(path: Path) -> Page:
        read = Page()
        read.feed(path.read_text(encoding="utf-8"))
        return read

    for path in sorted(site.rglob("*")):
        name = path.relative_to(site).as_posix()
        if path.suffix == ".css":
            urls = in_css(path.read_text(encoding="utf-8"))
        else:
            urls = page(path).urls if path.suffix in (".html", ".svg") else []
        for use, url in urls:
            parts = urlsplit(url)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.netloc or parts.scheme in ("http", "https", "mailto", "data"):
                if use == LOADS and parts.scheme != "data":
                    yield f"{name} loads {url} from elsewhere"
            elif not target.is_relative_to(site) or not target.is_file():
                yield f"{name} {use} {url}, which is not there"
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).ids:
                yield f"{name} {use} {url}: no element has this id"


if __name__ == "__main__":
    sys.exit("\n".join(found_in(Path(sys.argv[1]))) or None)
