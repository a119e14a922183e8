// What the words on the page mean, in plain English: terms of models, labels of phrases, tags of words.

import { create, hideTooltip, showTooltip } from "./page.js";

const TERMS = {
  classes: "The answers that the model can give. The bars are its probabilities, which add up to 100 %.",
  show: "Label: the class that the model gives to a phrase by itself. Effect: how much the phrase changes the answer for the whole text.",
  effect: "How much the phrase raises the log-odds of a class, where 0.7 doubles the odds and 2.3 makes them ten times as high. It is measured by hiding the words of the phrase from the model and asking again.",
  attends: "To compute a word or phrase, the model takes a weighted mean of other words and phrases. Attention is the weight of each; the weights add up to 100 %.",
  layer: "The model computes every word and phrase several times. Each time is a layer, which starts from the result of the layer before.",
  head: "In each layer several heads attend at the same time, each with its own weights.",
  embeddings: "A signal that tells a phrase where a word is below it: how deep in the tree, and how far to the side. Switch it off to see what the model answers without it.",
  mask: "A phrase attends only to what is inside it. A word attends to all words, but to no phrase.",
  gathers: "How the value of a phrase is made. Each word below it sends a branch: the mean of the word and of the phrases on the way up. The value is the mean of the branches, each times the weight of its word.",
  weight: "The number that the branch of this word is multiplied by. The model computes it from the word; it can be negative.",
  share: "The part of the value of this phrase that came up this branch.",
  model: "The trained network that answers. It knows only what its training data showed.",
};

const PHRASES = {
  en: {
    ADJP: "adjective phrase", ADVP: "adverb phrase", CONJP: "conjunction of several words", FRAG: "fragment of a sentence",
    INTJ: "interjection", LST: "mark of a list", NAC: "part of a name that is no phrase", NML: "part of a noun phrase", NP: "noun phrase",
    PP: "prepositional phrase", PRN: "text in parentheses", PRT: "particle of a verb", QP: "phrase of a number", RRC: "short relative clause",
    S: "sentence or clause", SBAR: "subordinate clause", SBARQ: "question with a question word", SINV: "sentence whose verb is before its subject",
    SQ: "question", UCP: "coordination of unlike phrases", VP: "verb phrase", WHADJP: "adjective phrase with a question word",
    WHADVP: "adverb phrase with a question word", WHNP: "noun phrase with a question word", WHPP: "prepositional phrase with a question word",
    CAPTION: "caption", CIT: "citation", HEADING: "heading", TITLE: "title", META: "note about the text",
  },
  de: {
    AA: "superlative with “am”", AP: "adjective phrase", AVP: "adverb phrase", CAC: "coordination of prepositions", CAP: "coordination of adjective phrases",
    CAVP: "coordination of adverb phrases", CNP: "coordination of noun phrases", CO: "coordination of unlike phrases", CPP: "coordination of prepositional phrases",
    CS: "coordination of sentences", CVP: "coordination of verb phrases", CVZ: "coordination of infinitives with “zu”", DL: "part of a discourse",
    ISU: "fixed expression", MPN: "name of several words", NM: "number of several words", NP: "noun phrase", NUR: "root over several parts",
    PP: "prepositional phrase", S: "sentence or clause", VP: "verb phrase", VZ: "infinitive with “zu”",
  },
  fr: {
    AP: "adjective phrase", AdP: "adverb phrase", COORD: "coordination", NP: "noun phrase", PP: "prepositional phrase", SENT: "sentence",
    Sint: "clause inside a sentence", Srel: "relative clause", Ssub: "subordinate clause", VN: "verb with its auxiliaries", VPinf: "phrase of an infinitive",
    VPpart: "phrase of a participle", MWA: "adjective of several words", MWADV: "adverb of several words", MWC: "conjunction of several words",
    MWCL: "pronoun of several words", MWD: "determiner of several words", MWN: "noun of several words", MWP: "preposition of several words",
    MWPRO: "pronoun of several words", MWV: "verb of several words",
  },
};

const OF_ALL = {
  DOC: "the whole text, above its sentences",
  ROOT: "the root of the tree",
  X: "a phrase of no known kind",
};

const TAGS = {
  ADD: "address on the web", AFX: "prefix or suffix", CC: "coordinating conjunction", CD: "number", DT: "determiner", EX: "“there” in “there is”",
  FW: "foreign word", GW: "part of a word", HYPH: "hyphen", IN: "preposition or conjunction", JJ: "adjective", JJR: "adjective, comparative",
  JJS: "adjective, superlative", LS: "number of a list", MD: "modal verb", NFP: "ornament", NN: "noun, singular", NNP: "name, singular",
  NNPS: "name, plural", NNS: "noun, plural", PDT: "word before a determiner", POS: "possessive ending", PRP: "personal pronoun",
  PRP$: "possessive pronoun", PRPP: "possessive pronoun", RB: "adverb", RBR: "adverb, comparative", RBS: "adverb, superlative", RP: "particle", SYM: "symbol",
  TO: "“to”", UH: "interjection", VB: "verb, base form", VBD: "verb, past", VBG: "verb with “-ing”", VBN: "verb, past participle",
  VBP: "verb, present", VBZ: "verb, third person present", WDT: "determiner that asks", WP: "pronoun that asks", WP$: "“whose”", WPP: "“whose”", WRB: "adverb that asks",
  ADJ: "adjective", ADP: "preposition", ADV: "adverb", AUX: "auxiliary verb", CCONJ: "coordinating conjunction", DET: "determiner", INTJ: "interjection",
  NOUN: "noun", NUM: "number", PART: "particle", PRON: "pronoun", PROPN: "name", PUNCT: "punctuation", SCONJ: "subordinating conjunction", VERB: "verb",
  X: "word of no known kind", $: "currency", "-LRB-": "opening bracket", "-RRB-": "closing bracket",
};

/** What the label of a phrase means, in a sentence; undefined for a label that is not known. */
export function meaningOfLabel(label, language) {
  const name = label.replace(/^@/, "");
  const meaning = OF_ALL[name] ?? PHRASES[language]?.[name] ?? PHRASES.en[name];
  if (!meaning) return undefined;
  if (!label.startsWith("@")) return `${label}: ${meaning}.`;
  return `${label}: part of ${name} (${meaning}). The model reads trees whose phrases have two parts, so a longer phrase is cut, and its pieces get an @.`;
}

/** What the tag of a word means; undefined for a tag that is not known. */
export function meaningOfTag(tag) {
  if (/^[\p{P}\p{S}]+$/u.test(tag) && !TAGS[tag]) return `${tag}: punctuation.`;
  return TAGS[tag] && `${tag}: ${TAGS[tag]}.`;
}

/** A text that explains itself while the pointer or the focus is on it. */
function explained(text, explanation, attributes = {}) {
  const show = () => showTooltip(term, create("span", {}, explanation));
  const term = create(
    "button",
    { type: "button", class: "term", "aria-description": explanation, onclick: show, onpointerenter: show, onfocus: show, onpointerleave: hideTooltip, onblur: hideTooltip, ...attributes },
    text,
  );
  return term;
}

/** A term of the glossary, shown as this text. */
export const term = (text, key) => explained(text, TERMS[key]);

/** A question mark that explains what is before it. */
export const help = (key) => explained("?", TERMS[key], { class: "term help", "aria-label": "What is this?" });

/** A label or tag with its meaning; plain text where the meaning is not known. */
export const explainedOr = (text, meaning) => (meaning ? explained(text, meaning) : text);
