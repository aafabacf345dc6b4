// The section Cameras: the state of each, what to change if its plates are hard to read, and a button that reads it.
import { adviceOf } from "./advice.js";
import { CameraCards } from "./camera_cards.js";
import { api, attempt, make, number, say, text } from "./common.js";

const cards = new CameraCards(document.getElementById("camera-cards"), (id) => {
  const [facts, advice] = ["hint", "advice"].map((kind) => make("p", { class: kind }));
  const draw = (camera) => {
    facts.textContent = [
      `${number(camera.analysed_fps, 1)} ${text("cameras.frames")}`,
      camera.age === null ? "" : `${text("cameras.age")} ${number(camera.age, 1)} ${text("cameras.seconds")}`,
      camera.cause ?? "",
    ].filter(Boolean).join(" · ");
    advice.textContent = adviceOf(camera.view);
  };
  return { elements: [facts, advice, readNow(id)], draw };
});

export const enter = () => cards.enter();
export const leave = () => cards.leave();

/** A button that reads the next second of a camera, and says what was read. */
function readNow(camera) {
  const button = make("button", { type: "button", class: "button" }, text("cameras.read_now"));
  button.addEventListener("click", async () => {
    button.disabled = true;
    const answer = await attempt(() => api(`/api/v1/cameras/${encodeURIComponent(camera)}/read`, { method: "POST" }));
    button.disabled = false;
    if (answer) say(answer.events.map((event) => event.plate).filter(Boolean).join(", ") || text("cameras.no_text"));
  });
  return button;
}
