// The section Live: the cameras' current pictures, new events, and a search in all events.
import { api, attempt, facts, make, number, say, text } from "./common.js";
import { dayAfter, dayOf, drawDay } from "./day.js";
import { adviceOf } from "./advice.js";
import { eventRow } from "./event.js";

const STATUS_EVERY = 1000;
const PICTURE_EVERY = 400;
const TYPING = 250;
const DAY_EVERY = 2000;
const MOST_ROWS = 500;

const parts = Object.fromEntries(
  ["cameras", "events", "events-none", "events-more", "search", "filters", "connection", "search-camera", "search-list", "search-lists", "search-text", "search-since", "search-until", "events-csv", "day-before", "day-after"].map((id) => [id, document.getElementById(id)]),
);
const wide = matchMedia("(width > 40rem)");
const cards = new Map();
let stream = null;
let cursor = "";
let typing = 0;
let asked = 0;
let seen = false;
let drawing = 0;
let timers = [];

export function enter() {
  seen = true;
  if (!stream) {
    fillChoices();
    search();
  }
  listen();
  if (facts.withCameras) look();
}

export function leave() {
  seen = false;
  timers.forEach(clearTimeout);
  timers = [];
  stream?.close();
  stream = null;
}

// Events

function wanted() {
  const values = new FormData(parts.search);
  for (const name of ["since", "until"]) if (values.get(name)) values.set(name, new Date(values.get(name)).toISOString());
  return new URLSearchParams([...values].filter(([, value]) => value && value !== "0"));
}

async function search(more = false) {
  const query = wanted();
  if (more) query.set("cursor", cursor);
  else showDay();
  parts["events-csv"].href = `/api/v1/events/table.csv?${wanted()}`;
  const mine = ++asked;
  let page;
  try {
    page = await api(`/api/v1/events?${query}`);
  } catch (error) {
    say([error.message, error.detail].join(" "));
    return;
  }
  if (mine !== asked) return; // a later search has replaced this one
  if (!more) parts.events.replaceChildren();
  parts.events.append(...page.events.map(rowOf));
  cursor = page.cursor;
  parts["events-more"].hidden = !cursor;
  tellNone();
}

const tellNone = () => (parts["events-none"].hidden = parts.events.childElementCount > 0);

function listen() {
  if (stream) return;
  stream = new EventSource("/api/v1/events/stream");
  const tell = (name) => (parts.connection.textContent = text(`live.${name}`));
  stream.addEventListener("open", () => tell("newest"));
  stream.addEventListener("error", () => tell("reconnecting"));
  stream.addEventListener("recognition", ({ data }) => arrived(JSON.parse(data)));
}

function arrived(event) {
  document.documentElement.dataset.arrived = `${event.id} ${Date.now()}`;
  const shown = (id) => parts.events.querySelector(`[data-id="${CSS.escape(id)}"]`);
  shown(event.supersedes)?.remove();
  const before = shown(event.id);
  if (before) {
    if (!before.querySelector(".event-panel")) before.replaceWith(rowOf(event));
  } else if (![...wanted().keys()].length) { // new events must not change the results of a search
    parts.events.prepend(rowOf(event));
    while (parts.events.childElementCount > MOST_ROWS) parts.events.lastElementChild.remove();
  }
  tellNone();
  drawing ||= setTimeout(showDay, DAY_EVERY);
}

const rowOf = (event) => eventRow(event, { show: searchFor });

/** Search for a text alone. */
function searchFor(plate) {
  parts.search.reset();
  parts["search-text"].value = plate;
}

// The day as bars

const day = () => dayOf(parts["search-since"].value, parts["search-until"].value);

async function showDay() {
  clearTimeout(drawing);
  drawing = 0;
  try {
    await drawDay(wanted(), day());
  } catch {
    // the search tells what is wrong
  }
}

/** Show the events of a day, and its bars. */
function turn(days) {
  const to = dayAfter(day(), days);
  const local = (moment) => new Date(moment - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  parts["search-since"].value = local(to);
  parts["search-until"].value = local(dayAfter(to));
  search();
}

parts["day-before"].addEventListener("click", () => turn(-1));
parts["day-after"].addEventListener("click", () => turn(1));

async function fillChoices() {
  const { cameras } = await api("/api/v1/events/cameras");
  parts["search-camera"].append(...cameras.map((name) => make("option", {}, name)));
  parts["search-list"].append(...facts.lists.map((name) => make("option", {}, name)));
  parts["search-lists"].hidden = !facts.lists.length;
}

const unfold = () => { parts.filters.open = wide.matches; }; // on a phone, show the events first
wide.addEventListener("change", unfold);
unfold();
parts.search.addEventListener("submit", (event) => event.preventDefault());
parts.search.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(search, TYPING);
});
parts.search.addEventListener("reset", () => setTimeout(search));
parts["events-more"].addEventListener("click", () => search(true));

// Cameras

async function look() {
  try {
    const { cameras } = await api("/api/v1/cameras");
    parts.cameras.hidden = !cameras.length;
    for (const camera of cameras) drawCamera(camera);
  } catch {
    // the next request may succeed
  }
  if (seen) timers = [setTimeout(look, STATUS_EVERY)];
}

function drawCamera(camera) {
  if (!cards.has(camera.camera_id)) {
    const image = make("img", { alt: camera.camera_id });
    const card = make(
      "section",
      { class: "card camera" },
      make("div", { class: "camera-picture" }, image),
      make("div", { class: "between" }, make("h3", {}, camera.camera_id), make("span", { class: "pill" })),
      make("p", { class: "hint" }),
      make("p", { class: "advice" }),
      readNow(camera.camera_id),
    );
    cards.set(camera.camera_id, card);
    parts.cameras.append(card);
    keepFresh(image, camera.camera_id);
  }
  const card = cards.get(camera.camera_id);
  const pill = card.querySelector(".pill");
  pill.textContent = text(`live.state_${camera.state}`);
  pill.dataset.level = { online: "high", ended: "high", connecting: "middle" }[camera.state] ?? "low";
  card.querySelector(".hint").textContent = [
    `${number(camera.analysed_fps, 1)} ${text("live.frames")}`,
    camera.age === null ? "" : `${text("live.age")} ${number(camera.age, 1)} ${text("live.seconds")}`,
    camera.cause ?? "",
  ].filter(Boolean).join(" · ");
  card.querySelector(".advice").textContent = adviceOf(camera.view);
}

/** A button that reads the next second of a camera, and says what was read. */
function readNow(camera) {
  const button = make("button", { type: "button", class: "button" }, text("live.read_now"));
  button.addEventListener("click", async () => {
    button.disabled = true;
    const answer = await attempt(() => api(`/api/v1/cameras/${encodeURIComponent(camera)}/read`, { method: "POST" }));
    button.disabled = false;
    if (answer) say(answer.events.map((event) => event.plate).filter(Boolean).join(", ") || text("live.no_text"));
  });
  return button;
}

/** Reload a camera's picture only after the last one arrived, so that a slow connection is never flooded. */
function keepFresh(image, camera) {
  const load = () => {
    if (seen) image.src = `/api/v1/cameras/${encodeURIComponent(camera)}/frame.jpg?${Date.now()}`;
    else setTimeout(load, STATUS_EVERY);
  };
  image.addEventListener("load", () => setTimeout(load, PICTURE_EVERY));
  image.addEventListener("error", () => setTimeout(load, STATUS_EVERY));
  load();
}
