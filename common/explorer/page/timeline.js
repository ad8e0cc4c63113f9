// Time: back, play and forward in the bar; steps of other lengths, the pace and the slider behind "more".

import { button, choose, drawRect, element, fill, prepare } from "./elements.js";
import { colours } from "./theme.js";
import { count } from "./words.js";

/// How long a step is: its name, and what it means.
const STEPS = [
  ["step", "line", "the chosen warp goes on to another line, of those that do more than compute indices"],
  ["line", "every line", "the chosen warp goes on to another line of the source"],
  ["instruction", "instruction", "the chosen warp executes one instruction"],
  ["access", "access", "the chosen warp reads or writes memory"],
  ["barrier", "barrier", "the next barrier of the chosen block opens"],
  ["hazard", "hazard", "the next hazard of the run"],
];
/// The pictures on the buttons: fonts do not all have them.
const ICONS = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M5 3v10l7-5z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
};
/// Steps a second while it plays.
const SPEEDS = [1, 2, 5, 15, 60];

/// The controls of time. `bar` gets the three that are always there, and `others` behind them; `more` gets the rest.
export function makeTimeline(bar, more, page, others) {
  let unit = "step";
  let speed = 2;
  let timer = null;
  const time = () => page.runs[0]?.time ?? 0;
  const length = () => page.runs[0]?.facts.length ?? 1;
  const showIcon = (made, icon) => {
    made.innerHTML = `<svg viewBox="0 0 16 16" width="16" height="16" fill="currentColor" aria-hidden="true"><path d="${ICONS[icon]}"/></svg>`;
  };
  const iconButton = (icon, label, action, attributes = {}) => {
    const made = button("", action, { class: "icon", "aria-label": label, title: label, ...attributes });
    showIcon(made, icon);
    return made;
  };
  const play = iconButton("play", "Play", () => toggle(), { class: "icon main", id: "play" });
  const units = choose(
    STEPS.map(([id, text]) => [id, text]),
    { id: "unit", onchange: () => setUnit(units.value) },
  );
  const pace = choose(
    SPEEDS.map((value) => [value, `${value} a second`]),
    { id: "pace", onchange: () => (speed = Number(pace.value)) },
  );
  pace.value = speed;
  const slider = element("input", {
    type: "range",
    min: 0,
    max: 1,
    value: 0,
    step: 1,
    "aria-label": "Time, in instructions of all warps",
    oninput: () => page.travel.jump(Number(slider.value)),
  });
  const marks = element("canvas", { "aria-hidden": "true" });
  const at = element("span", { class: "at number muted" });
  const back = iconButton("back", "One step back", () => page.travel.step(-1, unit), { id: "back" });
  const forward = iconButton("forward", "One step forward", () => page.travel.step(1, unit), { id: "forward" });
  const follow = element(
    "label",
    { class: "follow", title: "Look at whichever warp executes, instead of at the chosen one" },
    element("input", { type: "checkbox", id: "follow", onchange: (event) => page.travel.follow(event.target.checked) }),
    " follow the run from warp to warp",
  );
  fill(bar, element("span", { class: "buttons" }, back, play, forward), ...others);
  fill(
    more,
    element("label", {}, "A step is one ", units),
    element("label", {}, "Play ", pace),
    follow,
    element(
      "span",
      { class: "whole" },
      iconButton("first", "Go to the start", () => page.travel.jump(0)),
      element("span", { class: "scrub" }, slider, marks),
      iconButton("last", "Go to the end", () => page.travel.jump(Infinity)),
    ),
    at,
  );
  setUnit(unit);

  function setUnit(id) {
    unit = id;
    units.value = id;
    units.title = STEPS.find(([name]) => name === id)[2];
    for (const [control, way] of [
      [back, "back"],
      [forward, "forward"],
    ]) {
      control.title = `One ${STEPS.find(([name]) => name === id)[1].replace("every ", "")} ${way}`;
      control.setAttribute("aria-label", control.title);
    }
  }

  function showPlaying(on) {
    showIcon(play, on ? "pause" : "play");
    play.title = on ? "Pause" : "Play";
    play.setAttribute("aria-label", play.title);
    page.parts.sentence.setAttribute("aria-live", on ? "off" : "polite");
  }

  function stop() {
    clearTimeout(timer);
    timer = null;
    showPlaying(false);
  }

  async function tick() {
    const begun = performance.now();
    const went = await page.travel.step(1, unit);
    if (timer === null) return;
    if (!went) return stop();
    timer = setTimeout(tick, Math.max(0, 1000 / speed - (performance.now() - begun)));
  }

  async function toggle() {
    if (timer !== null) return stop();
    showPlaying(true);
    timer = setTimeout(tick, 0);
    if (time() >= length()) await page.travel.jump(0);
  }

  /// Draws where hazards are: once for each run and each width.
  function drawMarks() {
    const width = slider.clientWidth - 16;
    if (width <= 0) return;
    const context = prepare(marks, width, 8);
    const { fault } = colours();
    for (const hazard of page.runs[0]?.facts.hazards ?? [])
      drawRect(context, fault, [(hazard.time / length()) * width - 1, 0, 2.5, 8]);
  }

  new ResizeObserver(drawMarks).observe(slider);

  return {
    toggle,
    stop,
    drawMarks,
    step: (way, other) => page.travel.step(way, other ?? unit),
    enable(on) {
      for (const control of [...bar.querySelectorAll(".buttons button"), ...more.querySelectorAll("button, input, select")]) control.disabled = !on;
    },
    draw() {
      slider.max = length();
      slider.value = time();
      slider.setAttribute("aria-valuetext", `instruction ${count(time())} of ${count(length())}`);
      at.textContent = `${count(time())} of ${count(length())}`;
    },
  };
}
