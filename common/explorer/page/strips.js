// Time as far as it is certain: a strip for each warp, from stated latencies. Several kernels stand side by side.

import { drawRect, element, fill, prepare } from "./elements.js";
import { colours } from "./theme.js";
import { count } from "./words.js";

/// The latencies in clock cycles, and how many warps can issue in one; the reader can change them.
const LATENCIES = [
  ["global", "global memory", 600],
  ["shared", "shared memory", 30],
  ["fma", "multiply-add", 4],
  ["schedulers", "warp schedulers", 4],
];
/// What a warp does, the colour, and its words.
const WHATS = [
  ["issue", "tile", "issues"],
  ["memory", "write", "waits for memory"],
  ["barrier", "fault", "waits at a barrier"],
  ["other", "raised", "waits for a result"],
];
const [HIGH, BETWEEN_WARPS, MOST_WARPS] = [11, 3, 8];

/// Draws the warps of a block. `clocks` are those of the whole width.
function drawStrip(canvas, { warps, cursor }, clocks, width) {
  const shown = warps.slice(0, MOST_WARPS);
  const context = prepare(canvas, width, shown.length * (HIGH + BETWEEN_WARPS) + 2);
  const tones = colours();
  shown.forEach(({ segments }, warp) => {
    for (const [from, to, what] of segments) {
      const [left, right] = [from, to].map((clock) => (clock / clocks) * width);
      const box = [left, warp * (HIGH + BETWEEN_WARPS), Math.max(0.5, right - left), HIGH];
      drawRect(context, tones[WHATS.find(([id]) => id === what)[1]], box);
    }
  });
  if (cursor === null) return;
  drawRect(context, tones.chosen, [(cursor / clocks) * width - 1, 0, 2, shown.length * (HIGH + BETWEEN_WARPS)]);
}

/// What a strip shows, in words.
function stripWords({ clocks, warps }) {
  const sum = (key) => warps.reduce((all, warp) => all + warp[key], 0);
  const share = (key) => Math.round((100 * sum(key)) / Math.max(1, sum("end")));
  return `${count(clocks)} clock cycles; waits ${share("memory")} % for memory, ${share("barrier")} % at barriers`;
}

/// The panel.
export function makeStrips(view) {
  const usual = Object.fromEntries(LATENCIES.map(([id, , clocks]) => [id, clocks]));
  const latency = { ...usual };
  const fields = LATENCIES.map(([id, text]) => {
    const onchange = ({ target }) => {
      latency[id] = Math.max(Number(target.min), Math.min(100000, Math.round(Number(target.value)) || 0));
      target.value = latency[id];
      refresh();
    };
    const allowed = { type: "number", min: id === "schedulers" ? 1 : 0, max: 100000, value: usual[id] };
    return element("label", {}, `${text} `, element("input", { ...allowed, "data-latency": id, onchange }));
  });
  const others = element("div", { class: "beside", role: "group", "aria-label": "Kernels beside it" });
  const strips = element("div", { class: "strips" });
  const times = element("ul", { class: "muted measured" });
  const legend = element("p", { class: "legend" });
  fill(legend, ...WHATS.flatMap(([, colour, text]) => [element("i", { class: `tone-${colour}` }), text]));
  const root = element(
    "section",
    { class: "panel time-panel", "aria-label": "Time" },
    element("p", {}, element("strong", { text: "A model, not a measurement." })),
    strips,
    legend,
    times,
    element("p", { text: "A warp issues an instruction when what it needs is there. Latencies, in clock cycles:" }),
    element("div", { class: "latencies" }, ...fields),
    others,
  );
  let drawn = {};
  let asked = 0;
  let wished = view.page.latencies;

  /// Takes over what a stop of the tour wishes.
  function takeWish() {
    if (wished === view.page.latencies) return;
    wished = view.page.latencies;
    Object.assign(latency, usual, wished);
    for (const field of root.querySelectorAll("[data-latency]")) field.value = latency[field.dataset.latency];
    drawn = {};
  }

  /// The strips of the run, and of the kernels that are chosen beside it.
  async function refresh() {
    const { run, page } = view;
    const mine = (asked += 1);
    const boxes = page.besides().map(({ id, title }) => {
      const onchange = ({ target }) => change(id, target.checked);
      const box = element("input", { type: "checkbox", checked: page.beside.has(id), onchange });
      return element("label", {}, box, ` ${title} `);
    });
    fill(others, boxes.length > 0 ? "Beside it: " : null, ...boxes);
    const asking = { ...latency, block: run.chosen.block, launch: run.look.launch, time: run.time };
    if (!strips.firstChild) fill(strips, element("p", { class: "muted", text: "Running the kernels …" }));
    const all = await page.strips(asking).catch((error) => error);
    if (mine !== asked) return;
    if (all instanceof Error) return fill(strips, element("p", { class: "fault", text: all.message }));
    const width = view.room.width - 4;
    const clocks = Math.max(1, ...all.map((one) => one.strip.clocks));
    fill(
      strips,
      ...all.map(({ title, strip }) => {
        const text = stripWords(strip);
        const canvas = element("canvas", { role: "img", "aria-label": `${title}: ${text}` });
        drawStrip(canvas, strip, clocks, width);
        const caption = element("figcaption", {}, element("strong", { text: title }), `: ${text}`);
        return element("figure", {}, caption, canvas);
      }),
    );
    const measured = all.flatMap(({ title, measured }) =>
      measured?.length > 0 ? measured.map((time) => `${title}, measured: ${time}`) : [`${title}: not measured on a GPU`],
    );
    fill(times, ...measured.map((text) => element("li", { text })));
    return undefined;
  }

  function change(id, on) {
    if (on) view.page.beside.add(id);
    else view.page.beside.delete(id);
    refresh();
  }

  return {
    root,
    draw() {
      const { run } = view;
      takeWish();
      const state = [run.kernel.id, run.form.id, run.time, run.chosen.block, view.room.width, [...view.page.beside].join()].join();
      if (state === drawn.state && drawn.run === run) return;
      drawn = { state, run };
      refresh();
    },
  };
}
