"use strict";
// What the pages share that read a picture: of weft serve, and of weft export --format html. Each has, in a
// script behind this one, `readModel`, `read` and `drawMore`, and calls start().
const $ = id => document.getElementById(id);
const make = (tag, parent, className, text) => {
  const node = parent.appendChild(document.createElement(tag));
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
};
const percent = share => (100 * share).toFixed(1) + " %";

// Colours of the theme, and a table of 32-bit pixels for each kind of picture.
let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const rgb = name => style.getPropertyValue("--" + name).trim().split(" ").map(Number);
  const table = colourOf => Uint32Array.from({length: 256}, (_, byte) => {
    const [colour, share] = colourOf(byte), ground = rgb("page");
    const [r, g, b] = ground.map((from, i) => Math.round(from + share * (colour[i] - from)));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  });
  const ink = rgb("ink"), positive = rgb("positive"), negative = rgb("negative");
  colours = {
    ink: `rgb(${ink})`, pen: `rgb(${positive})`,
    seen: table(byte => [ink, byte / 255]),
    maps: table(byte => [byte < 128 ? negative : positive, Math.min(1, Math.abs(byte - 128) / 127) ** 0.7]),
  };
}

// ---- The pad: strokes of points in 0..1, or a picture that was dropped.
const pad = $("pad"), thickness = 1 / 13, sheetSide = 224;
let strokes = [], picture = null, shown = null;  // picture: a Blob; shown: what the browser makes of it
let pen = {x: 0.5, y: 0.5, down: false, visible: false};

function drawStrokes(context, side, colour) {
  context.strokeStyle = colour;
  context.lineWidth = thickness * side;
  context.lineCap = context.lineJoin = "round";
  for (const points of strokes) {
    context.beginPath();
    context.moveTo(points[0].x * side, points[0].y * side);
    points.forEach((to, i) => {
      const from = points[Math.max(0, i - 1)];
      context.quadraticCurveTo(from.x * side, from.y * side, (from.x + to.x) / 2 * side, (from.y + to.y) / 2 * side);
    });
    const last = points.at(-1);
    context.lineTo(last.x * side, last.y * side + 0.01);
    context.stroke();
  }
}

function drawPad() {
  const side = Math.round(pad.clientWidth * devicePixelRatio), context = pad.getContext("2d");
  if (pad.width !== side) pad.width = pad.height = side;
  context.clearRect(0, 0, side, side);
  if (shown) {
    const scale = Math.min(side / shown.width, side / shown.height);
    const width = shown.width * scale, height = shown.height * scale;
    context.drawImage(shown, (side - width) / 2, (side - height) / 2, width, height);
  }
  drawStrokes(context, side, colours.ink);
  if (!pen.visible) return;
  context.strokeStyle = colours.pen;
  context.fillStyle = colours.pen;
  context.lineWidth = 2 * devicePixelRatio;
  context.beginPath();
  context.arc(pen.x * side, pen.y * side, thickness / 2 * side, 0, 7);
  if (pen.down) context.fill(); else context.stroke();
}

// The strokes as pixels of the browser's: dark ink on white paper.
const sheet = Object.assign(document.createElement("canvas"), {width: sheetSide, height: sheetSide}).getContext("2d", {willReadFrequently: true});
function strokesAsPixels() {
  sheet.fillStyle = "white";
  sheet.fillRect(0, 0, sheetSide, sheetSide);
  drawStrokes(sheet, sheetSide, "black");
  return sheet.getImageData(0, 0, sheetSide, sheetSide);
}

// ---- Asking the network: one question at a time, always about the latest ink.
let asking = false, again = false, since = 0, drawing = 0;  // drawing: counts what was cleared
async function ask(time) {
  since = time;
  again = true;
  if (asking) return;
  asking = true;
  while (again) {
    again = false;
    if (strokes.length || picture) await askOnce(since, drawing);
  }
  asking = false;
}

async function askOnce(start, about) {
  try {
    const {answer, bytes} = await read(picture);
    if (about !== drawing) return;
    showAnswer(answer, bytes);
    const whole = performance.now() - start;
    $("facts").textContent = `${answer.milliseconds.toFixed(1)} ms in the network, ${whole.toFixed(0)} ms from the stroke to this picture.`;
    document.body.dataset.milliseconds = whole;
  } catch (error) {
    if (about === drawing) showNothing(error.message);
  }
}

// ---- The answer.
let model = null, last = null, saying = 0;
const seen = $("seen").getContext("2d");
let seenPixels = new ImageData(28, 28), seenPlanes = 1, size = "28 x 28 pixels";

function showAnswer(answer, bytes) {
  last = {answer, bytes};
  $("alarm").textContent = "";
  const name = model.classes[answer.label], share = answer.probabilities[answer.label];
  $("best").textContent = name;
  $("best").className = name.length > 2 ? "word" : "";
  $("certainty").textContent = answer.unsure ? `perhaps, ${percent(share)}: unsure of such a picture` : percent(share) + " certain";
  if (answer.left_out > 0) $("certainty").textContent += `; ${answer.left_out} ${answer.left_out > 1 ? "marks were" : "mark was"} left out`;
  if (answer.reduced) $("certainty").textContent += `; ${answer.reduced}`;
  const order = answer.probabilities.map((_, i) => i);
  if (order.length > bars.length) order.sort((a, b) => answer.probabilities[b] - answer.probabilities[a]);
  bars.forEach((bar, i) => {
    const share = answer.probabilities[order[i]];
    bar.name.textContent = model.classes[order[i]];
    bar.fill.style.width = percent(share).replace(" ", "");
    bar.share.textContent = percent(share);
    bar.item.className = order[i] === answer.label ? "first" : "";
  });
  $("seen").setAttribute("aria-label", `The network's input of ${size}, read as ${name}`);
  drawPictures();
  clearTimeout(saying);  // a screen reader hears the answer once the pen rests
  saying = setTimeout(() => { $("said").textContent = `Read as ${name}.`; }, 600);
}

function showNothing(why) {
  last = null;
  $("alarm").textContent = why || "";
  $("best").textContent = "?";
  $("best").className = $("said").textContent = "";
  $("certainty").textContent = why ? "Nothing was read." : model.invitation;
  for (const bar of bars) Object.assign(bar.item, {className: ""}), bar.fill.style.width = 0, bar.share.textContent = "";
  $("seen").setAttribute("aria-label", "Nothing yet");
  $("facts").textContent = (model && model.whole ? "The picture, in " : "The ink, centred in ") + size + ".";
  clearTimeout(saying);
  drawPictures();
}

function drawPictures() {
  const bytes = last && last.bytes, pixels = new Uint32Array(seenPixels.data.buffer), plane = pixels.length;
  for (let i = 0; i < plane; ++i) {
    pixels[i] = !bytes || seenPlanes === 1 ? colours.seen[bytes ? bytes[i] : 0]
                                           : (255 << 24 | bytes[2 * plane + i] << 16 | bytes[plane + i] << 8 | bytes[i]) >>> 0;
  }
  seen.putImageData(seenPixels, 0, 0);
  drawMore(bytes && bytes.subarray(seenPlanes * plane));
}

let bars = [];
async function start() {
  readColours();
  drawPad();
  model = await readModel();
  $("model").textContent = `${model.network}, ${model.parameters.toLocaleString("en").replaceAll(",", "\u202f")} parameters` + (model.dataset ? `, trained on ${model.dataset}` : "");
  $("notice").textContent = model.notice;
  const {height, width} = model;
  Object.assign($("seen"), {height, width});
  seenPlanes = model.channels;
  seenPixels = new ImageData(width, height);
  size = `${width} x ${height} pixels`;
  bars = model.classes.slice(0, 12).map(name => {
    const item = make("li", $("bars"));
    const bar = {item, name: make("span", item, "", name)};
    const track = make("span", item, "track");
    track.setAttribute("aria-hidden", "true");
    return {...bar, fill: make("div", track, "fill"), share: make("span", item, "share")};
  });
  showNothing();
  document.body.dataset.ready = "yes";
}

// ---- What people do.
function changed(time) {
  drawPad();
  if (strokes.length) ask(time);
}
function clear() {
  strokes = [];
  picture = shown = null;
  ++drawing;
  showNothing();
  drawPad();
}
function undo() {
  if (strokes.length < 2) return clear();
  strokes.pop();
  changed(performance.now());
}
function beginStroke(point) {
  if (picture) clear();
  strokes.push([point]);
}
async function readFile(file) {
  clear();
  picture = file;
  const about = drawing;
  ask(performance.now());
  const bitmap = await createImageBitmap(file).catch(() => null);  // a PNM, or no picture at all
  if (about === drawing) shown = bitmap, drawPad();
}

const pointOf = event => {
  const box = pad.getBoundingClientRect();
  return {x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height};
};
let pointer = null;
pad.addEventListener("pointerdown", event => {
  if (pointer !== null || event.button !== 0) return;
  pointer = event.pointerId;
  pad.setPointerCapture(pointer);
  pen.visible = pen.down = false;
  beginStroke(pointOf(event));
  changed(event.timeStamp);
});
// Some browsers hold pointermove back until the next frame, up to 17 ms, but not its raw form.
pad.addEventListener("onpointerrawupdate" in pad ? "pointerrawupdate" : "pointermove", event => {
  if (event.pointerId !== pointer || !strokes.length) return;
  const events = event.getCoalescedEvents ? event.getCoalescedEvents() : [];
  strokes.at(-1).push(...(events.length ? events : [event]).map(pointOf));
  changed(event.timeStamp);
});
for (const end of ["pointerup", "pointercancel"]) pad.addEventListener(end, event => { if (event.pointerId === pointer) pointer = null; });

const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
pad.addEventListener("keydown", event => {
  const step = steps[event.key];
  if (step) {
    const size = event.shiftKey ? 1 / 7 : 1 / 28, inside = value => Math.min(1, Math.max(0, value));
    pen = {...pen, visible: true, x: inside(pen.x + size * step[0]), y: inside(pen.y + size * step[1])};
    if (pen.down) strokes.at(-1).push({x: pen.x, y: pen.y});
  } else if (event.key === " ") {
    pen = {...pen, visible: true, down: !pen.down};
    if (pen.down) beginStroke({x: pen.x, y: pen.y});
  } else {
    return;
  }
  event.preventDefault();
  if (pen.down) changed(event.timeStamp); else drawPad();
});
pad.addEventListener("blur", () => { pen.visible = pen.down = false; drawPad(); });
document.addEventListener("keydown", event => {
  if (event.key === "Escape" || event.key === "Delete") pen.down = false, clear();
  if (event.key === "Backspace" || (event.key === "z" && (event.ctrlKey || event.metaKey))) pen.down = false, undo();
});
$("clear").onclick = clear;
$("undo").onclick = undo;
$("open").onclick = () => $("file").click();
$("file").onchange = event => { if (event.target.files[0]) readFile(event.target.files[0]); event.target.value = ""; };
const takeFile = (event, transfer) => {
  const file = transfer && [...transfer.files][0];
  event.preventDefault();
  if (file) readFile(file);
};
document.addEventListener("dragover", event => { event.preventDefault(); document.body.className = "over"; });
document.addEventListener("dragleave", event => { if (!event.relatedTarget) document.body.className = ""; });
document.addEventListener("drop", event => { document.body.className = ""; takeFile(event, event.dataTransfer); });
document.addEventListener("paste", event => takeFile(event, event.clipboardData));
addEventListener("resize", () => { drawPad(); drawPictures(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); drawPad(); drawPictures(); });
