// Helpers for the elements of the page.

export const byId = (id) => document.getElementById(id);

/** An HTML element: create("button", {type: "button"}, "Go"); attributes `on…` are listeners. */
export function create(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

export const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

/** Show an explanation beside an element of the page or of a picture. */
export function showTooltip(anchor, ...content) {
  const tooltip = byId("tooltip");
  tooltip.replaceChildren(...content);
  tooltip.hidden = false;
  const box = anchor.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - tooltip.offsetWidth / 2), innerWidth - tooltip.offsetWidth - 8);
  const below = box.bottom + 8 + tooltip.offsetHeight < innerHeight;
  tooltip.style.left = `${left}px`;
  tooltip.style.top = `${below ? box.bottom + 8 : Math.max(8, box.top - 8 - tooltip.offsetHeight)}px`;
}

export function hideTooltip() {
  byId("tooltip").hidden = true;
}

/** A menu with its label. */
export function choice(label, options, chosen, change) {
  const select = create(
    "select",
    { onchange: () => change(select.value) },
    ...options.map(([value, text]) => create("option", { value, selected: value === chosen }, text)),
  );
  return create("label", {}, `${label} `, select);
}

/** The probabilities of the classes as bars. */
export function bars(classes, probabilities) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  return create(
    "ul",
    { class: "bars" },
    ...classes.map(({ name, colour }, number) => {
      const bar = create("span", { class: "bar", "aria-hidden": "true" });
      bar.style.width = `${100 * probabilities[number]}%`;
      bar.style.backgroundColor = colour;
      return create(
        "li",
        { class: number === best ? "best" : "" },
        create("span", { class: "name" }, name),
        create("span", { class: "track", "aria-hidden": "true" }, bar),
        create("span", { class: "number" }, percent(probabilities[number])),
      );
    }),
  );
}

/** A warning for each sentence that the parser failed on; nothing if there are none. */
export function failureWarnings(failures) {
  return failures.map(({ sentence, reason }) =>
    create(
      "p",
      { class: "failure", role: "note" },
      create("span", { class: "mark", "aria-hidden": "true" }, "⚠"),
      ` The parser failed on “${sentence}” (${reason}). Its tree is flat.`,
    ),
  );
}

/** The largest weights: [[index, weight]], largest first. */
export const largest = (weights, count) =>
  weights
    .map((weight, index) => [index, weight])
    .sort((left, right) => right[1] - left[1])
    .slice(0, count);
