// Downloads of results: the API's JSON, a table with the columns of `plates read --csv`, an annotated picture.
import { download, facts } from "./common.js";
import { inLine } from "./plate.js";

const stem = (file) => file.replace(/\.[^.]*$/, "") || "plates";
const STROKES = { sure: "#16a34a", unsure: "#ea580c" };

export function downloadJson(picture) {
  const kept = { ...picture, plates: picture.plates.map(({ crop, ...plate }) => plate) };
  download(`${stem(picture.file)}.json`, new Blob([JSON.stringify(kept, null, 2)], { type: "application/json" }));
}

export function downloadCsv(picture) {
  const rows = picture.plates.map((plate) => row(picture, plate));
  const lines = [facts.csvColumns, ...(rows.length ? rows : [row(picture, null)])].map((cells) => cells.map(cell).join(","));
  download(`${stem(picture.file)}.csv`, new Blob([`${lines.join("\n")}\n`], { type: "text/csv;charset=utf-8" }));
}

function row(picture, plate) {
  const known = { file: picture.file, milliseconds: picture.milliseconds };
  if (plate) {
    Object.assign(known, plate);
    ["xmin", "ymin", "xmax", "ymax"].forEach((name, at) => (known[name] = plate.box[at]));
    if (plate.vehicle) {
      Object.assign(known, { vehicle_type: plate.vehicle.type, vehicle_score: plate.vehicle.score });
      ["xmin", "ymin", "xmax", "ymax"].forEach((name, at) => (known[`vehicle_${name}`] = plate.vehicle.box[at]));
    }
    plate.corners.forEach((value, at) => (known[`${at % 2 ? "y" : "x"}${(at >> 1) + 1}`] = value));
  }
  return facts.csvColumns.map((name) => known[name] ?? "");
}

/** A cell of CSV (RFC 4180). An apostrophe precedes a text that a spreadsheet would run as a formula. */
function cell(value) {
  const words = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
}

export async function downloadPicture(picture, image) {
  const canvas = Object.assign(document.createElement("canvas"), { width: picture.width, height: picture.height });
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0, picture.width, picture.height);
  const line = Math.max(2, Math.round(Math.max(picture.width, picture.height) / 500));
  const high = Math.max(14, Math.round(Math.min(picture.width, picture.height) / 26));
  for (const plate of picture.plates) {
    const colour = STROKES[plate.text ? "sure" : "unsure"];
    pen.strokeStyle = colour;
    pen.lineWidth = line;
    pen.beginPath();
    for (const at of [0, 2, 4, 6]) pen.lineTo(plate.corners[at], plate.corners[at + 1]);
    pen.closePath();
    pen.stroke();
    label(pen, inLine(plate.text) || `${inLine(plate.reading)}?`, plate.box, high, colour, picture);
  }
  canvas.toBlob((blob) => download(`${stem(picture.file)}_plates.jpg`, blob), "image/jpeg", 0.92);
}

function label(pen, words, [xmin, ymin, , ymax], high, colour, { width, height }) {
  pen.font = `600 ${high}px ui-monospace, "DejaVu Sans Mono", monospace`;
  pen.textBaseline = "middle";
  const wide = pen.measureText(words).width + high * 0.7;
  const tall = high * 1.5;
  const x = Math.min(Math.max(0, xmin), Math.max(0, width - wide));
  const y = ymin >= tall ? ymin - tall : Math.min(ymax, Math.max(0, height - tall));
  pen.fillStyle = colour;
  pen.fillRect(x, y, wide, tall);
  pen.fillStyle = "#fff";
  pen.fillText(words, x + high * 0.35, y + tall / 2);
}
