// The section Events: a search in all of them, its day as bars, and new ones as they come.
import { api, facts, make, say } from "./common.js";
import { dayAfter, dayOf, drawDay } from "./day.js";
import { EventList } from "./event_list.js";

const TYPING = 250;
const DAY_EVERY = 2000;

const parts = Object.fromEntries(
  ["events-more", "search", "filters", "search-camera", "search-list", "search-lists", "search-text", "search-since", "search-until", "events-csv", "day-before", "day-after"].map((id) => [id, document.getElementById(id)]),
);
const wide = matchMedia("(width > 40rem)");
const list = new EventList("found", {
  show: searchFor,
  most: 500,
  joins: () => ![...wanted().keys()].length, // new events must not change the results of a search
  came: () => { drawing ||= setTimeout(showDay, DAY_EVERY); },
});
let cursor = "";
let typing = 0;
let asked = 0;
let drawing = 0;

export function enter() {
  fillChoices();
  search();
  list.listen();
}

export const leave = () => list.close();

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
  list.fill(page.events, more);
  cursor = page.cursor;
  parts["events-more"].hidden = !cursor;
}

/** Search for a text alone. */
export function searchFor(plate) {
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
  offer(parts["search-camera"], cameras);
  offer(parts["search-list"], facts.lists);
  parts["search-lists"].hidden = !facts.lists.length;
}

/** Offer these names below the first choice, which is any of them. */
function offer(select, names) {
  const chosen = select.value;
  select.replaceChildren(select.options[0], ...names.map((name) => make("option", {}, name)));
  select.value = chosen;
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
