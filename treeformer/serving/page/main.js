// The page: sends requests and shows one or two answers side by side.

import { isTree } from "./brackets.js";
import { Details } from "./details.js";
import { help } from "./glossary.js";
import { fillLanguages, languageName, languageOf, noParser, notice, otherLanguage } from "./language.js";
import { byId, create, hideTooltip, percent } from "./page.js";
import { Pane } from "./pane.js";
import { ask, setToken } from "./service.js";
import { copyLink, fromAddress, toAddress } from "./sharing.js";
import { TranslationView } from "./translation.js";

const EXAMPLE = "A gorgeous, witty, seductive movie.";
const SHAPES = { balanced: "a balanced tree", left: "a left-branching tree", right: "a right-branching tree", random: "a random tree" };

const details = new Details({ edit, fail: showError });
const translation = new TranslationView();
let description;
let panes = [];
let edited = "";
let anyway = false; // show answers of a model that reads another language
let lastRequest = 0;

async function start() {
  try {
    description = await ask("/v1/models");
  } catch (error) {
    showError(error);
    return;
  }
  byId("token-choice").hidden = true;
  byId("task-choice").hidden = description.translation === null;
  fillLanguages(description);
  fillComparisons();
  const state = fromAddress();
  choose("show", state.show ?? usualColours());
  byId("text").value = state.text ?? byId("text").value ?? "";
  choose("layout", state.layout ?? "auto");
  choose("task", (description.translation && state.task) || "sentiment");
  choose("compare", state.compare ?? "");
  choose("language", state.language ?? "");
  edited = state.edited ?? "";
  if (!byId("text").value) byId("text").value = EXAMPLE;
  await read({ replace: true });
}

/** Choose an option if it exists. */
function choose(id, value) {
  if ([...byId(id).options].some((option) => option.value === value)) byId(id).value = value;
}

/** Labels of phrases where the model was taught them, effects otherwise. */
const usualColours = () => (description.models[0].phrases_taught ? "label" : "effect");

function fillComparisons() {
  const options = [["", "nothing"]];
  const ofLanguages = Object.values(description.languages);
  for (const parser of description.parsers.filter((name) => !ofLanguages.includes(name))) options.push([`parser ${parser}`, `the parser ${parser === "corenlp" ? "CoreNLP" : parser}`]);
  for (const model of description.models.slice(1)) options.push([`model ${model.name}`, `the model ${model.title}`]);
  for (const [shape, text] of Object.entries(SHAPES)) options.push([`shape ${shape}`, text]);
  byId("compare").replaceChildren(...options.map(([value, text]) => create("option", { value }, text)));
}

/** Ask about the text in the field and show the answer; `replace` replaces the address. */
async function read({ replace = false } = {}) {
  const text = byId("text").value.trim();
  if (!text) {
    showError(new Error("Type a sentence first."));
    return false;
  }
  const number = ++lastRequest;
  setBusy(true);
  for (const id of ["compare-choice", "show-choice"]) byId(id).hidden = byId("task").value === "translation";
  try {
    const task = byId("task").value;
    const layout = byId("layout").value;
    const show = byId("show").value;
    const colours = show === usualColours() ? "" : show;
    const state = { text, show: colours, compare: byId("compare").value, layout: layout === "auto" ? "" : layout, task: task === "sentiment" ? "" : task, language: byId("language").value, edited };
    toAddress(state, { replace });
    const language = await languageOf(text, description);
    const showAnswers = !description.languages[language]
      ? () => showUnread(() => noParser(language, description))
      : task === "translation"
        ? await translate(text, language)
        : await classify(text, language);
    if (number !== lastRequest) return false;
    byId("problem").textContent = "";
    showAnswers();
    return true;
  } catch (error) {
    if (number === lastRequest) {
      clear();
      showError(error);
    }
    return false;
  } finally {
    if (number === lastRequest) setBusy(false);
  }
}

function setBusy(busy) {
  byId("results").setAttribute("aria-busy", String(busy));
  if (busy) byId("status").textContent = "Reading …";
}

/** Show a notice and no answer. */
function showUnread(show) {
  clear();
  show();
  byId("status").textContent = "";
}

/** Read again, and show what a model of another language answers. */
function readAnyway() {
  anyway = true;
  read({ replace: true });
}

/** Ask for a translation; returns a function that shows it. */
async function translate(text, language) {
  const reads = description.translated_language;
  if (language !== reads && !anyway && !isTree(text)) return () => showUnread(() => otherLanguage(language, reads, readAnyway));
  const { answers } = await ask("/v1/translate", { inputs: [text], trees: isTree(text), attention: true });
  return () => {
    clear();
    translation.show(answers[0], text, byId("layout").value);
    byId("status").textContent = "Translated.";
  };
}

/** Ask for one or two classifications; returns a function that shows them. */
async function classify(text, language) {
  const trees = isTree(text);
  const [kind, name] = byId("compare").value.split(" ");
  const parser = description.languages[language];
  const request = { inputs: [text], trees, parser };
  const first = askToClassify(request);
  let second;
  if (edited) second = askToClassify({ inputs: [edited], trees: true, exact: true });
  else if (kind === "shape") second = askToClassify({ ...request, shape: name });
  else if (kind === "model") second = askToClassify({ ...request, model: name });
  else if (kind === "parser" && !trees && parser === description.parsers[0]) second = askToClassify({ ...request, parser: name });
  const [original, other] = await Promise.all([first, second]);
  return () => {
    clear();
    addPane(other ? "Original" : "As the model reads it", original, language);
    if (other) addPane(edited ? "Changed by hand" : comparisonTitle(kind, name), other, language);
    const foreign = panes.find((pane) => pane.model.language !== language);
    if (foreign && !anyway) otherLanguage(language, foreign.model.language, readAnyway);
    showVerdicts();
  };
}

/** Ask for a classification, with effects if they are to be shown and the text is short enough. */
async function askToClassify(request) {
  if (byId("show").value === "label") return ask("/v1/classify", request);
  try {
    return await ask("/v1/classify", { ...request, effects: true });
  } catch (error) {
    if (error.limit !== "words") throw error;
    return ask("/v1/classify", request);
  }
}

function comparisonTitle(kind, name) {
  if (kind === "shape") return `As ${SHAPES[name]}`;
  if (kind === "model") return `By the model ${description.models.find((model) => model.name === name).title}`;
  return `Parsed by ${name === "corenlp" ? "CoreNLP" : name}`;
}

function addPane(title, { model, answers }, language) {
  const modelDescription = description.models.find(({ name }) => name === model);
  byId("panes").classList.toggle("two", panes.length > 0);
  const options = { title, language, model: modelDescription, silent: modelDescription.language !== language && !anyway, shows: byId("show").value, most: description.limits.costly };
  panes.push(new Pane(byId("panes"), options, answers[0], byId("layout").value, (pane, part) => details.show(pane, part)));
  if (panes.length === 2) panes[0].redraw(byId("layout").value);
}

function clear() {
  details.hide();
  translation.hide();
  panes = [];
  byId("panes").replaceChildren();
  byId("panes").classList.remove("two");
  hideTooltip();
  notice();
}

function showVerdicts() {
  const verdictOf = ({ silent, language, answer }) => (silent ? `read as ${languageName(language)}` : `${answer.label}, ${percent(Math.max(...answer.probabilities))}`);
  const verdicts = panes.map((pane) => `${panes.length > 1 ? `${pane.title}: ` : ""}${verdictOf(pane)}`);
  byId("status").textContent = verdicts.join("; ");
}

/** Show a tree that was changed by hand, beside the original. */
async function edit(pane, brackets) {
  edited = brackets;
  if (await read()) byId("status").textContent += ". The changed tree is shown beside the original. “Read” shows the original alone.";
}

function showError(error) {
  if (error.status === 401) {
    byId("token-choice").hidden = false;
    byId("token").focus();
  }
  byId("status").textContent = "";
  notice();
  byId("problem").textContent = error.message.replace(/^inputs?(\[0\])?: /, ""); // there is one input on this page
}

byId("question").addEventListener("submit", (event) => {
  event.preventDefault();
  edited = "";
  anyway = false;
  if (!byId("token-choice").hidden) {
    setToken(byId("token").value);
    start();
  } else read();
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  byId("question").requestSubmit();
});
byId("show-choice").append(help("show"));
byId("show").addEventListener("change", () => read());
for (const id of ["compare", "language", "task"]) {
  byId(id).addEventListener("change", () => {
    edited = "";
    read();
  });
}
byId("layout").addEventListener("change", () => read());
byId("share").addEventListener("click", copyLink);
byId("more").addEventListener("click", () => {
  const open = byId("options").classList.toggle("open");
  byId("more").setAttribute("aria-expanded", String(open));
});
window.addEventListener("keydown", (event) => event.key === "Escape" && hideTooltip());
window.addEventListener("hashchange", start);
start();
