"""The Python of the pages for callers passes mypy's strict mode, which readers may use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local.paths import ROOT
from tests.docs.pages import blocks, page
from tests.recipes.conftest import HANG

DJANGO = "from django.db import models"

SETTINGS = """
INSTALLED_APPS = ["shop"]
USE_TZ = True
"""

CONFIGURATION = """
[mypy]
strict = true
files = .
plugins = mypy_django_plugin.main
[mypy.plugins.django-stubs]
django_settings_module = shop_settings
[mypy-global_integers.*]
# as if it were installed
follow_imports = silent
"""


@pytest.mark.long
def test_strict_types_of_the_recipes_and_the_clients_page(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    (tmp_path / "shop_settings.py").write_text(SETTINGS)
    (tmp_path / "shop" / "__init__.py").touch()
    programs = {
        f"{Path(name).stem}_{number}": code
        for name in ("../README.md", "client.md", "recipes.md")
        for number, (_, code) in enumerate(blocks(page(name), "python"))
    }
    programs["telemetry"] = (ROOT / "tests" / "recipes" / "telemetry.py").read_text()
    for name, code in programs.items():
        path = tmp_path / "shop" / "models.py" if DJANGO in code else tmp_path / f"{name}.py"
        assert not path.exists()
        path.write_text(code)

    done = subprocess.run(
        [sys.executable, "-m", "mypy"],
        cwd=tmp_path,
        env={
            **os.environ,
            "GLOBAL_INTEGERS_URLS": '{"eu-west-1": "https://integers.example/"}',  # Django's plugin imports the models
            "MYPYPATH": str(ROOT / "client" / "src"),
            "PYTHONPATH": f"{tmp_path}:{ROOT / 'client' / 'src'}",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANG,
        check=False,
    )

    assert done.stdout == f"Success: no issues found in {len(programs) + 2} source files\n"
