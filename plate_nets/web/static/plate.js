// Shows a plate: its text on the plate's ground, and under each character a bar for its probability.
import { level, make, percent, text } from "./common.js";

/** The text of a plate; `plate` is from the API: text, reading, characters, region, ground. */
export function plateSign(plate) {
  const shown = plate.text || plate.reading;
  if (!shown) return make("span", { class: "sign sign-empty" }, text("try.nothing_read"));
  const characters = plate.characters.length ? plate.characters : [...shown].map((char) => ({ char, score: null }));
  const region = plate.region && shown.endsWith(plate.region) ? plate.region.length : 0;
  const doubtful = characters.filter(({ score }) => score !== null && level(score) !== "high");
  const words = [shown, ...doubtful.map(({ char, score }) => `${char}: ${percent(score)}`)].join(", ");
  const fromRight = ARABIC_LETTER.test(shown[0]);
  const cells = grouped(characters, fromRight ? DIGIT : ARABIC_LETTER).map(({ char, score, at }) =>
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
  const way = fromRight ? "rtl" : "ltr";
  return make("span", { class: "sign", role: "img", dir: way, "aria-label": words, data: { text: shown, ground: plate.ground ?? "white" } }, cells);
}

/** A plate's text for a line of words or a drawing: Arabic letters turn around what follows them, but not on a plate. */
export function inLine(shown) {
  if (!ARABIC_LETTER.test(shown)) return shown;
  const ordered = ARABIC_LETTER.test(shown[0]) ? shown : shown.replace(ARABIC_WORD, `${LEFT_TO_RIGHT}$&${LEFT_TO_RIGHT}`);
  return `${ISOLATE}${ordered}${END}`;
}

const [LEFT_TO_RIGHT, ISOLATE, END] = ["\u200e", "\u2066", "\u2069"];
const ARABIC_LETTER = /(?=\p{Script=Arabic})\p{L}/u;
const ARABIC_WORD = new RegExp(`(?:${ARABIC_LETTER.source})+`, "gu");
const DIGIT = /\p{Nd}/u;

/** Characters -> the same with runs of one kind as one: a word of Arabic letters, or a number between letters from the right. */
function grouped(characters, kind) {
  const found = [];
  characters.forEach(({ char, score }, at) => {
    const last = found.at(-1);
    if (last?.joins && kind.test(char)) {
      last.char += char;
      last.score = score === null ? null : Math.min(score, last.score);
    } else found.push({ char, score, at, joins: kind.test(char) });
  });
  return found;
}

/** The word certain or uncertain, in its colour. */
export const surePill = (plate) =>
  make("span", { class: "pill", data: { level: plate.text ? "high" : "low" } }, text(plate.text ? "try.sure" : "try.unsure"));
