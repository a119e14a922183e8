// The positions of the parts of a tree in three layouts: `upright` has the words in a row, `sideways` in a column, and
// every node over its words; `outline` has a row for each part, indented by depth, and fits on a phone.
//
// The rules of the first two are those of treeformer/trees/placement.py: a node is centred between its first and last
// child, one level above the highest child, and texts in a row keep a gap between them.

import { childrenOf, isWord, partCount } from "./brackets.js";

const FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'Noto Sans', sans-serif";
export const SIZES = { word: 16, tag: 11, label: 13 };
const GAP = 16;
const LEVEL = 38;
const ROW = 8;
const MARGIN = 14;
const ARCS = 28; // room for links below the words
const INDENT = { least: 5, most: 18 };
const OUTLINE_ROW = 26;

const ruler = document.createElement("canvas").getContext("2d");

/** The width of a text in pixels. */
export function widthOf(text, size, bold = false) {
  ruler.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

/**
 * Centres {x, y} and widths of words and nodes, centres of tags, and the size of the picture.
 *
 * kind: upright, sideways or outline; room: the width that an outline should not exceed.
 */
export function layOut(tree, labels, kind, room) {
  const widths = {
    words: tree.leaves.map((leaf) => widthOf(leaf.text, SIZES.word)),
    tags: tree.leaves.map((leaf) => widthOf(leaf.tag, SIZES.tag)),
    labels: labels.map((label) => widthOf(label, SIZES.label, true)),
  };
  if (kind === "outline") return outlineLayout(tree, widths, room);
  return kind === "sideways" ? sidewaysLayout(tree, widths) : uprightLayout(tree, widths);
}

function uprightLayout(tree, widths) {
  const sizes = widths.words.map((width, leaf) => Math.max(width, widths.tags[leaf], 12));
  const { leafCenters, nodeCenters, levels, extent } = placeParts(tree, sizes, widths.labels, GAP);
  const tagHeight = MARGIN + 10 + levels.at(-1) * LEVEL;
  return {
    kind: "upright",
    width: extent + 2 * MARGIN,
    height: tagHeight + 20 + 10 + MARGIN + ARCS,
    words: leafCenters.map((x, leaf) => ({ x: MARGIN + x, y: tagHeight + 20, width: widths.words[leaf] })),
    tags: leafCenters.map((x) => ({ x: MARGIN + x, y: tagHeight })),
    nodes: nodeCenters.map((x, node) => ({
      x: MARGIN + x,
      y: tagHeight - levels[node] * LEVEL,
      width: widths.labels[node],
    })),
  };
}

function sidewaysLayout(tree, widths) {
  const { leafCenters, nodeCenters, levels, extent } = placeParts(
    tree,
    widths.words.map(() => 19),
    widths.labels.map(() => 19),
    ROW,
  );
  const highest = levels.at(-1);
  const widest = new Array(highest + 1).fill(0);
  levels.forEach((level, node) => {
    widest[level] = Math.max(widest[level], widths.labels[node]);
  });
  const middles = new Array(highest + 1).fill(0);
  let right = MARGIN;
  for (let level = highest; level >= 1; level--) {
    middles[level] = right + 5 + widest[level] / 2;
    right = middles[level] + widest[level] / 2 + 15;
  }
  const tagWidth = Math.max(...widths.tags);
  const wordLeft = right + tagWidth + 14;
  return {
    kind: "sideways",
    width: wordLeft + Math.max(...widths.words) + 8 + MARGIN,
    height: extent + 2 * MARGIN,
    words: leafCenters.map((y, leaf) => ({
      x: wordLeft + widths.words[leaf] / 2,
      y: MARGIN + y,
      width: widths.words[leaf],
    })),
    tags: leafCenters.map((y) => ({ x: right + tagWidth / 2, y: MARGIN + y, left: right })),
    nodes: nodeCenters.map((y, node) => ({
      x: middles[levels[node]],
      y: MARGIN + y,
      width: widths.labels[node],
    })),
  };
}

/** Rows from the root down, each part below its parent; deep trees are indented less, so that they fit. */
function outlineLayout(tree, widths, room) {
  const rows = [];
  const waiting = [{ part: partCount(tree) - 1, depth: 0 }];
  while (waiting.length) {
    const row = waiting.pop();
    rows.push(row);
    const below = childrenOf(tree, row.part).map((part) => ({ part, depth: row.depth + 1 }));
    waiting.push(...below.reverse());
  }
  const wordWidth = (leaf) => widths.tags[leaf] + 10 + widths.words[leaf];
  const sizes = rows.map(({ part }) => (isWord(tree, part) ? wordWidth(part) : widths.labels[part - tree.leaves.length]));
  const fitting = rows.map(({ depth }, row) => (depth ? (room - 2 * MARGIN - 10 - sizes[row]) / depth : Infinity));
  const indent = Math.max(INDENT.least, Math.min(INDENT.most, ...fitting));
  const layout = { kind: "outline", width: 0, height: rows.length * OUTLINE_ROW + 2 * MARGIN, words: [], tags: [], nodes: [] };
  rows.forEach(({ part, depth }, row) => {
    const left = MARGIN + 5 + depth * indent;
    const y = MARGIN + (row + 0.5) * OUTLINE_ROW;
    layout.width = Math.max(layout.width, left + sizes[row] + 5 + MARGIN);
    if (isWord(tree, part)) {
      const start = left + widths.tags[part] + 10;
      layout.tags[part] = { x: left + widths.tags[part] / 2, y, left };
      layout.words[part] = { x: start + widths.words[part] / 2, y, width: widths.words[part] };
    } else {
      const node = part - tree.leaves.length;
      layout.nodes[node] = { x: left + sizes[row] / 2, y, width: sizes[row] };
    }
  });
  return layout;
}

/** Centres along the row of words, the level of each node (1: lowest), and the length of the row. */
function placeParts(tree, leafSizes, labelSizes, gap) {
  const widths = leafSizes.map((size) => size + gap);
  tree.nodes.forEach(({ start, end }, node) => {
    let total = 0;
    for (let leaf = start; leaf < end; leaf++) total += widths[leaf];
    const missing = labelSizes[node] + gap - total;
    if (missing > 0) for (let leaf = start; leaf < end; leaf++) widths[leaf] += missing / (end - start);
  });
  const edges = [0];
  for (const width of widths) edges.push(edges.at(-1) + width);
  const leafCenters = widths.map((width, leaf) => edges[leaf] + width / 2);
  const nodeCenters = [];
  const levels = [];
  tree.nodes.forEach(({ start, end, children }, node) => {
    const centers = children.map((child) => (child.leaf === undefined ? nodeCenters[child.node] : leafCenters[child.leaf]));
    const reach = (labelSizes[node] + gap) / 2;
    const middle = (centers[0] + centers.at(-1)) / 2;
    nodeCenters.push(Math.min(Math.max(middle, edges[start] + reach), edges[end] - reach));
    levels.push(1 + Math.max(...children.map((child) => (child.leaf === undefined ? levels[child.node] : 0))));
  });
  return { leafCenters, nodeCenters, levels, extent: edges.at(-1) };
}
