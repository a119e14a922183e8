// One answer with its tree: the model, the class and the probabilities.

import { isTree, isWord, parseTree, partCount, partOf, spanOf, textOf } from "./brackets.js";
import { meaningOfLabel, meaningOfTag, term } from "./glossary.js";
import { bars, create, failureWarnings, hideTooltip, percent, showTooltip } from "./page.js";
import { copyBrackets, savePng, saveSvg } from "./sharing.js";
import { TreeView } from "./view.js";

export class Pane {
  /**
   * options: {title, language, model, silent}, the language of the text, the description of the model by the service,
   * and whether its answer is not shown; select: called with the pane and the part.
   */
  constructor(container, options, answer, layout, select) {
    Object.assign(this, options, { answer });
    this.tree = parseTree(answer.tree);
    this.phrases = new Map(answer.phrases.map((phrase) => [phrase.span.join(), phrase]));
    this.phrases.set([0, this.tree.leaves.length].join(), answer);
    this.box = create("section", { class: "pane", "aria-label": this.title }, this.#head(), this.#model(), this.#tools());
    container.append(this.box);
    this.view = new TreeView(this.box, `Tree of: ${isTree(answer.text) ? textOf(this.tree, partCount(this.tree) - 1) : answer.text}`, {
      select: (part) => select(this, part),
      point: (part, group) => this.#point(part, group),
      leave: hideTooltip,
    });
    this.view.show(this.tree, this.styles(), layout);
  }

  #head() {
    const { label, probabilities } = this.answer;
    if (this.silent) return create("div", { class: "head" }, create("h2", {}, this.title), ...failureWarnings(this.answer.failures));
    const { colour } = this.#classOf(label);
    const badge = create("strong", { class: "badge" }, label);
    badge.style.backgroundColor = colour;
    return create(
      "div",
      { class: "head" },
      create("h2", {}, this.title),
      create("p", { class: "verdict" }, badge, ` ${percent(Math.max(...probabilities))}`),
      bars(this.model.classes, probabilities),
      ...failureWarnings(this.answer.failures),
    );
  }

  /** Which model answers, and what it was trained on. */
  #model() {
    const { title, system, encoder, trained_on: data } = this.model;
    const reader = encoder ? ` over the pretrained encoder ${encoder}` : "";
    const trained = data ? `, trained on ${data.replace(/\.$/, "")}` : "";
    return create("p", { class: "model" }, term("Model", "model"), `: ${title} (${system}${reader})${trained}.`);
  }

  #tools() {
    const button = (text, name, act) => create("button", { type: "button", "aria-label": name, title: name, onclick: act }, text);
    return create(
      "div",
      { class: "tools", role: "group", "aria-label": `Picture: ${this.title}` },
      button("+", "Zoom in", () => this.view.zoom(1.25)),
      button("−", "Zoom out", () => this.view.zoom(0.8)),
      button("All", "Show all of the tree", () => this.view.fit()),
      button("Reset", "Readable size", () => this.view.reset()),
      button("SVG", "Download as SVG", () => saveSvg(this)),
      button("PNG", "Download as PNG", () => savePng(this)),
      button("Copy tree", "Copy the tree as brackets", () => copyBrackets(this)),
    );
  }

  /** The class of a part and its probabilities, if the model classifies phrases and its answer is shown. */
  phrase(part) {
    return this.silent ? undefined : this.phrases.get(spanOf(this.tree, part).join());
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
    const meaning = this.meaning(part);
    showTooltip(
      group,
      create("p", { class: "quote" }, textOf(this.tree, part)),
      ...(meaning ? [create("p", {}, meaning)] : []),
      ...(phrase ? [bars(this.model.classes, phrase.probabilities)] : []),
    );
  }

  /** What the label of a phrase or the tag of a word means. */
  meaning(part) {
    const { label, tag } = partOf(this.tree, part);
    return isWord(this.tree, part) ? meaningOfTag(tag) : meaningOfLabel(label, this.language);
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
