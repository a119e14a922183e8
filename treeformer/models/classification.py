"""The head of every classifier: one linear layer over the states of an encoder."""

from __future__ import annotations

from torch import Tensor, nn

from treeformer.models.outputs import ClassificationOutput, EncoderOutput
from treeformer.models.pretrained import PreTrained, cross_entropy


class SequenceClassifier(PreTrained):
    """An encoder and a linear layer; a system says which state stands for the sentence."""

    def add_head(self, encoder: nn.Module) -> None:
        """Finish the construction of a model with this encoder."""
        self.encoder = encoder
        self.classifier = nn.Linear(self.config.d_model, self.config.num_labels)  # type: ignore[arg-type]
        self.post_init()

    def output(
        self, encoded: EncoderOutput, logits: Tensor, loss: Tensor | None, **more: Tensor
    ) -> ClassificationOutput:
        """What a classifier returns, with what its encoder did."""
        return ClassificationOutput(
            loss=loss,
            logits=logits,
            hidden_states=encoded.hidden_states,
            attentions=encoded.attentions,
            leaf_weights=encoded.leaf_weights,
            **more,
        )


def sentence_loss(logits: Tensor, labels: Tensor | None) -> Tensor | None:
    """Mean cross-entropy of ``logits [B, classes]``, None without labels."""
    if labels is None:
        return None
    if labels.shape != logits.shape[:1]:
        raise ValueError(f"labels: expected a shape {[logits.shape[0]]}, got {list(labels.shape)}")
    return cross_entropy(logits, labels)
