// Trees as the page holds them, read from brackets and written back.
//
// A tree has leaves {tag, raw, text} and nodes {label, start, end, parent, children} in post-order, as the
// library has them. `raw` is the word as brackets spell it, `text` as people read it. Parts are numbered: first
// the words, then the nodes.

const TOKEN = /[()]|[^ \t\r\n()]+/g;

/** Whether a text is meant as a tree, and does not only begin with a bracket: "(Not bad.) I liked it." */
export const isTree = (text) => /^\(\s*[^\s()]*\s*\(/.test(text) || /^\(\s*[^\s()a-z]+\s+[^\s()]+\s*\)$/.test(text);

/** The word that brackets mean by `raw`. */
export function decoded(raw) {
  return raw.replace(/\\*-(?:LRB|RRB)-/g, (found) => {
    const slashes = found.indexOf("-");
    const half = "\\".repeat(Math.floor(slashes / 2));
    const code = found.slice(slashes);
    return half + (slashes % 2 ? code : code === "-LRB-" ? "(" : ")");
  });
}

/** The nested form of brackets: {label, children} for nodes, {tag, raw} for leaves. */
export function readNested(text) {
  const stack = [{ children: [] }];
  const tokens = text.match(TOKEN) ?? [];
  for (let at = 0; at < tokens.length; at++) {
    if (tokens[at] === "(") {
      const named = tokens[at + 1] !== "(";
      stack.push({ label: named ? tokens[++at] : "ROOT", children: [] });
    } else if (tokens[at] === ")") {
      const done = stack.pop();
      const leaf = done.raw !== undefined;
      stack.at(-1).children.push(leaf ? { tag: done.label, raw: done.raw } : done);
    } else {
      stack.at(-1).raw = tokens[at];
    }
  }
  return stack[0].children[0];
}

/** Brackets of a nested tree. */
export function written(nested) {
  if (nested.raw !== undefined) return `(${nested.tag} ${nested.raw})`;
  return `(${nested.label} ${nested.children.map(written).join(" ")})`;
}

/** The flat form of a nested tree; every nested part gets its number as `part`. */
export function flattened(nested) {
  const leaves = [];
  const nodes = [];
  const visit = (own) => {
    if (own.raw !== undefined) {
      leaves.push({ tag: own.tag, raw: own.raw, text: decoded(own.raw), nested: own, parent: -1 });
      return { leaf: leaves.length - 1 };
    }
    const start = leaves.length;
    const children = own.children.map(visit);
    nodes.push({ label: own.label, start, end: leaves.length, parent: -1, children, nested: own });
    const node = nodes.length - 1;
    for (const child of children) (child.leaf === undefined ? nodes[child.node] : leaves[child.leaf]).parent = node;
    return { node };
  };
  visit(nested);
  return { leaves, nodes };
}

export const readTree = (text) => flattened(readNested(text));

export const partCount = (tree) => tree.leaves.length + tree.nodes.length;

export const isWord = (tree, part) => part < tree.leaves.length;

/** The node or leaf of a part. */
export const partOf = (tree, part) =>
  isWord(tree, part) ? tree.leaves[part] : tree.nodes[part - tree.leaves.length];

/** The half-open span of words of a part. */
export function spanOf(tree, part) {
  if (isWord(tree, part)) return [part, part + 1];
  const { start, end } = partOf(tree, part);
  return [start, end];
}

export const textOf = (tree, part) =>
  tree.leaves.slice(...spanOf(tree, part)).map((leaf) => leaf.text).join(" ");

/** The part above a part, or -1. */
export function parentOf(tree, part) {
  const { parent } = partOf(tree, part);
  return parent < 0 ? -1 : tree.leaves.length + parent;
}

/** The parts right under a part, from left to right. */
export function childrenOf(tree, part) {
  if (isWord(tree, part)) return [];
  return partOf(tree, part).children.map(({ leaf, node }) => leaf ?? tree.leaves.length + node);
}
