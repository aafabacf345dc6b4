// Shared by all sections: the server's facts and texts, requests, and functions that build elements.

const read = (id) => JSON.parse(document.getElementById(id).textContent);

export const facts = read("facts");
const texts = read("texts");
export const language = document.documentElement.lang;

/** The text with the key "section.name"; `values` replace the {names} in it. */
export function text(path, values = {}) {
  const found = path.split(".").reduce((part, name) => part?.[name], texts);
  return Object.entries(values).reduce((words, [name, value]) => words.replaceAll(`{${name}}`, value), found ?? path);
}

/** A text that may be missing, for example for a name from the server; then `other`. */
export function textOr(path, other) {
  const found = text(path);
  return found === path ? other : found;
}

/** An error of the API, in the user's language; `detail` is the server's message. */
export class ApiError extends Error {
  constructor(code, detail, status) {
    super(text(`errors.${code}`));
    this.code = code;
    this.detail = detail;
    this.status = status;
  }
}

/** Send a request to our own server -> its JSON, or null if it has none. Throws ApiError. */
export async function api(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { "X-Page-Token": facts.pageToken, ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("network", "", 0);
  }
  const body = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : null;
  if (answer.ok) return body;
  throw new ApiError(body?.error?.code ?? "PLATES_INTERNAL", body?.error?.message ?? "", answer.status);
}

/** Show a message in a corner for some seconds, and announce it to screen readers. */
let sayingEnds;
export function say(words) {
  const box = document.getElementById("said");
  box.textContent = words;
  clearTimeout(sayingEnds);
  sayingEnds = setTimeout(() => box.replaceChildren(), 4000);
}

/** What an action gives; null after an error, which is shown. */
export async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    say([error.message, error.detail].join(" "));
    return null;
  }
}

/** A form in a row: its fields, a button with these words, and one that closes it. What the form does is attempted. */
export function rowForm(kind, fields, words, act, close) {
  const submit = (submitted) => {
    submitted.preventDefault();
    attempt(act);
  };
  return make(
    "form",
    { class: `row ${kind}`, onsubmit: submit },
    fields,
    make("button", { type: "submit", class: "button strong" }, words),
    make("button", { type: "button", class: "button", onclick: close }, text("events.cancel")),
  );
}

/** Create an element with attributes, `on...` listeners, `data` and children; texts are never parsed as markup. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  apply(element, attributes);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function makeSvg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  apply(element, attributes);
  element.append(...children);
  return element;
}

function apply(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

export const icon = (name) =>
  makeSvg("svg", { class: "icon", "aria-hidden": "true" }, makeSvg("use", { href: `/static/icons.svg#${name}` }));

/** A moment in the format of the user's language. */
export const clock = new Intl.DateTimeFormat(language, { dateStyle: "short", timeStyle: "medium", hour12: false });

const numbers = new Map();
/** A number in the format of the user's language. */
export function number(value, digits = 0) {
  if (!numbers.has(digits))
    numbers.set(digits, new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  return numbers.get(digits).format(value);
}

/** A probability in percent, rounded down, so that 99.96 does not become 100. */
export const percent = (value) => (value >= 1 ? "100" : number(Math.floor(value * 1000) / 10, 1)) + " %";

/** The level of a probability, which sets the colour of a character. */
export const level = (probability) => (probability >= 0.9 ? "high" : probability >= 0.6 ? "middle" : "low");

export async function copy(words) {
  await navigator.clipboard.writeText(words);
  say(`${text("try.copied")}: ${words}`);
}

export function download(name, blob) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
