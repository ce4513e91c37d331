
// ---- From a picture to what the network reads. A plane is {width, height, values}, the values 32-bit floats from
// 0 to 255. Sizes, places and roundings are those of weft predict.
const planeOfSize = (width, height, level = 0) => ({width, height, values: new Float32Array(width * height).fill(level)});

// The brightness, or red, green and blue, of the browser's pixels. Transparent ones are on white.
function planesOf({width, height, data}, channels) {
  const planes = Array.from({length: channels}, () => planeOfSize(width, height));
  for (let i = 0; i < width * height; ++i) {
    const alpha = data[4 * i + 3], on = at => Math.floor((data[4 * i + at] * alpha + 255 * (255 - alpha) + 127) / 255);
    const rgb = [on(0), on(1), on(2)];
    if (channels === 1) planes[0].values[i] = (77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2]) >> 8;
    else planes.forEach((plane, c) => plane.values[i] = rgb[c]);
  }
  return planes;
}

// For each place of an axis the first that it is made of, and their weights.
function taps(from, to) {
  const scale = from / to;
  return Array.from({length: to}, (_, i) => {
    const weights = [];
    if (to <= from) {
      const begin = i * scale, end = begin + scale, first = Math.floor(begin), last = Math.min(from, Math.ceil(end));
      for (let j = first; j < last; ++j) {
        weights.push(Math.fround(Math.max(0, Math.min(end, j + 1) - Math.max(begin, j)) / scale));
      }
      return {first, weights};
    }
    const inside = clamped((i + 0.5) * scale - 0.5, 0, from - 1), first = Math.min(Math.floor(inside), Math.max(0, from - 2));
    const part = Math.fround(inside - first);
    return {first, weights: from === 1 ? [1] : [Math.fround(1 - part), part]};
  });
}

// Means of areas where it shrinks, linear where it grows.
function resampled(plane, width, height) {
  const across = taps(plane.width, width), down = taps(plane.height, height), result = planeOfSize(width, height);
  const line = new Float32Array(plane.width);
  down.forEach((rows, y) => {
    line.fill(0);
    rows.weights.forEach((weight, k) => {
      const from = (rows.first + k) * plane.width;
      for (let x = 0; x < line.length; ++x) line[x] += Math.fround(weight * plane.values[from + x]);
    });
    across.forEach((tap, x) => {
      let sum = 0;
      tap.weights.forEach((weight, k) => sum = Math.fround(sum + Math.fround(weight * line[tap.first + k])));
      result.values[y * width + x] = sum;
    });
  });
  return result;
}

function part(plane, {left, top, width, height}) {
  const result = planeOfSize(width, height);
  for (let y = 0; y < height; ++y) {
    const from = (top + y) * plane.width + left;
    result.values.set(plane.values.subarray(from, from + width), y * width);
  }
  return result;
}

function onGround(plane, left, top, level, width, height) {
  const result = planeOfSize(width, height, level);
  for (let y = 0; y < plane.height; ++y) {
    result.values.set(plane.values.subarray(y * plane.width, (y + 1) * plane.width), (top + y) * width + left);
  }
  return result;
}

const toBytes = plane => Uint8Array.from(plane.values, value => Math.floor(Math.fround(clamped(value, 0, 255) + 0.5)));

// The largest box in the middle that has the proportions of another.
function middleBox(width, height, likeWidth, likeHeight) {
  const side = (other, part, whole) => Math.max(1, Math.floor((2 * other * part + whole) / (2 * whole)));
  const w = Math.min(width, side(height, likeWidth, likeHeight)), h = Math.min(height, side(width, likeHeight, likeWidth));
  return {left: Math.floor((width - w) / 2), top: Math.floor((height - h) / 2), width: w, height: h};
}

// The whole picture, for networks that take it as it is.
function fitted(plane, {width, height, fit}) {
  const from = fit === "crop" ? middleBox(plane.width, plane.height, width, height) : {left: 0, top: 0, ...plane};
  const to = fit === "letterbox" ? middleBox(width, height, plane.width, plane.height) : {left: 0, top: 0, width, height};
  return onGround(resampled(part(plane, from), to.width, to.height), to.left, to.top, 0, width, height);
}

// In proportion, so that it fills a box in one direction.
function scaledInto(plane, width, height) {
  const isWide = plane.width * height >= plane.height * width, [now, wanted] = isWide ? [plane.width, width] : [plane.height, height];
  const scaled = side => Math.max(1, Math.floor((side * wanted + Math.floor(now / 2)) / now));
  return resampled(plane, scaled(plane.width), scaled(plane.height));
}

// ---- The ink of a picture with an even ground: a drawing, a scan, a screenshot.
const workingSide = 800;
function shrunk(plane) {
  const longest = Math.max(plane.width, plane.height, workingSide);
  const side = now => Math.max(1, Math.floor(now * workingSide / longest));
  return resampled(plane, side(plane.width), side(plane.height));
}

function percentile(values, share) {
  return values.slice().sort()[Math.floor(share * (values.length - 1))];
}

function borderValues({width, height, values}) {
  const depth = Math.max(1, Math.floor(Math.min(width, height) / 28));
  return values.filter((_, i) => {
    const x = i % width, y = Math.floor(i / width);
    return y < depth || y >= height - depth || x < depth || x >= width - depth;
  });
}

function histogram(values) {
  const count = new Array(256).fill(0);
  for (const value of values) ++count[Math.floor(clamped(value, 0, 255))];
  return count;
}

// The level of most pixels, also at the border; -1 where no level is.
function flatLevel(plane) {
  const count = histogram(plane.values), level = count.indexOf(largest(count));
  const share = values => values.filter(value => Math.abs(value - level) <= 2).length / values.length;
  return share(plane.values) >= 0.5 && share(borderValues(plane)) >= 0.65 ? level : -1;
}

// The means of the two groups of levels that are farthest apart (Otsu's method), and the share of the variance
// between them.
function twoLevels(values) {
  const count = histogram(values), all = values.length;
  let sum = 0, square = 0;
  count.forEach((n, value) => { sum += n * value; square += n * value * value; });
  let below = 0, sumBelow = 0, best = {between: 0, low: 0, high: 0};
  count.forEach((n, value) => {
    below += n;
    sumBelow += n * value;
    if (below === 0 || below === all) return;
    const low = sumBelow / below, high = (sum - sumBelow) / (all - below);
    const between = below * (all - below) / all * (high - low) ** 2;
    if (between > best.between) best = {between, low, high};
  });
  return {...best, share: best.between / (square - sum * sum / all)};
}

// Is the ink darker than a ground of this level? A negative level is no even one.
function isDarkOnLight(plane, level, sorted) {
  const at = share => sorted[Math.floor(share * (sorted.length - 1))];
  if (level < 0) return percentile(borderValues(plane), 0.5) > (at(0) + at(1)) / 2;
  let [low, high] = [at(0.001), at(0.999)];
  if (Math.max(level - low, high - level) < 10) [low, high] = [at(0), at(1)];
  return level - low > high - level;
}

// The ground's level, and whether the ink is darker. Throws where a photograph's shadows would need more than this.
function groundOf(plane) {
  const sorted = plane.values.slice().sort(), level = flatLevel(plane);
  if (!(sorted.at(-1) - sorted[0] >= 10)) throw new Error("the picture: no ink/contrast to find a digit in");
  const isDark = isDarkOnLight(plane, level, sorted);
  if (level >= 0) return {level, isDark, weak: 8, certain: Math.max(plane.width, plane.height) <= 64 ? 8 : 25};
  const {low, high, share} = twoLevels(plane.values);
  if (high - low < 40 || share < 0.77) {
    throw new Error("the picture: its ground is uneven, as in a photograph with shadows, and this page cannot tell it from ink");
  }
  return {level: isDark ? high : low, isDark, weak: 38, certain: 76};
}

// What is connected, by pixels above `weak` around one above `certain`: {pixels, mass, left, right, top, bottom}.
function pieces({width, height, values}, weak, certain) {
  const seen = new Uint8Array(values.length), found = [];
  for (let start = 0; start < values.length; ++start) {
    if (seen[start] || values[start] <= certain) continue;
    const piece = {pixels: [start], mass: 0, left: width, right: -1, top: height, bottom: -1};
    seen[start] = 1;
    for (let i = 0; i < piece.pixels.length; ++i) {
      const at = piece.pixels[i], x = at % width, y = Math.floor(at / width);
      if (values[at] > certain) {
        ++piece.mass;
        piece.left = Math.min(piece.left, x);
        piece.right = Math.max(piece.right, x + 1);
        piece.top = Math.min(piece.top, y);
        piece.bottom = Math.max(piece.bottom, y + 1);
      }
      for (let ny = Math.max(0, y - 1); ny <= y + 1 && ny < height; ++ny) {
        for (let nx = Math.max(0, x - 1); nx <= x + 1 && nx < width; ++nx) {
          const next = ny * width + nx;
          if (seen[next] || values[next] <= weak) continue;
          seen[next] = 1;
          piece.pixels.push(next);
        }
      }
    }
    found.push(piece);
  }
  return found;
}

const widthOf = piece => piece.right - piece.left, heightOf = piece => piece.bottom - piece.top;
const united = (a, b) => ({left: Math.min(a.left, b.left), right: Math.max(a.right, b.right), top: Math.min(a.top, b.top),
                           bottom: Math.max(a.bottom, b.bottom)});

// Are these parts of one character, of which the others are about `height` high, and at most `most`?
function isOneCharacter(a, b, height, most) {
  const both = united(a, b);
  if (heightOf(both) > most) return false;
  const across = Math.max(a.left, b.left) - Math.min(a.right, b.right), down = Math.max(a.top, b.top) - Math.min(a.bottom, b.bottom);
  const shorter = Math.min(heightOf(a), heightOf(b)), narrower = Math.min(widthOf(a), widthOf(b));
  const isUpright = piece => 10 * heightOf(piece) >= 12 * widthOf(piece) && 10 * widthOf(piece) >= 3 * heightOf(piece);
  const isFlat = piece => 10 * heightOf(piece) < 9 * widthOf(piece), isAbove = across < -0.5 * narrower;
  if (isAbove && isUpright(a) && isUpright(b)) return false;
  if (isAbove && 3 * shorter >= heightOf(both) && down > 0.05 * heightOf(both) && !isFlat(a) && !isFlat(b) &&
      10 * heightOf(both) >= 21 * widthOf(both)) return false;
  return (isAbove && down < 0.1 * height) || (-down < 0.5 * shorter && down < 0.15 * height && across < 0.1 * height) ||
         (shorter < 0.6 * height && down < 0.25 * height && across < 0.08 * height);
}

function joined(found) {
  const heights = found.map(heightOf).sort((a, b) => a - b), height = heights[Math.floor(heights.length * 3 / 4)];
  const most = (found.filter(piece => heightOf(piece) >= 0.5 * height).length > 3 ? 1.35 : 2.2) * height;
  for (let again = true; again;) {
    again = false;
    for (let a = 0; a < found.length; ++a) {
      for (let b = found.length - 1; b > a; --b) {
        if (!isOneCharacter(found[a], found[b], height, most)) continue;
        const [from] = found.splice(b, 1);
        Object.assign(found[a], united(found[a], from), {mass: found[a].mass + from.mass, pixels: found[a].pixels.concat(from.pixels)});
        again = true;
      }
    }
  }
  return found;
}

// The largest mark, with what lies inside its box: {ink, isDark, leftOut}.
function largestMark(plane) {
  const {level, isDark, weak, certain} = groundOf(plane), sign = isDark ? 1 : -1;
  const ink = {...plane, values: plane.values.map(value => sign * (level - value))};
  const size = piece => Math.max(widthOf(piece), heightOf(piece));
  // Full ink is as dark as a tenth of the largest mark's pixels.
  const rough = pieces(ink, 7, 7), most = largest(rough.map(piece => piece.mass));
  const full = largest(rough.filter(piece => piece.mass >= 0.2 * most).map(piece =>
    percentile(Float32Array.from(piece.pixels, at => ink.values[at]), 0.9)));
  if (!(full >= 10)) throw new Error("the picture: no ink/contrast to find a digit in");
  ink.values = ink.values.map(value => clamped(255 * value / full, 0, 255));
  const all = pieces(ink, weak, certain), mass = largest(all.map(piece => piece.mass)), side = Math.min(plane.width, plane.height);
  const speck = Math.max(Math.min(5, 0.03 * side), 0.012 * side);
  const kept = joined(all.filter(piece => piece.mass >= 0.03 * mass && size(piece) >= speck));
  const border = Math.floor(side / 40), area = piece => widthOf(piece) * heightOf(piece) / (piece.left <= border || piece.top <= border ||
    piece.right >= plane.width - border || piece.bottom >= plane.height - border ? 4 : 1);  // what lies along it counts less
  const mark = kept.reduce((a, b) => area(b) > area(a) ? b : a), result = planeOfSize(widthOf(mark), heightOf(mark));
  const inside = piece => piece.left >= mark.left && piece.right <= mark.right && piece.top >= mark.top && piece.bottom <= mark.bottom;
  for (const piece of kept.filter(inside)) {
    for (const at of piece.pixels) {
      const x = at % plane.width - mark.left, y = Math.floor(at / plane.width) - mark.top;
      if (x >= 0 && y >= 0 && x < result.width && y < result.height) result.values[y * result.width + x] = ink.values[at];
    }
  }
  return {ink: result, isDark, others: kept.length - kept.filter(inside).length};
}

// Twice the area of the strokes by the length of their outline.
function strokeWidth({width, height, values}) {
  const isInk = (x, y) => x >= 0 && y >= 0 && x < width && y < height && values[y * width + x] > 127;
  let mass = 0, outline = 0;
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      if (!isInk(x, y)) continue;
      ++mass;
      outline += isInk(x - 1, y) && isInk(x + 1, y) && isInk(x, y - 1) && isInk(x, y + 1) ? 0 : 1;
    }
  }
  return outline > 0 ? 2 * mass / outline : 0;
}

// The largest value of each window of 2 margin + 1 pixels a side.
function widened(plane, margin) {
  const along = (source, step, count, lines, apart) => {
    const result = new Float32Array(source.length);
    for (let line = 0; line < lines; ++line) {
      for (let i = 0; i < count; ++i) {
        let most = 0;
        for (let k = Math.max(0, i - margin); k <= Math.min(count - 1, i + margin); ++k) most = Math.max(most, source[line * apart + k * step]);
        result[line * apart + i * step] = most;
      }
    }
    return result;
  };
  const rows = along(plane.values, 1, plane.width, plane.height, plane.width);
  return {...plane, values: along(rows, plane.width, plane.height, plane.width, 1)};
}

// Pixels of ground that strokes enclose.
function enclosedPixels(ink) {
  const width = ink.width + 2, height = ink.height + 2, cells = new Uint8Array(width * height);
  for (let y = 0; y < ink.height; ++y) {
    for (let x = 0; x < ink.width; ++x) cells[(y + 1) * width + x + 1] = ink.values[y * ink.width + x] > 127 ? 1 : 0;
  }
  const open = [0];
  for (cells[0] = 2; open.length > 0;) {
    const at = open.pop(), x = at % width;
    for (const [next, there] of [[at - 1, x > 0], [at + 1, x + 1 < width], [at - width, at >= width], [at + width, at + width < cells.length]]) {
      if (there && cells[next] === 0) {
        cells[next] = 2;
        open.push(next);
      }
    }
  }
  return cells.filter(cell => cell === 0).length;
}

// Strokes that would be hairlines in the box become wider, but a loop keeps half of its ground.
function withoutHairlines(ink, width, height) {
  const scale = Math.min(width / ink.width, height / ink.height), now = scale * strokeWidth(ink);
  if (now >= 0.9 || scale >= 1) return ink;
  const open = enclosedPixels(ink);
  for (let margin = Math.floor(0.5 * (1.4 - now) / scale + 0.5); margin > 0; margin = Math.floor(margin / 2)) {
    const wider = widened(onGround(ink, margin, margin, 0, ink.width + 2 * margin, ink.height + 2 * margin), margin);
    if (enclosedPixels(wider) >= 0.5 * open) return wider;
  }
  return ink;
}

// In a box of 20/28 of each side, with its centre of mass in the middle, as MNIST's makers placed digits.
function placedLikeMnist(ink, {width, height}) {
  const box = side => Math.max(1, Math.floor((20 * side + 14) / 28));
  // Ink from half of full ink on is full, but a digit in MNIST's own format keeps its pixels.
  if (ink.width > box(width) && ink.height > box(height)) ink = {...ink, values: ink.values.map(value => Math.min(255, 2 * value))};
  const digit = scaledInto(withoutHairlines(ink, box(width), box(height)), box(width), box(height)), top = largest(digit.values);
  if (top < 250) digit.values = digit.values.map(value => value * 255 / top);
  let mass = 0, across = 0, down = 0;
  digit.values.forEach((value, i) => {
    mass += value;
    across += value * (i % digit.width);
    down += value * Math.floor(i / digit.width);
  });
  const offset = (sum, side, whole) => clamped(Math.floor(whole / 2 - sum / mass + 0.5), 0, whole - side);
  return onGround(digit, offset(across, digit.width, width), offset(down, digit.height, height), 0, width, height);
}

// The pixels that the network reads, (channels, height, width): {bytes, inverted, others}.
function prepared(pixels) {
  if (network.whole) {
    const planes = planesOf(pixels, network.channels).map(plane => toBytes(fitted(plane, network)));
    const bytes = new Uint8Array(planes.length * planes[0].length);
    planes.forEach((plane, c) => bytes.set(plane, c * plane.length));
    return {bytes, inverted: false, others: 0};
  }
  const [grey] = planesOf(pixels, 1), {width, height} = network;
  if (network.ink) {
    const {ink, isDark, others} = largestMark(shrunk(grey));
    return {bytes: toBytes(placedLikeMnist(ink, network)), inverted: isDark, others};
  }
  if (grey.width === width && grey.height === height) return {bytes: toBytes(grey), inverted: false, others: 0};
  const plane = shrunk(grey), isDark = isDarkOnLight(plane, flatLevel(plane), plane.values.slice().sort());
  if (isDark) plane.values = plane.values.map(value => 255 - value);
  const ground = percentile(borderValues(plane), 0.5), scaled = scaledInto(plane, width, height);
  const bytes = toBytes(onGround(scaled, Math.floor((width - scaled.width) / 2), Math.floor((height - scaled.height) / 2), ground, width, height));
  return {bytes, inverted: isDark, others: 0};
}
