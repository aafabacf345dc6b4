// The events of a day as bars, one an hour of the browser's time zone.
import { api, language, make, makeSvg, number, text } from "./common.js";

const HOUR = 3_600_000;
const HIGH = 40;
const figure = document.getElementById("day");
const parts = Object.fromEntries(["day-name", "day-bars", "day-hours"].map((id) => [id, document.getElementById(id)]));
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
  const { counts } = await api(`/api/v1/events/hours?${asked}`, { signal: asking.signal });
  const hours = counts.map((count, at) => ({ count, from: new Date(day.getTime() + at * HOUR) }));
  const most = Math.max(1, ...counts);
  const words = ({ count, from }) => `${clock.format(from)} ${number(count)}`;
  const sum = counts.reduce((all, count) => all + count, 0);
  parts["day-name"].textContent = `${date.format(day)} · ${text("live.day_events", { count: number(sum) })}`;
  parts["day-bars"].setAttribute("viewBox", `0 0 ${10 * hours.length} ${HIGH}`);
  parts["day-bars"].setAttribute("aria-label", hours.filter(({ count }) => count).map(words).join(", ") || text("live.none"));
  parts["day-bars"].replaceChildren(
    ...hours.map((hour, at) => {
      const height = hour.count && Math.max(1, (HIGH * hour.count) / most);
      return makeSvg("g", {},
        makeSvg("title", {}, words(hour)),
        makeSvg("rect", { class: "ground", x: 10 * at + 1, y: 0, width: 8, height: HIGH }),
        makeSvg("rect", { class: "bar-of-hour", x: 10 * at + 1, y: HIGH - height, width: 8, height }));
    }),
  );
  parts["day-hours"].replaceChildren(
    ...hours.map(({ from }) => make("span", {}, from.getHours() % 6 || from.getMinutes() ? "" : clock.format(from))),
  );
  figure.hidden = false;
}
