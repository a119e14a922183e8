// Changes of a tree by hand. Each takes a flat tree and a part and returns the brackets of a new tree.

import { childrenOf, flattened, isWord, parentOf, partOf, readNested, spanOf, textOf, written } from "./brackets.js";

/** A copy that can be changed: its nested parts by number. */
function copyOf(tree) {
  const nested = readNested(written(tree.nodes.at(-1).nested));
  const flat = flattened(nested);
  return { nested, parts: [...flat.leaves, ...flat.nodes].map((own) => own.nested) };
}

/** A node can be collapsed if it is not the root. */
export const canCollapse = (tree, part) => !isWord(tree, part) && parentOf(tree, part) >= 0;

/** The tree in which the children of a node stand right under the node above it. */
export function collapsed(tree, part) {
  const { nested, parts } = copyOf(tree);
  const above = parts[parentOf(tree, part)];
  above.children.splice(above.children.indexOf(parts[part]), 1, ...parts[part].children);
  return written(nested);
}

/** The tree with another label on a node, or tag on a word. */
export function relabelled(tree, part, label) {
  const { nested, parts } = copyOf(tree);
  if (isWord(tree, part)) parts[part].tag = label;
  else parts[part].label = label;
  return written(nested);
}

/** The nodes under which a part can stand without a change in the order of words: [{part, text}]. */
export function places(tree, part) {
  const [start, end] = spanOf(tree, part);
  const home = parentOf(tree, part);
  if (home < 0) return [];
  const found = [];
  tree.nodes.forEach((node, index) => {
    const target = tree.leaves.length + index;
    const holds = node.start <= start && end <= node.end;
    if (target === home || (holds && target <= part)) return;
    if (holds) {
      const spans = childrenOf(tree, target).map((child) => spanOf(tree, child));
      const under = spans.find(([from, to]) => from <= start && end <= to);
      if (under[0] !== start && under[1] !== end) return;
    } else if (node.end !== start && node.start !== end) return;
    found.push({ part: target, text: `${node.label}: ${textOf(tree, target)}` });
  });
  return found;
}

/** The tree in which a part stands under another node, one of its `places`. */
export function moved(tree, part, target) {
  const { nested, parts } = copyOf(tree);
  const [start] = spanOf(tree, part);
  const own = parts[part];
  const to = parts[target];
  const node = partOf(tree, target);
  const holds = node.start <= start && start < node.end;
  const before = childrenOf(tree, target).filter((child) => spanOf(tree, child)[0] < start).length;
  const place = holds ? before : node.end <= start ? to.children.length : 0;
  to.children.splice(place, 0, own);
  detach(tree, parts, part, own);
  return written(nested);
}

/** Take a part from the node above it; nodes that hold nothing more go, too. */
function detach(tree, parts, part, own) {
  let child = own;
  for (let above = parentOf(tree, part); above >= 0; above = parentOf(tree, above)) {
    const siblings = parts[above].children;
    siblings.splice(siblings.indexOf(child), 1);
    if (siblings.length) return;
    child = parts[above];
  }
}
