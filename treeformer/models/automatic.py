"""Our models behind the automatic classes and pipelines of transformers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from transformers import AutoConfig, AutoTokenizer

from treeformer.data.batching import Reads
from treeformer.data.vocabulary import PAD
from treeformer.trees import Tree

if TYPE_CHECKING:
    from torch import Tensor

    from treeformer.data.processor import TreeProcessor
    from treeformer.models.configuration import SystemConfig
    from treeformer.models.pretrained import PreTrained


class TreeTokenizer:
    """A `TreeProcessor` in the place of a tokenizer, as pipelines of transformers expect it.

    >>> pipeline("text-classification", model=run)("A charming film.")  # doctest: +SKIP
    [{'label': 'very positive', 'score': 0.81}]
    """

    reads: ClassVar[Reads] = "trees"
    pad_token_id = PAD
    padding_side = "right"

    def __init__(self, processor: TreeProcessor) -> None:
        self.processor = processor

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *_: Any, **__: Any) -> TreeTokenizer:
        """The tokenizer of a run folder. What transformers passes beside it has no meaning here."""
        from treeformer.data.processor import TreeProcessor

        return cls(TreeProcessor.from_pretrained(os.fspath(folder)))

    def save_pretrained(self, folder: str | os.PathLike[str], **_: Any) -> None:
        """Write the files of the processor."""
        self.processor.save_pretrained(os.fspath(folder))

    def __call__(
        self, text: str | Tree | Iterable[str | Tree], *, return_tensors: str = "pt", **_: Any
    ) -> dict[str, Tensor]:
        """Inputs of the model for one or more texts or trees; only as torch tensors."""
        if return_tensors != "pt":
            raise ValueError(f"return_tensors: expected pt, got {return_tensors!r}")
        return self.processor([text] if isinstance(text, str | Tree) else text, reads=self.reads)


class WordTokenizer(TreeTokenizer):
    """The tokenizer of models that read words alone."""

    reads = "words"


def register_automatic(
    config_class: type[SystemConfig], reads: Reads, models: Mapping[Any, type[PreTrained] | None]
) -> None:
    """Register a config, its tokenizer, and its models by the automatic class that gives each of them."""
    AutoConfig.register(config_class.model_type, config_class, exist_ok=True)
    tokenizer = TreeTokenizer if reads == "trees" else WordTokenizer
    AutoTokenizer.register(config_class, tokenizer_class=tokenizer, exist_ok=True)
    for automatic, model_class in models.items():
        if model_class is not None:
            automatic.register(config_class, model_class, exist_ok=True)
