// An event as a row: plate, time, camera, heading, vehicle and watch lists; its plate's history, lists and correction.
import { api, clock, facts, icon, make, number, rowForm, say, text, textOr } from "./common.js";
import { history } from "./history.js";
import { listForm } from "./list_entries.js";
import { inLine, plateSign } from "./plate.js";

const HASH = /^[0-9a-f]{16}$/;
const ARROWS = { towards: "↓", away: "↑" };

/** The row of an event; `plain` leaves out what only the store has; `show` searches for a text. */
export function eventRow(event, { plain = false, act = null, show = null } = {}) {
  const shown = event.correction ?? event.plate;
  const plate = {
    text: shown,
    reading: event.reading,
    characters: event.correction ? [] : event.characters,
    region: event.correction ? "" : event.region?.subject,
    ground: event.ground?.name,
  };
  const row = make("li", { class: "card event", data: { id: event.id, plate: shown } });
  row.append(
    plain ? "" : crop(event),
    make("div", { class: "event-sign" }, plateSign(plate), event.correction ? original(event) : ""),
    make(
      "div",
      { class: "event-facts" },
      act ?? make("time", { datetime: event.timestamp }, clock.format(new Date(event.timestamp))),
      plain ? null : make("span", { class: "hint" }, event.camera_id),
      event.heading ? make("span", { class: "hint" }, `${ARROWS[event.heading]} ${text(`events.${event.heading}`)}`) : null,
      hint(event.vehicle?.type && vehicle(event.vehicle)),
      hint(event.country?.name !== "unknown" && event.country?.name?.toUpperCase()),
      hint(event.source),
      hint(event.own_reading && event.own_reading.name !== event.plate && text("events.own_reading", { plate: inLine(event.own_reading.name) })),
      event.is_parked ? make("span", { class: "pill", data: { level: "middle" } }, text("events.parked")) : null,
      event.stage === "provisional" ? make("span", { class: "pill", data: { level: "middle" } }, text("events.provisional")) : null,
      ...event.watch.map((match) => make("span", { class: "pill", data: { level: "low" } }, [match.list, match.label].filter(Boolean).join(": "))),
    ),
    plain ? "" : tools(event, row, show),
    event.unread && !event.correction ? unread(event) : "",
  );
  return row;
}

const hint = (shown) => (shown ? make("span", { class: "hint" }, shown) : null);
const vehicle = ({ type, side }) =>
  [textOr(`vehicles.${type}`, type), side ? text(`sides.${side}`) : ""].filter(Boolean).join(", ");

/** Why the plate has no text, and what it may be. */
function unread({ unread: { reason, number: counted, unit }, candidates }) {
  const why = [textOr(`reasons.${reason}`, reason), number(counted, unit ? 0 : 2), unit && textOr(`reasons.${unit}`, unit)];
  const maybe = candidates.slice(0, 3).map(({ plate, score }) => `${inLine(plate)} ${number(score, 2)}`);
  return make(
    "div",
    { class: "event-unread hint" },
    make("strong", {}, text("events.not_read")),
    ` ${why.filter(Boolean).join(" ")}`,
    maybe.length ? make("span", { class: "event-maybe" }, ` · ${text("events.maybe")} ${maybe.join(", ")}`) : "",
  );
}

function crop(event) {
  const box = make("div", { class: "event-crop" });
  if (!event.images?.plate) return box;
  const image = make("img", { src: `/api/v1/events/${encodeURIComponent(event.id)}/plate.jpg`, alt: "", loading: "lazy" });
  image.addEventListener("error", () => image.remove());
  box.append(image);
  return box;
}

const original = (event) =>
  make("span", { class: "hint", title: text("events.read") }, make("s", {}, inLine(event.plate || event.reading)), ` ${text("events.corrected")}`);

/** The buttons of an event, each of which opens a panel below its row. */
function tools(event, row, show) {
  const plate = event.correction ?? event.plate;
  return make(
    "div",
    { class: "event-tools" },
    plate ? tool("history", `${text("events.history")}: ${plate}`, row, () => history(plate, show)) : null,
    plate && facts.lists.length && !HASH.test(plate) ? tool("plus", `${text("events.list_it")}: ${plate}`, row, (close) => listForm(plate, close)) : null,
    tool("edit", `${text("events.correct")}: ${event.plate || event.reading}`, row, (close) => editor(event, row, show, close)),
  );
}

function tool(name, label, row, panel) {
  const button = make("button", { type: "button", class: "button quiet icon", title: label, "aria-label": label, "aria-expanded": "false" }, icon(name));
  const close = () => {
    row.querySelector(".event-panel")?.remove();
    for (const other of row.querySelectorAll("[aria-expanded]")) other.setAttribute("aria-expanded", "false");
  };
  button.addEventListener("click", async () => {
    const opens = button.getAttribute("aria-expanded") === "false";
    close();
    if (!opens) return;
    button.setAttribute("aria-expanded", "true");
    try {
      const box = make("div", { class: "event-panel" }, await panel(close));
      if (button.getAttribute("aria-expanded") === "false") return; // closed in the meantime
      row.append(box);
      box.querySelector("input")?.select();
    } catch (error) {
      close();
      say([error.message, error.detail].join(" "));
    }
  });
  return button;
}

function editor(event, row, show, close) {
  const input = make("input", { "aria-label": text("events.correction"), maxlength: "16", spellcheck: "false", autocomplete: "off", value: event.correction ?? event.plate });
  const save = async () => {
    const body = JSON.stringify({ plate: input.value });
    const changed = await api(`/api/v1/events/${encodeURIComponent(event.id)}/correction`, { method: "PUT", body });
    row.replaceWith(eventRow(changed, { show }));
    say(text(changed.warning ? "events.saved_odd" : "events.saved", { plate: changed.correction }));
  };
  return rowForm("correction", [input], text("events.save"), save, close);
}
