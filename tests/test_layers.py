"""Holds the source tree to the layers of the design: who may import whom, and who may touch clock, disk and network.

    L4  cli
    L3  run  sim  testing  accuracy  describe
    L2  config  datasets  tokens  records  report  results  sweep  rules.load
    L1  wire  load  metrics  chart  curve  rules  power       pure
    L0  model                                               pure

`find_breaches` works on source texts by path, so that the rules themselves are tested with small injected breaches.
`python tests/test_layers.py` prints the modules that are over the soft limit of lines.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

ROOT = "wholecurve"
SOURCE = Path(__file__).resolve().parents[1] / "src" / ROOT

LAYERS = {
    "model": 0,
    "wire": 1,
    "curve": 1,
    "load": 1,
    "metrics": 1,
    "chart": 1,
    "power": 1,
    "rules": 1,
    "rules.load": 2,  # a module with a layer of its own: the rest of its package is pure, and this one reads files
    "config": 2,
    "datasets": 2,
    "tokens": 2,
    "records": 2,
    "report": 2,
    "results": 2,
    "sweep": 2,
    "run": 3,
    "sim": 3,
    "testing": 3,
    "accuracy": 3,
    "describe": 3,
    "cli": 4,
}
PURE = 1  # layers up to this one touch neither clock nor disk nor network
TOP = 4  # the layer of modules that lie directly in the root, but for its __init__
HARD_LINES = 600
SOFT_LINES = 300
VAGUE_NAMES = frozenset({"utils", "util", "common", "helpers", "base"})

IMPURE_MODULES = frozenset(
    {
        "asyncio",
        "concurrent",
        "ctypes",
        "fcntl",
        "fileinput",
        "ftplib",
        "getpass",
        "glob",
        "http",
        "httpx",
        "logging",
        "mmap",
        "multiprocessing",
        "os",
        "pathlib",
        "requests",
        "resource",
        "sched",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "socketserver",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib.request",
        "uuid",
    }
)
IMPURE_BUILTINS = frozenset({"open", "print", "input", "breakpoint"})
STREAMS = frozenset({"stdin", "stdout", "stderr"})
SEEDED_NUMPY = frozenset({"BitGenerator", "Generator", "MT19937", "PCG64", "Philox", "SeedSequence", "default_rng"})
TIME_READERS = frozenset(
    {
        "clock_gettime",
        "clock_gettime_ns",
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "process_time",
        "process_time_ns",
        "thread_time",
        "thread_time_ns",
        "time",
        "time_ns",
    }
)
WALL_READERS = frozenset({"now", "utcnow", "today"})
CLOCK = "run/clock.py"


@dataclass(frozen=True, slots=True)
class Breach:
    """One broken rule: where (path from the root, line), which rule, and what was found."""

    path: str
    line: int
    rule: str
    found: str

    def __str__(self) -> str:
        return f"src/{ROOT}/{self.path}:{self.line}: {self.rule}: {self.found}"


def find_breaches(sources: Mapping[str, str]) -> list[Breach]:
    """All breaches in a tree given as path (from the root package, with slashes) to source text."""
    breaches: list[Breach] = []
    for path, text in sorted(sources.items()):
        tree = ast.parse(text, path)
        layer = _layer(path)
        if layer is None:
            breaches.append(Breach(path, 1, "unknown package", "give it a layer in LAYERS and in the design"))
            continue
        breaches += _imports(path, layer, tree, sources)
        if layer <= PURE:
            breaches += _impurities(path, tree)
        if path.startswith("run/") and path != CLOCK:
            breaches += _clock_readings(path, tree)
        breaches += _shape(path, text)
    breaches += _exports(sources)
    return breaches


def _layer(path: str) -> int | None:
    unit = _unit(path)
    if unit is not None:
        return LAYERS.get(unit)
    return 0 if path == "__init__.py" else TOP


def _unit(path: str) -> str | None:
    """What has the layer: the package, or a module of it that has its own. None for modules in the root."""
    package, _, rest = path.partition("/")
    if not rest:
        return None
    module = f"{package}.{rest.split('/')[0].removesuffix('.py')}"
    return module if module in LAYERS else package


def _imported(path: str, tree: ast.AST) -> Iterator[tuple[int, str, str | None]]:
    """Every import as (line, module, name or None), relative ones made absolute."""
    package = [ROOT, *path.split("/")[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, None
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, module, alias.name


def _imports(path: str, layer: int, tree: ast.AST, sources: Mapping[str, str]) -> Iterator[Breach]:
    own = _unit(path) or path
    for line, module, name in _imported(path, tree):
        parts = module.split(".")
        if parts[0] != ROOT:
            continue
        if len(parts) == 1:  # from wholecurve import X: a package, or something of the root's own
            if name is None or name not in LAYERS:
                continue
            parts, name = [ROOT, name], None
        package = parts[1]
        module_unit = f"{package}.{parts[2] if len(parts) > 2 else name}"
        if module_unit in LAYERS:
            package, parts, name = module_unit, [ROOT, module_unit], None
        target = LAYERS.get(package, TOP)
        what = f"{module} ({name})" if name else ".".join(parts)
        if target > layer:
            yield Breach(path, line, "imports upwards", what)
        elif target == layer and package != own and package in LAYERS:
            inside = len(parts) > 2 or (name is not None and _is_hidden_module(package, name, sources))
            if inside:
                yield Breach(path, line, "reaches inside a package of its own layer", what)


def _is_hidden_module(package: str, name: str, sources: Mapping[str, str]) -> bool:
    is_module = f"{package}/{name}.py" in sources or f"{package}/{name}/__init__.py" in sources
    return is_module and name not in (_all_names(sources.get(f"{package}/__init__.py", "")) or ())


def _impurities(path: str, tree: ast.AST) -> Iterator[Breach]:
    for line, module, name in _imported(path, tree):
        whole = {module, module.split(".")[0], f"{module}.{name}"}
        if whole & IMPURE_MODULES:
            yield Breach(path, line, "pure layer imports I/O", f"{module}.{name}" if name else module)
        if module == "random" and name not in (None, "Random"):
            yield Breach(path, line, "pure layer uses unseeded randomness", f"random.{name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in IMPURE_BUILTINS:
            yield Breach(path, node.lineno, "pure layer does I/O", node.id)
        elif isinstance(node, ast.Attribute):
            yield from _impure_attribute(path, node)
        elif isinstance(node, ast.Call) and _ends_with(node.func, "default_rng") and not (node.args or node.keywords):
            yield Breach(path, node.lineno, "pure layer uses unseeded randomness", "default_rng()")


def _impure_attribute(path: str, node: ast.Attribute) -> Iterator[Breach]:
    owner = ast.unparse(node.value)
    full = f"{owner}.{node.attr}"
    if (owner == "random" and node.attr != "Random") or (
        owner in ("np.random", "numpy.random") and node.attr not in SEEDED_NUMPY
    ):
        yield Breach(path, node.lineno, "pure layer uses unseeded randomness", full)
    elif (owner == "sys" and node.attr in STREAMS) or full in ("io.open", "io.FileIO"):
        yield Breach(path, node.lineno, "pure layer does I/O", full)
    elif node.attr in WALL_READERS and owner in ("datetime", "datetime.datetime", "date", "datetime.date"):
        yield Breach(path, node.lineno, "pure layer reads a clock", full)


def _clock_readings(path: str, tree: ast.AST) -> Iterator[Breach]:
    aliases = {"time"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname for alias in node.names if alias.name == "time" and alias.asname}
    for line, module, name in _imported(path, tree):
        if module == "time" and (name in TIME_READERS or name == "*"):
            yield Breach(path, line, f"only {CLOCK} reads time", f"time.{name}")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        owner = ast.unparse(node.value)
        wall = node.attr in WALL_READERS and owner in ("datetime", "datetime.datetime")
        if wall or (owner in aliases and node.attr in TIME_READERS):
            yield Breach(path, node.lineno, f"only {CLOCK} reads time", f"{owner}.{node.attr}")


def _ends_with(node: ast.AST, name: str) -> bool:
    return (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)


def _shape(path: str, text: str) -> Iterator[Breach]:
    lines = text.count("\n") + (not text.endswith("\n"))
    if lines > HARD_LINES:
        yield Breach(path, lines, f"module over {HARD_LINES} lines", str(lines))
    names = [*path.split("/")[:-1], PurePosixPath(path).stem]
    for name in names:
        if name in VAGUE_NAMES:
            yield Breach(path, 1, "name says nothing", name)


def _exports(sources: Mapping[str, str]) -> Iterator[Breach]:
    packages = sorted({path.rsplit("/", 1)[0] for path in sources if "/" in path})
    for package in packages:
        init = f"{package}/__init__.py"
        if init not in sources:
            yield Breach(init, 1, "package without __init__", package)
            continue
        names = _all_names(sources[init])
        if names is None:
            yield Breach(init, 1, "no literal __all__", package)
        elif list(names) not in (sorted(names), sorted(names, key=_export_order)):
            yield Breach(init, 1, "__all__ is not sorted", ", ".join(names))


def _export_order(name: str) -> tuple[int, str]:
    """The linter's order of exports: constants, then classes, then functions, each by name."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def _all_names(text: str) -> tuple[str, ...] | None:
    for node in ast.parse(text).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = node.value  # type: ignore[union-attr]
            if isinstance(value, ast.List | ast.Tuple):
                items = [item.value for item in value.elts if isinstance(item, ast.Constant)]
                if len(items) == len(value.elts) and all(isinstance(item, str) for item in items):
                    return tuple(str(item) for item in items)
    return None


def read_tree(root: Path = SOURCE) -> dict[str, str]:
    """The package's sources by path from its root."""
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in sorted(root.rglob("*.py"))}


def long_modules(sources: Mapping[str, str]) -> list[tuple[int, str]]:
    """Modules over the soft limit, longest first."""
    sizes = [(text.count("\n"), path) for path, text in sources.items()]
    return sorted((size for size in sizes if size[0] > SOFT_LINES), reverse=True)


# The tree itself.


def test_the_source_tree_keeps_the_layers() -> None:
    sources = read_tree()
    assert "model/record.py" in sources, "the walk found no source; the test would pass on nothing"
    breaches = find_breaches(sources)
    assert not breaches, "\n" + "\n".join(map(str, breaches))


def test_every_layer_of_the_table_exists() -> None:
    tree = read_tree()
    packages = {path.split("/")[0] for path in tree if "/" in path}
    assert packages == {name for name in LAYERS if "." not in name}
    modules = {name.replace(".", "/") for name in LAYERS if "." in name}
    assert all(f"{name}.py" in tree or f"{name}/__init__.py" in tree for name in modules)


# The rules, by small breaches.

INIT = '__all__ = ["A"]\n'
FINE = {
    "model/__init__.py": INIT,
    "metrics/__init__.py": "from wholecurve.metrics.latency import A\n" + INIT,
    "metrics/latency.py": "A = 1\n",
    "wire/__init__.py": INIT,
    "rules/__init__.py": INIT,
    "run/__init__.py": INIT,
    "cli/__init__.py": INIT,
}

BREACHES = [
    ("model/x.py", "from wholecurve.metrics import A", "imports upwards"),
    ("metrics/x.py", "import wholecurve.run.clock", "imports upwards"),
    ("metrics/x.py", "from wholecurve import cli", "imports upwards"),
    ("metrics/x.py", "from ..run import A", "imports upwards"),
    ("metrics/x.py", "def f():\n    from wholecurve.run import A", "imports upwards"),
    ("run/x.py", "from wholecurve.cli import A", "imports upwards"),
    ("rules/x.py", "from wholecurve.rules.load import A", "imports upwards"),
    ("metrics/x.py", "from wholecurve.rules import load", "imports upwards"),
    ("metrics/x.py", "import wholecurve.rules.load", "imports upwards"),
    ("rules/x.py", "from pathlib import Path", "pure layer imports I/O"),
    ("wire/x.py", "from wholecurve.rules.regions import A", "reaches inside a package of its own layer"),
    ("run/x.py", "from wholecurve.__main__ import A", "imports upwards"),
    ("wire/x.py", "from wholecurve.metrics.latency import A", "reaches inside a package of its own layer"),
    ("wire/x.py", "import wholecurve.metrics.latency", "reaches inside a package of its own layer"),
    ("wire/x.py", "from wholecurve.metrics import latency", "reaches inside a package of its own layer"),
    ("wire/x.py", "from ..metrics.latency import A", "reaches inside a package of its own layer"),
    ("wire/x.py", "import socket", "pure layer imports I/O"),
    ("wire/x.py", "import asyncio.subprocess", "pure layer imports I/O"),
    ("wire/x.py", "from time import sleep", "pure layer imports I/O"),
    ("wire/x.py", "import os.path", "pure layer imports I/O"),
    ("model/x.py", "from pathlib import Path", "pure layer imports I/O"),
    ("model/x.py", "import logging", "pure layer imports I/O"),
    ("wire/x.py", "from urllib import request", "pure layer imports I/O"),
    ("wire/x.py", "x = open('f')", "pure layer does I/O"),
    ("wire/x.py", "print(1)", "pure layer does I/O"),
    ("wire/x.py", "say = print", "pure layer does I/O"),
    ("wire/x.py", "import sys\nsys.stderr.write('')", "pure layer does I/O"),
    ("wire/x.py", "import random\nx = random.random()", "pure layer uses unseeded randomness"),
    ("wire/x.py", "from random import choice", "pure layer uses unseeded randomness"),
    ("wire/x.py", "import numpy as np\nx = np.random.rand(3)", "pure layer uses unseeded randomness"),
    ("wire/x.py", "from numpy.random import default_rng\nx = default_rng()", "pure layer uses unseeded randomness"),
    ("wire/x.py", "from datetime import datetime\nx = datetime.now()", "pure layer reads a clock"),
    ("run/x.py", "import time\nx = time.monotonic_ns()", "only run/clock.py reads time"),
    ("run/x.py", "import time as t\nread = t.perf_counter", "only run/clock.py reads time"),
    ("run/x.py", "from time import time_ns", "only run/clock.py reads time"),
    ("run/x.py", "import datetime\nx = datetime.datetime.now()", "only run/clock.py reads time"),
    ("wire/x.py", "pass\n" * 601, "module over 600 lines"),
    ("wire/utils/__init__.py", INIT, "name says nothing"),
    ("wire/helpers.py", "", "name says nothing"),
    ("chart/x.py", "", "package without __init__"),
    ("chart/__init__.py", "", "no literal __all__"),
    ("chart/__init__.py", '__all__ = ["b", "a"]', "__all__ is not sorted"),
    ("other/__init__.py", INIT, "unknown package"),
]

ALLOWED = [
    ("wire/x.py", "from wholecurve.metrics import A"),
    ("wire/x.py", "from wholecurve.model.record import Outcome"),
    ("wire/x.py", "from wholecurve.wire.http1 import A"),
    ("run/x.py", "from wholecurve.metrics.latency import A"),
    ("config/x.py", "from wholecurve.rules.load import A"),
    ("rules/load.py", "from pathlib import Path\nfrom wholecurve.rules.regions import A"),
    ("run/clock.py", "import time\nx = time.monotonic_ns()"),
    ("run/x.py", "import time\ntime.sleep(0)"),
    ("sim/x.py", "import time\nx = time.monotonic_ns()"),
    ("cli/x.py", "from wholecurve.run.engine import A\nprint(A)"),
    ("wire/x.py", "from random import Random\nx = Random(1).random()"),
    ("wire/x.py", "import numpy as np\nx = np.random.default_rng(3)"),
    ("wire/x.py", "pass\n" * 600),
    ("chart/__init__.py", '__all__ = ["LIMIT", "Axis", "scale"]'),
    ("__main__.py", "from wholecurve.cli import A"),
]


@pytest.mark.parametrize(("path", "text", "rule"), BREACHES)
def test_an_injected_breach_is_found(path: str, text: str, rule: str) -> None:
    found = [
        breach for breach in find_breaches({**FINE, path: text}) if breach.path == path or "__init__" in breach.path
    ]
    assert [breach.rule for breach in found] == [rule]


@pytest.mark.parametrize(("path", "text"), ALLOWED)
def test_what_is_allowed_is_not_reported(path: str, text: str) -> None:
    package = path.split("/")[0]
    own = {} if path.endswith("__init__.py") or "/" not in path else {f"{package}/__init__.py": INIT}
    assert find_breaches({**FINE, **({} if f"{package}/__init__.py" in FINE else own), path: text}) == []


def test_a_breach_names_file_line_and_rule() -> None:
    (breach,) = find_breaches({**FINE, "wire/x.py": "\n\nimport socket\n"})
    assert str(breach) == "src/wholecurve/wire/x.py:3: pure layer imports I/O: socket"


def test_long_modules_are_listed_longest_first() -> None:
    sizes = {"a.py": "x\n" * 301, "b.py": "x\n" * 300, "c.py": "x\n" * 400}
    assert long_modules(sizes) == [(400, "c.py"), (301, "a.py")]


if __name__ == "__main__":
    for count, name in long_modules(read_tree()):
        print(f"note: src/{ROOT}/{name} has {count} lines (soft limit {SOFT_LINES})")
