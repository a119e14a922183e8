"""Word vectors from a pretrained encoder, in the place of an embedding table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from treeformer.configuration import Settings
from treeformer.encoders.loading import Encoder, network_of
from treeformer.encoders.states import remove_upper_layers, word_states

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WORD_INPUTS = ("piece_ids", "piece_mask", "piece_words", "leaf_states")  #: what `PretrainedWords` reads


class PretrainedSettings(Settings):
    """The encoder of a model: ``pretrained`` in its ``config.json``."""

    name: str  #: of an installed encoder, or its folder
    sha256: str  #: see `treeformer.encoders.encoder_sha256`
    train: Literal["frozen", "all"]
    layers: tuple[int, ...] = Field(min_length=1)  #: those that are mixed; 0 stands for the embeddings
    width: int = Field(ge=1)
    config: dict[str, Any] | None = None  #: of the transformers model, if it is part of this model

    @model_validator(mode="after")
    def _config_if_trained(self) -> PretrainedSettings:
        if (self.config is None) != (self.train == "frozen"):
            raise ValueError("config: expected the config of the encoder with train: all, none with frozen")
        return self

    @classmethod
    def of(cls, encoder: Encoder, *, train: Literal["frozen", "all"], layers: tuple[int, ...]) -> Any:
        """The settings of a model over an encoder; layers above the highest that is used are left out."""
        remove_upper_layers(encoder.model, max(layers))
        config = encoder.model.config
        return cls(
            name=encoder.name,
            sha256=encoder.sha256,
            train=train,
            layers=layers,
            width=config.hidden_size,
            config=config.to_diff_dict() if train == "all" else None,
        )


class PretrainedWords(nn.Module):
    """Vectors of words: a learnt mean of some layers of an encoder, then a linear layer.

    The weights of the mean are a softmax over the layers. A frozen encoder is not part of the model: its
    states are given, or the encoder is attached with `attach`. An encoder that is trained is the submodule
    ``network``.

    Args:
        settings: the encoder.
        d_model: width of the vectors, None for that of the encoder, without a linear layer.
    """

    def __init__(self, settings: PretrainedSettings, d_model: int | None) -> None:
        super().__init__()
        self.settings = settings
        self.mix = nn.Parameter(torch.zeros(len(settings.layers)))
        self.linear = nn.Identity() if d_model is None else nn.Linear(settings.width, d_model)
        self.network: PreTrainedModel | None = None
        if settings.config is not None:
            self.network = network_of(settings.config)
        self._frozen: list[PreTrainedModel] = []  # in a list, so that it is no submodule

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.mix)

    def attach(self, encoder: Encoder) -> None:
        """Use this encoder: its weights where it is trained, else the encoder itself."""
        remove_upper_layers(encoder.model, max(self.settings.layers))
        if self.network is not None:
            self.network.load_state_dict(encoder.model.state_dict())
            return
        network = encoder.model.eval().requires_grad_(False)
        self._frozen = [network.to(self.mix.device, self.mix.dtype)]

    def _apply(self, fn: Any, recurse: bool = True) -> PretrainedWords:
        """Move an attached encoder with the model."""
        for network in self._frozen:
            network._apply(fn)
        return super()._apply(fn, recurse)

    def forward(
        self,
        words: int,
        *,
        piece_ids: Tensor | None = None,
        piece_mask: Tensor | None = None,
        piece_words: Tensor | None = None,
        leaf_states: Tensor | None = None,
    ) -> Tensor:
        """Vectors ``[B, words, d]``.

        Args:
            words: the number of words of the longest text.
            piece_ids, piece_mask, piece_words: ``[B, v, p]`` pieces of words, see `word_states`.
            leaf_states: in their place ``[B, words, L, W]``, the states that a frozen encoder gives to them.
        """
        if leaf_states is None:
            leaf_states = self._states(words, piece_ids, piece_mask, piece_words)
        expected = (words, len(self.settings.layers), self.settings.width)
        if leaf_states.shape[1:] != expected:
            raise ValueError(
                f"leaf_states: expected a shape [B, {', '.join(map(str, expected))}], "
                f"got {list(leaf_states.shape)}"
            )
        mixed = torch.einsum("l,bnlw->bnw", self.mix.softmax(0), leaf_states.to(self.mix.dtype))
        vectors: Tensor = self.linear(mixed)
        return vectors

    def _states(self, words: int, *pieces: Tensor | None) -> Tensor:
        """The states of the words, computed by the encoder."""
        piece_ids, piece_mask, piece_words = pieces
        name = self.settings.name
        if piece_ids is None or piece_mask is None or piece_words is None:
            raise ValueError(
                f"piece_ids, piece_mask, piece_words: expected those of the encoder {name}, or leaf_states"
            )
        trained = self.network is not None
        if not trained and not self._frozen:
            raise ValueError(f"leaf_states: expected a tensor, as the encoder {name} is not attached")
        network = self.network or self._frozen[0]
        with torch.set_grad_enabled(trained and torch.is_grad_enabled()):
            return word_states(network, piece_ids, piece_mask, piece_words, words, self.settings.layers)


def pretrained_words(config: Any, d_model: int | None) -> PretrainedWords | None:
    """The word vectors of a config's encoder, None if it names none."""
    if config.pretrained is None:
        return None
    return PretrainedWords(PretrainedSettings.model_validate(config.pretrained), d_model)


def pretrained_part(model: nn.Module) -> PretrainedWords | None:
    """The part of a model that gets word vectors from an encoder, None if it has a table of its own."""
    return next((module for module in model.modules() if isinstance(module, PretrainedWords)), None)
