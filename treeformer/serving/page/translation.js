// A translation beside its source tree: for each target word, what it attended to.

import { nameOf, parseTree } from "./brackets.js";
import { byId, create, failureWarnings, largest, percent } from "./page.js";
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
    this.tree = parseTree(answer.tree);
    this.box.hidden = false;
    this.words = answer.words.map(({ word }, number) =>
      create("button", { type: "button", "aria-pressed": "false", onclick: () => this.choose(number) }, word),
    );
    this.summary = create("div", { class: "alignment", role: "status" });
    this.box.replaceChildren(
      create("h2", {}, "Translation"),
      create("p", { class: "translated" }, answer.text),
      ...failureWarnings(answer.failures),
      create("div", { class: "targets", role: "group", "aria-label": "Target words" }, ...this.words),
      this.summary,
    );
    const pane = create("section", { class: "pane", "aria-label": "Source tree" });
    this.box.append(pane);
    this.view = new TreeView(pane, `Tree of: ${text}`, { select: () => {}, point: () => {}, leave: () => {} });
    this.view.show(this.tree, [], layout);
    if (this.words.length) this.choose(0);
    else this.summary.textContent = "This model has no attention to show.";
  }

  choose(number) {
    const alignment = this.answer.words[number];
    this.words.forEach((button, other) => button.setAttribute("aria-pressed", String(other === number)));
    const most = Math.max(...alignment.weights, 1e-9);
    this.view.parts.forEach((group, part) => {
      const pill = group.querySelector(".pill");
      pill.setAttribute("fill", "#f2a33a");
      pill.setAttribute("fill-opacity", (alignment.weights[part] / most).toFixed(3));
      group.classList.toggle("attended", alignment.weights[part] / most > 0.45);
    });
    const share = create("span", { class: "bar" });
    share.style.width = `${100 * alignment.nodes}%`;
    this.summary.replaceChildren(
      create("p", {}, `“${alignment.word}”: ${percent(alignment.nodes)} of its attention on nodes, ${percent(1 - alignment.nodes)} on leaves.`),
      create("span", { class: "track share", "aria-hidden": "true" }, share),
      create("ol", { class: "most" }, ...largest(alignment.weights, 5).map(([part, weight]) => create("li", {}, `${nameOf(this.tree, part)} `, create("span", { class: "number" }, percent(weight))))),
    );
  }
}
