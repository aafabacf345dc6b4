// The events of a day as bars, one an hour of the browser's time zone, and those of each line that cars crossed.
import { api, language, make, makeSvg, number, text } from "./common.js";

const HOUR = 3_600_000;
const HIGH = 40;
const DIRECTIONS = { "left to right": "events.left_to_right", "right to left": "events.right_to_left" };
const figure = document.getElementById("day");
const parts = Object.fromEntries(["day-name", "day-bars", "day-hours", "day-lines"].map((id) => [id, document.getElementById(id)]));
let asking = new AbortController();
const date = new Intl.DateTimeFormat(language, { weekday: "short", day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(language, { timeStyle: "short", hour12: false });

/** The day, as its first moment, that a search is about: where it begins, or ends, or today. */
export function dayOf(since, until) {
  const day = since ? new Date(since) : until ? new Date(new Date(until) - 1) : new Date();
  return new Date(day.getFullYear(), day.getMonth(), day.getDate());
}

/** The first moment of a later day, or of an earlier one; a day may have 23 or 25 hours. */
export const dayAfter = (day, days = 1) => new Date(day.getFullYear(), day.getMonth(), day.getDate() + days);

/** Draw the events that fit a search on a day. A later call ends an earlier one. */
export async function drawDay(query, day) {
  asking.abort();
  asking = new AbortController();
  const asked = new URLSearchParams(query);
  asked.set("since", day.toISOString());
  asked.set("until", dayAfter(day).toISOString());
  const ask = (what) => api(`/api/v1/events/${what}?${asked}`, { signal: asking.signal });
  const [{ counts }, { lines }] = await Promise.all([ask("hours"), ask("lines")]);
  const hours = counts.map((_, at) => new Date(day.getTime() + at * HOUR));
  parts["day-name"].textContent = `${date.format(day)} · ${text("events.day_events", { count: number(sum(counts)) })}`;
  drawBars(parts["day-bars"], counts, hours, Math.max(0, ...counts));
  parts["day-hours"].replaceChildren(
    ...hours.map((from) => make("span", {}, from.getHours() % 6 || from.getMinutes() ? "" : clock.format(from))),
  );
  const most = Math.max(0, ...lines.flatMap((line) => line.counts)); // all lines have one scale
  parts["day-lines"].replaceChildren(...lines.map((line) => lineOf(line, hours, most)));
  figure.hidden = false;
}

const sum = (counts) => counts.reduce((all, count) => all + count, 0);

function lineOf({ camera_id: camera, line, direction, counts }, hours, most) {
  const bars = makeSvg("svg", { role: "img", preserveAspectRatio: "none" });
  drawBars(bars, counts, hours, most);
  const name = `${camera} · ${line} · ${text(DIRECTIONS[direction])}: ${number(sum(counts))}`;
  return make("li", {}, make("span", {}, name), bars);
}

function drawBars(svg, counts, hours, most) {
  const words = (at) => `${clock.format(hours[at])} ${number(counts[at])}`;
  svg.setAttribute("viewBox", `0 0 ${10 * counts.length} ${HIGH}`);
  svg.setAttribute("aria-label", [...counts.keys()].filter((at) => counts[at]).map(words).join(", ") || text("events.none"));
  svg.replaceChildren(
    ...counts.map((count, at) => {
      const height = count && Math.max(1, (HIGH * count) / most);
      return makeSvg("g", {},
        makeSvg("title", {}, words(at)),
        makeSvg("rect", { class: "ground", x: 10 * at + 1, y: 0, width: 8, height: HIGH }),
        makeSvg("rect", { class: "bar-of-hour", x: 10 * at + 1, y: HIGH - height, width: 8, height }));
    }),
  );
}
