// A tree that can be moved and zoomed, with parts that the arrow keys reach.

import { childrenOf, parentOf, partCount } from "./brackets.js";
import { drawTree, svgElement } from "./picture.js";

const READABLE = 0.68;
const FITTED = 0.5; // smallest scale of a tree that was drawn to fit, when its room shrinks
const LARGEST = 4;
const SMALLEST = 0.1;

export class TreeView {
  /** container: the element around the picture; handlers: {select, point, leave}, called with parts. */
  constructor(container, title, handlers) {
    this.handlers = handlers;
    this.svg = svgElement("svg", { role: "tree", "aria-label": title, class: "tree" });
    container.append(this.svg);
    this.svg.addEventListener("pointerdown", (event) => this.#grab(event));
    this.svg.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    this.svg.addEventListener("click", (event) => this.#click(event));
    this.svg.addEventListener("pointerover", (event) => this.#point(event));
    this.svg.addEventListener("pointerleave", () => this.handlers.leave());
    this.svg.addEventListener("focusin", (event) => this.#point(event));
    this.svg.addEventListener("focusout", () => this.handlers.leave());
    new ResizeObserver(() => this.#resized()).observe(this.svg);
  }

  /** Draw a tree; kind is upright, sideways, outline, or auto for the first of them that fits. */
  show(tree, styles, kind = "auto") {
    this.tree = tree;
    this.smallest = kind === "auto" ? FITTED : READABLE;
    const kinds = kind === "auto" ? ["upright", "sideways", "outline"] : [kind];
    for (const candidate of kinds) {
      Object.assign(this, drawTree(tree, styles, candidate, this.#room()));
      if (this.#room() / this.layout.width >= READABLE) break;
    }
    this.svg.replaceChildren(this.group);
    this.current = partCount(tree) - 1;
    this.parts[this.current].setAttribute("tabindex", 0);
    this.reset();
  }

  #room() {
    return this.svg.clientWidth || 800;
  }

  /** Fit the picture to a new width, unless the user has moved it. */
  #resized() {
    if (!this.layout || this.shownIn === this.#room()) return;
    if (this.touched) this.#apply();
    else this.reset();
  }

  /** Show the tree as large as it fits, but large enough to read. */
  reset() {
    const largest = this.layout.kind === "outline" ? 1 : 1.25;
    this.#place(Math.max(this.smallest, Math.min(largest, this.#room() / this.layout.width)));
  }

  /** Show the whole tree, however small. */
  fit() {
    const height = Math.max(this.svg.clientHeight, 200);
    this.#place(Math.min(1.25, this.#room() / this.layout.width, height / this.layout.height), height);
  }

  #place(scale, height = undefined) {
    this.scale = scale;
    this.touched = false;
    const room = this.#room();
    const tall = height ?? Math.max(this.layout.height * scale, 160);
    this.svg.setAttribute("height", Math.ceil(tall));
    this.x = Math.min(0, (this.layout.width - room / scale) / 2);
    this.y = Math.min(0, (this.layout.height - tall / scale) / 2);
    this.tall = tall;
    this.#apply();
  }

  #apply() {
    this.shownIn = this.#room();
    this.svg.setAttribute("viewBox", `${this.x} ${this.y} ${this.#room() / this.scale} ${this.tall / this.scale}`);
  }

  zoom(factor, place = undefined) {
    const box = this.svg.getBoundingClientRect();
    const at = place ? { x: place.clientX - box.left, y: place.clientY - box.top } : { x: box.width / 2, y: box.height / 2 };
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    this.x += at.x / this.scale - at.x / scale;
    this.y += at.y / this.scale - at.y / scale;
    this.scale = scale;
    this.touched = true;
    this.#apply();
  }

  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 300), event);
  }

  #grab(event) {
    if (event.button !== 0) return;
    let last = event;
    this.moved = false;
    const move = (next) => {
      if (next.pointerId !== event.pointerId) return;
      if (Math.hypot(next.clientX - event.clientX, next.clientY - event.clientY) > 4) this.moved = true;
      if (this.moved) {
        this.touched = true;
        this.x -= (next.clientX - last.clientX) / this.scale;
        this.y -= (next.clientY - last.clientY) / this.scale;
        this.#apply();
      }
      last = next;
    };
    const end = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  }

  #partAt(event) {
    const group = event.target.closest?.(".part");
    return group ? Number(group.dataset.part) : undefined;
  }

  #click(event) {
    const part = this.#partAt(event);
    if (part !== undefined && !this.moved) this.choose(part);
  }

  #point(event) {
    const part = this.#partAt(event);
    if (part === undefined) this.handlers.leave();
    else this.handlers.point(part, this.parts[part]);
  }

  choose(part) {
    this.mark(part);
    this.handlers.select(part);
  }

  /** Mark the selected part; -1 marks none. */
  mark(part) {
    this.parts.forEach((group, number) => {
      group.setAttribute("aria-selected", String(number === part));
    });
    if (part >= 0) this.#move(part, false);
  }

  #move(part, focus = true) {
    this.parts[this.current].setAttribute("tabindex", -1);
    this.current = part;
    this.parts[part].setAttribute("tabindex", 0);
    if (focus) this.parts[part].focus();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = this.#neighbour(event.key);
    if (next !== undefined) this.#move(next);
    else if (event.key === "Enter" || event.key === " ") this.choose(this.current);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.reset();
    else if (event.key === "Escape") this.handlers.leave();
    else return;
    event.preventDefault();
  }

  /** The part that an arrow key moves to; where words are in a column, the arrows are rotated. */
  #neighbour(key) {
    const rotated = { ArrowLeft: "ArrowUp", ArrowRight: "ArrowDown", ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" };
    const direction = this.layout.kind !== "upright" ? (rotated[key] ?? key) : key;
    const { tree, current } = this;
    const above = parentOf(tree, current);
    const siblings = above < 0 ? [current] : childrenOf(tree, above);
    const place = siblings.indexOf(current);
    if (direction === "ArrowUp") return above < 0 ? current : above;
    if (direction === "ArrowDown") return childrenOf(tree, current)[0] ?? current;
    if (direction === "ArrowLeft") return siblings[place - 1] ?? (current > 0 && current < tree.leaves.length ? current - 1 : current);
    if (direction === "ArrowRight") return siblings[place + 1] ?? (current < tree.leaves.length - 1 ? current + 1 : current);
    if (key === "Home") return partCount(tree) - 1;
    return undefined;
  }
}
