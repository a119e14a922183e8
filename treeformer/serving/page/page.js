// Small helpers for the elements of the page.

export const byId = (id) => document.getElementById(id);

/** An element of HTML: made("button", {type: "button"}, "Go"); `on…` attributes are listeners. */
export function made(name, attributes = {}, ...children) {
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

export function choice(label, options, chosen, change) {
  const select = made(
    "select",
    { onchange: () => change(select.value) },
    ...options.map(([value, text]) => made("option", { value, selected: value === chosen }, text)),
  );
  return made("label", {}, `${label} `, select);
}

/** The probabilities of the classes as bars. */
export function bars(classes, probabilities) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  return made(
    "ul",
    { class: "bars" },
    ...classes.map((own, number) => {
      const bar = made("span", { class: "bar", "aria-hidden": "true" });
      bar.style.width = `${100 * probabilities[number]}%`;
      bar.style.backgroundColor = own.colour;
      return made(
        "li",
        { class: number === best ? "best" : "" },
        made("span", { class: "name" }, own.name),
        made("span", { class: "track", "aria-hidden": "true" }, bar),
        made("span", { class: "number" }, percent(probabilities[number])),
      );
    }),
  );
}

/** What was most: [[index, weight]], heaviest first. */
export const heaviest = (weights, count) =>
  weights
    .map((weight, index) => [index, weight])
    .sort((one, other) => other[1] - one[1])
    .slice(0, count);
