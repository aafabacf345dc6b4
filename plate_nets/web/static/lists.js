// The section Lists: shows, adds and removes entries; imports and exports tables.
import { api, attempt, icon, make, say, text } from "./common.js";
import { addressOf, limitsOf, nearEntries } from "./list_entries.js";
import { inLine } from "./plate.js";

const MOST = 500;
const TYPING = 250;
const NEAR_FROM = 4;
const box = document.getElementById("lists");

export function enter() {
  refresh();
}

async function refresh() {
  const { lists } = await attempt(() => api("/api/v1/lists")) ?? { lists: [] };
  box.replaceChildren(...lists.map(card));
}

function card({ name, entries, limits }) {
  const address = addressOf(name);
  const all = Object.entries(entries);
  const form = adder(address, name);
  const find = make("input", { type: "search", placeholder: text("lists.find"), "aria-label": `${text("lists.find")}: ${name}` });
  const rows = make("tbody");
  const note = make("p", { class: "hint" });
  const near = make("div", { role: "status" });
  let typing = 0;
  const lookNear = async () => {
    const wanted = find.value.trim();
    const found = wanted.length < NEAR_FROM ? null : await attempt(() => nearEntries(name, wanted));
    if (wanted === find.value.trim()) near.replaceChildren(found ?? "");
  };
  const draw = () => {
    const words = find.value.trim().toUpperCase();
    const found = all.filter(([plate, label]) => plate.includes(words) || label.toUpperCase().includes(words));
    rows.replaceChildren(...found.slice(0, MOST).map(([plate, label]) => row(address, { plate, label, ...limits[plate] }, form.fill)));
    note.textContent = found.length > MOST ? text("lists.shown", { count: MOST }) : found.length ? "" : text("lists.empty");
  };
  find.addEventListener("input", () => {
    draw();
    clearTimeout(typing);
    typing = setTimeout(lookNear, TYPING);
  });
  draw();
  return make(
    "section",
    { class: "card", data: { list: name } },
    make("div", { class: "between" }, make("h2", {}, name), make("span", { class: "hint" }, text("lists.entries", { count: all.length }))),
    form.element,
    find,
    near,
    make("div", { class: "table", role: "region", tabindex: "0", "aria-label": name },
      make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, text("lists.plate")), make("th", { scope: "col" }, text("lists.label")), make("th", { scope: "col" }, text("lists.limits")), make("td"))), rows)),
    note,
    make("div", { class: "row" },
      make("a", { class: "button", href: `${address}.csv`, download: true }, icon("download"), text("lists.export")),
      importer(address, name)),
  );
}

function row(address, entry, fill) {
  const { plate, label } = entry;
  const edit = make("button", { type: "button", class: "button quiet icon", "aria-label": `${text("lists.edit")}: ${plate}`, onclick: () => fill(entry) }, icon("edit"));
  const remove = make("button", { type: "button", class: "button quiet icon", "aria-label": `${text("lists.remove")}: ${plate}` }, icon("close"));
  remove.addEventListener("click", async () => {
    await attempt(() => api(`${address}/entries/${encodeURIComponent(plate)}`, { method: "DELETE" }));
    refresh();
  });
  return make("tr", {}, make("td", {}, make("code", {}, inLine(plate))), make("td", {}, label), make("td", { class: "hint" }, limitsOf(entry)), make("td", { class: "end" }, edit, remove));
}

/** The form that adds an entry or changes one: its element, and a function that fills it with an entry. */
function adder(address, name) {
  const field = (words, attributes) => make("input", { title: words, "aria-label": `${words}: ${name}`, spellcheck: "false", autocomplete: "off", ...attributes });
  const plate = field(text("lists.plate"), { required: true, maxlength: "16", placeholder: text("lists.plate") });
  const label = field(text("lists.label"), { maxlength: "200", placeholder: text("lists.label") });
  const first = field(text("lists.first_day"), { type: "date" });
  const last = field(text("lists.last_day"), { type: "date" });
  const from = field(text("lists.hours_from"), { type: "time" });
  const until = field(text("lists.hours_until"), { type: "time" });
  const cameras = field(text("lists.cameras"), {});
  const named = (input) => make("div", { class: "field" }, make("span", { class: "hint" }, input.title), input);
  const details = make("details", { class: "limits" }, make("summary", {}, text("lists.limits")), make("div", { class: "search" }, [first, last, from, until, cameras].map(named)));
  const element = make("form", {}, make("div", { class: "row adder" }, plate, label, make("button", { type: "submit", class: "button strong" }, text("lists.add"))), details);
  const written = () => ({
    valid_from: first.value || null,
    valid_until: last.value || null,
    hours: [from.value, until.value].filter(Boolean).join("-") || null,
    cameras: cameras.value.split(/\s+/).filter(Boolean),
  });
  const fill = (entry) => {
    [plate.value, label.value] = [entry.plate, entry.label];
    [first.value, last.value] = [entry.valid_from ?? "", entry.valid_until ?? ""];
    [from.value, until.value] = entry.hours?.split("-") ?? ["", ""];
    cameras.value = entry.cameras?.join(" ") ?? "";
    details.open = true;
    label.select();
  };
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    // What is not shown stays as it is
    const body = JSON.stringify({ plate: plate.value, label: label.value, ...(details.open ? written() : {}) });
    const stored = await attempt(() => api(`${address}/entries`, { method: "POST", body }));
    if (stored?.warning) say(stored.warning);
    if (stored) refresh();
  });
  return { element, fill };
}

function importer(address, name) {
  const id = `import-${CSS.escape(name)}`;
  const input = make("input", { type: "file", class: "hidden-input", id, accept: ".csv,text/csv" });
  input.addEventListener("change", async () => {
    const answer = await attempt(() => api(`${address}.csv`, { method: "POST", body: input.files[0] }));
    if (!answer) return;
    say([text("lists.imported", { count: answer.added }), ...(answer.faults.length ? [text("lists.faults"), ...answer.faults] : [])].join(" "));
    refresh();
  });
  return make("span", {}, make("label", { class: "button", for: id }, text("lists.import")), input);
}
