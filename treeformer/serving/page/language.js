// The language of the text: chosen in the menu, or detected by the service, and what follows from it.

import { isTree } from "./brackets.js";
import { byId, create } from "./page.js";
import { ask } from "./service.js";

const NAMES = new Intl.DisplayNames(["en"], { type: "language" });
const AUTOMATIC = "automatic";

/** The name of a language, such as German for de. */
export function languageName(code) {
  try {
    return NAMES.of(code) ?? code;
  } catch {
    return code; // a code that is not of ISO 639
  }
}

const listed = (codes) => new Intl.ListFormat("en").format(codes.map(languageName));

/** Fill the menu with the languages that have a parser. */
export function fillLanguages(description) {
  const options = [["", AUTOMATIC], ...Object.keys(description.languages).map((code) => [code, languageName(code)])];
  byId("language").replaceChildren(...options.map(([value, text]) => create("option", { value }, text)));
}

/** The language of a text; that of the first model for a tree, which needs no parser. */
export async function languageOf(text, description) {
  const [automatic] = byId("language").options;
  automatic.textContent = AUTOMATIC;
  if (isTree(text)) return description.models[0].language;
  if (byId("language").value) return byId("language").value;
  const { languages } = await ask("/v1/language", { inputs: [text] });
  automatic.textContent = `${AUTOMATIC}: ${languageName(languages[0])}`;
  return languages[0];
}

/** Say that a language has no parser. */
export function noParser(language, description) {
  const known = listed(Object.keys(description.languages));
  return notice(`This looks like ${languageName(language)}. There are parsers for ${known} only. If the text is in one of them, choose it under “Language”.`);
}

/** Say that a model reads another language; `show` shows its answer nevertheless. */
export function otherLanguage(language, reads, show) {
  const text = `This is ${languageName(language)}, but the model was trained on ${languageName(reads)}: its answer would mean little.`;
  return notice(text, create("button", { type: "button", onclick: show }, "Show it anyway"));
}

/** Show a notice above the results; without text it disappears. */
export function notice(text = "", ...more) {
  byId("notice").replaceChildren(text, " ", ...more);
  byId("notice").hidden = !text;
}
