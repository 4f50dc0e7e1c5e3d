"""Print the public names of the client that is first on the import path, with the parameters of what can be called."""

import inspect
from importlib import import_module

MADE_BY_CALLERS = ("Integers", "AsyncIntegers", "Stack")

for module in ("global_integers", "global_integers.testing"):
    package = import_module(module)
    for name in package.__all__:
        what = getattr(package, name)
        print(f"{module}.{name}")
        if not inspect.isclass(what):
            continue
        for attribute in inspect.get_annotations(what):
            print(f"{module}.{name}.{attribute}")
        for member in vars(what):
            called = getattr(what, member)
            private = member.startswith("_") and not (member == "__init__" and name in MADE_BY_CALLERS)
            if private or not inspect.isroutine(called):
                continue
            print(f"{module}.{name}.{member}")
            for parameter in inspect.signature(called).parameters:
                print(f"{module}.{name}.{member}({parameter})")
