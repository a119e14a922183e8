"""Sizes of a tree classifier, read from its ``config.json`` without transformers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treeformer.model_folder import check_finite, check_sizes, read_config, stored_tensors, weight_files
from treeformer.parsing.onnx_layers import Weights

_ARCHITECTURE = "TreeTransformerForSequenceClassification"


class PretrainedWords(NamedTuple):
    """The frozen encoder of a model, see `treeformer.models.pretrained_words.PretrainedSettings`."""

    name: str
    sha256: str
    layers: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, content: Any) -> PretrainedWords | None:
        """The encoder of a config; None for one that was trained with the model."""
        if not isinstance(content, dict) or content.get("train") != "frozen":
            return None
        if not content.keys() >= set(cls._fields) or not isinstance(content["layers"], list):
            return None
        return cls(content["name"], content["sha256"], tuple(content["layers"]), content["width"])


_USUAL_LABELS = {"0": "LABEL_0", "1": "LABEL_1"}  # which transformers leaves out of a config


@dataclass(frozen=True)
class TreeSizes:
    """The fields of `TreeTransformerConfig` that its classifier depends on."""

    vocab_size: int
    node_vocab_size: int
    d_model: int
    ffn_dim: int
    encoder_layers: int
    attention_heads: int
    norm: str
    convention: str
    accumulate: bool
    hierarchical_embeddings: bool
    subtree_mask: bool
    vertical_rows: int
    horizontal_rows: int
    composed: bool = False  #: nodes start as states composed from their children
    pretrained: PretrainedWords | None = None  #: the encoder that gives the vectors of words

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> TreeSizes | None:
        """The sizes of a config; None for other models and for those that only torch computes."""
        names = [field.name for field in fields(cls) if field.default is MISSING]
        if config.get("architectures") != [_ARCHITECTURE] or not config.keys() >= set(names):
            return None
        nodes, words = config.get("node_inputs", "label"), config.get("pretrained")
        if config.get("leaf_inputs", "word") != "word" or nodes not in ("label", "composed"):
            return None
        pretrained = None if words is None else PretrainedWords.of(words)
        if (words is None) != (pretrained is None):
            return None
        values: dict[str, Any] = {name: config[name] for name in names}
        whole = [value for value in values.values() if isinstance(value, int)]
        is_usual = values["norm"] in ("pre", "post") and values["convention"] in ("paper", "released")
        if not is_usual or len(whole) != len(names) - 2:
            return None
        return cls(**values, composed=nodes == "composed", pretrained=pretrained)

    def shapes(self, classes: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights by name, as in the state of the model."""
        d, heads = self.d_model, self.attention_heads
        shapes: dict[str, tuple[int, ...]] = {
            "encoder.embedding.weight": (self.vocab_size + self.node_vocab_size, d)
        }
        linear, norms = {"classifier": (classes, d)}, []
        if self.composed:
            cell, inner = "encoder.composition.cell", 2 * d
            shapes |= {
                f"{cell}.bias": (inner,),
                f"{cell}.children_in.weight": (inner, 2 * d),
                f"{cell}.label_in.weight": (inner, d),
            }
            linear[f"{cell}.gates"] = (4 * d, inner)
            norms += [f"{cell}.norm"]
        if self.pretrained is not None:
            shapes["encoder.pretrained.mix"] = (len(self.pretrained.layers),)
            linear["encoder.pretrained.linear"] = (d, self.pretrained.width)
        for layer in (f"encoder.stack.layers.{number}" for number in range(self.encoder_layers)):
            linear[f"{layer}.attention.input"] = (3 * d, d)
            linear[f"{layer}.attention.output"] = (d, d)
            linear[f"{layer}.feed_forward.inner"] = (self.ffn_dim, d)
            linear[f"{layer}.feed_forward.outer"] = (d, self.ffn_dim)
            norms += [f"{layer}.attention_residual.norm", f"{layer}.feed_forward_residual.norm"]
            if self.accumulate:
                accumulation = f"{layer}.attention.accumulation"
                if self.convention == "paper":
                    shapes[f"{accumulation}.leaf_weight.weight"] = (1, d)
                else:
                    linear[f"{accumulation}.leaf_weight"] = (heads, d)
                if self.hierarchical_embeddings:
                    shapes[f"{accumulation}.vertical"] = (self.vertical_rows, d // heads // 2)
                    shapes[f"{accumulation}.horizontal"] = (self.horizontal_rows, d // heads // 2)
        norms += ["encoder.stack.last_norm"] if self.norm == "pre" else []
        for name, (rows, columns) in linear.items():
            shapes |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
        for name in norms:
            shapes |= {f"{name}.weight": (d,), f"{name}.bias": (d,)}
        return shapes


def read_tree_classifier(folder: Path, classes: int) -> tuple[TreeSizes, Weights] | None:
    """Sizes and float32 weights of the classifier in a folder; None if only torch can read or refuse it."""
    config = read_config(folder)
    sizes, files = TreeSizes.of(config), weight_files(folder)
    if sizes is None or len(files) != 1:
        return None
    labels = config.get("id2label", _USUAL_LABELS)
    if not isinstance(labels, dict) or len(labels) != classes:
        return None
    stored = stored_tensors(files)
    check_sizes(folder / "config.json", config, stored)
    if sizes.shapes(classes) != {name: tensor.shape for name, tensor in stored.items()}:
        return None
    if any(tensor.dtype not in ("F16", "F32") for tensor in stored.values()):
        return None
    from safetensors.numpy import load_file

    weights = {name: array.astype(np.float32, copy=False) for name, array in load_file(files[0]).items()}
    check_finite(files[0], weights)
    return sizes, weights
