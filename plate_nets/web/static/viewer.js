// A photo with the outlines of its plates; you can zoom and move it.
import { icon, make, makeSvg, text } from "./common.js";

const MOST = 16;
const STEP = 1.5;
const MOVE = 60;

/** The boxes of the vehicles that plates belong to. */
const vehiclesOf = (picture) => picture.plates.filter(({ vehicle }) => vehicle).map(({ vehicle }) => vehicle.box);

export class Viewer {
  /** @param {string} address of the picture  @param {object} picture as the API gives it  @param {(index) => void} chosen */
  constructor(address, picture, chosen) {
    this.scale = 1;
    this.x = this.y = 0;
    this.size = { width: picture.width, height: picture.height };
    this.outlines = picture.plates.map((plate, index) => this.#outline(plate, index, chosen));
    this.layer = make(
      "div",
      { class: "layer" },
      make("img", { src: address, alt: picture.file, draggable: "false", width: picture.width, height: picture.height }),
      makeSvg(
        "svg",
        { class: "outlines", viewBox: `0 0 ${picture.width} ${picture.height}`, "aria-hidden": "true" },
        ...vehiclesOf(picture).map(([x, y, right, bottom]) =>
          makeSvg("rect", { x, y, width: right - x, height: bottom - y, class: "vehicle" }),
        ),
        ...this.outlines,
      ),
    );
    this.box = make(
      "div",
      { class: "photo", tabindex: "0", role: "group", "aria-label": `${text("try.photo")}. ${text("try.photo_keys")}` },
      this.layer,
    );
    this.element = make("div", { class: "viewer" }, this.box, this.#tools());
    this.box.style.aspectRatio = `${picture.width} / ${picture.height}`;
    this.#listen();
  }

  /** Mark a plate as chosen; `near` also moves the view to it. */
  choose(index, plate, near) {
    this.outlines.forEach((outline, at) => outline.classList.toggle("chosen", at === index));
    if (near && plate) this.#show(plate);
  }

  fit() {
    this.#set(1, 0, 0);
  }

  #outline(plate, index, chosen) {
    const points = [0, 2, 4, 6].map((at) => plate.corners.slice(at, at + 2).join(",")).join(" ");
    const outline = makeSvg("polygon", { points, class: `outline ${plate.text ? "sure" : "unsure"}` });
    outline.addEventListener("click", () => chosen(index));
    return outline;
  }

  #tools() {
    const tool = (name, label, act) =>
      make("button", { type: "button", class: "button icon", "aria-label": text(label), title: text(label), onclick: act }, icon(name));
    return make(
      "div",
      { class: "viewer-tools" },
      tool("plus", "try.zoom_in", () => this.#zoom(STEP)),
      tool("minus", "try.zoom_out", () => this.#zoom(1 / STEP)),
      tool("fit", "try.zoom_fit", () => this.fit()),
    );
  }

  #listen() {
    const box = this.box;
    box.addEventListener("keydown", (event) => this.#key(event));
    box.addEventListener("dblclick", (event) => this.#zoom(this.scale > 1 ? 1 / this.scale : 3, event));
    box.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && this.scale === 1) return; // the page scrolls
        event.preventDefault();
        this.#zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event);
      },
      { passive: false },
    );
    const held = new Map();
    let apart = 0;
    box.addEventListener("pointerdown", (event) => held.set(event.pointerId, event));
    box.addEventListener("pointermove", (event) => {
      const before = held.get(event.pointerId);
      if (!before) return;
      held.set(event.pointerId, event);
      const [one, other] = held.values();
      if (other) {
        const now = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
        if (apart) this.#zoom(now / apart, event);
        apart = now;
      } else if (this.scale > 1) this.#set(this.scale, this.x + event.clientX - before.clientX, this.y + event.clientY - before.clientY);
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"])
      box.addEventListener(end, (event) => {
        held.delete(event.pointerId);
        apart = 0;
      });
  }

  #key(event) {
    const moves = { ArrowLeft: [MOVE, 0], ArrowRight: [-MOVE, 0], ArrowUp: [0, MOVE], ArrowDown: [0, -MOVE] };
    if (event.key === "+" || event.key === "=") this.#zoom(STEP);
    else if (event.key === "-") this.#zoom(1 / STEP);
    else if (event.key === "0") this.fit();
    else if (event.key in moves && this.scale > 1) this.#set(this.scale, this.x + moves[event.key][0], this.y + moves[event.key][1]);
    else return;
    event.preventDefault();
  }

  #zoom(by, event) {
    const { left, top, width, height } = this.box.getBoundingClientRect();
    const [x, y] = event ? [event.clientX - left, event.clientY - top] : [width / 2, height / 2];
    const scale = Math.min(MOST, Math.max(1, this.scale * by));
    const ratio = scale / this.scale;
    this.#set(scale, x - (x - this.x) * ratio, y - (y - this.y) * ratio);
  }

  #show(plate) {
    const { width, height } = this.box.getBoundingClientRect();
    const [xmin, ymin, xmax, ymax] = plate.box.map((side) => (side * width) / this.size.width);
    const scale = Math.min(MOST, Math.max(1, (0.35 * width) / Math.max(1, xmax - xmin)));
    this.#set(scale, width / 2 - (scale * (xmin + xmax)) / 2, height / 2 - (scale * (ymin + ymax)) / 2);
  }

  #set(scale, x, y) {
    const { width, height } = this.box.getBoundingClientRect();
    this.scale = scale;
    this.x = Math.min(0, Math.max(width * (1 - scale), x));
    this.y = Math.min(0, Math.max(height * (1 - scale), y));
    this.layer.style.transform = `translate(${this.x}px, ${this.y}px) scale(${scale})`;
    this.box.classList.toggle("zoomed", scale > 1);
  }
}
