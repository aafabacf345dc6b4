// Entries of watch lists: their limits in words, the entries near a text, and the form that adds a seen plate.
import { api, attempt, facts, language, make, number, rowForm, say, text } from "./common.js";
import { inLine } from "./plate.js";

const date = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
const day = (value) => date.format(new Date(`${value}T00:00`)); // without a time, it would be a day of UTC

export const addressOf = (list) => `/api/v1/lists/${encodeURIComponent(list)}`;

/** Where and when an entry matches; empty for one without limits. */
export const limitsOf = ({ valid_from: first, valid_until: last, hours, cameras }) =>
  [
    first && text("lists.valid_from", { day: day(first) }),
    last && text("lists.valid_until", { day: day(last) }),
    hours,
    cameras?.join(", "),
  ].filter(Boolean).join(" · ");

/** The entries of a list that may match a car with this text; null if there are none. */
export async function nearEntries(list, wanted) {
  const near = await api(`${addressOf(list)}/near?${new URLSearchParams({ text: wanted })}`);
  if (!near.entries.length) return null;
  const why = ({ distance, probability }) =>
    distance ? text(probability ? "lists.near_probable" : "lists.near_always", { distance, probability: `${number(100 * probability)} %` }) : text("lists.near_same");
  return make(
    "div",
    { class: "near hint" },
    text("lists.near", { text: near.text }),
    make("ul", {}, near.entries.map((entry) =>
      make("li", {}, make("code", {}, inLine(entry.plate)), ` ${[entry.label, limitsOf(entry), why(entry)].filter(Boolean).join(" · ")}`))),
  );
}

/** The form that adds a plate to a list, and what this list would match already. */
export async function listForm(plate, close) {
  const list = make("select", { "aria-label": text("events.list") }, facts.lists.map((name) => make("option", {}, name)));
  const label = make("input", { maxlength: "200", placeholder: text("lists.label"), "aria-label": text("lists.label"), autocomplete: "off" });
  const near = make("div", { role: "status" });
  const look = async () => near.replaceChildren((await nearEntries(list.value, plate)) ?? "");
  list.addEventListener("change", () => attempt(look));
  await look();
  const add = async () => {
    await api(`${addressOf(list.value)}/entries`, { method: "POST", body: JSON.stringify({ plate, label: label.value }) });
    close();
    say(text("lists.added", { plate, list: list.value }));
  };
  return make("div", { class: "listing" }, rowForm("", [list, label], text("lists.add"), add, close), near);
}
