// The panel of the selected part: its class, its attention, the branches that flow into it, and ways to change it.

import { isWord, nameOf, partCount, partOf, textOf } from "./brackets.js";
import { canCollapse, collapseNode, movePart, moveTargets, relabelPart } from "./editing.js";
import { explainedOr, help, term } from "./glossary.js";
import { bars, byId, choice, create, hideTooltip, largest, percent } from "./page.js";
import { link } from "./picture.js";
import { ask } from "./service.js";

const settings = { layer: "mean", head: "mean", embeddings: true };

export class Details {
  /** edit is called with the pane and new brackets, fail with an error. */
  constructor({ edit, fail }) {
    this.box = byId("details");
    this.edit = edit;
    this.fail = fail;
    this.lastRequest = 0;
  }

  hide() {
    this.lastRequest++;
    this.box.hidden = true;
    this.pane = undefined;
  }

  async show(pane, part) {
    if (this.pane && this.pane !== pane) this.pane.clear();
    Object.assign(this, { pane, part, step: -1, attention: undefined });
    this.draw();
    if (!pane.model.attention) return;
    const number = ++this.lastRequest;
    try {
      const word = isWord(pane.tree, part);
      const attention = await ask("/v1/attention", {
        input: pane.answer.tree,
        trees: true,
        exact: true,
        model: pane.model.name,
        part: { kind: word ? "word" : "node", index: word ? part : part - pane.tree.leaves.length },
        hierarchical_embeddings: settings.embeddings,
      });
      if (number !== this.lastRequest) return;
      this.attention = attention;
      this.draw();
    } catch (error) {
      if (number === this.lastRequest) this.fail(error);
    }
  }

  draw() {
    const { pane, part } = this;
    const { label, tag, text } = partOf(pane.tree, part);
    const phrase = pane.phrase(part);
    const name = explainedOr(isWord(pane.tree, part) ? tag : label, pane.meaning(part));
    hideTooltip();
    this.box.hidden = false;
    this.box.replaceChildren(
      create("h2", {}, ...(isWord(pane.tree, part) ? [`${text} (`, name, ")"] : [name])),
      create("p", { class: "quote" }, textOf(pane.tree, part)),
      ...(phrase ? [bars(pane.model.classes, this.attention?.probabilities ?? phrase.probabilities)] : []),
      ...pane.describeEffect(part),
      ...(this.attention ? [this.#attention(), ...this.#accumulation()] : []),
      this.#editing(),
    );
    this.#link();
  }

  #change(name, value) {
    settings[name] = value;
    this.draw();
  }

  #attention() {
    const { weights } = this.attention;
    const numbers = (count, word) => [["mean", `mean of all ${word}s`], ...Array.from({ length: count }, (_, number) => [String(number), `${word} ${number + 1}`])];
    const box = create("input", {
      type: "checkbox",
      id: "embeddings",
      checked: settings.embeddings,
      onchange: () => {
        settings.embeddings = box.checked;
        this.show(this.pane, this.part);
      },
    });
    const hidden = this.attention.visible.filter((visible) => !visible).length;
    const top = largest(this.weights(), 5).filter(([, weight]) => weight > 0.001);
    return create(
      "section",
      { class: "attention", "aria-label": "Attention" },
      create("h3", {}, term("Attends to", "attends")),
      create("div", { class: "row" },
        create("span", {}, choice("Layer", numbers(weights.length, "layer"), settings.layer, (value) => this.#change("layer", value)), help("layer")),
        create("span", {}, choice("Head", numbers(weights[0].length, "head"), settings.head, (value) => this.#change("head", value)), help("head")),
      ),
      ...(this.pane.model.hierarchical_embeddings ? [create("p", {}, create("label", {}, box, " hierarchical embeddings"), help("embeddings"))] : []),
      create("ol", { class: "most" }, ...top.map(([target, weight]) => create("li", {}, `${nameOf(this.pane.tree, target)} `, create("span", { class: "number" }, percent(weight))))),
      create("p", { class: "hint" }, ...(hidden ? ["The ", term("subtree mask", "mask"), ` hides ${hidden} parts, which are dimmed.`] : ["It can attend to all parts."])),
    );
  }

  /** The weights of the chosen layer and head, or their mean. */
  weights() {
    return this.#chosen(this.attention.weights);
  }

  #chosen(numbers) {
    const layers = settings.layer === "mean" ? numbers : [numbers[Math.min(settings.layer, numbers.length - 1)]];
    const rows = layers.flatMap((layer) => (settings.head === "mean" ? layer : [layer[Math.min(settings.head, layer.length - 1)]]));
    return rows[0].map((_, place) => rows.reduce((sum, row) => sum + row[place], 0) / rows.length);
  }

  #accumulation() {
    const { accumulated } = this.attention;
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
    const button = (text, step, name) => create("button", { type: "button", "data-step": name, disabled: step < -1 || step >= branches.length, onclick: go(step, name) }, text);
    const words = this.pane.tree.leaves;
    const rows = branches.map((branch, number) =>
      create(
        "tr",
        { class: number === this.step ? "on" : "" },
        create("th", { scope: "row" }, words[branch.word].text),
        create("td", {}, weights[number].toFixed(2)),
        create("td", {}, percent(flows[number] / total)),
      ),
    );
    const branch = branches[this.step];
    const summary = branch
      ? `Branch ${this.step + 1} of ${branches.length}: “${words[branch.word].text}” through ${branch.nodes.toReversed().map((node) => this.pane.tree.nodes[node].label).join(", ")}; w ${weights[this.step].toFixed(2)}, ${percent(flows[this.step] / total)} of the flow.`
      : `${branches.length} branches flow into this node.`;
    return [
      create(
        "section",
        { class: "accumulation", "aria-label": "Accumulation" },
        create("h3", {}, term("Gathers", "gathers")),
        create("div", { class: "row" }, button("Previous", this.step - 1, "previous"), button("Next", this.step + 1, "next"), button("All", -1, "all")),
        create("p", { role: "status", class: "branch-summary" }, summary),
        create("div", { class: "table", tabindex: 0, role: "group", "aria-label": "All branches" },
          create("table", {}, create("thead", {}, create("tr", {}, ...["branch of", term("weight w", "weight"), term("share", "share")].map((text) => create("th", { scope: "col" }, text)))), create("tbody", {}, ...rows)),
        ),
      ),
    ];
  }

  #editing() {
    const { pane, part } = this;
    const { tree } = pane;
    const { label: nodeLabel, tag } = partOf(tree, part);
    const change = (brackets) => this.edit(pane, brackets);
    const label = create("input", { id: "label", list: "labels", value: isWord(tree, part) ? tag : nodeLabel, size: 8, autocomplete: "off" });
    const relabel = () => {
      const value = label.value.trim();
      if (/^[^\s()]+$/.test(value)) change(relabelPart(tree, part, value));
      else this.fail(new Error("A label has no spaces and no brackets."));
    };
    const targets = moveTargets(tree, part);
    const target = create("select", { id: "place" }, ...targets.map(({ part: place, text }) => create("option", { value: place }, text)));
    return create(
      "section",
      { class: "editing", "aria-label": "Change the tree" },
      create("h3", {}, "Change the tree"),
      create("button", { type: "button", id: "collapse", disabled: !canCollapse(tree, part), onclick: () => change(collapseNode(tree, part)) }, "Collapse this node"),
      create("div", { class: "row" }, create("label", {}, isWord(tree, part) ? "Tag " : "Label ", label), create("button", { type: "button", id: "relabel", onclick: relabel }, "Relabel")),
      ...(targets.length
        ? [create("div", { class: "row" }, create("label", {}, "Move under ", target), create("button", { type: "button", id: "move", onclick: () => change(movePart(tree, part, Number(target.value))) }, "Move"))]
        : []),
      create("datalist", { id: "labels" }, ...pane.model.labels.map((value) => create("option", { value }))),
    );
  }

  /** Draw links to the attended parts and dim the masked parts, or show the selected branch. */
  #link() {
    const { pane, part } = this;
    const { view, tree } = pane;
    pane.clear();
    view.mark(part);
    if (!this.attention) return;
    this.attention.visible.forEach((visible, other) => view.parts[other].classList.toggle("dimmed", !visible && other !== part));
    const branch = this.attention.accumulated?.branches[this.step];
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
