"""Which counter a request means. No I/O: what can't be a counter is refused without a call."""

from http import HTTPStatus

from components.names import COUNTER_NAME

from .answer import Problem

METHODS = ("GET", "POST")


def counter_of(method: str, path: str, default: str) -> str:
    """The counter that `path` names: `/` is `default`, `/{counter}` that one.

    Raises:
        Problem: 405 for a method that mints nothing, 404 for a path that can't be a counter's.
    """
    if method not in METHODS:
        allow = ", ".join(METHODS)
        raise Problem(HTTPStatus.METHOD_NOT_ALLOWED, f"{method} is not possible here; use {allow}", {"Allow": allow})
    if path in ("", "/"):
        return default
    name = path.removeprefix("/")
    if not COUNTER_NAME.fullmatch(name):
        raise Problem(
            HTTPStatus.NOT_FOUND,
            f"no counter has this path; it is / or /{{counter}}, and a counter's name matches {COUNTER_NAME.pattern}",
        )
    return name
