"""Python files of users: how they are imported, and where in them an error came from."""

from __future__ import annotations

import re
import sys
import traceback
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import needs
from workload import CaseError

# Where the folders of workloads begin in `sys.path`: installed modules come first, so that
# triton.py in such a folder is not taken for Triton.
_first = len(sys.path)
_folders: list[Path] = []
"""The newest first."""


def load(folder: Path, stem: str, version: str) -> ModuleType:
    """Import a file under a name of its own, once for each version of it."""
    path = folder / f"{stem}.py"
    name = re.sub(r"\W", "_", f"{folder.name}_{stem}_{version}")
    module = sys.modules.get(name)
    if module is not None and module.__file__ == str(path):
        return module
    if not path.is_file():
        raise CaseError(f"{folder.name}/{stem}.py: no such file")
    _enter(folder)
    # Compiled here: a cached .pyc would be older than a file that was changed within the second.
    spec = spec_from_loader(name, loader=None, origin=str(path))
    assert spec is not None
    module = sys.modules[name] = module_from_spec(spec)
    module.__file__ = str(path)
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    _name_apart(folder)
    return module


# What messages of libraries do not say, by a part of them.
_HINTS = {
    "does not require grad": "in `reference` autograd is off: use torch.func.vjp, or gradients by hand"
}


def _hinted(text: str) -> str:
    hints = [f"{text} ({hint})" for part, hint in _HINTS.items() if part in text]
    return hints[0] if hints else text


def located(error: BaseException) -> str | None:
    """Return the error with its place, "softmax/reference.py:3: …", if a user's file raised it."""
    for cause in needs.causes(error):
        frames = [
            (frame.f_code.co_filename, n) for frame, n in traceback.walk_tb(cause.__traceback__)
        ]
        if isinstance(cause, SyntaxError):
            frames.append((cause.filename or "", cause.lineno or 0))
        # A compiler quotes the frames that it traced.
        frames += [
            (at[1], int(at[2])) for at in re.finditer(r'File "(.+)", line (\d+)', str(cause))
        ]
        for name, line in reversed(frames):
            path = Path(name)
            if path.parent in _folders:
                text = cause.msg if isinstance(cause, SyntaxError) else needs.first_line(cause)
                text = _hinted(text)
                return f"{path.parent.name}/{path.name}:{line}: {type(cause).__name__}: {text}"
    return None


def _name_apart(folder: Path) -> None:
    """Give what was imported from a folder names that nothing in another folder has.

    `torch.compile` finds the globals of a function by the name of its module, also once another
    folder's module stands under the name that the import has.
    """
    for name, module in list(sys.modules.items()):
        # As text: there are thousands, of which a path each took longer than all else of `load`.
        if getattr(module, "__file__", None) == f"{folder}/{name}.py" and name == module.__name__:
            module.__name__ = re.sub(r"\W", "_", f"{folder}_{name}")
            sys.modules[module.__name__] = module


def _enter(folder: Path) -> None:
    """Have imports find the files beside a described workload; drop modules of others' folders."""
    if folder in _folders:
        _folders.remove(folder)
        sys.path.remove(str(folder))
    folders = {str(entered) for entered in _folders}
    for name, module in list(sys.modules.items()):
        # Those that `load` imported have names of their own.
        parent, _, file = str(getattr(module, "__file__", None)).rpartition("/")
        if file == f"{name}.py" and parent in folders:
            del sys.modules[name]
    _folders.insert(0, folder)
    sys.path.insert(_first, str(folder))
