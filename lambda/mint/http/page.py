"""The page for browsers: one file that loads nothing from other servers. Loading it mints nothing."""

import json
from collections.abc import Sequence

from integers.layouts import Layout

from ..refusals import regions_instead
from ..table import Item
from .colours import colour_of
from .html_file import html_response
from .reply import Response


def page(
    counter: str,
    region: str,
    layouts: Sequence[Layout],
    item: Item | None,
    *,
    open_counters: bool,
    https: bool = False,
) -> Response:
    """Return the page of a counter. It says if this region doesn't have the counter, or has left the layout.

    Args:
        counter: the counter to mint from.
        region: this region.
        layouts: those that this region knows, the oldest first.
        item: the counter's item in this region, if there is one.
        open_counters: whether callers may create and list counters.
        https: whether the request came over https. Only then may the browser be told to use nothing else (RFC 6797,
            section 7.2).
    """
    can_mint = item is not None and item.issued < item.ceiling
    if item and layouts and item.epoch > layouts[-1].epoch:
        layouts = []  # the present one isn't recorded yet, and the past ones would contradict what is minted now
    data = {
        "counter": counter,
        "region": region,
        "layouts": [layout._asdict() for layout in layouts],
        "colours": {name: colour_of(name) for name in {region}.union(*(layout.regions for layout in layouts))},
        "next": item.issued + item.stride if item and can_mint else None,
        "exists": item is not None,
        "instead": [] if can_mint else regions_instead(item),
        "open": open_counters,
    }
    # Only "<" can begin the end of a script (HTML, "Restrictions for contents of script elements").
    script = json.dumps(data).replace("<", "\\u003c")
    parts = {"TITLE": "Global integers", "DATA": script}
    return html_response("page.html", parts, https=https, connect_src="'self'")
