// The paths of the service, made from its OpenAPI description: what each takes and gives, and a form to try it.

import { byId, made } from "./page.js";
import { ask, setToken } from "./service.js";

const EXAMPLES = {
  "/v1/parse": { inputs: ["The cat sleeps well."] },
  "/v1/classify": { inputs: ["A gorgeous, witty, seductive movie."] },
  "/v1/translate": { inputs: ["A dog sleeps."], attention: true },
  "/v1/attention": { input: "A gorgeous, witty, seductive movie.", part: { kind: "word", index: 1 } },
};

const written = (value) => JSON.stringify(value, null, 2);

/** A schema with what it refers to in place. */
function resolved(schema, all) {
  if (Array.isArray(schema)) return schema.map((own) => resolved(own, all));
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref) return resolved(all[schema.$ref.split("/").at(-1)], all);
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== "title")
      .map(([key, value]) => [key, resolved(value, all)]),
  );
}

function schemaOf(content, all) {
  const schema = content?.["application/json"]?.schema;
  return schema ? [made("pre", { tabindex: 0 }, written(resolved(schema, all)))] : [];
}

function trial(path, method) {
  const body = method === "post" ? made("textarea", { rows: 4, spellcheck: "false", "aria-label": `Body of ${path}` }) : undefined;
  if (body) body.value = written(EXAMPLES[path] ?? {});
  const answer = made("pre", { tabindex: 0, role: "status", hidden: true });
  const send = async () => {
    answer.hidden = false;
    try {
      answer.textContent = written(await ask(path, body ? JSON.parse(body.value) : undefined));
    } catch (error) {
      answer.textContent = `${error.status ?? ""} ${error.message}`;
    }
  };
  return [...(body ? [body] : []), made("button", { type: "button", onclick: send }, `Try ${path}`), answer];
}

function shown(path, method, facts, all) {
  return made(
    "details",
    { class: "path" },
    made("summary", {}, made("span", { class: "method" }, method), ` ${path} – ${facts.description ?? facts.summary}`),
    ...(facts.requestBody ? [made("h2", {}, "Takes"), ...schemaOf(facts.requestBody.content, all)] : []),
    made("h2", {}, "Gives"),
    ...schemaOf(facts.responses["200"]?.content, all),
    made("ul", {}, ...Object.entries(facts.responses).map(([status, own]) => made("li", {}, `${status}: ${own.description}`))),
    made("h2", {}, "Try it"),
    ...trial(path, method),
  );
}

async function begin() {
  const description = await ask("/openapi.json");
  byId("about").textContent = description.info.description;
  const all = description.components.schemas;
  const paths = Object.entries(description.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, facts]) => shown(path, method, facts, all)));
  byId("paths").replaceChildren(...paths);
}

byId("token").addEventListener("change", () => setToken(byId("token").value));
begin().catch((error) => {
  byId("problem").textContent = error.message;
});
