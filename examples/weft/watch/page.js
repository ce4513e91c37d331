// What moves the runs: keys, buttons, the slider.
const root = document.getElementById("runs"), slider = document.getElementById("slider");
let runs = [];

function moved() {
  const first = runs[0];
  slider.max = first.list.length - 1;
  slider.value = first.at;
  document.body.dataset.step = first.at;
}

const actions = {
  ArrowRight: run => run.go(run.at + 1),
  ArrowLeft: run => run.go(run.at - 1),
  n: run => run.phase(1),
  p: run => run.phase(-1),
  ArrowDown: run => run.changeWarp(run.warp + 1),
  ArrowUp: run => run.changeWarp(run.warp - 1),
  Home: run => run.go(0),
  End: run => run.go(run.list.length - 1),
};

function act(key) {
  for (const run of runs) actions[key](run);
  moved();
}

function start() {
  const pair = data.runs.length > 1;
  document.body.className = pair ? "two" : "single";
  const holder = document.createElement("div");
  holder.className = pair ? "pair" : "alone";
  if (pair) {
    const note = document.createElement("p");
    note.className = "card difference";
    note.textContent = data.difference;
    root.append(note);
  }
  root.append(holder, document.getElementById("words"));
  runs = data.runs.map(run => new Run(run, holder.appendChild(document.createElement("div"))));
  document.addEventListener("keydown", event => {
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event.key);
  });
  document.getElementById("controls").addEventListener("click", event => {
    if (event.target.dataset.key) act(event.target.dataset.key);
  });
  slider.addEventListener("input", () => {
    const share = Number(slider.value) / Math.max(1, slider.max);
    runs.forEach((run, i) => run.go(i === 0 ? Number(slider.value) : Math.round(share * (run.list.length - 1))));
    moved();
  });
  for (const kind of ["click", "pointermove"]) root.addEventListener(kind, moved);
  addEventListener("resize", () => runs.forEach(run => run.draw()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => runs.forEach(run => run.draw()));
  for (const run of runs) run.draw();
  moved();
  document.body.dataset.ready = "yes";
}

start();
