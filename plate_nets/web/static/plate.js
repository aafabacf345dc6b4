// Shows a plate: its text on white ground, as on the car, and under each character a bar for its probability.
import { level, make, percent, text } from "./common.js";

/** The text of a plate; `plate` is from the API: text, reading, characters, region. */
export function plateSign(plate) {
  const shown = plate.text || plate.reading;
  if (!shown) return make("span", { class: "sign sign-empty" }, text("try.nothing_read"));
  const characters = plate.characters.length ? plate.characters : [...shown].map((char) => ({ char, score: null }));
  const region = plate.region && shown.endsWith(plate.region) ? plate.region.length : 0;
  const doubtful = characters.filter(({ score }) => score !== null && level(score) !== "high");
  const words = [shown, ...doubtful.map(({ char, score }) => `${char}: ${percent(score)}`)].join(", ");
  const cells = characters.map(({ char, score }, at) =>
    make(
      "span",
      {
        class: at === characters.length - region ? "char region" : "char",
        data: score === null ? {} : { level: level(score) },
        title: score === null ? null : `${char}: ${percent(score)}`,
      },
      char,
    ),
  );
  return make("span", { class: "sign", role: "img", "aria-label": words, data: { text: shown } }, cells);
}

/** The word certain or uncertain, in its colour. */
export const surePill = (plate) =>
  make("span", { class: "pill", data: { level: plate.text ? "high" : "low" } }, text(plate.text ? "try.sure" : "try.unsure"));
