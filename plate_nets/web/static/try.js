// The section Try: reads pictures. Each has its own request, so that a slow or failed one does not delay the others.
import { ApiError, api, copy, facts, icon, make, number, percent, say, text, textOr } from "./common.js";
import { cropPlates } from "./crop.js";
import { downloadCsv, downloadJson, downloadPicture } from "./export.js";
import { inLine, plateSign, surePill } from "./plate.js";
import { VideoView, watchVideo } from "./video.js";
import { Viewer } from "./viewer.js";

const AT_ONCE = 3;
const MEGABYTE = 1 << 20;

const items = [];
let shown = null;
let atWork = 0;

const section = document.getElementById("section-try");
const parts = Object.fromEntries(["drop", "work", "strip", "viewer", "results"].map((id) => [id, document.getElementById(id)]));

// The queue of files

function add(files) {
  const taken = [...files].slice(0, facts.maxFiles);
  if (files.length > taken.length) say(text("try.too_many", { count: facts.maxFiles }));
  const fresh = taken.map((file) => ({ file, state: "waiting", address: URL.createObjectURL(file), stop: new AbortController() }));
  if (!fresh.length) return;
  items.push(...fresh);
  for (const item of fresh) item.button = thumbnail(item);
  choose(fresh[0]);
  next();
}

function next() {
  while (atWork < AT_ONCE) {
    const item = items.find(({ state }) => state === "waiting");
    if (!item) return;
    atWork += 1;
    item.state = "reading";
    update(item);
    read(item).finally(() => {
      atWork -= 1;
      update(item);
      next();
    });
  }
}

/** The query with the chosen threshold and more parameters. */
function gate(more = {}) {
  const { value } = document.getElementById("sure");
  const asked = new URLSearchParams({ ...more, ...(value ? { sure: value } : {}) });
  return asked.size ? `?${asked}` : "";
}

const isVideo = (file) => file.type.startsWith("video/") || /\.(mp4|mkv|avi|mov|webm|ts|m4v)$/i.test(file.name);

async function read(item) {
  try {
    const most = isVideo(item.file) ? facts.maxVideo : facts.maxBytes;
    if (item.file.size > most) throw new ApiError("PLATES_TOO_LARGE", text("try.too_large", { megabytes: Math.round(most / MEGABYTE) }));
    if (isVideo(item.file)) {
      item.video = new VideoView(item.address, item.file.name);
      if (shown === item) draw(item);
      await watchVideo(item.file, gate(), (line) => item.video.take(line), item.stop.signal);
      item.state = "done";
      return;
    }
    const form = new FormData();
    form.append("file", item.file, item.file.name);
    const started = performance.now();
    const foreign = /\.(heic|heif|hif)$/i.test(item.file.name); // most browsers cannot decode it, so the server cuts
    const answer = await api(`/api/v1/plates${gate({ vehicles: true, ...(foreign && { crops: true }) })}`, { method: "POST", body: form });
    item.picture = answer.pictures[0];
    item.picture.stages.upload = Math.max(0, performance.now() - started - item.picture.milliseconds);
    item.crops = cropPlates(item.file, item.picture);
    item.state = "done";
  } catch (error) {
    item.state = "failed";
    item.error = error;
  }
}

// The strip of pictures

function thumbnail(item) {
  const image = isVideo(item.file) ? icon("camera") : make("img", { src: item.address, alt: "", loading: "lazy" });
  image.addEventListener("error", () => image.replaceWith(icon("photo")));
  return make(
    "button",
    { type: "button", class: "thumb", title: item.file.name, onclick: () => choose(item) },
    image,
    make("span", { class: "badge" }),
  );
}

function update(item) {
  const badge = item.button.querySelector(".badge");
  item.button.dataset.state = item.state;
  const found = item.picture?.plates.length ?? item.video?.events.childElementCount;
  badge.textContent = item.state === "done" ? found : item.state === "failed" ? "!" : "";
  const outcome = { done: `${text("try.plates")}: ${badge.textContent}`, failed: `! ${item.error?.message}` }[item.state];
  item.button.setAttribute("aria-label", [item.file.name, outcome ?? text(`try.${item.state}`)].join(". "));
  if (shown === item) draw(item);
}

function choose(item) {
  shown = item;
  for (const each of items) each.button.setAttribute("aria-pressed", each === item);
  parts.strip.replaceChildren(...items.map(({ button }) => button));
  parts.strip.hidden = items.length < 2;
  parts.work.hidden = !item;
  section.classList.toggle("busy", Boolean(item));
  if (item) draw(item);
}

function remove(item) {
  item.stop.abort();
  URL.revokeObjectURL(item.address);
  const at = items.indexOf(item);
  items.splice(at, 1);
  choose(items[Math.min(at, items.length - 1)] ?? null);
}

// One picture

function draw(item) {
  if (item.video && item.state !== "failed") drawVideo(item);
  else if (item.state === "done") drawPicture(item);
  else if (item.state === "failed") {
    parts.viewer.replaceChildren(preview(item));
    parts.results.replaceChildren(heading(item), failure(item.error));
  } else {
    parts.viewer.replaceChildren(preview(item));
    parts.results.replaceChildren(
      heading(item),
      make("p", { class: "waiting" }, make("span", { class: "spinner" }), text(item.state === "reading" ? "try.reading" : "try.waiting")),
    );
  }
}

function preview(item) {
  if (isVideo(item.file)) return make("div", { class: "photo plain" }, icon("photo"));
  const image = make("img", { src: item.address, alt: item.file.name });
  const frame = make("div", { class: "photo plain" }, image);
  image.addEventListener("error", () => frame.replaceChildren(icon("photo")));
  return frame;
}

const failure = (error) =>
  make(
    "div",
    { class: "fault", role: "alert", data: { code: error.code } },
    make("p", {}, error.message),
    error.detail ? make("p", { class: "hint", lang: "en" }, error.detail) : null,
  );

function heading(item) {
  const size = item.picture ? `${item.picture.width} × ${item.picture.height}` : `${number(item.file.size / MEGABYTE, 1)} MB`;
  return make(
    "div",
    { class: "results-head" },
    make("div", {}, make("h2", {}, item.file.name), make("p", { class: "hint" }, size)),
    make(
      "button",
      { type: "button", class: "button quiet icon", "aria-label": `${text("try.remove")}: ${item.file.name}`, title: text("try.remove"), onclick: () => remove(item) },
      icon("close"),
    ),
  );
}

function drawVideo(item) {
  if (parts.results.contains(item.video.results)) return; // it draws itself
  parts.viewer.replaceChildren(item.video.screen);
  parts.results.replaceChildren(heading(item), item.video.results);
}

function drawPicture(item) {
  const { picture } = item;
  const select = (index, near) => {
    viewer.choose(index, picture.plates[index], near);
    cards.forEach((card, at) => card.classList.toggle("chosen", at === index));
    if (!near) cards[index].scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  const cards = picture.plates.map((plate, index) => plateCard(plate, cropOf(item, index), () => select(index, true)));
  const viewer = new Viewer(item.address, picture, (index) => select(index, false));
  parts.viewer.replaceChildren(viewer.element, downloads(picture, viewer));
  parts.results.replaceChildren(
    heading(item),
    ...(cards.length ? cards : [make("p", { class: "empty" }, text("try.no_plate"))]),
    cards.length ? legend() : "",
    times(picture),
  );
}

/** The placeholder of a plate's crop, which is ready after the text: the browser's own, or else the server's. */
function cropOf(item, index) {
  const place = make("span", { class: "cut" }, icon("fit"));
  const { crop } = item.picture.plates[index];
  item.crops.then((crops) => {
    if (crops[index] || crop) place.replaceChildren(crops[index] ?? make("img", { src: crop, alt: "" }));
  });
  return place;
}

function plateCard(plate, crop, look) {
  const shownText = plate.text || plate.reading;
  const others = plate.candidates.filter((candidate) => candidate.plate !== shownText && candidate.score >= 0.001);
  return make(
    "article",
    { class: "card plate", data: { text: plate.text } },
    make(
      "button",
      { type: "button", class: "crop", "aria-label": `${text("try.zoom_in")}: ${shownText}`, onclick: look },
      crop,
    ),
    make(
      "div",
      { class: "plate-text" },
      plateSign(plate),
      shownText
        ? make("button", { type: "button", class: "button quiet icon", "aria-label": `${text("try.copy")}: ${shownText}`, title: text("try.copy"), onclick: () => copy(shownText) }, icon("copy"))
        : null,
    ),
    make(
      "div",
      { class: "plate-facts" },
      surePill(plate),
      fact("try.confidence", percent(plate.confidence)),
      fact("try.score", percent(plate.score)),
      plate.vehicle ? fact("try.vehicle", textOr(`vehicles.${plate.vehicle.type}`, plate.vehicle.type)) : null,
      plate.format ? fact("try.format", plate.format.split(" or ").map((name) => textOr(`formats.${name}`, name)).join(" / ")) : null,
      plate.country ? fact("try.country", told(plate.country === "unknown" ? text("try.unknown") : plate.country.toUpperCase(), plate.country_confidence)) : null,
      plate.ground ? fact("try.ground", told(text(`grounds.${plate.ground}`), plate.ground_confidence)) : null,
    ),
    others.length ? candidates(others) : null,
  );
}

const told = (name, probability) => `${name} ${percent(probability)}`;

const fact = (name, value) => make("span", { class: "fact" }, make("span", { class: "hint" }, text(name)), ` ${value}`);

function candidates(others) {
  return make(
    "div",
    { class: "candidates" },
    make("p", { class: "hint" }, text("try.candidates")),
    make("ul", {}, ...others.map(({ plate, score }) => make("li", {}, make("code", {}, inLine(plate)), make("span", { class: "hint" }, percent(score))))),
  );
}

const legend = () =>
  make(
    "p",
    { class: "legend hint" },
    `${text("try.legend")}: `,
    ...[["high", "≥ 90 %"], ["middle", "60–90 %"], ["low", "< 60 %"]].map(([name, words]) =>
      make("span", { class: "swatch", data: { level: name } }, words),
    ),
  );

function times(picture) {
  const stages = Object.entries(picture.stages);
  const all = stages.reduce((sum, [, spent]) => sum + spent, 0) || 1;
  const bar = make("div", { class: "times", "aria-hidden": "true" });
  for (const [, spent] of stages) {
    const piece = make("span", { class: "time" });
    piece.style.flexGrow = spent / all;
    bar.append(piece);
  }
  const list = stages.map(([stage, spent]) =>
    make("li", { class: "time-name" }, textOr(`stages.${stage}`, stage), make("b", {}, ` ${number(spent, spent < 10 ? 1 : 0)} ${text("try.milliseconds")}`)),
  );
  return make(
    "div",
    { class: "card time-card" },
    make("p", {}, make("b", {}, `${number(all)} ${text("try.milliseconds")}`)),
    bar,
    make("ul", { class: "time-names", "aria-label": text("try.time") }, ...list),
  );
}

function downloads(picture, viewer) {
  const button = (name, act) => make("button", { type: "button", class: "button", data: { download: name }, onclick: act }, icon("download"), text(`try.download_${name}`));
  return make(
    "div",
    { class: "row downloads", role: "group", "aria-label": text("try.download") },
    button("json", () => downloadJson(picture)),
    button("csv", () => downloadCsv(picture)),
    button("picture", () => downloadPicture(picture, viewer.element.querySelector("img"))),
  );
}

// Inputs: files, a phone's camera, drop, paste, our own picture

for (const id of ["files", "camera"]) {
  const input = document.getElementById(id);
  input.addEventListener("change", () => {
    add(input.files);
    input.value = "";
  });
}

document.getElementById("sample").addEventListener("click", async () => {
  const answer = await fetch("/sample.jpg");
  add([new File([await answer.blob()], "sample.jpg", { type: "image/jpeg" })]);
});

addEventListener("paste", (event) => {
  if (!section.hidden && event.clipboardData.files.length) add(event.clipboardData.files);
});
addEventListener("dragover", (event) => {
  event.preventDefault();
  parts.drop.classList.add("over");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) parts.drop.classList.remove("over");
});
addEventListener("drop", (event) => {
  event.preventDefault();
  parts.drop.classList.remove("over");
  if (!event.dataTransfer.files.length) return;
  location.hash = "#try";
  add(event.dataTransfer.files);
});
