
// ---- This page: the network, and the answer to a picture.
const network = JSON.parse($("network").textContent);

// Base64 of little-endian floats.
function floatsOf(text) {
  const bytes = Uint8Array.from(atob(text), digit => digit.charCodeAt()), view = new DataView(bytes.buffer);
  return Float32Array.from({length: bytes.length / 4}, (_, i) => view.getFloat32(4 * i, true));
}

async function readModel() {
  network.tensors = network.tensors.map(({shape, values}) => valueOf(shape, floatsOf(values)));
  return {...network, invitation: network.whole ? "Draw, or open a picture." : "Draw a digit."};
}

function drawMore() {}  // no layers are shown here

// (pixel / 255 - mean) / stddev of each channel, with one rounding.
function normalisedPixels(bytes) {
  const plane = network.height * network.width, lines = network.mean.map((mean, c) =>
    [Math.fround(1 / (255 * network.stddev[c])), Math.fround(-mean / network.stddev[c])]);
  return Float32Array.from(bytes, (byte, i) => {
    const [slope, offset] = lines[Math.floor(i / plane) % lines.length];
    return slope * byte + offset;
  });
}

function probabilitiesOf(logits) {
  const {temperature} = network.calibration;
  if (network.logistic) return logits.map(logit => 1 / (1 + Math.exp(-logit / temperature)));
  const top = Math.max(...logits), parts = logits.map(logit => Math.exp((logit - top) / temperature));
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map(part => part / sum);
}

// Differences between neighbouring pixels, 255 being 1.
function variationOf(bytes) {
  const {height, width} = network;
  let sum = 0;
  bytes.forEach((byte, i) => {
    if (i % width > 0) sum += Math.abs(byte - bytes[i - 1]);
    if (Math.floor(i / width) % height > 0) sum += Math.abs(byte - bytes[i - width]);
  });
  return sum / 255;
}

// As weft predict finds it: by a threshold of the energy of the logits, or by a logistic regression.
function isUnsure(logits, probabilities, bytes) {
  if (!(Math.max(...probabilities) >= 0.5)) return true;
  const {threshold, certainty} = network.calibration, top = Math.max(...logits), variation = variationOf(bytes);
  const energy = top + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0));
  if (!certainty) return threshold !== null && (variation === 0 || energy / Math.sqrt(variation) < threshold);
  const answer = logits.indexOf(top), others = logits.reduce((sum, logit, i) => sum + (i === answer ? 0 : Math.exp(logit - top)), 0);
  const features = [-Math.log(Math.max(others, 1e-12)), energy, Math.sqrt(variation), 1];
  return features.reduce((sum, feature, i) => sum + feature * certainty[i], 0) < 0;
}

async function pixelsOf(file) {
  const bitmap = await createImageBitmap(file, {colorSpaceConversion: "none"}).catch(() => null);
  if (!bitmap) throw new Error("the picture: the browser cannot read this file");
  const context = Object.assign(document.createElement("canvas"), {width: bitmap.width, height: bitmap.height}).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height);
}

// The answer of the network to the bytes that it reads.
function answerTo(bytes) {
  const logits = [...logitsOf(normalisedPixels(bytes))], probabilities = probabilitiesOf(logits);
  if (!probabilities.every(Number.isFinite)) throw new Error("the network's answer is not a number: its weights are damaged");
  return {label: logits.indexOf(Math.max(...logits)), logits, probabilities, unsure: isUnsure(logits, probabilities, bytes)};
}

async function read(picture) {
  const pixels = picture ? await pixelsOf(picture) : strokesAsPixels(), begin = performance.now();
  const {bytes, inverted, others} = prepared(pixels), answer = answerTo(bytes);
  return {answer: {...answer, inverted, left_out: others, milliseconds: performance.now() - begin}, bytes};
}

start().catch(error => showNothing(error.message));
