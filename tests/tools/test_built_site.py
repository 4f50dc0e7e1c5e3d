"""A link of the site that leads nowhere is found, and so is what a browser would load from elsewhere."""

from pathlib import Path

import pytest

from tools.built_site import found_in


def site(folder: Path, page: str, style: str = "") -> list[str]:
    """Return what is wrong with a site of a page, a second one, a style sheet and a picture."""
    (folder / "index.html").write_text(f"<html><body>{page}</body></html>")
    (folder / "other.html").write_text('<h2 id="there">There</h2>')
    (folder / "style.css").write_text(style)
    (folder / "picture.svg").write_text("<svg/>")
    return list(found_in(folder))


FINE = """
    <link rel="stylesheet" href="style.css?v=1"><img src="picture.svg"><img src="data:image/png;base64,AA==">
    <a href="other.html#there">x</a> <a href="picture.svg">x</a> <a href="#">x</a> <a href="https://a.example">x</a>
    <style>.a { background: url(picture.svg) } .b { content: url(data:image/png;base64,) }</style>
    """


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        (FINE, None),
        ('<a href="missing.html">x</a>', "index.html links to missing.html, which is not there"),
        ('<a href="other.html#here">x</a>', "index.html links to other.html#here: no element has this id"),
        ('<a href="../outside.html">x</a>', "index.html links to ../outside.html, which is not there"),
        ('<link rel="next" href="missing.html">', "index.html links to missing.html, which is not there"),
        ('<img src="missing.png">', "index.html loads missing.png, which is not there"),
        ('<script src="//cdn.example/x"></script>', "index.html loads //cdn.example/x from elsewhere"),
        ('<img srcset="style.css 1x, https://a.example/b 2x">', "index.html loads https://a.example/b from elsewhere"),
        ('<link rel="preconnect" href="https://f.example">', "index.html loads https://f.example from elsewhere"),
        ('<p style="background: url(https://a.example/b)">', "index.html loads https://a.example/b from elsewhere"),
        ('<style>@import "https://f.example/c";</style>', "index.html loads https://f.example/c from elsewhere"),
    ],
)
def test_what_is_wrong_in_a_page_is_found_and_nothing_else(tmp_path: Path, page: str, wrong: str | None) -> None:
    assert site(tmp_path, page) == ([wrong] if wrong else [])


def test_what_a_style_sheet_or_a_picture_loads_is_found(tmp_path: Path) -> None:
    (tmp_path / "b.svg").write_text('<svg><image href="https://a.example/b"/></svg>')

    assert site(tmp_path, "", '@font-face { src: url("https://f.example/f.woff2") }') == [
        "b.svg loads https://a.example/b from elsewhere",
        "style.css loads https://f.example/f.woff2 from elsewhere",
    ]
