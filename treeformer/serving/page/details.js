// The panel of the selected part: its class, what it attends to, what flows into it, and how to change it.

import { isWord, partCount, partOf, textOf } from "./brackets.js";
import { canCollapse, collapsed, moved, places, relabelled } from "./editing.js";
import { bars, byId, choice, heaviest, made, percent } from "./page.js";
import { link } from "./picture.js";
import { ask } from "./service.js";

const settings = { layer: "mean", head: "mean", embeddings: true };

export class Details {
  /** edit: is called with the pane and new brackets; fail: with an error. */
  constructor({ edit, fail }) {
    this.box = byId("details");
    this.edit = edit;
    this.fail = fail;
    this.asked = 0;
  }

  hide() {
    this.asked++;
    this.box.hidden = true;
    this.pane = undefined;
  }

  async show(pane, part) {
    if (this.pane && this.pane !== pane) this.pane.clear();
    Object.assign(this, { pane, part, step: -1, attended: undefined });
    this.draw();
    if (!pane.model.attention) return;
    const number = ++this.asked;
    try {
      const word = isWord(pane.tree, part);
      const attended = await ask("/v1/attention", {
        input: pane.answer.tree,
        trees: true,
        exact: true,
        model: pane.model.name,
        part: { kind: word ? "word" : "node", index: word ? part : part - pane.tree.leaves.length },
        hierarchical_embeddings: settings.embeddings,
      });
      if (number !== this.asked) return;
      this.attended = attended;
      this.draw();
    } catch (error) {
      if (number === this.asked) this.fail(error);
    }
  }

  draw() {
    const { pane, part } = this;
    const own = partOf(pane.tree, part);
    const phrase = pane.phrase(part);
    const name = isWord(pane.tree, part) ? `${own.text} (${own.tag})` : own.label;
    this.box.hidden = false;
    this.box.replaceChildren(
      made("h2", {}, name),
      made("p", { class: "quote" }, textOf(pane.tree, part)),
      ...(phrase ? [bars(pane.model.classes, this.attended?.probabilities ?? phrase.probabilities)] : []),
      ...(this.attended ? [this.#attention(), ...this.#accumulation()] : []),
      this.#editing(),
    );
    this.#link();
  }

  #change(name, value) {
    settings[name] = value;
    this.draw();
  }

  #attention() {
    const { weights } = this.attended;
    const numbers = (count, word) => [["mean", `mean of all ${word}s`], ...Array.from({ length: count }, (_, number) => [String(number), `${word} ${number + 1}`])];
    const box = made("input", {
      type: "checkbox",
      id: "embeddings",
      checked: settings.embeddings,
      onchange: () => {
        settings.embeddings = box.checked;
        this.show(this.pane, this.part);
      },
    });
    const hidden = this.attended.visible.filter((seen) => !seen).length;
    const top = heaviest(this.weights(), 5).filter(([, weight]) => weight > 0.001);
    return made(
      "section",
      { class: "attention", "aria-label": "Attention" },
      made("h3", {}, "Attends to"),
      made("div", { class: "row" },
        choice("Layer", numbers(weights.length, "layer"), settings.layer, (value) => this.#change("layer", value)),
        choice("Head", numbers(weights[0].length, "head"), settings.head, (value) => this.#change("head", value)),
      ),
      ...(this.pane.model.hierarchical_embeddings ? [made("label", {}, box, " hierarchical embeddings")] : []),
      made("ol", { class: "most" }, ...top.map(([target, weight]) => made("li", {}, `${this.#name(target)} `, made("span", { class: "number" }, percent(weight))))),
      made("p", { class: "hint" }, hidden ? `The mask hides ${hidden} parts from it; they are dimmed.` : "It sees all parts."),
    );
  }

  #name(part) {
    const own = partOf(this.pane.tree, part);
    return isWord(this.pane.tree, part) ? own.text : `${own.label}: ${textOf(this.pane.tree, part)}`;
  }

  /** The weights of the chosen layer and head, or their mean. */
  weights() {
    return this.#chosen(this.attended.weights);
  }

  #chosen(numbers) {
    const layers = settings.layer === "mean" ? numbers : [numbers[Math.min(settings.layer, numbers.length - 1)]];
    const rows = layers.flatMap((layer) => (settings.head === "mean" ? layer : [layer[Math.min(settings.head, layer.length - 1)]]));
    return rows[0].map((_, place) => rows.reduce((sum, row) => sum + row[place], 0) / rows.length);
  }

  #accumulation() {
    const { accumulated } = this.attended;
    if (!accumulated) return [];
    const { branches } = accumulated;
    const weights = this.#chosen(accumulated.weights);
    const flows = this.#chosen(accumulated.flows);
    const total = flows.reduce((sum, flow) => sum + flow, 0);
    const go = (step, name) => () => {
      this.step = step;
      this.draw();
      this.box.querySelector(`[data-step="${name}"]`)?.focus();
    };
    const button = (text, step, name) => made("button", { type: "button", "data-step": name, disabled: step < -1 || step >= branches.length, onclick: go(step, name) }, text);
    const words = this.pane.tree.leaves;
    const rows = branches.map((branch, number) =>
      made(
        "tr",
        { class: number === this.step ? "on" : "" },
        made("th", { scope: "row" }, words[branch.word].text),
        made("td", {}, weights[number].toFixed(2)),
        made("td", {}, percent(flows[number] / total)),
      ),
    );
    const branch = branches[this.step];
    const told = branch
      ? `Branch ${this.step + 1} of ${branches.length}: “${words[branch.word].text}” through ${branch.nodes.toReversed().map((node) => this.pane.tree.nodes[node].label).join(", ")}; w ${weights[this.step].toFixed(2)}, ${percent(flows[this.step] / total)} of what flows.`
      : `${branches.length} branches flow into this node.`;
    return [
      made(
        "section",
        { class: "accumulation", "aria-label": "Accumulation" },
        made("h3", {}, "Gathers"),
        made("div", { class: "row" }, button("Previous", this.step - 1, "previous"), button("Next", this.step + 1, "next"), button("All", -1, "all")),
        made("p", { role: "status", class: "told" }, told),
        made("div", { class: "table", tabindex: 0, role: "group", "aria-label": "All branches" },
          made("table", {}, made("thead", {}, made("tr", {}, ...["branch of", "weight w", "share"].map((text) => made("th", { scope: "col" }, text)))), made("tbody", {}, ...rows)),
        ),
      ),
    ];
  }

  #editing() {
    const { pane, part } = this;
    const { tree } = pane;
    const own = partOf(tree, part);
    const change = (brackets) => this.edit(pane, brackets);
    const label = made("input", { id: "label", list: "labels", value: isWord(tree, part) ? own.tag : own.label, size: 8, autocomplete: "off" });
    const relabel = () => {
      const value = label.value.trim();
      if (/^[^\s()]+$/.test(value)) change(relabelled(tree, part, value));
      else this.fail(new Error("A label has no spaces and no brackets."));
    };
    const open = places(tree, part);
    const target = made("select", { id: "place" }, ...open.map(({ part: place, text }) => made("option", { value: place }, text)));
    return made(
      "section",
      { class: "editing", "aria-label": "Change the tree" },
      made("h3", {}, "Change the tree"),
      made("button", { type: "button", id: "collapse", disabled: !canCollapse(tree, part), onclick: () => change(collapsed(tree, part)) }, "Collapse this node"),
      made("div", { class: "row" }, made("label", {}, isWord(tree, part) ? "Tag " : "Label ", label), made("button", { type: "button", id: "relabel", onclick: relabel }, "Relabel")),
      ...(open.length
        ? [made("div", { class: "row" }, made("label", {}, "Move under ", target), made("button", { type: "button", id: "move", onclick: () => change(moved(tree, part, Number(target.value))) }, "Move"))]
        : []),
      made("datalist", { id: "labels" }, ...pane.model.labels.map((value) => made("option", { value }))),
    );
  }

  /** Links to what is attended to, and dimming of what cannot be seen; or the chosen branch. */
  #link() {
    const { pane, part } = this;
    const { view, tree } = pane;
    pane.clear();
    view.mark(part);
    if (!this.attended) return;
    this.attended.visible.forEach((seen, other) => view.parts[other].classList.toggle("dimmed", !seen && other !== part));
    const branch = this.attended.accumulated?.branches[this.step];
    if (branch) {
      const on = new Set([branch.word, ...branch.nodes.map((node) => tree.leaves.length + node)]);
      for (let other = 0; other < partCount(tree); other++) {
        view.parts[other].classList.toggle("on-branch", on.has(other));
        view.parts[other].classList.toggle("dimmed", !on.has(other));
      }
      for (const edge of view.svg.querySelectorAll(".edge")) edge.classList.toggle("on-branch", on.has(Number(edge.dataset.below)) && Number(edge.dataset.below) !== part);
      return;
    }
    const weights = this.weights();
    const most = Math.max(...weights);
    weights.forEach((weight, target) => {
      if (weight > 0.005) view.links.append(link(tree, view.layout, part, target, weight / most));
    });
  }
}
