"""Encoders without a head: states of words and phrases for networks of your own."""

from __future__ import annotations

from torch import Tensor, nn
from transformers.utils.generic import can_return_tuple

from treeformer.models.outputs import EncoderOutput
from treeformer.models.pretrained import PreTrained


class BareEncoder(PreTrained):
    """An encoder as a model of its own. It loads the encoder of any model with the same config class."""

    def add_encoder(self, encoder: nn.Module) -> None:
        """Finish the construction of a model with this encoder."""
        self.encoder = encoder
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **trees: Tensor,
    ) -> EncoderOutput:
        """States ``[B, s, d]``; for systems that read trees the s states are [leaves ; nodes].

        Args:
            input_ids, attention_mask: ``[B, n]`` tokens, and 1 for tokens or 0 for padding.
            inputs_embeds: ``[B, n, d]`` vectors of words, in place of ``input_ids``.
            trees: ``node_ids``, ``node_mask`` and ``node_spans``, see `TreeEncoder.forward`.
        """
        return self.encoder(
            input_ids,
            attention_mask,
            inputs_embeds=inputs_embeds,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            **trees,
        )
