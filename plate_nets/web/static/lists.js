// The section Lists: shows, adds and removes entries; imports and exports tables.
import { api, icon, make, say, text } from "./common.js";

const MOST = 500;
const box = document.getElementById("lists");

export function enter() {
  refresh();
}

async function refresh() {
  const { lists } = await attempt(() => api("/api/v1/lists")) ?? { lists: [] };
  box.replaceChildren(...lists.map(card));
}

async function attempt(act) {
  try {
    return await act();
  } catch (error) {
    say([error.message, error.detail].join(" "));
    return null;
  }
}

function card({ name, entries }) {
  const address = `/api/v1/lists/${encodeURIComponent(name)}`;
  const all = Object.entries(entries);
  const find = make("input", { type: "search", placeholder: text("lists.find"), "aria-label": `${text("lists.find")}: ${name}` });
  const rows = make("tbody");
  const note = make("p", { class: "hint" });
  const draw = () => {
    const words = find.value.trim().toUpperCase();
    const found = all.filter(([plate, label]) => plate.includes(words) || label.toUpperCase().includes(words));
    rows.replaceChildren(...found.slice(0, MOST).map(([plate, label]) => row(address, plate, label)));
    note.textContent = found.length > MOST ? text("lists.shown", { count: MOST }) : found.length ? "" : text("lists.empty");
  };
  find.addEventListener("input", draw);
  draw();
  return make(
    "section",
    { class: "card", data: { list: name } },
    make("div", { class: "between" }, make("h2", {}, name), make("span", { class: "hint" }, text("lists.entries", { count: all.length }))),
    adder(address, name),
    find,
    make("div", { class: "table", role: "region", tabindex: "0", "aria-label": name },
      make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, text("lists.plate")), make("th", { scope: "col" }, text("lists.label")), make("td"))), rows)),
    note,
    make("div", { class: "row" },
      make("a", { class: "button", href: `${address}.csv`, download: true }, icon("download"), text("lists.export")),
      importer(address, name)),
  );
}

function row(address, plate, label) {
  const remove = make("button", { type: "button", class: "button quiet icon", "aria-label": `${text("lists.remove")}: ${plate}` }, icon("close"));
  remove.addEventListener("click", async () => {
    await attempt(() => api(`${address}/entries/${encodeURIComponent(plate)}`, { method: "DELETE" }));
    refresh();
  });
  return make("tr", {}, make("td", {}, make("code", {}, plate)), make("td", {}, label), make("td", { class: "end" }, remove));
}

function adder(address, name) {
  const plate = make("input", { required: true, maxlength: "16", placeholder: text("lists.plate"), "aria-label": `${text("lists.plate")}: ${name}`, spellcheck: "false", autocomplete: "off" });
  const label = make("input", { maxlength: "200", placeholder: text("lists.label"), "aria-label": `${text("lists.label")}: ${name}`, autocomplete: "off" });
  const form = make("form", { class: "row adder" }, plate, label, make("button", { type: "submit", class: "button strong" }, text("lists.add")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = JSON.stringify({ plate: plate.value, label: label.value });
    if (await attempt(() => api(`${address}/entries`, { method: "POST", body }))) refresh();
  });
  return form;
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
