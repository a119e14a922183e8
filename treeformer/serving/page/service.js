// Questions to the service that the page came from; no other machine is ever asked.

let token = sessionStorage.getItem("token") ?? "";

export function setToken(value) {
  token = value;
  sessionStorage.setItem("token", value);
}

export const hasToken = () => token !== "";

/** Why the service did not answer. */
export class ServiceError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const ATTEMPTS = 3;

/** The answer to a question; without one the facts at that path. A service that is busy is asked again. */
export async function ask(path, question = undefined) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(path, question);
    } catch (error) {
      if (error.status !== 503 || attempt === ATTEMPTS) throw error;
      await new Promise((go) => setTimeout(go, 1000 * attempt));
    }
  }
}

async function askOnce(path, question) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const options = { headers };
  if (question !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(question);
    headers["Content-Type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new ServiceError(0, "The service does not answer. Is it still running?");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ServiceError(answer.status, content.error ?? `The service answered ${answer.status}.`);
  return content;
}
