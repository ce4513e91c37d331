"use strict";
// What the page holds: examples/weft/watch/page.cpp writes it.
const data = JSON.parse(document.getElementById("data").textContent);
const KINDS = ["global load", "global store", "shared load", "shared store", "global atomic", "shared atomic"];
const WHATS = ["request", "branch", "barrier", "product", "finding"];
const LANES = [...Array(32).keys()];

const has = (lanes, lane) => (lanes >>> lane & 1) === 1;
const lanesOf = lanes => LANES.filter(lane => has(lanes, lane));
const escaped = text => text.replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
const number = value => value.toLocaleString("en-US");

// One event of a warp, from its row of numbers.
function eventOf(row, launch) {
  const [what, block, phase, warp, lanes, line, sentence, trips] = row;
  const event = {what: WHATS[what], launch, block, phase, warp, lanes, line, sentence, trips};
  if (event.what === "branch") event.parting = row[8];
  if (event.what === "request") {
    const [kind, array, bytes, transactions, least, together, packed, values] = row.slice(8);
    const active = lanesOf(lanes), offsets = new Map();
    active.forEach((lane, i) => offsets.set(lane,
      packed.length === 2 ? packed[0] + i * packed[1] : packed[0] + (i === 0 ? 0 : packed[i])));
    event.values = new Map(active.map((lane, i) => [lane, values[values.length === 1 ? 0 : i]]));
    Object.assign(event, {kind: KINDS[kind], shared: KINDS[kind].startsWith("shared"), array, bytes, transactions,
                          least, together, offsets});
  }
  return event;
}

// "a.cuh:19, called at b.cu:23": [{path, line}, {path, line}], the innermost first.
function framesOf(text) {
  return text.split(", called at ").map(part => {
    const colon = part.lastIndexOf(":");
    return {path: part.slice(0, colon), line: Number(part.slice(colon + 1))};
  });
}

// The passes over the banks: a list of {bank, pass, serial, lanes}. Lanes are served `together` at a
// time, and a bank delivers one word in a pass, to all lanes that want it.
function passesOf(event) {
  const cells = [];
  let base = 0;
  for (let begin = 0; begin < 32; begin += event.together) {
    const banks = new Map();
    let most = 0;
    for (let lane = begin; lane < Math.min(32, begin + event.together); ++lane) {
      if (!has(event.lanes, lane)) continue;
      const first = Math.floor(event.offsets.get(lane) / 4);
      const last = Math.floor((event.offsets.get(lane) + event.bytes - 1) / 4);
      for (let word = first; word <= last; ++word) {
        const words = banks.get(word % 32) || banks.set(word % 32, new Map()).get(word % 32);
        if (!words.has(word)) {
          words.set(word, []);
          cells.push({bank: word % 32, pass: base + words.size - 1, serial: words.size > 1, lanes: words.get(word)});
        }
        words.get(word).push(lane);
        most = Math.max(most, words.size);
      }
    }
    base += most;
  }
  return {cells, count: base};
}

// The sectors of global memory: a map from sector to its 8 words, each the list of lanes that use it.
function sectorsOf(event) {
  const sectors = new Map();
  for (const [lane, offset] of event.offsets) {
    for (let word = Math.floor(offset / 4); word <= Math.floor((offset + event.bytes - 1) / 4); ++word) {
      const sector = Math.floor(word / 8);
      if (!sectors.has(sector)) sectors.set(sector, Array.from({length: 8}, () => []));
      sectors.get(sector)[word - 8 * sector].push(lane);
    }
  }
  return sectors;
}

const cellText = lanes => lanes.length === 1 ? lanes[0] : `×${lanes.length}`;

function cell(x, y, kind, lanes, marked, size = 17, height = 15) {
  const text = lanes.length === 0 ? "" :
    `<text class="${kind}" x="${x + size / 2}" y="${y + height / 2 + 3}">${cellText(lanes)}</text>`;
  return `<rect class="${kind}${lanes.includes(marked) ? " marked" : ""}" x="${x}" y="${y}" width="${size}"
    height="${height}" rx="2"/>${text}`;
}

const picture = (width, height, label, inside) =>
  `<div class="frame"><svg class="picture${width > 400 ? " wide" : ""}" viewBox="0 0 ${width} ${height}" role="img"
    aria-label="${escaped(label)}">${inside}</svg></div>`;

function bankPicture(event, marked) {
  const {cells, count} = passesOf(event), left = 46;
  let svg = `<text class="row" x="${left - 4}" y="10">bank</text>`;
  for (const bank of LANES) svg += `<text x="${left + bank * 18 + 8}" y="10">${bank}</text>`;
  const filled = new Set(cells.map(one => one.pass * 32 + one.bank));
  for (let pass = 0; pass < count; ++pass) {
    svg += `<text class="row" x="${left - 4}" y="${pass * 17 + 25}">pass ${pass + 1}</text>`;
    for (const bank of LANES) {
      if (!filled.has(pass * 32 + bank)) svg += cell(left + bank * 18, pass * 17 + 14, "empty", [], marked);
    }
  }
  for (const one of cells) {
    svg += cell(left + one.bank * 18, one.pass * 17 + 14, one.serial ? "serial" : "used", one.lanes, marked);
  }
  return picture(left + 32 * 18, count * 17 + 16, `${count} passes over 32 banks`, svg);
}

// A row is 128 bytes: 4 sectors of 8 words.
function sectorPicture(event, marked) {
  const sectors = sectorsOf(event), left = 62;
  const rows = [...new Set([...sectors.keys()].map(sector => Math.floor(sector / 4)))].sort((a, b) => a - b);
  let svg = `<text class="row" x="${left - 4}" y="10">byte</text>`, y = 14;
  for (let sector = 0; sector < 4; ++sector) {
    svg += `<text x="${left + sector * 150 + 72}" y="10">+${sector * 32}: a sector of 32 bytes</text>`;
  }
  rows.forEach((row, i) => {
    if (i > 0 && row !== rows[i - 1] + 1) {
      svg += `<text class="row" x="${left - 4}" y="${y + 5}">…</text>`;
      y += 9;
    }
    svg += `<text class="row" x="${left - 4}" y="${y + 11}">${number(row * 128)}</text>`;
    for (let sector = 0; sector < 4; ++sector) {
      const words = sectors.get(row * 4 + sector);
      for (let word = 0; word < 8; ++word) {
        const lanes = words ? words[word] : [];
        const kind = !words ? "empty" : lanes.length ? "used" : "wasted";
        svg += cell(left + sector * 150 + word * 18, y, kind, lanes, marked);
      }
    }
    y += 17;
  });
  return picture(left + 600, y + 2, `${sectors.size} sectors of global memory`, svg);
}

// What each lane has read or written: the place in the array, counted in its elements, and the value.
function valueTable(event, marked) {
  const cells = [...event.values].map(([lane, value]) => {
    const list = Array.isArray(value) ? value : [value], place = event.offsets.get(lane) / (event.bytes / list.length);
    return `<button class="value" data-lane="${lane}" aria-pressed="${lane === marked}" title="lane ${lane}">` +
      `<span class="quiet">[${number(place)}]</span> ${list.map(one => escaped(String(one))).join(", ")}</button>`;
  });
  return `<div class="values">${cells.join("")}</div>`;
}

// Draws the lane that holds each element in mma.m16n8k8 and k16 (PTX ISA, "Matrix fragments").
function fragmentPicture(name, marked) {
  const k = name.includes("k16") ? 16 : 8, tf32 = name.includes("tf32");
  const a = (row, column) => row % 8 * 4 + (tf32 ? column % 4 : Math.floor(column % 8 / 2));
  const b = (row, column) => column * 4 + (tf32 ? row % 4 : Math.floor(row % 8 / 2));
  const d = (row, column) => row % 8 * 4 + Math.floor(column / 2);
  const matrix = (title, rows, columns, lane, x, y) => {
    let svg = `<text class="head" x="${x + columns * 9}" y="${y - 3}">${title}</text>`;
    for (let row = 0; row < rows; ++row) {
      for (let column = 0; column < columns; ++column) {
        svg += cell(x + column * 18, y + row * 17, "used", [lane(row, column)], marked);
      }
    }
    return svg;
  };
  const across = k * 18 + 20;
  return picture(across + 160, k * 17 + 30 + 16 * 17, "which lane holds which element",
                 matrix(`B, ${k} × 8`, k, 8, b, across, 12) +
                 matrix(`A, 16 × ${k}`, 16, k, a, 0, k * 17 + 28) +
                 matrix("D, 16 × 8", 16, 8, d, across, k * 17 + 28));
}

function laneStrip(event, marked) {
  const across = innerWidth < 500 ? 16 : 32;
  let svg = "";
  for (const lane of LANES) {
    let kind = has(event.lanes, lane) ? "used" : "idle", text = lane;
    if (event.parting) {
      const way = event.parting.findIndex(lanes => has(lanes, lane));
      kind = ["used", "serial", "other"][way] || "idle";
      if (way >= 0) text = "ABCDEFGH"[way] || "+";
    }
    const x = lane % across * 20 + 1, y = Math.floor(lane / across) * 20 + 1;
    const ink = kind === "used" || kind === "serial" ? kind : "";
    svg += `<g data-lane="${lane}"><rect class="lane ${kind}${lane === marked ? " marked" : ""}" x="${x}" y="${y}"
      width="18" height="18" rx="3"/><text class="${ink}" x="${x + 9}" y="${y + 12}">${text}</text></g>`;
  }
  return picture(across * 20, 640 / across, `${lanesOf(event.lanes).length} of 32 lanes take part`, svg);
}
