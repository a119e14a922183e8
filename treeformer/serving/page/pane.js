// One answer with its tree: the model, the class and the probabilities.

import { isTree, parseTree, spanOf, textOf, isWord, partCount } from "./brackets.js";
import { bars, byId, create, failureWarnings, percent } from "./page.js";
import { copyBrackets, savePng, saveSvg } from "./sharing.js";
import { TreeView } from "./view.js";

export class Pane {
  /** model: its description by the service; select: called with the pane and the part. */
  constructor(container, title, model, answer, layout, select) {
    this.title = title;
    this.model = model;
    this.answer = answer;
    this.tree = parseTree(answer.tree);
    this.phrases = new Map(answer.phrases.map((phrase) => [phrase.span.join(), phrase]));
    this.phrases.set([0, this.tree.leaves.length].join(), answer);
    this.box = create("section", { class: "pane", "aria-label": title }, this.#head());
    container.append(this.box);
    this.view = new TreeView(this.box, `Tree of: ${isTree(answer.text) ? textOf(this.tree, partCount(this.tree) - 1) : answer.text}`, {
      select: (part) => select(this, part),
      point: (part, group) => this.#point(part, group),
      leave: () => (byId("tooltip").hidden = true),
    });
    this.view.show(this.tree, this.styles(), layout);
  }

  #head() {
    const { label, probabilities } = this.answer;
    const { colour } = this.#classOf(label);
    const badge = create("strong", { class: "badge" }, label);
    badge.style.backgroundColor = colour;
    const button = (text, name, act) => create("button", { type: "button", "aria-label": name, title: name, onclick: act }, text);
    return create(
      "div",
      { class: "head" },
      create("h2", {}, this.title),
      create("p", { class: "verdict" }, badge, ` ${percent(Math.max(...probabilities))}`),
      bars(this.model.classes, probabilities),
      ...failureWarnings(this.answer.failures),
      create(
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

  /** The class of a part and its probabilities, if the model classifies phrases. */
  phrase(part) {
    return this.phrases.get(spanOf(this.tree, part).join());
  }

  #classOf(label) {
    return this.model.classes.find(({ name }) => name === label);
  }

  /** For each part its colour, its mark and its description for screen readers. */
  styles() {
    return Array.from({ length: partCount(this.tree) }, (_, part) => {
      const phrase = this.phrase(part);
      if (!phrase) return {};
      const { name, mark, colour } = this.#classOf(phrase.label);
      const description = `${name} ${percent(Math.max(...phrase.probabilities))}`;
      return { colour, mark: isWord(this.tree, part) ? undefined : mark, description };
    });
  }

  #point(part, group) {
    const phrase = this.phrase(part);
    const tooltip = byId("tooltip");
    if (!phrase) {
      tooltip.hidden = true;
      return;
    }
    tooltip.replaceChildren(create("p", {}, textOf(this.tree, part)), bars(this.model.classes, phrase.probabilities));
    tooltip.hidden = false;
    const box = group.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - tooltip.offsetWidth / 2), innerWidth - tooltip.offsetWidth - 8);
    const below = box.bottom + 8 + tooltip.offsetHeight < innerHeight;
    tooltip.style.left = `${left}px`;
    tooltip.style.top = `${below ? box.bottom + 8 : Math.max(8, box.top - 8 - tooltip.offsetHeight)}px`;
  }

  /** Draw the tree again in another layout. */
  redraw(layout) {
    this.view.show(this.tree, this.styles(), layout);
  }

  /** Remove links and dimming. */
  clear() {
    this.view.links.replaceChildren();
    for (const part of this.view.parts) part.classList.remove("dimmed", "on-branch");
    for (const edge of this.view.svg.querySelectorAll(".edge")) edge.classList.remove("on-branch");
  }
}
