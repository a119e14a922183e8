"""Makes our models known to transformers as soon as both packages are imported, in either order."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_LIBRARY, _MODELS = "transformers", "treeformer.models"


def register_with_transformers() -> None:
    """Import our models, which register themselves, now or right after transformers is imported."""
    if _LIBRARY in sys.modules:
        _import_models()
    else:
        sys.meta_path.insert(0, _AfterImport())


class _AfterImport(MetaPathFinder):
    """Finds transformers where Python does, and imports our models after it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _LIBRARY:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                _import_models()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _import_models() -> None:
    """Import our models, unless an import of them is what imports transformers."""
    if _MODELS in sys.modules:
        return
    try:
        import_module(_MODELS)
    except Exception as error:  # an import of transformers must not fail because of us
        warnings.warn(f"transformers does not know the models of treeformer: {error}", stacklevel=2)
