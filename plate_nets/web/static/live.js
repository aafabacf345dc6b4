// The section Live: the cameras' current pictures, and the newest events as they come.
import { CameraCards } from "./camera_cards.js";
import { api, attempt, facts } from "./common.js";
import { EventList } from "./event_list.js";

const NEWEST = 20;
const cards = new CameraCards(document.getElementById("live-cameras"));
const list = new EventList("newest", { show, most: NEWEST });

export async function enter() {
  if (facts.sections.includes("cameras")) cards.enter();
  list.listen();
  const page = await attempt(() => api(`/api/v1/events?limit=${NEWEST}`));
  if (page) list.fill(page.events);
}

export function leave() {
  cards.leave();
  list.close();
}

/** Show the events of a text in the section that searches. */
async function show(plate) {
  const { searchFor } = await import("./events.js");
  searchFor(plate);
  location.hash = "events";
}
