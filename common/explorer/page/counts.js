// The counters as they grow, in total and for each line.

import { choose, element, fill } from "./elements.js";
import { count, ratio } from "./words.js";

/// Ratios that say more than their parts: what they are called, and which counter is divided by which.
const RATIOS = [
  ["sectors per load request", "global_load_sectors", "global_load_requests"],
  ["sectors per store request", "global_store_sectors", "global_store_requests"],
  ["flop per byte", "flop", "global_load_bytes"],
  ["wavefronts per shared load", "shared_load_wavefronts", "shared_load_requests"],
];

function totalsTable(now, end, describe) {
  const row = (name, so, all, title) => element("tr", {},
    element("th", { scope: "row", text: name, title }),
    element("td", { class: "number", text: so }), element("td", { class: "number", text: all }),
    element("td", { class: "bar" }, element("meter", { min: 0, max: 1, value: 0, "aria-hidden": "true" })));
  const rows = Object.keys(end).filter((name) => end[name] > 0).map((name) => {
    const made = row(name, count(now[name] ?? 0), count(end[name]), describe(name));
    made.querySelector("meter").value = (now[name] ?? 0) / end[name];
    return made;
  });
  const ratios = RATIOS.filter(([, , per]) => end[per] > 0).map(([name, of, per]) => {
    const share = (counts) => (counts[per] ? ratio(counts[of] / counts[per]) : "");
    const made = row(name, share(now), share(end), `${of} / ${per}`);
    made.querySelector("meter").remove();
    return made;
  });
  return element("table", { class: "counts" },
    element("thead", {}, element("tr", {}, ...["counter", "so far", "whole run", ""].map((text) => element("th", { scope: "col", text })))),
    element("tbody", {}, ...rows, ...ratios));
}

function linesTable(run, counter) {
  const source = run.kernel.source.split("\n");
  const all = Object.entries(run.look.by_line).filter(([, counts]) => counts[counter] > 0);
  const most = Math.max(1, ...all.map(([, counts]) => counts[counter]));
  const rows = all.map(([line, counts]) => {
    const meter = element("meter", { min: 0, max: 1, value: counts[counter] / most, "aria-hidden": "true" });
    return element("tr", {}, element("td", { class: "number", text: line }), element("td", { class: "number", text: count(counts[counter]) }), element("td", { class: "bar" }, meter),
      element("td", {}, element("code", { text: (source[line - 1] ?? "").trim() })));
  });
  return element("table", { class: "counts lines" }, element("tbody", {}, ...rows));
}

/// The panel.
export function makeCounts(view) {
  let counter = "instructions";
  const totals = element("div", { class: "scroll-x" });
  const lines = element("div", { class: "scroll" });
  const chooser = element("label", { text: "By line: " });
  const root = element("section", { class: "panel counters", "aria-label": "Counters" }, totals, chooser, lines);
  let listed = "";

  /// The counters that can be chosen, in a list that is made again only when they change.
  function listCounters(names) {
    if (names.join() === listed) return;
    listed = names.join();
    if (!names.includes(counter)) counter = "instructions";
    const select = choose(names.map((name) => [name, name]), { onchange: (event) => {
      counter = event.target.value;
      draw();
    } });
    select.value = counter;
    fill(chooser, "By line: ", select);
  }

  function draw() {
    const { look, facts } = view.run;
    fill(totals, totalsTable(look.totals, facts.totals, view.describeCounter));
    listCounters(Object.keys(facts.totals).filter((name) => facts.totals[name] > 0));
    fill(lines, linesTable(view.run, counter));
  }
  return { id: "counts", title: "Counts", root, draw };
}
