// What can be kept and passed on: links, pictures, brackets. Links hold the text after the #, which browsers
// never send.

import { byId } from "./page.js";

const SHOWN = 8192;

/** What the address says: {text, compare, layout, task, edited}. */
export function fromAddress() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/** Put what is shown into the address; unless it stands for what was there, the browser can go back. */
export function toAddress(facts, { instead }) {
  const kept = Object.entries(facts).filter(([, value]) => value);
  const address = `#${new URLSearchParams(kept)}`;
  if (instead) history.replaceState(null, "", address);
  else if (address !== location.hash) history.pushState(null, "", address);
}

export async function copyLink() {
  await copied(location.href, "The link has been copied.");
}

export async function copyBrackets(pane) {
  await copied(pane.answer.tree, "The tree has been copied as brackets.");
}

async function copied(text, message) {
  try {
    await navigator.clipboard.writeText(text);
    byId("status").textContent = message;
  } catch {
    byId("status").textContent = `The browser does not allow copying. Here it is: ${text}`;
  }
}

/** The picture as a document of its own: all of the tree, in light colours. */
export function pictureOf(pane) {
  const { width, height } = pane.view.layout;
  const svg = pane.view.svg.cloneNode(true);
  for (const name of ["class", "role", "height"]) svg.removeAttribute(name);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("viewBox", `0 0 ${width.toFixed(1)} ${height.toFixed(1)}`);
  svg.setAttribute("width", Math.ceil(width));
  svg.setAttribute("height", Math.ceil(height));
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: "#ffffff" })) ground.setAttribute(key, value);
  svg.prepend(ground);
  for (const part of svg.querySelectorAll(".part")) {
    if (part.classList.contains("dimmed")) part.setAttribute("opacity", 0.25);
    for (const name of ["tabindex", "aria-selected", "aria-level", "role"]) part.removeAttribute(name);
  }
  return { text: new XMLSerializer().serializeToString(svg), width, height };
}

export function saveSvg(pane) {
  save(new Blob([pictureOf(pane).text], { type: "image/svg+xml" }), "tree.svg");
}

export function savePng(pane) {
  const { text, width, height } = pictureOf(pane);
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image();
  image.onload = () => {
    const scale = Math.min(2, SHOWN / width, SHOWN / height);
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
