// What to change at a camera whose plates are hard to read.
import { number, text } from "./common.js";

/** A camera's view, as the API tells it -> a sentence, empty if nothing is to change. */
export function adviceOf(view) {
  if (!view?.fault) return "";
  const share = `${number(100 * view.spoilt[view.fault])} %`;
  if (view.fault === "smeared" && view.shutter) return text("advice.smeared_to", { share, seconds: `1/${view.shutter}` });
  return text(`advice.${view.fault}`, { share });
}
