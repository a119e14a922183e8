// One answer with its tree: what was read, by whom, and what came out.

import { isTree, readTree, spanOf, textOf, isWord, partCount } from "./brackets.js";
import { bars, byId, made, percent } from "./page.js";
import { copyBrackets, savePng, saveSvg } from "./sharing.js";
import { TreeView } from "./view.js";

export class Pane {
  /** model: what the service says about it; select: is called with the pane and the part. */
  constructor(container, title, model, answer, layout, select) {
    this.title = title;
    this.model = model;
    this.answer = answer;
    this.tree = readTree(answer.tree);
    this.phrases = new Map(answer.phrases.map((phrase) => [phrase.span.join(), phrase]));
    this.phrases.set([0, this.tree.leaves.length].join(), answer);
    this.box = made("section", { class: "pane", "aria-label": title }, this.#head());
    container.append(this.box);
    this.view = new TreeView(this.box, `Tree of: ${isTree(answer.text) ? textOf(this.tree, partCount(this.tree) - 1) : answer.text}`, {
      select: (part) => select(this, part),
      point: (part, group) => this.#point(part, group),
      leave: () => (byId("tooltip").hidden = true),
    });
    this.view.show(this.tree, this.looks(), layout);
  }

  #head() {
    const { label, probabilities } = this.answer;
    const own = this.model.classes.find(({ name }) => name === label);
    const badge = made("strong", { class: "badge" }, label);
    badge.style.backgroundColor = own.colour;
    const button = (text, name, act) => made("button", { type: "button", "aria-label": name, title: name, onclick: act }, text);
    return made(
      "div",
      { class: "head" },
      made("h2", {}, this.title),
      made("p", { class: "verdict" }, badge, ` ${percent(Math.max(...probabilities))}`),
      bars(this.model.classes, probabilities),
      made(
        "div",
        { class: "tools", role: "group", "aria-label": `Picture: ${this.title}` },
        button("+", "Zoom in", () => this.view.zoom(1.25)),
        button("−", "Zoom out", () => this.view.zoom(0.8)),
        button("All", "Show all of the tree", () => this.view.fit()),
        button("Reset", "Readable size", () => this.view.reset()),
        button("SVG", "Download as SVG", () => saveSvg(this)),
        button("PNG", "Download as PNG", () => savePng(this)),
        button("Copy tree", "Copy the tree as brackets", () => copyBrackets(this)),
      ),
    );
  }

  /** The class of a part and its probabilities, if the model has told. */
  phrase(part) {
    return this.phrases.get(spanOf(this.tree, part).join());
  }

  /** For each part its colour, its mark and what screen readers say about it. */
  looks() {
    const looks = [];
    for (let part = 0; part < partCount(this.tree); part++) {
      const phrase = this.phrase(part);
      const own = phrase && this.model.classes.find(({ name }) => name === phrase.label);
      looks.push(
        own ? { colour: own.colour, mark: isWord(this.tree, part) ? undefined : own.mark, description: `${own.name} ${percent(Math.max(...phrase.probabilities))}` } : {},
      );
    }
    return looks;
  }

  #point(part, group) {
    const phrase = this.phrase(part);
    const tooltip = byId("tooltip");
    if (!phrase) {
      tooltip.hidden = true;
      return;
    }
    tooltip.replaceChildren(made("p", {}, textOf(this.tree, part)), bars(this.model.classes, phrase.probabilities));
    tooltip.hidden = false;
    const box = group.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - tooltip.offsetWidth / 2), innerWidth - tooltip.offsetWidth - 8);
    const below = box.bottom + 8 + tooltip.offsetHeight < innerHeight;
    tooltip.style.left = `${left}px`;
    tooltip.style.top = `${below ? box.bottom + 8 : Math.max(8, box.top - 8 - tooltip.offsetHeight)}px`;
  }

  /** Draw anew in another layout. */
  redraw(layout) {
    this.view.show(this.tree, this.looks(), layout);
  }

  /** Take away links and dimming. */
  clear() {
    this.view.links.replaceChildren();
    for (const part of this.view.parts) part.classList.remove("dimmed", "on-branch");
    for (const edge of this.view.svg.querySelectorAll(".edge")) edge.classList.remove("on-branch");
  }
}
