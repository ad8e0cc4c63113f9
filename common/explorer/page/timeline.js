// Time: play, pause, steps of several lengths, and the slider.

import { choose, element, fill, prepare } from "./elements.js";
import { colours } from "./theme.js";
import { count } from "./words.js";

/// How long a step is: its name, and what it means.
const STEPS = [
  ["instruction", "Instruction", "the chosen warp executes one instruction"],
  ["line", "Line", "the chosen warp goes on to another line of the source"],
  ["barrier", "Barrier", "the next barrier of the chosen block opens"],
  ["hazard", "Hazard", "the next hazard of the run"],
];
/// Steps a second while it plays.
const SPEEDS = [2, 5, 15, 60];

/// The controls of time. `page` has `step(way, unit)`, `jump(time)`, `length` and `hazards`.
export function makeTimeline(root, page) {
  let unit = "line";
  let speed = 5;
  let timer = null;
  const button = (text, label, action, attributes = {}) => element("button", { type: "button", class: "icon", text, "aria-label": label, title: label, onclick: action, ...attributes });
  const play = button("▶", "Play", () => toggle(), { class: "icon main" });
  const units = element("span", { class: "steps", role: "group", "aria-label": "Length of a step" }, ...STEPS.map(([id, text, title]) =>
    element("button", { type: "button", text, title, "data-unit": id, "aria-pressed": String(id === unit), onclick: () => setUnit(id) })));
  const pace = choose(SPEEDS.map((value) => [value, `${value} steps a second`]), { "aria-label": "Speed", onchange: () => (speed = Number(pace.value)) });
  pace.value = speed;
  const slider = element("input", { type: "range", min: 0, max: 1, value: 0, step: 1, "aria-label": "Time, in instructions of all warps", oninput: () => page.jump(Number(slider.value)) });
  const marks = element("canvas", { "aria-hidden": "true" });
  const at = element("span", { class: "at number muted" });
  const buttons = [
    button("⏮", "Go to the start", () => page.jump(0)), button("◀", "One step back", () => page.step(-1, unit)), play,
    button("▷", "One step forward", () => page.step(1, unit)), button("⏭", "Go to the end", () => page.jump(Infinity)),
  ];
  fill(root, element("span", { class: "buttons" }, ...buttons), units, pace, element("span", { class: "scrub" }, slider, marks), at);

  function setUnit(id) {
    unit = id;
    for (const one of units.children) one.setAttribute("aria-pressed", String(one.dataset.unit === id));
  }

  function stop() {
    clearTimeout(timer);
    timer = null;
    play.textContent = "▶";
    play.setAttribute("aria-label", "Play");
    play.title = "Play";
    page.playing(false);
  }

  async function tick() {
    const begun = performance.now();
    const went = await page.step(1, unit);
    if (timer === null) return;
    if (!went) return stop();
    timer = setTimeout(tick, Math.max(0, 1000 / speed - (performance.now() - begun)));
  }

  async function toggle() {
    if (timer !== null) return stop();
    play.textContent = "⏸";
    play.setAttribute("aria-label", "Pause");
    play.title = "Pause";
    page.playing(true);
    timer = setTimeout(tick, 0);
    if (page.time() >= page.length()) await page.jump(0);
  }

  /// Draws where hazards are.
  function drawMarks() {
    const width = slider.clientWidth - 16;
    if (width <= 0) return;
    const context = prepare(marks, width, 8);
    const tones = colours();
    context.fillStyle = tones.fault;
    for (const { time } of page.hazards()) context.fillRect((time / page.length()) * width - 1, 0, 2.5, 8);
  }

  return {
    toggle, stop, setUnit,
    step: (way, other) => page.step(way, other ?? unit),
    enable(on) {
      for (const control of root.querySelectorAll("button, input, select")) control.disabled = !on;
    },
    draw() {
      slider.max = page.length();
      slider.value = page.time();
      slider.setAttribute("aria-valuetext", `instruction ${count(page.time())} of ${count(page.length())}`);
      at.textContent = `${count(page.time())} of ${count(page.length())}`;
      drawMarks();
    },
  };
}
