// The frame of the page: sections by the address's #name, theme, log out. A section's module loads when it is first shown.
import { api, facts, say, text } from "./common.js";

const THEMES = ["auto", "light", "dark"];
const opened = new Map();

function chosen() {
  const name = location.hash.slice(1);
  return facts.sections.includes(name) ? name : facts.sections[0];
}

async function show() {
  const name = chosen();
  for (const section of facts.sections) document.getElementById(`section-${section}`).hidden = section !== name;
  for (const tab of document.querySelectorAll("[data-section]")) {
    if (tab.dataset.section === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  document.title = `${text(`nav.${name}`)} · ${text("title")}`;
  for (const [other, module] of opened) if (other !== name) (await module).leave?.();
  if (!opened.has(name)) opened.set(name, import(`./${name}.js`));
  (await opened.get(name)).enter?.();
  document.documentElement.dataset.ready = name;
}

function turnTheme() {
  const root = document.documentElement;
  const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length];
  if (next === "auto") {
    delete root.dataset.theme;
    localStorage.removeItem("theme");
  } else {
    root.dataset.theme = next;
    localStorage.setItem("theme", next);
  }
  say(`${text("nav.theme")}: ${text(`nav.theme_${next}`)}`);
}

document.getElementById("theme").addEventListener("click", turnTheme);
document.getElementById("log-out")?.addEventListener("click", async () => {
  await api("/logout", { method: "POST" });
  location.href = "/login";
});
addEventListener("hashchange", show);
await show();
