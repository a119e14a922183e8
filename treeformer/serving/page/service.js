// Requests to the service that the page came from; no other host is contacted.

let token = sessionStorage.getItem("token") ?? "";

export function setToken(value) {
  token = value;
  sessionStorage.setItem("token", value);
}

export const hasToken = () => token !== "";

/** A request that the service refused or did not answer. */
export class ServiceError extends Error {
  constructor(status, message, limit = undefined) {
    super(message);
    this.status = status;
    this.limit = limit;
  }
}

const ATTEMPTS = 3;

/** The answer to a request: POST if there is a body, otherwise GET. A busy service is asked again. */
export async function ask(path, body = undefined) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(path, body);
    } catch (error) {
      if (error.status !== 503 || attempt === ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * attempt));
    }
  }
}

async function askOnce(path, body) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const options = { headers };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ServiceError(0, "The service does not answer. Is it still running?");
  }
  const content = await response.json().catch(() => ({}));
  if (!response.ok) throw new ServiceError(response.status, content.error ?? `The service answered ${response.status}.`, content.limit);
  return content;
}
