// One answer with its tree: the model, the class and the probabilities.

import { isTree, isWord, parseTree, partCount, partOf, spanOf, textOf } from "./brackets.js";
import { Effects } from "./effects.js";
import { help, meaningOfLabel, meaningOfTag, term } from "./glossary.js";
import { bars, create, failureWarnings, hideTooltip, percent, showTooltip } from "./page.js";
import { copyBrackets, savePng, saveSvg } from "./sharing.js";
import { TreeView } from "./view.js";

export class Pane {
  /**
   * options: language of the text; model: its description by the service; silent: its answer is not shown; shows: label
   * or effect; most: words of a text whose effects are shown. select: called with the pane and the part.
   */
  constructor(container, options, answer, layout, select) {
    Object.assign(this, options, { answer });
    this.tree = parseTree(answer.tree);
    this.phrases = new Map(answer.phrases.map((phrase) => [phrase.span.join(), phrase]));
    this.phrases.set([0, this.tree.leaves.length].join(), answer);
    this.effects = new Effects(answer, this.model.classes);
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
      create("p", { class: "verdict" }, badge, ` ${percent(Math.max(...probabilities))}`, help("classes")),
      bars(this.model.classes, probabilities),
      ...failureWarnings(this.answer.failures),
      ...this.#legend(),
    );
  }

  /** What the colours of the tree mean, where that is not plain. */
  #legend() {
    const legend = (...content) => [create("p", { class: "hint legend" }, ...content)];
    if (this.effects.shown) return legend("Colours: the class that a phrase speaks for; the stronger, the more it counts. ", help("effect"));
    if (this.shows === "effect") return legend(`Effects are shown for texts of up to ${this.most} words.`);
    if (this.model.phrases_taught || !this.answer.phrases.length) return [];
    return legend("The model was taught labels of whole texts alone: its labels of phrases mean little. Choose the effect of the phrase instead.");
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

  /** The class of a part and its probabilities, if the model classifies phrases and labels are shown. */
  phrase(part) {
    return this.silent || this.shows === "effect" ? undefined : this.phrases.get(spanOf(this.tree, part).join());
  }

  #classOf(label) {
    return this.model.classes.find(({ name }) => name === label);
  }

  /** For each part its colour, its mark and its description for screen readers. */
  styles() {
    return Array.from({ length: partCount(this.tree) }, (_, part) => {
      if (this.#showsEffects()) {
        const style = this.effects.style(spanOf(this.tree, part));
        return isWord(this.tree, part) ? { ...style, mark: undefined } : style;
      }
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
      ...this.describeEffect(part),
    );
  }

  #showsEffects() {
    return this.effects.shown && !this.silent;
  }

  /** The effect of a part in words, if effects are shown. */
  describeEffect(part) {
    return this.#showsEffects() ? this.effects.describe(spanOf(this.tree, part)) : [];
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
