// The paths of the service from its OpenAPI description: request, response, and a form to try each path.

import { byId, create } from "./page.js";
import { ask, setToken } from "./service.js";

const EXAMPLES = {
  "/v1/parse": { inputs: ["The cat sleeps well."] },
  "/v1/classify": { inputs: ["A gorgeous, witty, seductive movie."] },
  "/v1/translate": { inputs: ["A dog sleeps."], attention: true },
  "/v1/language": { inputs: ["Ein schöner Film."] },
  "/v1/attention": { input: "A gorgeous, witty, seductive movie.", part: { kind: "word", index: 1 } },
};

const formatJson = (value) => JSON.stringify(value, null, 2);

/** A schema with its references resolved. */
function resolve(schema, all) {
  if (Array.isArray(schema)) return schema.map((item) => resolve(item, all));
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref) return resolve(all[schema.$ref.split("/").at(-1)], all);
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => key !== "title")
      .map(([key, value]) => [key, resolve(value, all)]),
  );
}

function schemaOf(content, all) {
  const schema = content?.["application/json"]?.schema;
  return schema ? [create("pre", { tabindex: 0 }, formatJson(resolve(schema, all)))] : [];
}

function tryForm(path, method) {
  const body = method === "post" ? create("textarea", { rows: 4, spellcheck: "false", "aria-label": `Body of ${path}` }) : undefined;
  if (body) body.value = formatJson(EXAMPLES[path] ?? {});
  const answer = create("pre", { tabindex: 0, role: "status", hidden: true });
  const send = async () => {
    answer.hidden = false;
    try {
      answer.textContent = formatJson(await ask(path, body ? JSON.parse(body.value) : undefined));
    } catch (error) {
      answer.textContent = `${error.status ?? ""} ${error.message}`;
    }
  };
  return [...(body ? [body] : []), create("button", { type: "button", onclick: send }, `Try ${path}`), answer];
}

function describePath(path, method, operation, all) {
  return create(
    "details",
    { class: "path" },
    create("summary", {}, create("span", { class: "method" }, method), ` ${path} – ${operation.description ?? operation.summary}`),
    ...(operation.requestBody ? [create("h2", {}, "Request"), ...schemaOf(operation.requestBody.content, all)] : []),
    create("h2", {}, "Response"),
    ...schemaOf(operation.responses["200"]?.content, all),
    create("ul", {}, ...Object.entries(operation.responses).map(([status, { description }]) => create("li", {}, `${status}: ${description}`))),
    create("h2", {}, "Try it"),
    ...tryForm(path, method),
  );
}

async function start() {
  const description = await ask("/openapi.json");
  byId("about").textContent = description.info.description;
  const all = description.components.schemas;
  const paths = Object.entries(description.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]) => describePath(path, method, operation, all)));
  byId("paths").replaceChildren(...paths);
}

byId("token").addEventListener("change", () => setToken(byId("token").value));
start().catch((error) => {
  byId("problem").textContent = error.message;
});
