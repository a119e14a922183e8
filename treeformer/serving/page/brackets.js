// Trees on the page, read from brackets and written back.
//
// A tree has leaves {tag, raw, text} and nodes {label, start, end, parent, children} in post-order, as in the
// library. `raw` is the word as it is spelled in brackets, `text` as people read it. Parts are numbered: words
// first, then nodes.

const TOKEN = /[()]|[^ \t\r\n()]+/g;

/** Whether a text is a tree, and does not only begin with a bracket as "(Not bad.) I liked it." does. */
export const isTree = (text) => /^\(\s*[^\s()]*\s*\(/.test(text) || /^\(\s*[^\s()a-z]+\s+[^\s()]+\s*\)$/.test(text);

/** The word that `raw` stands for in brackets. */
export function unescapeBrackets(raw) {
  return raw.replace(/\\*-(?:LRB|RRB)-/g, (escape) => {
    const slashes = escape.indexOf("-");
    const half = "\\".repeat(Math.floor(slashes / 2));
    const code = escape.slice(slashes);
    return half + (slashes % 2 ? code : code === "-LRB-" ? "(" : ")");
  });
}

/** The nested form of brackets: {label, children} for nodes, {tag, raw} for leaves. */
export function parseBrackets(text) {
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
export function toBrackets(nested) {
  if (nested.raw !== undefined) return `(${nested.tag} ${nested.raw})`;
  return `(${nested.label} ${nested.children.map(toBrackets).join(" ")})`;
}

/** The flat form of a nested tree. */
export function flatten(nested) {
  const leaves = [];
  const nodes = [];
  const visit = (part) => {
    if (part.raw !== undefined) {
      leaves.push({ tag: part.tag, raw: part.raw, text: unescapeBrackets(part.raw), nested: part, parent: -1 });
      return { leaf: leaves.length - 1 };
    }
    const start = leaves.length;
    const children = part.children.map(visit);
    nodes.push({ label: part.label, start, end: leaves.length, parent: -1, children, nested: part });
    const node = nodes.length - 1;
    for (const child of children) (child.leaf === undefined ? nodes[child.node] : leaves[child.leaf]).parent = node;
    return { node };
  };
  visit(nested);
  return { leaves, nodes };
}

export const parseTree = (text) => flatten(parseBrackets(text));

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

/** A word, or the label of a node and its words. */
export const nameOf = (tree, part) =>
  isWord(tree, part) ? partOf(tree, part).text : `${partOf(tree, part).label}: ${textOf(tree, part)}`;

/** The parent of a part, or -1. */
export function parentOf(tree, part) {
  const { parent } = partOf(tree, part);
  return parent < 0 ? -1 : tree.leaves.length + parent;
}

/** The children of a part, from left to right. */
export function childrenOf(tree, part) {
  if (isWord(tree, part)) return [];
  return partOf(tree, part).children.map(({ leaf, node }) => leaf ?? tree.leaves.length + node);
}
