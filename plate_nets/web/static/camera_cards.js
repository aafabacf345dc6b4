// Cameras as cards with their newest picture and state, fresh while they are seen.
import { api, make, text } from "./common.js";

const STATUS_EVERY = 1000;
const PICTURE_EVERY = 400;

export class CameraCards {
  #cards = new Map();
  #seen = false;
  #timer = 0;

  /** `details` makes what a card has below, from the id of its camera: elements, and what draws a status in them. */
  constructor(box, details = () => ({ elements: [], draw: () => {} })) {
    this.box = box;
    this.details = details;
  }

  enter() {
    this.#seen = true;
    this.#look();
  }

  leave() {
    this.#seen = false;
    clearTimeout(this.#timer);
  }

  async #look() {
    try {
      const { cameras } = await api("/api/v1/cameras");
      this.box.hidden = !cameras.length;
      for (const camera of cameras) this.#draw(camera);
    } catch {
      // the next request may succeed
    }
    clearTimeout(this.#timer);
    if (this.#seen) this.#timer = setTimeout(() => this.#look(), STATUS_EVERY);
  }

  #draw(camera) {
    const id = camera.camera_id;
    if (!this.#cards.has(id)) this.#cards.set(id, this.#card(id));
    const { pill, draw } = this.#cards.get(id);
    pill.textContent = text(`cameras.state_${camera.state}`);
    pill.dataset.level = { online: "high", ended: "high", connecting: "middle" }[camera.state] ?? "low";
    draw(camera);
  }

  #card(id) {
    const image = make("img", { alt: id });
    const pill = make("span", { class: "pill" });
    const { elements, draw } = this.details(id);
    this.box.append(
      make(
        "section",
        { class: "card camera" },
        make("div", { class: "camera-picture" }, image),
        make("div", { class: "between" }, make("h2", {}, id), pill),
        elements,
      ),
    );
    this.#keepFresh(image, id);
    return { pill, draw };
  }

  /** Reload a camera's picture only after the last one arrived, so that a slow connection is never flooded. */
  #keepFresh(image, id) {
    const load = () => {
      if (this.#seen) image.src = `/api/v1/cameras/${encodeURIComponent(id)}/frame.jpg?${Date.now()}`;
      else setTimeout(load, STATUS_EVERY);
    };
    image.addEventListener("load", () => setTimeout(load, PICTURE_EVERY));
    image.addEventListener("error", () => setTimeout(load, STATUS_EVERY));
    load();
  }
}
