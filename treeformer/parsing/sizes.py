"""Sizes of the parser's network, and the shapes of its weights. Nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass

from treeformer.parsing.lexicon import SHAPES


@dataclass(frozen=True)
class NetworkSizes:
    """Numbers of embeddings, and widths and numbers of layers."""

    words: int
    buckets: int
    labels: int
    tags: int
    word_width: int = 96
    width: int = 256
    layers: int = 4
    heads: int = 4
    inner: int = 512
    span_width: int = 192
    distances: int = 32

    def check(self) -> None:
        """Raise ``ValueError`` for sizes that no network has."""
        for name, size in vars(self).items():
            if size < 1:
                raise ValueError(f"{name}: expected at least 1, got {size}")
        if self.width % self.heads or self.width % 2:
            raise ValueError(f"width: expected an even multiple of heads {self.heads}, got {self.width}")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights by name, as in the state of `ParserNetwork`."""
        d = self.width
        shapes: dict[str, tuple[int, ...]] = {
            "marks": (2, d),
            "bracket": (self.span_width + 1, self.span_width + 1),
            "word.weight": (self.words + 1, self.word_width),
            "piece.weight": (self.buckets + 1, self.word_width),
            "shape.weight": (SHAPES, self.word_width),
            "distance.weight": (2 * self.distances, self.heads),
            **_norm("encoder.last_norm", d),
        }
        linear = {
            "input": (d, 2 * self.word_width),
            "left.0": (self.span_width, d),
            "right.0": (self.span_width, d),
            "label.0": (d, 2 * d),
            "label.3": (self.labels, d),
            "tag": (self.tags, d),
        }
        for layer in (f"encoder.layers.{number}" for number in range(self.layers)):
            linear[f"{layer}.attention.input"] = (3 * d, d)
            linear[f"{layer}.attention.output"] = (d, d)
            linear[f"{layer}.feed_forward.inner"] = (self.inner, d)
            linear[f"{layer}.feed_forward.outer"] = (d, self.inner)
            shapes |= _norm(f"{layer}.attention_residual.norm", d)
            shapes |= _norm(f"{layer}.feed_forward_residual.norm", d)
        for name, (rows, columns) in linear.items():
            shapes |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
        return shapes


def _norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}
