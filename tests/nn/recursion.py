"""Tree recurrences as plain recursion over one tree, gate by gate as in their papers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from treeformer import Tree
from treeformer.nn.bilstm import WordContext
from treeformer.nn.composition import GatedCell
from treeformer.nn.tree_lstm import Binary, ChildSum

Pair = tuple[Tensor, Tensor]


def children_of(tree: Tree, node: int) -> list[tuple[str, int]]:
    """The children of a node from left to right, ("leaf", j) or ("node", i)."""
    children = [(leaf, "leaf", leaf) for leaf, parent in enumerate(tree.leaf_parents) if parent == node]
    children += [
        (tree.spans[child][0], "node", child) for child, parent in enumerate(tree.parents) if parent == node
    ]
    return [(kind, number) for _, kind, number in sorted(children)]


def nodes_of(
    tree: Tree, hidden: Tensor, cell: Tensor, composition: ChildSum | Binary
) -> tuple[Tensor, Tensor]:
    """``[m, d]`` states and cells of the nodes of one tree over those of its leaves, ``[n, d]``."""
    compose = child_sum if isinstance(composition, ChildSum) else binary
    states: dict[int, Pair] = {}

    def state(kind: str, number: int) -> Pair:
        if kind == "leaf":
            return hidden[number], cell[number]
        if number not in states:
            states[number] = compose(composition, [state(*child) for child in children_of(tree, number)])
        return states[number]

    state("node", len(tree) - 1)
    hiddens, cells = zip(*(states[node] for node in range(len(tree))), strict=True)
    return torch.stack(hiddens), torch.stack(cells)


def child_sum(composition: ChildSum, children: list[Pair]) -> Pair:
    total = sum((hidden for hidden, _ in children), torch.zeros_like(children[0][0]))
    U_i, U_o, U_u = composition.gates.weight.chunk(3)
    b_i, b_o, b_u = composition.bias.chunk(3)
    i, o = torch.sigmoid(U_i @ total + b_i), torch.sigmoid(U_o @ total + b_o)
    c = i * torch.tanh(U_u @ total + b_u)
    for hidden, cell in children:
        c = c + torch.sigmoid(composition.forget.weight @ hidden + composition.forget_bias) * cell
    return o * torch.tanh(c), c


def binary(composition: Binary, children: list[Pair]) -> Pair:
    nothing = torch.zeros_like(children[0][0])
    (h_l, c_l), (h_r, c_r) = [*children, (nothing, nothing)][:2]
    biases = [*composition.bias.chunk(3), *composition.forget_bias.chunk(2)]
    gates = []
    for matrices, bias in zip(composition.gates.weight.chunk(5), biases, strict=True):
        left, right = matrices.chunk(2, dim=1)
        gates.append(left @ h_l + right @ h_r + bias)
    i, o, u, f_l, f_r = gates
    c = i.sigmoid() * u.tanh() + f_l.sigmoid() * c_l + f_r.sigmoid() * c_r
    return o.sigmoid() * torch.tanh(c), c


def composed_nodes(tree: Tree, leaves: Tensor, labels: Tensor, cell: GatedCell) -> Tensor:
    """``[m, d]`` states of the nodes of one tree over ``leaves [n, d]``, with ``labels [m, d]``."""
    states: dict[int, Tensor] = {}

    def state(kind: str, number: int) -> Tensor:
        if kind == "leaf":
            return leaves[number]
        if number not in states:
            first, *others = [state(*child) for child in children_of(tree, number)]
            for other in others or [torch.zeros_like(first)]:
                first = gated(cell, first, other, labels[number])
            states[number] = first
        return states[number]

    state("node", len(tree) - 1)
    return torch.stack([states[node] for node in range(len(tree))])


def gated(cell: GatedCell, left: Tensor, right: Tensor, label: Tensor) -> Tensor:
    first = torch.cat([cell.children_in.weight, cell.label_in.weight], dim=1)
    inner = first @ torch.cat([left, right, label]) + cell.bias
    inner = inner * 0.5 * (1 + torch.erf(inner / 2**0.5))
    f_l, f_r, g, u = (cell.gates.weight @ inner + cell.gates.bias).chunk(4)
    mixed = f_l.sigmoid() * left + f_r.sigmoid() * right + g.sigmoid() * u
    centred = mixed - mixed.mean()
    normal = centred / (centred.square().mean() + cell.norm.eps).sqrt()
    return normal * cell.norm.weight + cell.norm.bias


def words_with_context(words: Tensor, context: WordContext) -> Tensor:
    """``[n, d]`` states of the words of one sentence with vectors ``[n, d]``, gate by gate."""
    ahead = lstm_states(words, context.lstms.forwards)
    back = lstm_states(words.flip(0), context.lstms.backwards).flip(0)
    mixed = words + torch.cat([ahead, back], dim=1)
    centred = mixed - mixed.mean(1, keepdim=True)
    normal = centred / (centred.square().mean(1, keepdim=True) + context.norm.eps).sqrt()
    return normal * context.norm.weight + context.norm.bias


def lstm_states(words: Tensor, lstm: nn.LSTM) -> Tensor:
    """``[n, d]`` states of an LSTM of torch over ``words [n, w]``."""
    hidden = cell = words.new_zeros(lstm.hidden_size)
    states = []
    for word in words:
        gates = lstm.weight_ih_l0 @ word + lstm.bias_ih_l0 + lstm.weight_hh_l0 @ hidden + lstm.bias_hh_l0
        i, f, g, o = gates.chunk(4)
        cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * cell.tanh()
        states.append(hidden)
    return torch.stack(states)
