// The page: what is asked, and what is shown beside each other.

import { isTree } from "./brackets.js";
import { Details } from "./details.js";
import { byId, made, percent } from "./page.js";
import { Pane } from "./pane.js";
import { ask, setToken } from "./service.js";
import { copyLink, fromAddress, toAddress } from "./sharing.js";
import { TranslationView } from "./translation.js";

const EXAMPLE = "A gorgeous, witty, seductive movie.";
const SHAPES = { balanced: "a balanced tree", left: "a left-branching tree", right: "a right-branching tree", random: "a random tree" };

const details = new Details({ edit, fail });
const translation = new TranslationView();
let about;
let panes = [];
let edited = "";
let asked = 0;

async function begin() {
  try {
    about = await ask("/v1/models");
  } catch (error) {
    fail(error);
    return;
  }
  byId("token-choice").hidden = true;
  byId("task-choice").hidden = about.translation === null;
  fillComparisons();
  const known = fromAddress();
  byId("text").value = known.text ?? byId("text").value ?? "";
  choose("layout", known.layout ?? "auto");
  choose("task", (about.translation && known.task) || "sentiment");
  choose("compare", known.compare ?? "");
  edited = known.edited ?? "";
  if (!byId("text").value) byId("text").value = EXAMPLE;
  await read({ instead: true });
}

/** Choose an option, if it is there. */
function choose(id, value) {
  if ([...byId(id).options].some((option) => option.value === value)) byId(id).value = value;
}

function fillComparisons() {
  const options = [["", "nothing"]];
  for (const parser of about.parsers.slice(1)) options.push([`parser ${parser}`, `the parser ${parser === "corenlp" ? "CoreNLP" : parser}`]);
  for (const model of about.models.slice(1)) options.push([`model ${model.name}`, `the model ${model.title}`]);
  for (const [shape, text] of Object.entries(SHAPES)) options.push([`shape ${shape}`, text]);
  byId("compare").replaceChildren(...options.map(([value, text]) => made("option", { value }, text)));
}

/** Ask about what is in the field, and show it; `instead` of what the address says. */
async function read({ instead = false } = {}) {
  const text = byId("text").value.trim();
  if (!text) {
    fail(new Error("Type a sentence first."));
    return false;
  }
  const number = ++asked;
  busy(true);
  byId("compare-choice").hidden = byId("task").value === "translation";
  try {
    toAddress({ text, compare: byId("compare").value, layout: byId("layout").value === "auto" ? "" : byId("layout").value, task: byId("task").value === "sentiment" ? "" : byId("task").value, edited }, { instead });
    const shown = byId("task").value === "translation" ? await translated(text) : await classified(text);
    if (number !== asked) return false;
    byId("problem").textContent = "";
    shown();
    return true;
  } catch (error) {
    if (number === asked) {
      clear();
      fail(error);
    }
    return false;
  } finally {
    if (number === asked) busy(false);
  }
}

function busy(is) {
  byId("results").setAttribute("aria-busy", String(is));
  if (is) byId("status").textContent = "Reading …";
}

async function translated(text) {
  const { answers } = await ask("/v1/translate", { inputs: [text], trees: isTree(text), attention: true });
  return () => {
    clear();
    translation.show(answers[0], text, byId("layout").value);
    byId("status").textContent = "Translated.";
  };
}

async function classified(text) {
  const trees = isTree(text);
  const [kind, name] = byId("compare").value.split(" ");
  const question = { inputs: [text], trees };
  const first = ask("/v1/classify", question);
  let second;
  if (edited) second = ask("/v1/classify", { inputs: [edited], trees: true, exact: true });
  else if (kind === "shape") second = ask("/v1/classify", { ...question, shape: name });
  else if (kind === "model") second = ask("/v1/classify", { ...question, model: name });
  else if (kind === "parser" && !trees) second = ask("/v1/classify", { ...question, parser: name });
  const [original, other] = await Promise.all([first, second]);
  return () => {
    clear();
    addPane(other ? "Original" : "As the model reads it", original);
    if (other) addPane(edited ? "Changed by hand" : comparison(kind, name), other);
    tell();
  };
}

function comparison(kind, name) {
  if (kind === "shape") return `As ${SHAPES[name]}`;
  if (kind === "model") return `By the model ${about.models.find((model) => model.name === name).title}`;
  return `Parsed by ${name === "corenlp" ? "CoreNLP" : name}`;
}

function addPane(title, { model, answers }) {
  const facts = about.models.find(({ name }) => name === model);
  byId("panes").classList.toggle("two", panes.length > 0);
  panes.push(new Pane(byId("panes"), title, facts, answers[0], byId("layout").value, (pane, part) => details.show(pane, part)));
  if (panes.length === 2) panes[0].redraw(byId("layout").value);
}

function clear() {
  details.hide();
  translation.hide();
  panes = [];
  byId("panes").replaceChildren();
  byId("panes").classList.remove("two");
  byId("tooltip").hidden = true;
}

function tell() {
  const verdicts = panes.map(({ title, answer }) => `${panes.length > 1 ? `${title}: ` : ""}${answer.label}, ${percent(Math.max(...answer.probabilities))}`);
  byId("status").textContent = verdicts.join("; ");
}

/** Show a tree that was changed by hand beside the original. */
async function edit(pane, brackets) {
  edited = brackets;
  if (await read()) byId("status").textContent += ". The changed tree stands beside the original; Read shows the original alone.";
}

function fail(error) {
  if (error.status === 401) {
    byId("token-choice").hidden = false;
    byId("token").focus();
  }
  byId("status").textContent = "";
  byId("problem").textContent = error.message.replace(/^inputs?(\[0\])?: /, ""); // there is one input on this page
}

byId("question").addEventListener("submit", (event) => {
  event.preventDefault();
  edited = "";
  if (!byId("token-choice").hidden) {
    setToken(byId("token").value);
    begin();
  } else read();
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("question").requestSubmit();
});
for (const id of ["compare", "task"]) {
  byId(id).addEventListener("change", () => {
    edited = "";
    read();
  });
}
byId("layout").addEventListener("change", () => read());
byId("share").addEventListener("click", copyLink);
window.addEventListener("hashchange", begin);
begin();
