// The section Health, refreshed every few seconds while it is visible.
import { api, language, make, number, text, textOr } from "./common.js";

const EVERY = 5000;
const box = document.getElementById("health");
let timer = 0;

export function enter() {
  refresh();
}

export function leave() {
  clearTimeout(timer);
  timer = 0;
}

async function refresh() {
  leave();
  try {
    draw(await api("/api/v1/health"));
  } catch (error) {
    box.replaceChildren(make("div", { class: "fault", role: "alert" }, error.message));
  }
  box.removeAttribute("aria-busy");
  if (!document.getElementById("section-health").hidden) timer = setTimeout(refresh, EVERY);
}

const card = (name, ...children) => make("section", { class: "card" }, make("h2", {}, text(name)), ...children);
const facts = (rows) =>
  make("dl", { class: "facts" }, ...rows.filter(([, value]) => value !== null && value !== "").flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
const pill = (good, words) => make("span", { class: "pill", data: { level: good ? "high" : "low" } }, words);

function draw(health) {
  const well = health.state === "serving";
  const milliseconds = health.known_picture_milliseconds;
  box.replaceChildren(
    make(
      "section",
      { class: "card state", data: { state: health.state } },
      make("h2", {}, pill(well, text(`health.${health.state}`))),
      health.fault ? make("p", { class: "hint", lang: "en" }, health.fault) : null,
      facts([
        [text("health.known_picture"), milliseconds === null ? null : `${number(milliseconds)} ${text("try.milliseconds")}`],
        [text("health.server"), health.backend.url || health.backend.kind],
        [text("health.version"), health.version ? `Triton ${health.version}` : null],
        [text("health.updated"), new Date(health.asked * 1000).toLocaleTimeString(language, { hour12: false })],
      ]),
    ),
    health.models
      ? card("health.models",
          health.models_fault ? make("p", { class: "hint", lang: "en" }, health.models_fault) : null,
          make("ul", { class: "plain" }, ...health.models.map(({ name, ready }) =>
            make("li", { class: "between" }, make("code", {}, name), pill(ready, text(ready ? "health.ready" : "health.not_ready"))))))
      : "",
    card("health.requests", facts([
      [text("health.pictures_read"), number(health.web.plates_web_pictures_total ?? 0)],
      [text("health.pictures_failed"), number(health.web.plates_web_errors_total ?? 0)],
      [text("health.pictures_waiting"), number(health.web.plates_web_waiting ?? 0)],
      [text("health.streams"), "plates_web_streams" in health.web ? number(health.web.plates_web_streams) : null],
    ])),
    Object.keys(health.stages).length
      ? card("health.mean_time", facts(Object.entries(health.stages).map(([stage, mean]) => [textOr(`stages.${stage}`, stage), `${number(mean, 1)} ${text("try.milliseconds")}`])))
      : "",
    health.supervisor
      ? card("health.server", facts([
          [text("health.restarts"), number(health.supervisor.restarts)],
          [text("health.heals"), number(health.supervisor.heals)],
        ]))
      : "",
    health.cameras
      ? card("health.cameras", make("ul", { class: "plain" }, ...health.cameras.map(({ camera_id, state, cause }) =>
          make("li", { class: "between", title: cause }, make("code", {}, camera_id), pill(["online", "ended"].includes(state), text(`cameras.state_${state}`))))))
      : "",
    health.sinks
      ? card("health.sinks", make("ul", { class: "plain" }, ...health.sinks.map(({ name, delivered, error }) =>
          make("li", { class: "between", title: error }, make("code", {}, name), pill(!error, number(delivered))))))
      : "",
  );
}
