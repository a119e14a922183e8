"""Sizes of a tree classifier, read from its ``config.json`` without transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treeformer.model_folder import check_finite, check_sizes, read_config, stored_tensors, weight_files
from treeformer.parsing.onnx_layers import Weights


class PretrainedWords(NamedTuple):
    """The frozen encoder of a model, see `treeformer.models.pretrained_words.PretrainedSettings`."""

    name: str
    sha256: str
    layers: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, content: Any) -> PretrainedWords | None:
        """The encoder of a config; None for one that was trained with the model."""
        usual: dict[str, Callable[[Any], bool]]
        usual = {"name": _is_text, "sha256": _is_text, "width": _is_size, "layers": _are_layers}
        usual |= {"train": ("frozen",).__contains__, "config": _is_none}
        if not isinstance(content, dict) or not _is_usual(content, usual) or content.keys() < usual.keys():
            return None
        return cls(content["name"], content["sha256"], tuple(content["layers"]), content["width"])


_USUAL_LABELS = {"0": "LABEL_0", "1": "LABEL_1"}  # which transformers leaves out of a config


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_id(value: object) -> bool:
    return value == 0 or _is_size(value)


def _is_rate(value: object) -> bool:
    return isinstance(value, float) and 0 <= value < 1


def _is_none(value: object) -> bool:
    return value is None


def _are_layers(value: object) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_id, value))


def _are_labels(value: object) -> bool:
    numbers = set(map(str, range(len(value)))) if isinstance(value, dict) else None
    return isinstance(value, dict) and value.keys() == numbers and all(map(_is_text, value.values()))


def _are_numbers(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_id, value.values()))


# What `treeformer train` writes into a config. Anything else is left to torch, which reads or refuses it.
_USUAL: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("vocab_size", "node_vocab_size", "d_model", "ffn_dim", "attention_heads"), _is_size),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "vertical_rows", "horizontal_rows"), _is_size),
    **dict.fromkeys(("bos_token_id", "pad_token_id", "eos_token_id", "decoder_start_token_id"), _is_id),
    **dict.fromkeys(("accumulate", "hierarchical_embeddings", "subtree_mask"), _is_flag),
    **dict.fromkeys(("is_encoder_decoder", "use_cache"), _is_flag),
    **dict.fromkeys(("dropout", "attention_dropout"), _is_rate),
    "id2label": _are_labels,
    "label2id": _are_numbers,
    "norm": ("pre", "post").__contains__,
    "convention": ("paper", "released").__contains__,
    "node_inputs": ("label", "composed").__contains__,
    "leaf_inputs": ("word",).__contains__,
    "architectures": [["TreeTransformerForSequenceClassification"]].__contains__,
    "model_type": ("treeformer-tree-transformer",).__contains__,
    "dtype": (None, "float32").__contains__,
    "transformers_version": _is_text,
    "pretrained": lambda value: value is None or PretrainedWords.of(value) is not None,
}


def _is_usual(content: Mapping[str, Any], usual: Mapping[str, Callable[[Any], bool]]) -> bool:
    """Whether all keys are known and their values are as expected."""
    return all(key in usual and usual[key](value) for key, value in content.items())


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
        if not _is_usual(config, _USUAL) or not config.keys() >= {*names, "architectures"}:
            return None
        ids = [value for name, value in config.items() if name.endswith("_token_id")]
        if config["d_model"] % config["attention_heads"] or max(ids, default=0) >= config["vocab_size"]:
            return None
        words, composed = config.get("pretrained"), config.get("node_inputs") == "composed"
        pretrained = None if words is None else PretrainedWords.of(words)
        return cls(**{name: config[name] for name in names}, composed=composed, pretrained=pretrained)

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
