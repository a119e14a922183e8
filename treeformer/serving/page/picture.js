// A tree drawn as SVG. All styles are attributes, so that a saved picture looks the same. The style sheet of the
// page only changes colours in dark mode.

import { childrenOf, isWord, parentOf, partCount, partOf, textOf } from "./brackets.js";
import { layOut, SIZES } from "./layout.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'Noto Sans', sans-serif";
const REACH = 10;

export function svgElement(name, attributes = {}, ...children) {
  const created = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

const fixed = (number) => number.toFixed(1);

/**
 * A drawn tree: {group, layout, parts, links}.
 *
 * styles: {colour, mark, description} of each part, all of them optional; kind and room: see `layOut`.
 */
export function drawTree(tree, styles, kind, room) {
  const words = tree.leaves.length;
  const labels = tree.nodes.map((node, index) => {
    const { mark } = styles[words + index] ?? {};
    return mark ? `${node.label} ${mark}` : node.label;
  });
  const layout = layOut(tree, labels, kind, room);
  const edges = svgElement("g", { class: "edges", "aria-hidden": "true" });
  const links = svgElement("g", { class: "links", "aria-hidden": "true", fill: "none" });
  const parts = [];
  for (let part = 0; part < partCount(tree); part++) {
    if (part > 0 || partCount(tree) > 1) edges.append(...edgesUnder(tree, layout, part));
    parts.push(isWord(tree, part) ? drawWord(tree, layout, part, styles[part]) : drawNode(tree, layout, part, labels[part - words], styles[part]));
  }
  const group = svgElement("g", { role: "none", "font-family": FONT, "text-anchor": "middle" }, edges, links, ...parts);
  return { group, layout, parts, links };
}

/** The middle and the width of a part. */
export const placeOf = (tree, layout, part) =>
  isWord(tree, part) ? layout.words[part] : layout.nodes[part - tree.leaves.length];

function drawNode(tree, layout, part, label, style = {}) {
  const place = placeOf(tree, layout, part);
  const text = svgElement(
    "text",
    {
      class: style.colour ? "label on-colour" : "label",
      x: fixed(place.x),
      y: fixed(place.y + 4.6),
      "font-size": SIZES.label,
      "font-weight": 600,
      fill: style.colour ? "#1b1f24" : "#0b4a8f",
    },
    label,
  );
  return drawPart(tree, part, style, [pill(place, style.colour), text]);
}

function drawWord(tree, layout, part, style = {}) {
  const leaf = tree.leaves[part];
  const place = layout.words[part];
  const tag = layout.tags[part];
  return drawPart(tree, part, style, [
    svgElement(
      "text",
      { class: "tag", x: fixed(tag.x), y: fixed(tag.y + 4), "font-size": SIZES.tag, fill: "#57606a" },
      leaf.tag,
    ),
    pill(place, style.colour),
    svgElement(
      "text",
      {
        class: style.colour ? "word on-colour" : "word",
        x: fixed(place.x),
        y: fixed(place.y + 5.5),
        "font-size": SIZES.word,
        fill: "#1b1f24",
      },
      leaf.text,
    ),
  ]);
}

function drawPart(tree, part, style, content) {
  const kind = isWord(tree, part) ? "word" : "node";
  const { label, tag, text } = partOf(tree, part);
  const name = kind === "word" ? `word ${text}, ${tag}` : `${label}: ${textOf(tree, part)}`;
  let level = 1;
  for (let above = parentOf(tree, part); above >= 0; above = parentOf(tree, above)) level++;
  return svgElement(
    "g",
    {
      class: `part ${kind}-part`,
      role: "treeitem",
      "aria-level": level,
      "aria-selected": "false",
      "aria-label": style.description ? `${name}; ${style.description}` : name,
      "data-part": part,
      tabindex: -1,
    },
    ...content,
  );
}

function pill(place, colour) {
  return svgElement("rect", {
    class: "pill",
    x: fixed(place.x - place.width / 2 - 5),
    y: fixed(place.y - REACH),
    width: fixed(place.width + 10),
    height: 2 * REACH,
    rx: 6,
    fill: colour ?? "transparent",
  });
}

/** Lines from a part to its children: first away from the part, then to the child; in an outline first down. */
function edgesUnder(tree, layout, part) {
  return childrenOf(tree, part).map((child) => {
    const from = placeOf(tree, layout, part);
    const to = isWord(tree, child) ? layout.tags[child] : placeOf(tree, layout, child);
    const right = isWord(tree, child) ? to.left - 4 : to.x - to.width / 2 - 5;
    let path;
    if (layout.kind === "outline") {
      path = `M${fixed(from.x - from.width / 2 - 2)} ${fixed(from.y + REACH)}V${fixed(to.y)}H${fixed(right)}`;
    } else if (layout.kind === "sideways") {
      const left = from.x + from.width / 2 + 5;
      path = `M${fixed(left)} ${fixed(from.y)}h5V${fixed(to.y)}H${fixed(right)}`;
    } else {
      const bottom = to.y - (isWord(tree, child) ? 8 : REACH);
      path = `M${fixed(from.x)} ${fixed(from.y + REACH)}v7H${fixed(to.x)}V${fixed(bottom)}`;
    }
    return svgElement("path", { class: "edge", d: path, fill: "none", stroke: "#afb8c1", "stroke-width": 1.3, "data-below": child });
  });
}

/** A curve from one part to another; a part is linked to itself by a ring. */
export function link(tree, layout, source, target, strength, colour = "#b3380a") {
  const from = placeOf(tree, layout, source);
  const to = placeOf(tree, layout, target);
  const style = {
    class: "link",
    stroke: colour,
    "stroke-width": fixed(1 + 5 * strength),
    "stroke-opacity": (0.12 + 0.8 * strength).toFixed(3),
    "stroke-linecap": "round",
    "data-target": target,
  };
  if (source === target) {
    const ring = pill(from);
    for (const [key, value] of Object.entries({ ...style, fill: "none" })) ring.setAttribute(key, value);
    return ring;
  }
  const beside = Math.abs(from.y - to.y) < 5;
  const upright = layout.kind === "upright";
  const bend = !upright ? [40, 0] : [0, beside ? Math.min(64, 24 + Math.abs(to.x - from.x) / 6) : 0];
  const middle = [(from.x + to.x) / 2 + bend[0], (from.y + to.y) / 2 + bend[1]];
  const end = to.y + (to.y < from.y || (beside && upright) ? REACH : -REACH);
  const path = `M${fixed(from.x)} ${fixed(from.y + REACH)}Q${fixed(middle[0])} ${fixed(middle[1])} ${fixed(to.x)} ${fixed(end)}`;
  return svgElement("path", { ...style, d: path });
}
