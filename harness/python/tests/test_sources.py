"""The Python that is installed or run from here: short, documented, for Python 3.9, and without dependencies."""

import ast
import sys

import pytest
from conftest import PACKAGE, ROOT

MODULES = sorted((PACKAGE / "specimen").glob("*.py"))
SOURCES = [*MODULES, *sorted((PACKAGE / "tests").glob("*.py")), *sorted(ROOT.glob("experiments/external/*.py")),
           *sorted(ROOT.glob("scripts/*.py"))]
MAX_LINES, MAX_FUNCTION = 600, 80
#: For type checkers only; nothing imports it at run time.
TYPING_ONLY = {"typing_extensions"}


def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_source_is_short_and_says_what_it_is_for(path):
    text, tree = path.read_text(encoding="utf-8"), parsed(path)
    assert len(text.splitlines()) <= MAX_LINES
    assert ast.get_docstring(tree)
    for function in functions(tree):
        assert function.end_lineno - function.lineno < MAX_FUNCTION, function.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_is_typed_and_documented(path):
    tree = parsed(path)
    public = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    for node in public:
        assert node.name.startswith("_") or ast.get_docstring(node), node.name
    for function in functions(tree):
        arguments = [*function.args.args, *function.args.kwonlyargs, *filter(None, [function.args.kwarg])]
        untyped = [a.arg for a in arguments if a.annotation is None and a.arg != "self"]
        assert not untyped and function.returns is not None, (function.name, untyped)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_needs_the_standard_library_only(path):
    if sys.version_info < (3, 10):
        pytest.skip("Python 3.10, which can list its standard library")
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(node.module.split(".")[0])
    assert found - {"specimen"} - TYPING_ONLY <= set(sys.stdlib_module_names)


def test_everything_that_is_exported_is_there():
    import specimen

    assert len(set(specimen.__all__)) == len(specimen.__all__) > 10
    for name in specimen.__all__:
        assert getattr(specimen, name).__doc__, name
