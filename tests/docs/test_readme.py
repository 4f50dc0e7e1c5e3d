"""The README is short, and what it shows is so."""

import re

import pytest
import yaml

from local import demo
from local.paths import ROOT

README = (ROOT / "README.md").read_text()


def test_it_has_at_most_800_words() -> None:
    assert len(README.split()) <= 800


def test_the_table_is_what_the_demo_prints_of_the_stack_dev(monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = re.findall(r"```text\n(.*?)\n```", README, re.DOTALL)
    regions = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]["global-integers:regions"]
    urls = {line.split()[0]: line.split()[-1] for line in shown.splitlines()[2:]}
    offsets = {urls[region]: offset for offset, region in enumerate(regions, 1)}
    minted: dict[str, int] = {}

    def mint(url: str, **_: str) -> int:
        minted[url] = minted.get(url, offsets[url] - len(regions)) + len(regions)
        return minted[url]

    monkeypatch.setattr(demo, "mint", mint)
    layout = {region: {"offset": offset, "stride": len(regions)} for offset, region in enumerate(regions, 1)}

    outputs = {"regions": regions, "layout": layout, "urls": urls}

    assert shown == demo.table(outputs, demo.mint_everywhere(outputs))
