// Changes of a tree by hand. Each function takes a flat tree and a part, and returns the brackets of a new tree.

import { childrenOf, flatten, isWord, parentOf, partOf, parseBrackets, spanOf, textOf, toBrackets } from "./brackets.js";

/** A copy to change: the nested tree, and its parts by number. */
function copyOf(tree) {
  const nested = parseBrackets(toBrackets(tree.nodes.at(-1).nested));
  const flat = flatten(nested);
  return { nested, parts: [...flat.leaves, ...flat.nodes].map((part) => part.nested) };
}

/** A node can be collapsed if it is not the root. */
export const canCollapse = (tree, part) => !isWord(tree, part) && parentOf(tree, part) >= 0;

/** The tree with a node replaced by its children. */
export function collapseNode(tree, part) {
  const { nested, parts } = copyOf(tree);
  const above = parts[parentOf(tree, part)];
  above.children.splice(above.children.indexOf(parts[part]), 1, ...parts[part].children);
  return toBrackets(nested);
}

/** The tree with another label on a node, or tag on a word. */
export function relabelPart(tree, part, label) {
  const { nested, parts } = copyOf(tree);
  if (isWord(tree, part)) parts[part].tag = label;
  else parts[part].label = label;
  return toBrackets(nested);
}

/** The nodes that a part can move under without changing the word order: [{part, text}]. */
export function moveTargets(tree, part) {
  const [start, end] = spanOf(tree, part);
  const home = parentOf(tree, part);
  if (home < 0) return [];
  const targets = [];
  tree.nodes.forEach((node, index) => {
    const target = tree.leaves.length + index;
    const holds = node.start <= start && end <= node.end;
    if (target === home || (holds && target <= part)) return;
    if (holds) {
      const spans = childrenOf(tree, target).map((child) => spanOf(tree, child));
      const under = spans.find(([from, to]) => from <= start && end <= to);
      if (under[0] !== start && under[1] !== end) return;
    } else if (node.end !== start && node.start !== end) return;
    targets.push({ part: target, text: `${node.label}: ${textOf(tree, target)}` });
  });
  return targets;
}

/** The tree with a part moved under another node, one of its `moveTargets`. */
export function movePart(tree, part, target) {
  const { nested, parts } = copyOf(tree);
  const [start] = spanOf(tree, part);
  const nestedPart = parts[part];
  const to = parts[target];
  const node = partOf(tree, target);
  const holds = node.start <= start && start < node.end;
  const before = childrenOf(tree, target).filter((child) => spanOf(tree, child)[0] < start).length;
  const place = holds ? before : node.end <= start ? to.children.length : 0;
  to.children.splice(place, 0, nestedPart);
  detach(tree, parts, part, nestedPart);
  return toBrackets(nested);
}

/** Remove a part from its parent; parents that become empty are removed, too. */
function detach(tree, parts, part, nestedPart) {
  let child = nestedPart;
  for (let above = parentOf(tree, part); above >= 0; above = parentOf(tree, above)) {
    const siblings = parts[above].children;
    siblings.splice(siblings.indexOf(child), 1);
    if (siblings.length) return;
    child = parts[above];
  }
}
