// A video: a player and the events that the server finds; a click on an event jumps to its moment.
import { ApiError, facts, icon, make, text } from "./common.js";
import { eventRow } from "./event.js";

const moment = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

const time = (seconds) => make("time", {}, moment(seconds));

/** Send a video with an optional query; calls back with each line of the answer. Throws ApiError. */
export async function watchVideo(file, query, onLine, signal) {
  const headers = { "X-Page-Token": facts.pageToken, "Content-Type": file.type || "application/octet-stream" };
  const answer = await fetch(`/api/v1/videos${query}`, { method: "POST", body: file, headers, signal });
  if (!answer.ok) {
    const body = await answer.json().catch(() => null);
    throw new ApiError(body?.error?.code ?? "PLATES_INTERNAL", body?.error?.message ?? "", answer.status);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines.filter(Boolean).map(JSON.parse)) {
      if (line.error) throw new ApiError(line.error.code === "PLATES_BAD_INPUT" ? "PLATES_BAD_VIDEO" : line.error.code, line.error.message, 200);
      onLine(line);
    }
  }
}

/** The view of a video: the player, and the list of events with the progress. */
export class VideoView {
  constructor(address, name) {
    this.player = make("video", { src: address, controls: true, class: "player", "aria-label": name, playsinline: true, muted: true });
    this.player.addEventListener("error", () => this.#cannotPlay());
    this.player.addEventListener("loadedmetadata", () => this.player.videoWidth || this.#cannotPlay()); // it plays the sound only
    this.screen = make("div", { "aria-live": "polite" }, this.player);
    this.progress = make("progress", { "aria-label": text("video.watching") });
    this.state = make("p", { class: "hint" }, text("video.watching"));
    this.events = make("ul", { class: "events", "aria-label": text("video.events") });
    this.results = make("div", { class: "results" }, this.state, this.progress, this.events);
  }

  take(line) {
    if (line.event) this.#event(line.event);
    else if (line.length) Object.assign(this.progress, { max: line.length, value: line.position });
    else if (line.done) {
      this.progress.remove();
      this.state.textContent = text(this.events.childElementCount ? "video.done" : "video.none");
    }
  }

  #event(event) {
    const at = event.position_sec;
    const row = eventRow(event, { plain: true, act: this.player ? this.#jumper(at) : time(at) });
    const rowOf = (id) => [...this.events.children].find(({ dataset }) => dataset.id === id);
    rowOf(event.supersedes)?.remove();
    const before = rowOf(event.id);
    if (before) before.replaceWith(row);
    else this.events.append(row);
  }

  #jumper(at) {
    const label = text("video.jump", { time: moment(at) });
    return make("button", { type: "button", class: "button jump", data: { at }, "aria-label": label, onclick: () => this.#jump(at) }, `▶ ${moment(at)}`);
  }

  #jump(seconds) {
    this.player.currentTime = Math.max(0, seconds - 0.5);
    this.player.play().catch(() => {});
  }

  /** Replace the player with a message, and the jump buttons of earlier events with their times. */
  #cannotPlay() {
    if (!this.player) return;
    this.player.removeAttribute("src");
    this.player = null;
    this.screen.replaceChildren(
      make("div", { class: "unplayable" }, icon("camera"), make("p", {}, make("b", {}, text("video.cannot_play"))), make("p", { class: "hint" }, text("video.read_all_the_same"))),
    );
    for (const jumper of this.events.querySelectorAll(".jump")) jumper.replaceWith(time(Number(jumper.dataset.at)));
  }
}
