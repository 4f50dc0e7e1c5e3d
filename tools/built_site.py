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

IN_CSS = re.compile(r"""url\(\s*["']?(?!data:|#)([^"')]+)|@import\s*["']([^"']+)""")


@dataclass
class Page(HTMLParser):
    """What a page or a picture has and refers to."""

    ids: set[str] = field(default_factory=set[str])
    links: list[str] = field(default_factory=list[str])
    loaded: list[str] = field(default_factory=list[str])
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
            (self.links if leads else self.loaded).append(attributes["href"])
        for name in attributes.keys() & LOADED:
            each = attributes[name].split(",") if name == "srcset" else [attributes[name]]
            self.loaded += [url.split()[0] for url in each if url.split()]
        self.loaded += in_css(attributes.get("style", ""))

    def handle_data(self, data: str) -> None:
        """Note the requests of a style sheet in the page."""
        if self._in_style:
            self.loaded += in_css(data)


def in_css(text: str) -> list[str]:
    """Return the URLs that a style sheet loads."""
    return [first or second for first, second in IN_CSS.findall(text)]


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
            links, loaded = list[str](), in_css(path.read_text(encoding="utf-8"))
        elif path.suffix in (".html", ".svg"):
            links, loaded = page(path).links, page(path).loaded
        else:
            continue
        for url in loaded:
            parts = urlsplit(url)
            if parts.netloc or parts.scheme not in ("", "data"):
                yield f"{name} loads {url} from elsewhere"
            elif not parts.scheme and parts.path and not (path.parent / unquote(parts.path)).is_file():
                yield f"{name} loads {url}, which is not there"
        for url in links:
            parts = urlsplit(url)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.scheme or parts.netloc or not target.is_relative_to(site) or not target.is_file():
                yield f"{name} links to {url}, which is not there"
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).ids:
                yield f"{name} links to {url}: no element has this id"


def main(arguments: list[str]) -> None:
    """Print what is wrong, and end with status 1 if anything is."""
    site = Path(arguments[0])
    if not (site / "index.html").is_file():
        sys.exit(f"error: there is no site in {site}; make site builds it")
    if lines := list(found_in(site)):
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
