// One program: where it is in time, and its part of the page.
class Run {
  constructor(run, root) {
    Object.assign(this, run, {root, at: 0, warp: 0, marked: -1, shown: null});
    this.frames = run.lines.map(framesOf);
    this.events = run.launches.flatMap((launch, i) => launch.events.map(row => eventOf(row, i)));
    this.costs = this.lineCosts();
    this.found = this.events.filter(one => one.what === "finding");
    this.follow(this.found.length ? this.found[0].warp : 0, this.found[0]);
    this.build();
  }

  // What each line of source costs in the whole run, by "path:line".
  lineCosts() {
    const costs = new Map();
    for (const [line, , requests, , transactions, least] of this.totals) {
      for (const {path, line: at} of framesOf(line)) {
        const sum = costs.get(`${path}:${at}`) || {requests: 0, transactions: 0, least: 0};
        sum.requests += requests;
        sum.transactions += transactions;
        sum.least += Math.min(least, transactions);
        costs.set(`${path}:${at}`, sum);
      }
    }
    return costs;
  }

  // Takes the events of this warp, and the barriers, as the steps.
  follow(warp, event = null) {
    this.warp = warp;
    this.list = this.events.filter(one => one.what === "barrier" ||
                                   one.warp === Math.min(warp, this.launches[one.launch].warps - 1));
    if (event) {
      const place = one => one.launch * 1e9 + one.block * 1e5 + one.phase;
      const exact = this.list.indexOf(event);
      const near = this.list.findIndex(one => place(one) >= place(event));
      this.at = exact >= 0 ? exact : near >= 0 ? near : this.list.length - 1;
    }
  }

  get now() { return this.list[this.at]; }

  go(at) {
    this.at = Math.max(0, Math.min(this.list.length - 1, at));
    this.draw();
  }

  // To the first step of the next barrier phase, or of this one, or of the one before.
  phase(direction) {
    const key = one => `${one.launch} ${one.block} ${one.phase}`;
    let at = this.at;
    if (direction > 0) {
      while (at + 1 < this.list.length && key(this.list[at]) === key(this.now)) ++at;
    } else {
      const first = i => { while (i > 0 && key(this.list[i - 1]) === key(this.list[i])) --i; return i; };
      at = first(at) === at ? first(Math.max(0, at - 1)) : first(at);
    }
    this.go(at);
  }

  changeWarp(warp) {
    const most = this.launches[this.now.launch].warps;
    this.follow((warp + most) % most, this.now);
    this.draw();
  }

  goToEvent(event) {
    this.shown = null;
    this.follow(event.warp, event);
    this.draw();
  }

  // To the next time that a line ran; in another warp if this one never came there.
  goToLine(path, line) {
    const there = one => this.frames[one.line].some(frame => frame.path === path && frame.line === line);
    const after = this.list.findIndex((one, i) => i > this.at && there(one));
    const first = after >= 0 ? after : this.list.findIndex(there);
    this.shown = path;
    if (first >= 0) return this.go(first);
    const other = this.events.find(there);
    if (other) this.follow(other.warp, other);
    this.draw();
  }

  part(name) { return this.root.querySelector(`.${name}`); }

  build() {
    const open = data.runs.length > 1 || innerWidth < 900 ? "" : " open";
    const figures = this.figures.map(([name, text, origin]) =>
      `<dt>${escaped(name)}</dt><dd>${escaped(text)} <span class="origin">${escaped(origin)}</span></dd>`).join("");
    const found = this.found.map((one, i) => `<button data-found="${i}">${escaped(this.sentences[one.sentence])}</button>`).join("");
    const broken = this.broken.map(([line, text, what], i) => `<button data-broken="${i}" aria-pressed="false">
      <b>without ${escaped(what)} ${escaped(line)}</b><br>${escaped(text)}</button>`).join("");
    this.root.className = "run";
    this.root.innerHTML = `
      <section class="card about"><h1>${escaped(this.title)}</h1>
        <p>${escaped(this.summary)}</p><p class="quiet">${escaped(this.problem)}</p>
        ${found && `<h2>What the checks have found <span class="quiet">choose one to see its access</span></h2>
          <div class="broken found">${found}</div>`}
        <p class="finding">${escaped(this.finding)}</p>
        <details${open}><summary>The figures of this run</summary><dl>${figures}</dl></details><p class="quiet left-out">${escaped(this.leftOutText())}</p></section>
      <section class="card sourcecard"><h2>Source: click a line to see when it ran</h2><div class="chips"></div>
        <div class="source" tabindex="0" aria-label="source"></div></section>
      <div class="pictures">
        <section class="card"><p class="where"></p><p class="sentence" aria-live="polite"></p>
          <h2>32 lanes of the warp <span class="quiet">click one to follow it</span></h2><div class="strip"></div>
          <div class="legend"><span><i class="key used"></i> takes part</span><span><i class="key idle"></i> waits</span>
          </div></section>
        <section class="card memory"></section>
        <section class="card"><h2>Warps of the block <span class="quiet">warp: its requests in this phase</span></h2>
          <div class="buttons warps"></div></section>
        <section class="card"><h2>Time: the steps of this warp <span class="quiet">drag</span></h2>
          <canvas class="time" role="img" aria-label="cost of each step"></canvas>
          <div class="legend"><span><i class="key used"></i> needed at best</span><span><i class="key serial"></i> beyond
            that</span><span>thin lines: barriers</span><span>thick lines: blocks</span></div>
          <h2 style="margin-top:10px">Active lanes around this step</h2>
          <canvas class="lanes" role="img" aria-label="active lanes over time"></canvas></section>
        ${broken && `<section class="card"><h2>Break it: take one thing out
          <span class="quiet">choose one to see its lines</span></h2><div class="broken">${broken}</div></section>`}
      </div>`;
    this.root.addEventListener("click", click => {
      const button = click.target.closest("[data-broken]");
      if (button) this.breakBarrier(Number(button.dataset.broken));
      const found = click.target.closest("[data-found]");
      if (found) this.goToEvent(this.found[Number(found.dataset.found)]);
    });
    for (const part of ["strip", "memory"]) this.part(part).addEventListener("click", click => {
      const lane = click.target.closest("[data-lane]");
      if (!lane) return;
      this.marked = this.marked === Number(lane.dataset.lane) ? -1 : Number(lane.dataset.lane);
      this.draw();
    });
    this.part("source").addEventListener("click", click => {
      const row = click.target.closest(".ran");
      if (row) this.goToLine(this.open, Number(row.dataset.line));
    });
    this.part("chips").addEventListener("click", click => {
      if (!click.target.dataset.path) return;
      this.shown = click.target.dataset.path;
      this.draw();
    });
    this.part("warps").addEventListener("click", click => {
      if (click.target.dataset.warp) this.changeWarp(Number(click.target.dataset.warp));
    });
    const time = this.part("time");
    const drag = event => {
      if (event.type === "pointermove" && event.buttons === 0) return;
      const box = time.getBoundingClientRect();
      this.go(Math.floor((event.clientX - box.left) / box.width * this.list.length));
    };
    time.addEventListener("pointerdown", drag);
    time.addEventListener("pointermove", drag);
  }

  // Marks the line of what is taken out, and the lines that the finding names.
  breakBarrier(i) {
    this.breaking = this.breaking === i ? -1 : i;
    for (const button of this.root.querySelectorAll("[data-broken]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.broken) === this.breaking);
    }
    this.open = null;
    if (this.breaking < 0) return this.draw();
    const {path, line} = framesOf(this.broken[i][0])[0];
    this.goToLine(path, line);
  }

  // What a line of source is to what is taken out.
  breakClass(path, line) {
    if (!(this.breaking >= 0)) return "";
    const [barrier, text] = this.broken[this.breaking];
    if (framesOf(barrier).some(frame => frame.path === path && frame.line === line)) return " taken-out";
    return text.split(`${path}:${line}`).slice(1).some(rest => !/^\d/.test(rest)) ? " race" : "";
  }

  leftOutText() {
    const shown = this.launches.map((launch, i) => {
      const all = launch.grid[0] * launch.grid[1] * launch.grid[2];
      const warps = Math.ceil(launch.block[0] * launch.block[1] * launch.block[2] / 32);
      const part = (what, first, count, of) => of === 1 ? `its only ${what}` : count === of ? `all ${of} ${what}s` :
        count === 1 ? `${what} ${first} of ${of}` : `${what}s ${first} to ${first + count - 1} of ${of}`;
      return `launch ${i + 1}, ${launch.kernel}: ${part("block", launch.firstBlock, launch.blocks, all)}, ` +
        part("warp", 0, launch.warps, warps) +
        (launch.leftOut ? `; ${number(launch.leftOut)} of their steps are left out` : "");
    });
    const more = this.launchesLeftOut ? ` ${number(this.launchesLeftOut)} more launches are left out.` : "";
    return `Shown here: ${shown.join(". ")}.${more} The figures count the whole run.`;
  }

  draw() {
    const event = this.now, launch = this.launches[event.launch];
    const sentence = this.part("sentence");
    const trip = event.trips.at(-1) || 0;  // counted since the last barrier
    this.part("where").textContent =
      `Step ${this.at + 1} of ${this.list.length}: ${launch.kernel}, block ${event.block}, ` +
      (event.what === "barrier" ? "" : `warp ${event.warp}, `) + `phase ${event.phase + 1}` +
      (trip > 0 ? `, trip ${trip + 1} of a loop in this phase` : "");
    sentence.textContent = this.sentences[event.sentence];
    sentence.classList.toggle("bad", event.what === "finding" || event.transactions > event.least);
    this.part("strip").innerHTML = laneStrip(event, this.marked);
    this.drawMemory(event);
    this.drawWarps(event, launch);
    this.drawSource(event);
    this.drawTime();
    this.drawLanes();
  }

  drawMemory(event) {
    let html = "";
    if (event.what === "request") {
      const array = this.arrays[event.array], size = array.bytes ? `, ${number(array.bytes)} bytes` : "";
      const name = this.nameOf(event);
      html = `<h2>${event.kind}: ${escaped(name)}<span class="quiet">${size}</span></h2>` +
        (event.shared ? bankPicture(event, this.marked) : sectorPicture(event, this.marked)) +
        `<div class="legend"><span><i class="key used"></i> touched, with its lane</span><span>` +
        (event.shared ? `<i class="key serial"></i> serialised: waits for a pass of its own`
                      : `<i class="key wasted"></i> moved, but wasted`) + "</span></div>" +
        `<h2>${event.kind.endsWith("load") ? "What each lane reads" : "What is there when each lane has written"}
          <span class="quiet">place in ${escaped(name)}, and value</span></h2>` + valueTable(event, this.marked);
    } else if (event.what === "product") {
      html = "<h2>Fragments: the lane that holds each element</h2>" +
        fragmentPicture(this.sentences[event.sentence], this.marked);
    } else if (event.what === "finding") {
      html = "<h2>The checks have found this here</h2><p>The step before it is the access of the whole warp, and the marked " +
        "lane is the thread that the sentence names. Where an access was out of bounds, a read gave 0 and a write changed nothing.</p>";
    } else if (event.what === "branch") {
      html = `<h2>A branch: the lanes part</h2><p>${event.parting.map((lanes, i) =>
        `${"ABCDEFGH"[i] || "+"}: ${lanesOf(lanes).length} lanes`).join(", ")}. While one way runs, the others wait.</p>`;
    } else {
      html = "<h2>A barrier: no memory is touched</h2>";
    }
    this.part("memory").innerHTML = html;
  }

  // An array has the name of the parameter that points to it in this launch.
  nameOf(event) {
    return this.launches[event.launch].names[event.array] || this.arrays[event.array].name;
  }

  drawWarps(event, launch) {
    const requests = Array(launch.warps).fill(0);
    for (const one of this.events) {
      if (one.what === "request" && one.launch === event.launch && one.block === event.block &&
          one.phase === event.phase) ++requests[one.warp];
    }
    this.part("warps").innerHTML = requests.map((count, warp) =>
      `<button data-warp="${warp}" aria-pressed="${warp === Math.min(this.warp, launch.warps - 1)}">` +
      `${warp}: ${count}</button>`).join("");
  }

  drawSource(event) {
    const frames = this.frames[event.line];
    const found = frames.find(frame => frame.path === this.shown) ||
      frames.find(frame => frame.path.includes("/rungs/")) || frames[0];
    const path = found.path;
    this.part("chips").innerHTML = frames.map((frame, i) =>
      `${i ? "<span class='quiet'>called at</span>" : ""}<button data-path="${escaped(frame.path)}"
        aria-pressed="${frame.path === path}">${escaped(frame.path.split("/").pop())}:${frame.line}</button>`).join("");
    const box = this.part("source");
    if (this.open !== path) {
      this.open = path;
      box.innerHTML = this.sourceLines(path);
    }
    for (const old of box.querySelectorAll(".current, .caller")) old.classList.remove("current", "caller");
    frames.forEach(frame => {
      const row = frame.path === path && box.querySelector(`[data-line="${frame.line}"]`);
      if (!row) return;
      row.classList.add(frame === found ? "current" : "caller");
      if (frame === found) {
        box.scrollTop = row.offsetTop - box.clientHeight / 2;
      }
    });
  }

  sourceLines(path) {
    const ran = new Set(this.frames.flat().filter(frame => frame.path === path).map(frame => frame.line));
    const text = data.sources[path];
    const lines = text ? text.split("\n").map((line, i) => [i + 1, line])
                       : [...ran].sort((a, b) => a - b).map(line => [line, "(the source is not at hand)"]);
    const most = Math.max(1, ...[...this.costs.values()].map(cost => cost.transactions));
    return lines.map(([at, line]) => {
      const cost = this.costs.get(`${path}:${at}`);
      const width = value => Math.max(value > 0 ? 1 : 0, value / most * 40);
      const bars = !cost ? "" : `<i style="width:${width(cost.transactions)}px"></i>` + (cost.transactions > cost.least ?
        `<i style="left:${width(cost.least)}px;width:${width(cost.transactions - cost.least)}px"></i>` : "");
      const title = !cost ? "" : ` title="${number(cost.requests)} requests, ${number(cost.transactions)} sectors or ` +
        `passes, ${number(cost.least)} at best, in the whole run"`;
      const comment = line.indexOf("//");
      const code = comment < 0 ? escaped(line)
        : `${escaped(line.slice(0, comment))}<span class="comment">${escaped(line.slice(comment))}</span>`;
      const isFound = this.found.some(one => this.frames[one.line].some(frame => frame.path === path && frame.line === at));
      return `<div data-line="${at}" class="${ran.has(at) ? "ran" : ""}${isFound ? " race" : this.breakClass(path, at)}"${title}><span class="number">${at}</span>` +
        `<span class="cost">${bars}</span><span>${code}</span></div>`;
    }).join("");
  }

  // A canvas of the size that it has on the screen.
  canvas(name) {
    const canvas = this.part(name), box = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1;
    canvas.width = Math.max(1, box.width * scale);
    canvas.height = Math.max(1, box.height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    return {context, width: box.width, height: box.height, colour: which => style.getPropertyValue(`--${which}`)};
  }

  drawTime() {
    const {context, width, height, colour} = this.canvas("time");
    const step = width / this.list.length, tall = cost => Math.log2(cost + 1) / 6 * (height - 6);
    this.list.forEach((one, i) => {
      const x = i * step, before = this.list[i - 1];
      if (before && (before.block !== one.block || before.launch !== one.launch)) {
        context.fillStyle = colour("ink");
        context.fillRect(x - 1, 0, 2, height);
      }
      if (one.what === "barrier") {
        context.fillStyle = colour("quiet");
        context.fillRect(x, 0, Math.min(1, step), height);
      } else if (one.what === "finding") {
        context.fillStyle = colour("serial");
        context.fillRect(x, 0, Math.max(3, step), height);
      } else if (one.what === "request") {
        const wide = Math.max(0.6, step * 0.85);
        context.fillStyle = colour("serial");
        context.fillRect(x, height - tall(one.transactions), wide, tall(one.transactions));
        context.fillStyle = colour("used");
        const best = tall(Math.min(one.least, one.transactions));
        context.fillRect(x, height - best, wide, best);
      }
    });
    context.fillStyle = colour("ink");
    context.globalAlpha = 0.25;
    const wide = Math.max(4, step);
    context.fillRect(this.at * step + step / 2 - wide / 2, 0, wide, height);
    context.globalAlpha = 1;
    context.beginPath();
    const x = this.at * step + step / 2;
    context.moveTo(x - 5, 0);
    context.lineTo(x + 5, 0);
    context.lineTo(x, 7);
    context.fill();
  }

  // A column is a step, a row a lane.
  drawLanes() {
    const {context, width, height, colour} = this.canvas("lanes");
    const columns = 81, first = Math.max(0, Math.min(this.at - 40, this.list.length - columns));
    const wide = width / columns, tall = height / 32;
    for (let i = 0; i < columns && first + i < this.list.length; ++i) {
      const one = this.list[first + i];
      if (one.what === "barrier") {
        context.fillStyle = colour("quiet");
        context.fillRect((i + 0.4) * wide, 0, 1, height);
      } else {
        for (const lane of LANES) {
          if (!has(one.lanes, lane)) continue;
          const other = one.parting && has(one.parting[1], lane);
          context.fillStyle = colour(other ? "serial" : lane === this.marked ? "best" : "used");
          context.fillRect(i * wide, lane * tall, wide * 0.85, tall * 0.8);
        }
      }
      if (first + i === this.at) {
        context.strokeStyle = colour("ink");
        context.lineWidth = 2;
        context.strokeRect(i * wide - 1, 1, wide + 1, height - 2);
      }
    }
  }
}
