// Links, pictures and brackets to save or share. Links hold the text after the #, which browsers do not send.

import { byId } from "./page.js";

const MOST_PIXELS = 8192;

/** The state in the address: {text, show, compare, layout, task, language, edited}. */
export function fromAddress() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Put the state into the address; unless `replace` is true, the browser can go back. */
export function toAddress(state, { replace }) {
  const entries = Object.entries(state).filter(([, value]) => value);
  const address = `#${new URLSearchParams(entries)}`;
  if (replace) history.replaceState(null, "", address);
  else if (address !== location.hash) history.pushState(null, "", address);
}

export async function copyLink() {
  await copyText(location.href, "The link has been copied.");
}

export async function copyBrackets(pane) {
  await copyText(pane.answer.tree, "The tree has been copied as brackets.");
}

async function copyText(text, message) {
  try {
    await navigator.clipboard.writeText(text);
    byId("status").textContent = message;
  } catch {
    byId("status").textContent = `The browser does not allow copying. Here it is: ${text}`;
  }
}

/** The picture as an SVG document: the whole tree, in light colours. */
export function svgDocument(pane) {
  const { width, height } = pane.view.layout;
  const svg = pane.view.svg.cloneNode(true);
  for (const name of ["class", "role", "height"]) svg.removeAttribute(name);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("viewBox", `0 0 ${width.toFixed(1)} ${height.toFixed(1)}`);
  svg.setAttribute("width", Math.ceil(width));
  svg.setAttribute("height", Math.ceil(height));
  const background = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: "#ffffff" })) background.setAttribute(key, value);
  svg.prepend(background);
  for (const part of svg.querySelectorAll(".part")) {
    if (part.classList.contains("dimmed")) part.setAttribute("opacity", 0.25);
    for (const name of ["tabindex", "aria-selected", "aria-level", "role"]) part.removeAttribute(name);
  }
  return { text: new XMLSerializer().serializeToString(svg), width, height };
}

export function saveSvg(pane) {
  save(new Blob([svgDocument(pane).text], { type: "image/svg+xml" }), "tree.svg");
}

export function savePng(pane) {
  const { text, width, height } = svgDocument(pane);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image();
  image.onload = () => {
    const scale = Math.min(2, MOST_PIXELS / width, MOST_PIXELS / height);
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(width * scale);
    canvas.height = Math.ceil(height * scale);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(address);
    canvas.toBlob((blob) => save(blob, "tree.png"), "image/png");
  };
  image.onerror = () => {
    byId("problem").textContent = "The picture could not be drawn.";
  };
  image.src = address;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
