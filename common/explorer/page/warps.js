// Whom the page looks at: a block, one of its warps, and a lane of that. Each warp shows whether it runs or waits.

import { button, element, fill, options, setText } from "./elements.js";
import { place } from "./words.js";

const STATES = { waits: "has not started", runs: "runs", barrier: "waits at a barrier", done: "has ended" };

/// The strip of warps, with the block and the lane beside it.
export function makeWarps(view) {
  const blocks = element("select", {
    "aria-label": "Block",
    onchange: () => view.choose({ block: Number(blocks.value) }),
  });
  const lane = element("input", {
    type: "number",
    min: 0,
    max: 31,
    value: 0,
    "aria-label": "Lane",
    onchange: () => view.choose({ lane: Math.min(31, Math.max(0, Number(lane.value) || 0)) }),
  });
  const thread = element("span", { class: "muted" });
  const strip = element("div", { class: "strip", role: "group", "aria-label": "Warps of the block" });
  const key = element("span", { class: "key" });
  key.innerHTML = `<i class="runs"></i>runs <i class="barrier"></i>waits at a barrier <i class="done"></i>has ended`;
  const root = element(
    "section",
    { class: "warps", "aria-label": "Block, warp and lane" },
    element("label", {}, "Block ", blocks),
    element("label", {}, "Lane ", lane),
    thread,
    strip,
    key,
  );
  let chips = [];

  function draw() {
    const { run } = view;
    const { look, chosen } = run;
    if (blocks.options.length !== look.blocks.length) fill(blocks, ...options(look.blocks.map((_, block) => [block, ""])));
    look.blocks.forEach((state, block) =>
      setText(blocks.options[block], `${place(run.blockName(block))}${["", " runs", " has ended"][state]}`),
    );
    blocks.value = String(chosen.block);
    if (document.activeElement !== lane) lane.value = chosen.lane;
    thread.textContent = `thread ${place(run.threadName())}`;
    if (chips.length !== look.warps.length) {
      chips = look.warps.map((_, warp) => button(warp, () => view.choose({ warp }), { class: "chip" }));
      fill(strip, element("span", { class: "muted", text: "Warp" }), ...chips);
    }
    look.warps.forEach(({ state, line }, warp) => {
      const chip = chips[warp];
      chip.dataset.state = state;
      chip.setAttribute("aria-pressed", String(warp === chosen.warp));
      const label = `Warp ${warp} ${STATES[state]}${line === null || state === "done" ? "" : `, line ${line}`}`;
      chip.title = label;
      chip.setAttribute("aria-label", label);
    });
  }
  return { root, draw };
}
