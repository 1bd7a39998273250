// Sends a request of the API reference to the sandbox, with a test pair that its owner pastes. The keys are kept in the
// session storage of this tab, and no cookie goes with the request.

const SANDBOX = "/sandbox/v1";
const KEYS = { public: "pk_test_", secret: "sk_test_" };
const SHOWN_HEADERS = ["X-Request-Id", "Idempotent-Replayed", "Retry-After", "RateLimit-Remaining", "Content-Type"];

const words = document.querySelector("[data-try-words]").dataset;
const template = document.getElementById("try");

const kept = (name) => sessionStorage.getItem(`ballast.${name}`) ?? "";

class Problem extends Error {
  constructor(text, field) {
    super(text);
    this.field = field;
  }
}

function enable(place) {
  const panel = template.content.cloneNode(true);
  const form = panel.querySelector("form");
  const fields = {};
  const names = [...place.dataset.path.matchAll(/\{(\w+)\}/g)].map((found) => found[1]);
  const asked = place.dataset.query.split(" ").filter(Boolean);
  for (const name of [...names, ...asked]) form.querySelector("[data-parameters]").append(parameter(name));
  for (const field of form.querySelectorAll("[data-name]")) {
    const name = field.dataset.name;
    fields[name] = field;
    field.id = `${place.dataset.try}-try-${name}`;
    form.querySelector(`[data-for="${name}"]`).htmlFor = field.id;
    field.addEventListener("input", () => telling(place, () => refuseLive(field)));
  }
  if (place.dataset.hasBody) fields.body.value = place.dataset.body;
  else form.querySelector("[data-body-field]").hidden = true;
  place.append(panel);
  const details = place.querySelector("details");
  details.addEventListener("toggle", () => {
    for (const name of Object.keys(KEYS)) fields[name].value ||= kept(name);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await submit(place, fields, names, asked);
  });
  form.querySelector("[data-forget]").addEventListener("click", () => {
    for (const name of Object.keys(KEYS)) sessionStorage.removeItem(`ballast.${name}`);
    for (const field of document.querySelectorAll('[data-name="public"], [data-name="secret"]')) field.value = "";
  });
}

function parameter(name) {
  const field = document.createElement("div");
  const label = document.createElement("label");
  const input = document.createElement("input");
  field.className = "field";
  label.className = "field__label";
  label.dataset.for = name;
  label.textContent = name;
  input.className = "input";
  input.dataset.name = name;
  input.spellcheck = false;
  field.append(label, input);
  return field;
}

async function submit(place, fields, names, asked) {
  const button = place.querySelector("[type=submit]");
  button.disabled = true;
  await telling(place, async () => show(place, await send(place.dataset, fields, names, asked)));
  button.disabled = false;
}

// Does the work; a problem is shown in the form, and its field marked.
async function telling(place, work) {
  const problem = place.querySelector("[data-problem]");
  problem.hidden = true;
  for (const field of place.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    problem.textContent = error.message;
    problem.hidden = false;
    if (error.field) {
      error.field.setAttribute("aria-invalid", "true");
      error.field.focus();
    }
  }
}

async function send({ method, path, hasBody }, fields, names, asked) {
  for (const [name, start] of Object.entries(KEYS)) check(name, fields[name], start);
  for (const name of names) {
    const value = fields[name].value.trim();
    if (!value) throw new Problem(words.parameter.replace("{name}", name), fields[name]);
    path = path.replace(`{${name}}`, encodeURIComponent(value));
  }
  const query = new URLSearchParams(asked.map((name) => [name, fields[name].value.trim()]).filter(([, value]) => value));
  const headers = {
    Authorization: `Bearer ${fields.public.value.trim()}`,
    "X-Api-Secret": fields.secret.value.trim(),
  };
  if (hasBody) headers["Content-Type"] = "application/json";
  if (hasBody && !isJson(fields.body.value)) throw new Problem(words.json, fields.body);
  const body = hasBody ? fields.body.value : undefined;
  const url = `${SANDBOX}${path}${query.size ? `?${query}` : ""}`;
  const began = performance.now();
  try {
    const reply = await fetch(url, { method, headers, body, credentials: "omit", redirect: "error", cache: "no-store" });
    return { reply, text: await reply.text(), milliseconds: Math.round(performance.now() - began) };
  } catch {
    throw new Problem(words.away);
  }
}

// A key for real money is taken out of the page as soon as it is pasted, into whichever field.
function refuseLive(field) {
  if (!/[ps]k_live/i.test(field.value)) return;
  field.value = "";
  throw new Problem(words.live, field);
}

function check(name, field, start) {
  const value = field.value.trim();
  refuseLive(field);
  if (!value.startsWith(start)) throw new Problem(words[name], field);
  sessionStorage.setItem(`ballast.${name}`, value);
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function show(place, { reply, text, milliseconds }) {
  const panel = place.querySelector("[data-reply]");
  const list = panel.querySelector("[data-headers]");
  list.replaceChildren();
  for (const name of SHOWN_HEADERS.filter((each) => reply.headers.has(each))) {
    const term = document.createElement("dt");
    const value = document.createElement("dd");
    term.textContent = name;
    value.textContent = reply.headers.get(name);
    list.append(term, value);
  }
  panel.querySelector("[data-status]").textContent = words.took
    .replace("{status}", `${reply.status} ${reply.statusText}`.trim())
    .replace("{milliseconds}", milliseconds);
  panel.querySelector("[data-content]").textContent = indented(text);
  panel.hidden = false;
}

// Digits stay as they were sent: JSON that is parsed and written again would lose `100.00`.
function indented(text) {
  const numbers = /("(?:\\.|[^"\\])*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
  try {
    const marked = JSON.parse(text.replace(numbers, (whole, string, number) => string ?? `"\\u0001${number}"`));
    return JSON.stringify(marked, null, 2).replace(/"\\u0001([^"]*)"/g, "$1");
  } catch {
    return text;
  }
}

for (const place of document.querySelectorAll("[data-try]")) enable(place);
