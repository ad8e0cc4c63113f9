// The hazards of a run: the picture of one, the others below it, and the switch between a lucky and an unlucky order.

import { button, element, fill } from "./elements.js";
import { drawHazard, hazardWords } from "./hazard-drawing.js";
import { threadOf } from "./run.js";
import { actionOn, count, place } from "./words.js";

/// Whether a hazard is between lanes of one warp. They usually run together, so such hazards come last.
function isWithinWarp({ parties: [a, b] }) {
  return b !== undefined && a.number === b.number && a.warp === b.warp && a.lane !== b.lane;
}

/// The panel.
export function makeHazards(view) {
  const says = element("p", { class: "says" });
  const orders = element("div", { class: "orders", role: "group", "aria-label": "Orders of execution" });
  const picture = element("div", { class: "picture" });
  const words = element("p", { class: "says", role: "status" });
  const list = element("ol", { class: "hazards" });
  const root = element("section", { class: "panel hazards-panel", "aria-label": "Hazards" }, says, orders, picture, words, list);
  let chosen = null;
  let drawn = null;

  /// Chooses a hazard, and goes to a thread of it: if none is named, to the one that made the second access.
  function go(hazard, number, party = hazard.parties.at(-1)) {
    chosen = number;
    return view.go(hazard.time, party ? threadOf(party) : {});
  }

  function entry(hazard, number) {
    const seen = hazard.time <= view.run.time;
    const often = hazard.count > 1 ? `, ${count(hazard.count)} times in the whole run` : "";
    return element(
      "li",
      { class: `hazard${hazard.warning ? " warning" : ""}${seen ? "" : " later"}` },
      button(`${hazard.kind}: ${hazard.place}`, () => go(hazard, number), {
        class: "plain",
        "aria-pressed": String(number === chosen),
      }),
      element("span", { class: "muted", text: (isWithinWarp(hazard) ? ", between two lanes of one warp" : "") + often }),
      number === chosen ? parties(hazard, number) : null,
      number === chosen && hazard.text
        ? element("details", {}, element("summary", { text: "The whole report" }), element("pre", { text: hazard.text }))
        : null,
    );
  }

  function parties(hazard, number) {
    const one = (party) => {
      const name = `thread ${place(party.thread)} of block ${place(party.block)}`;
      const does = `${actionOn(party.action, hazard.place)}${party.line === null ? "" : ` in line ${party.line}`}`;
      return element("li", {}, button(name, () => go(hazard, number, party), { class: "plain" }), ` ${does}`);
    };
    return element("ul", {}, ...hazard.parties.map(one));
  }

  /// The switch between the orders; before they are known, the button that looks for them.
  function drawOrders() {
    const { witness } = view.page;
    orders.hidden = view.run.facts.hazards.length === 0;
    if (orders.hidden) return;
    // The button that has the focus is replaced.
    const had = orders.contains(document.activeElement);
    const put = (...children) => {
      fill(orders, ...children);
      if (had) (orders.querySelector("[aria-pressed=true]") ?? orders.querySelector("button"))?.focus();
    };
    const { outcome, order: own } = view.run.facts;
    if (!witness)
      return put(button(`Find an order in which it goes ${outcome.right ? "wrong" : "right"}`, () => view.page.findWitness()));
    const one = (order, text) =>
      order && button(text, () => view.page.inOrder(order), { "aria-pressed": String(own === order) });
    put(
      one(witness.lucky, "The lucky run"),
      one(witness.unlucky, "The unlucky run"),
      element("span", { class: "muted", text: ` ${witness.words}` }),
    );
  }

  async function drawPicture() {
    const { run } = view;
    const number = chosen;
    const found = number === null ? null : await run.hazard(number).catch(() => null);
    if (run !== view.run || number !== chosen) return;
    fill(picture, found && drawHazard(found, view.room.width - 4));
    words.textContent = found ? hazardWords(found) : "";
  }

  return {
    root,
    draw() {
      const { facts, look, time } = view.run;
      const all = facts.hazards.length;
      says.textContent =
        all === 0
          ? "There is none in this run: every access is ordered, and stays inside its array."
          : look.hazards > 0
            ? `${look.hazards} so far, ${all} in the whole run.`
            : `None so far, ${all} in the whole run: the first comes after ${count(facts.hazards[0].time)} of ${count(facts.length)} instructions.`;
      const here = facts.hazards.findIndex((hazard) => hazard.time === time);
      if (here >= 0 && facts.hazards[chosen]?.time !== time) chosen = here;
      if (chosen === null || chosen >= all) chosen = facts.worst;
      drawOrders();
      const state = `${facts.order} ${look.hazards} ${chosen} ${all} ${view.room.width}`;
      if (drawn?.run === view.run && drawn.state === state) return;
      drawn = { run: view.run, state };
      const ordered = facts.hazards.map((hazard, number) => [hazard, number]);
      ordered.sort(([a], [b]) => isWithinWarp(a) - isWithinWarp(b));
      fill(list, ...ordered.map(([hazard, number]) => entry(hazard, number)));
      drawPicture();
    },
  };
}
