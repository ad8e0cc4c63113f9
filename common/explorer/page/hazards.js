// The hazards of a run: each appears when its second access happens.

import { element, fill } from "./elements.js";
import { count, place } from "./words.js";

function party(view, hazard, { block, thread, action, line, number, warp, lane }) {
  const go = () => view.go(hazard.time, { block: number, warp, lane });
  return element(
    "li",
    {},
    element("button", {
      type: "button",
      class: "plain",
      onclick: go,
      text: `thread ${place(thread)} of block ${place(block)}`,
    }),
    ` ${action} ${hazard.place}${line === null ? "" : ` in line ${line}`}`,
  );
}

// Lanes of one warp usually run together: such hazards come last.
function isWithinWarp({ parties: [a, b] }) {
  return b !== undefined && a.number === b.number && a.warp === b.warp;
}

function entry(view, hazard) {
  const seen = hazard.time <= view.run.time;
  return element(
    "li",
    { class: `hazard${hazard.warning ? " warning" : ""}${seen ? "" : " later"}` },
    element(
      "p",
      {},
      element("strong", { text: `${hazard.kind}: ${hazard.place}` }),
      element("span", {
        class: "muted",
        text:
          (isWithinWarp(hazard) ? ", between two lanes of one warp" : "") +
          (hazard.count > 1 ? `, ${count(hazard.count)} times in the whole run` : ""),
      }),
    ),
    element("ul", {}, ...hazard.parties.map((one) => party(view, hazard, one))),
    element("button", {
      type: "button",
      onclick: () => view.go(hazard.time, chosenOf(hazard)),
      text: seen ? "Go to the second access" : "Go to where it happens",
    }),
    hazard.text
      ? element("details", {}, element("summary", { text: "The whole report" }), element("pre", { text: hazard.text }))
      : null,
  );
}

/// The thread that made the second access.
export function chosenOf(hazard) {
  const last = hazard.parties.at(-1);
  return last ? { block: last.number, warp: last.warp, lane: last.lane } : {};
}

/// The panel.
export function makeHazards(view) {
  const says = element("p", { class: "says" });
  const list = element("ol", { class: "hazards" });
  const root = element("section", { class: "panel hazards-panel", "aria-label": "Hazards" }, says, list);
  let drawn = null;
  return {
    id: "hazards",
    title: "Hazards",
    root,
    badge: () => view.run.look.hazards || null,
    draw() {
      const { facts, look } = view.run;
      const all = facts.hazards.length;
      says.textContent =
        all === 0
          ? "There is none in this run: every access is ordered, and stays inside its array."
          : `${look.hazards} so far, ${all} in the whole run.`;
      const state = `${facts.hazards.length} ${look.hazards}`;
      if (drawn?.facts === facts && drawn.state === state) return;
      drawn = { facts, state };
      const ordered = [...facts.hazards].sort((a, b) => isWithinWarp(a) - isWithinWarp(b));
      fill(list, ...ordered.map((hazard) => entry(view, hazard)));
    },
  };
}
