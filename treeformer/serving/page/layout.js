// The positions of the parts of a tree: words in a row (or a column), every node over its words.
//
// The rules are those of treeformer/trees/placement.py: a node is centred between its first and last child, one
// level above the highest child, and texts in a row keep a gap between them.

const FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'Noto Sans', sans-serif";
export const SIZES = { word: 16, tag: 11, label: 13 };
const GAP = 16;
const LEVEL = 38;
const ROW = 8;
const MARGIN = 14;
const ARCS = 28; // room for links below the words

const ruler = document.createElement("canvas").getContext("2d");

/** The width of a text in pixels. */
export function widthOf(text, size, bold = false) {
  ruler.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

/** Centres {x, y} and widths of words and nodes, centres of tags, and the size of the picture. */
export function layOut(tree, labels, sideways) {
  const wordWidths = tree.leaves.map((leaf) => widthOf(leaf.text, SIZES.word));
  const tagWidths = tree.leaves.map((leaf) => widthOf(leaf.tag, SIZES.tag));
  const labelWidths = labels.map((label) => widthOf(label, SIZES.label, true));
  return sideways
    ? sidewaysLayout(tree, wordWidths, tagWidths, labelWidths)
    : uprightLayout(tree, wordWidths, tagWidths, labelWidths);
}

function uprightLayout(tree, wordWidths, tagWidths, labelWidths) {
  const sizes = wordWidths.map((width, leaf) => Math.max(width, tagWidths[leaf], 12));
  const { leafCenters, nodeCenters, levels, extent } = placeParts(tree, sizes, labelWidths, GAP);
  const tagHeight = MARGIN + 10 + levels.at(-1) * LEVEL;
  return {
    sideways: false,
    width: extent + 2 * MARGIN,
    height: tagHeight + 20 + 10 + MARGIN + ARCS,
    words: leafCenters.map((x, leaf) => ({ x: MARGIN + x, y: tagHeight + 20, width: wordWidths[leaf] })),
    tags: leafCenters.map((x) => ({ x: MARGIN + x, y: tagHeight })),
    nodes: nodeCenters.map((x, node) => ({
      x: MARGIN + x,
      y: tagHeight - levels[node] * LEVEL,
      width: labelWidths[node],
    })),
  };
}

function sidewaysLayout(tree, wordWidths, tagWidths, labelWidths) {
  const { leafCenters, nodeCenters, levels, extent } = placeParts(
    tree,
    wordWidths.map(() => 19),
    labelWidths.map(() => 19),
    ROW,
  );
  const highest = levels.at(-1);
  const widest = new Array(highest + 1).fill(0);
  levels.forEach((level, node) => {
    widest[level] = Math.max(widest[level], labelWidths[node]);
  });
  const middles = new Array(highest + 1).fill(0);
  let right = MARGIN;
  for (let level = highest; level >= 1; level--) {
    middles[level] = right + 5 + widest[level] / 2;
    right = middles[level] + widest[level] / 2 + 15;
  }
  const tagWidth = Math.max(...tagWidths);
  const wordLeft = right + tagWidth + 14;
  return {
    sideways: true,
    width: wordLeft + Math.max(...wordWidths) + 8 + MARGIN,
    height: extent + 2 * MARGIN,
    words: leafCenters.map((y, leaf) => ({
      x: wordLeft + wordWidths[leaf] / 2,
      y: MARGIN + y,
      width: wordWidths[leaf],
    })),
    tags: leafCenters.map((y) => ({ x: right + tagWidth / 2, y: MARGIN + y, left: right })),
    nodes: nodeCenters.map((y, node) => ({
      x: middles[levels[node]],
      y: MARGIN + y,
      width: labelWidths[node],
    })),
  };
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
