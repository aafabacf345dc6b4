// Events as rows, newest first, which new events join as they come.
import { text } from "./common.js";
import { eventRow } from "./event.js";

export class EventList {
  #stream = null;

  /** The list with this id; `show` searches for a text, `joins` tells whether a new event is shown, `came` is told. */
  constructor(id, { show, most, joins = () => true, came = () => {} }) {
    this.rows = document.getElementById(id);
    this.none = document.getElementById(`${id}-none`);
    this.connection = document.getElementById(`${id}-connection`);
    this.most = most;
    this.joins = joins;
    this.came = came;
    this.rowOf = (event) => eventRow(event, { show });
  }

  listen() {
    if (this.#stream) return;
    this.#stream = new EventSource("/api/v1/events/stream");
    const tell = (name) => (this.connection.textContent = text(`events.${name}`));
    this.#stream.addEventListener("open", () => tell("newest"));
    this.#stream.addEventListener("error", () => tell("reconnecting"));
    this.#stream.addEventListener("recognition", ({ data }) => this.#arrived(JSON.parse(data)));
  }

  close() {
    this.#stream?.close();
    this.#stream = null;
  }

  /** Show these events; `more`: below the others. */
  fill(events, more = false) {
    if (!more) this.rows.replaceChildren();
    this.rows.append(...events.map(this.rowOf));
    this.#tellNone();
  }

  #arrived(event) {
    document.documentElement.dataset.arrived = `${event.id} ${Date.now()}`;
    const shown = (id) => this.rows.querySelector(`[data-id="${CSS.escape(id)}"]`);
    shown(event.supersedes)?.remove();
    const before = shown(event.id);
    if (before) {
      if (!before.querySelector(".event-panel")) before.replaceWith(this.rowOf(event));
    } else if (this.joins()) {
      this.rows.prepend(this.rowOf(event));
      while (this.rows.childElementCount > this.most) this.rows.lastElementChild.remove();
    }
    this.#tellNone();
    this.came();
  }

  #tellNone() {
    this.none.hidden = this.rows.childElementCount > 0;
  }
}
