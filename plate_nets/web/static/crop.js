// Cuts straightened plates out of the browser's own copy of a picture, so that the server does not decode it again.

const HEIGHT = 64;
const WIDEST = 400;
const MARGIN_X = 0.25; // margins beside a plate, and above and below it, as shares of its height, like those of the API
const MARGIN_Y = 0.15;

/** A picture and the API's result for it -> a canvas for each plate; none if the browser decodes another picture. */
export async function cropPlates(file, picture) {
  if (!picture.plates.length) return [];
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
    if (bitmap.width !== picture.width || bitmap.height !== picture.height) return [];
    return picture.plates.map((plate) => cut(bitmap, plate));
  } catch {
    return []; // the browser cannot decode this format or size
  } finally {
    bitmap?.close();
  }
}

function cut(bitmap, { corners, box: [xmin, ymin, xmax, ymax] }) {
  const quad = [0, 2, 4, 6].map((at) => [corners[at], corners[at + 1]]);
  const window = windowOf(quad) ?? windowOf([[xmin, ymin], [xmax, ymin], [xmax, ymax], [xmin, ymax]]);
  const canvas = Object.assign(document.createElement("canvas"), { width: window.width, height: HEIGHT });
  const pen = canvas.getContext("2d");
  const cutOut = pen.createImageData(canvas.width, HEIGHT);
  const part = partOf(bitmap, window);
  for (let row = 0; row < HEIGHT; row += 1)
    for (let column = 0; column < canvas.width; column += 1) {
      const [x, y] = window.place((column + 0.5) / canvas.width, (row + 0.5) / HEIGHT);
      sample(part, x, y, cutOut.data, 4 * (row * canvas.width + column));
    }
  pen.putImageData(cutOut, 0, 0);
  return canvas;
}

/** The corners of a plate -> the crop's width, and a function from points of it (0 to 1) to the picture; null if unusable. */
function windowOf(quad) {
  const [[x0, y0], [x1, y1], [x2, y2], [x3, y3]] = quad;
  const edge = (at) => Math.hypot(quad[(at + 1) % 4][0] - quad[at][0], quad[(at + 1) % 4][1] - quad[at][1]);
  const aspect = (edge(0) + edge(2)) / Math.max(1e-6, edge(1) + edge(3));
  // Maps the unit square to the quad (Heckbert 1989, 2.2.3)
  const [dx1, dy1, dx2, dy2] = [x1 - x2, y1 - y2, x3 - x2, y3 - y2];
  const [sx, sy] = [x0 - x1 + x2 - x3, y0 - y1 + y2 - y3];
  const turn = dx1 * dy2 - dx2 * dy1;
  const [g, h] = [(sx * dy2 - dx2 * sy) / turn, (dx1 * sy - sx * dy1) / turn];
  const [a, b, d, e] = [x1 - x0 + g * x1, x3 - x0 + h * x3, y1 - y0 + g * y1, y3 - y0 + h * y3];
  const left = MARGIN_X / Math.max(1e-6, aspect);
  const place = (across, down) => {
    const [u, v] = [across * (1 + 2 * left) - left, down * (1 + 2 * MARGIN_Y) - MARGIN_Y];
    const near = g * u + h * v + 1;
    return [(a * u + b * v + x0) / near, (d * u + e * v + y0) / near, near];
  };
  const ends = [[0, 0], [1, 0], [1, 1], [0, 1]].map(([across, down]) => place(across, down));
  if (!ends.every(([x, y, near]) => Number.isFinite(x + y) && near > 0.05)) return null; // not convex, or seen edge-on
  return { width: Math.min(WIDEST, Math.max(HEIGHT, Math.round(HEIGHT * aspect))), height: (edge(1) + edge(3)) / 2, ends, place };
}

/** The pixels of a picture around a window, averaged if they are much finer than the crop. */
function partOf(bitmap, { ends, height }) {
  const span = (at, most) => {
    const sides = ends.map((end) => end[at]);
    const first = Math.min(most - 1, Math.max(0, Math.floor(Math.min(...sides)) - 2));
    return [first, Math.min(most, Math.max(first + 1, Math.ceil(Math.max(...sides)) + 2)) - first];
  };
  const [[left, width], [top, tall]] = [span(0, bitmap.width), span(1, bitmap.height)];
  const scale = Math.min(1, (1.5 * HEIGHT) / Math.max(1, height));
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(tall * scale)));
  const pen = canvas.getContext("2d");
  pen.imageSmoothingQuality = "high";
  pen.drawImage(bitmap, left, top, width, tall, 0, 0, canvas.width, canvas.height);
  const { data } = pen.getImageData(0, 0, canvas.width, canvas.height);
  return { left, top, across: canvas.width / width, down: canvas.height / tall, width: canvas.width, height: canvas.height, data };
}

/** A point of the picture -> its colour, interpolated between four pixels; nothing outside the picture. */
function sample(part, x, y, into, at) {
  const across = (x - part.left) * part.across - 0.5;
  const down = (y - part.top) * part.down - 0.5;
  if (across < -0.5 || down < -0.5 || across > part.width - 0.5 || down > part.height - 0.5) return;
  const [column, row] = [Math.max(0, Math.floor(across)), Math.max(0, Math.floor(down))];
  const [right, below] = [Math.min(column + 1, part.width - 1), Math.min(row + 1, part.height - 1)];
  const [u, v] = [Math.max(0, across - column), Math.max(0, down - row)];
  for (let colour = 0; colour < 4; colour += 1) {
    const value = (from, line) => part.data[4 * (line * part.width + from) + colour];
    const upper = value(column, row) * (1 - u) + value(right, row) * u;
    const lower = value(column, below) * (1 - u) + value(right, below) * u;
    into[at + colour] = Math.round(upper * (1 - v) + lower * v);
  }
}
