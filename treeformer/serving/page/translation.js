// A translation beside its source tree: for each target word where the model looked.

import { isWord, partOf, readTree, textOf } from "./brackets.js";
import { byId, heaviest, made, percent } from "./page.js";
import { TreeView } from "./view.js";

export class TranslationView {
  constructor() {
    this.box = byId("translation");
  }

  hide() {
    this.box.hidden = true;
  }

  show(answer, text, layout) {
    this.answer = answer;
    this.tree = readTree(answer.tree);
    this.box.hidden = false;
    this.words = answer.words.map((looked, number) =>
      made("button", { type: "button", "aria-pressed": "false", onclick: () => this.choose(number) }, looked.word),
    );
    this.told = made("div", { class: "looked", role: "status" });
    this.box.replaceChildren(
      made("h2", {}, "Translation"),
      made("p", { class: "translated" }, answer.text),
      made("div", { class: "targets", role: "group", "aria-label": "Target words" }, ...this.words),
      this.told,
    );
    const pane = made("section", { class: "pane", "aria-label": "Source tree" });
    this.box.append(pane);
    this.view = new TreeView(pane, `Tree of: ${text}`, { select: () => {}, point: () => {}, leave: () => {} });
    this.view.show(this.tree, [], layout);
    if (this.words.length) this.choose(0);
    else this.told.textContent = "This model does not tell where it looked.";
  }

  choose(number) {
    const looked = this.answer.words[number];
    this.words.forEach((button, other) => button.setAttribute("aria-pressed", String(other === number)));
    const most = Math.max(...looked.weights, 1e-9);
    this.view.parts.forEach((group, part) => {
      const pill = group.querySelector(".pill");
      pill.setAttribute("fill", "#f2a33a");
      pill.setAttribute("fill-opacity", (looked.weights[part] / most).toFixed(3));
      group.classList.toggle("looked-at", looked.weights[part] / most > 0.45);
    });
    const share = made("span", { class: "bar" });
    share.style.width = `${100 * looked.nodes}%`;
    this.told.replaceChildren(
      made("p", {}, `“${looked.word}”: ${percent(looked.nodes)} of its attention on nodes, ${percent(1 - looked.nodes)} on leaves.`),
      made("span", { class: "track share", "aria-hidden": "true" }, share),
      made("ol", { class: "most" }, ...heaviest(looked.weights, 5).map(([part, weight]) => made("li", {}, `${this.#name(part)} `, made("span", { class: "number" }, percent(weight))))),
    );
  }

  #name(part) {
    const own = partOf(this.tree, part);
    return isWord(this.tree, part) ? own.text : `${own.label}: ${textOf(this.tree, part)}`;
  }
}
