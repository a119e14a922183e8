// What each word and phrase contributes to the answer: colours, marks and sentences.
//
// The rules are those of treeformer/inference/effect_pictures.py: the stronger an effect, the stronger its colour, and
// effects below a fifth of the strongest have no mark. Below a tenth they have no colour, which would glare in the dark.

import { bars, create, percent } from "./page.js";

const MARKED = 0.2;
const COLOURED = 0.1;

export class Effects {
  /** answer: with its list of effects, which is empty where they were not asked for. */
  constructor(answer, classes) {
    this.classes = classes;
    this.bySpan = new Map(answer.effects.map((effect) => [effect.span.join(), effect]));
    this.most = Math.max(...answer.effects.map(strengthOf));
  }

  get shown() {
    return this.bySpan.size > 0;
  }

  of(span) {
    return this.bySpan.get(span.join());
  }

  /** The colour, the mark and the description of a part. */
  style(span) {
    const effect = this.of(span);
    if (!effect?.towards) return { description: "no effect" };
    const { mark, colour } = this.classes.find(({ name }) => name === effect.towards);
    const share = strengthOf(effect) / this.most;
    return { colour: share < COLOURED ? undefined : paler(colour, share), mark: share < MARKED ? undefined : mark, description: sentence(effect) };
  }

  /** The effect of a part in words, and the answer without the part. */
  describe(span) {
    const effect = this.of(span);
    if (!effect) return [];
    return [
      create("p", { class: "effect" }, effect.towards ? `Speaks for ${sentence(effect)}` : "Changes nothing"),
      create("p", { class: "hint" }, `Without it: ${this.#likeliest(effect.without)}`),
      bars(this.classes, effect.without),
    ];
  }

  #likeliest(probabilities) {
    const most = Math.max(...probabilities);
    return `${this.classes[probabilities.indexOf(most)].name}, ${percent(most)}`;
  }
}

const strengthOf = (effect) => Math.max(...effect.log_odds);

const sentence = (effect) => `${effect.towards}: +${strengthOf(effect).toFixed(1)} log-odds`;

/** A colour such as #e8776a mixed with white; a share of 1 leaves it as it is. */
function paler(colour, share) {
  const parts = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  return `#${parts.map((part) => Math.round(255 - share * (255 - part)).toString(16).padStart(2, "0")).join("")}`;
}
