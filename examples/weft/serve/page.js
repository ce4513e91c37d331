// ---- The server: what it says of the model, of a picture, and of each layer.
// What the server says of names, with what is unprintable in them escaped.
const unprintable = /[{{unprintable}}]/g;
const escape = c => ({"\n": "\\n", "\r": "\\r", "\t": "\\t"})[c] ||
  (c < "\x80" ? "\\x" + c.charCodeAt().toString(16).padStart(2, "0") : "\\u" + c.charCodeAt().toString(16).padStart(4, "0"));
const parsed = text => JSON.parse(text, (_, value) => typeof value === "string" ? value.replace(unprintable, escape) : value);

// The strokes as a picture file, a PGM.
function strokesAsFile() {
  const {data} = strokesAsPixels(), grey = new Uint8Array(sheetSide * sheetSide);
  for (let i = 0; i < grey.length; ++i) grey[i] = data[4 * i];
  return new Blob([`P5 ${sheetSide} ${sheetSide} 255\n`, grey]);
}

// The answer to the picture, or to the strokes, and what the network and its layers saw.
async function read(picture) {
  const silent = error => { throw new Error(`The server does not answer: ${error.message}. Is weft serve still running?`); };
  const response = await fetch("read", {method: "POST", body: picture || strokesAsFile()}).catch(silent);
  const bytes = new Uint8Array(await response.arrayBuffer().catch(silent));
  const end = bytes.indexOf(10), answer = parsed(new TextDecoder().decode(bytes.subarray(0, end)));
  if (!response.ok) throw new Error(answer.error);
  return {answer, bytes: bytes.subarray(end + 1)};
}

let layers = [];
async function readModel() {
  $("file").accept += ",image/tiff,image/heic,image/heif,image/avif";  // which the server reads
  const model = parsed(await (await fetch("model")).text());
  layers = model.layers.map(({name, description, shape}, index) => {
    const [maps, height = 1, width = 1] = shape, figure = make("figure", $("maps"));
    const caption = make("figcaption", figure), size = shape.length > 1 ? shape.join(" x ") : shape + " values";
    make("b", caption, "", name);
    make("div", caption, "", description);
    make("div", caption, "", size);
    const canvas = make("canvas", make("div", figure), "pixels"), label = `${name}: output of ${size}`;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", label);
    return {index, maps, height, width, count: maps * height * width, figure, canvas, label};
  });
  return {...model, channels: 1, whole: false, invitation: "Draw a digit."};
}

// `bytes`: the outputs of the layers, or null.
function drawMore(bytes) {
  let at = 0;
  for (const layer of layers) {
    drawMaps(layer, bytes && bytes.subarray(at, at + layer.count));
    if (bytes) {
      const scale = last.answer.scales[layer.index].toPrecision(2);
      layer.canvas.setAttribute("aria-label", `${layer.label}; the largest magnitude is ${scale}`);
    }
    at += layer.count;
  }
}

// The maps of a layer side by side, in as many columns as there is room for.
function drawMaps(layer, bytes) {
  const {maps, height, width, canvas} = layer, room = layer.figure.lastChild.clientWidth;
  const gap = width === 1 ? 2 : 5, least = width === 1 ? 12 : 40, most = width === 1 ? 24 : 84;
  const zoomFor = count => Math.max(Math.ceil(least / width),  // at which so many fill a row
                                    Math.min(Math.floor(most / width), Math.floor(((room + gap) / count - gap) / width)));
  const rows = Math.ceil(maps / Math.max(1, Math.floor((room + gap) / (width * zoomFor(maps) + gap))));
  const columns = Math.ceil(maps / rows), zoom = zoomFor(columns);
  const across = columns * (width * zoom + gap) - gap, down = rows * (height * zoom + gap) - gap;
  if (!layer.image || layer.image.width !== across || layer.image.height !== down) {
    layer.image = new ImageData(across, down);
    canvas.width = across;
    canvas.height = down;
  }
  const pixels = new Uint32Array(layer.image.data.buffer), table = colours.maps;
  for (let map = 0; map < maps; ++map) {
    const left = map % columns * (width * zoom + gap), top = Math.floor(map / columns) * (height * zoom + gap);
    for (let row = 0; row < height; ++row) {
      const begin = (top + row * zoom) * across + left, from = (map * height + row) * width;
      for (let column = 0; column < width; ++column) {
        pixels.fill(table[bytes ? bytes[from + column] : 128], begin + column * zoom, begin + (column + 1) * zoom);
      }
      for (let copy = 1; copy < zoom; ++copy) pixels.copyWithin(begin + copy * across, begin, begin + width * zoom);
    }
  }
  canvas.getContext("2d").putImageData(layer.image, 0, 0);
}

start().catch(error => showNothing("The server does not answer: " + error.message));
