// The history of a plate: how often it was seen, first and last, and by which cameras.
import { api, clock, make, number, text } from "./common.js";

const moment = (timestamp) => make("time", { datetime: timestamp }, clock.format(new Date(timestamp)));
const heading = (words) => make("th", { scope: "col" }, words);

/** The panel of a plate by its text as stored; `show` puts a text into the search. */
export async function history(plate, show) {
  const { count, cameras } = await api(`/api/v1/events/visits?${new URLSearchParams({ plate })}`);
  const rows = cameras.map((camera) =>
    make("tr", {}, make("td", {}, camera.camera_id), make("td", {}, number(camera.count)), make("td", {}, moment(camera.first)), make("td", {}, moment(camera.last))));
  return make(
    "div",
    { class: "history" },
    make("div", { class: "between" },
      make("strong", {}, text("events.visits", { count: number(count) })),
      make("button", { type: "button", class: "button", onclick: () => show(plate) }, text("events.show_visits"))),
    make("div", { class: "table", role: "region", tabindex: "0", "aria-label": `${text("events.history")}: ${plate}` },
      make("table", {}, make("thead", {}, make("tr", {}, ...[text("events.camera"), text("events.times"), text("events.first"), text("events.last")].map(heading))), make("tbody", {}, ...rows))),
  );
}
