// The counters as they grow, in total and for each line.

import { choose, element, fill, keepRows, setText, table } from "./elements.js";
import { count, ratio } from "./words.js";

/// Ratios that say more than their parts: what they are called, and which counter is divided by which.
const RATIOS = [
  ["sectors per load request", "global_load_sectors", "global_load_requests"],
  ["sectors per store request", "global_store_sectors", "global_store_requests"],
  ["flop per byte", "flop", "global_load_bytes"],
  ["wavefronts per shared load", "shared_load_wavefronts", "shared_load_requests"],
];

/// A row whose numbers and meter follow the run; `cells` puts them beside others.
function countRow(attributes, cells) {
  const [now, end] = [0, 1].map(() => element("td", { class: "number" }));
  const meter = element("meter", { min: 0, max: 1, value: 0, "aria-hidden": "true" });
  const bar = element("td", { class: "bar" }, meter);
  return { now, end, meter, root: element("tr", attributes, ...cells(now, bar, end)) };
}

/// A row of the table of totals.
const totalRow = (name, title) =>
  countRow({ title }, (now, bar, end) => [element("th", { scope: "row", text: name }), now, end, bar]);

/// A row of the table of lines.
function lineRow(line, source) {
  const number = element("td", { class: "number", text: line === "0" ? "none" : line });
  const code = element("code", { text: /^\d+$/.test(line) ? (source[line - 1] ?? "").trim() : "" });
  return countRow({}, (now, bar) => [number, now, bar, element("td", {}, code)]);
}

/// The table of totals, and how it is brought up to date.
function makeTotals(view) {
  const body = element("tbody");
  const rowsOf = keepRows(body, (name) => totalRow(name, view.page.counter(name).words));
  const share = (counts, [, of, per]) => (counts[per] ? ratio((counts[of] ?? 0) / counts[per]) : "");
  const draw = (now, end) => {
    const counters = view.page.counted(end);
    const ratios = RATIOS.filter(([, , per]) => end[per] > 0);
    const rows = rowsOf([...counters, ...ratios.map(([name]) => name)]);
    for (const name of counters) {
      const row = rows.get(name);
      setText(row.now, count(now[name] ?? 0));
      setText(row.end, count(end[name]));
      row.meter.value = (now[name] ?? 0) / end[name];
    }
    for (const one of ratios) {
      const row = rows.get(one[0]);
      setText(row.now, share(now, one));
      setText(row.end, share(end, one));
      row.meter.hidden = true;
    }
  };
  return { root: table({ class: "counts totals" }, ["counter", "so far", "whole run", ""], body), draw };
}

/// What Nsight Compute calls the counters that it has, too.
function namesTable(counters) {
  const rows = counters
    .filter(({ metric }) => metric)
    .map(({ name, metric }) =>
      element(
        "tr",
        {},
        element("th", { scope: "row", text: name }),
        element("td", {}, element("code", { text: metric })),
      ),
    );
  return element("div", { class: "scroll-x" }, element("table", { class: "counts" }, element("tbody", {}, ...rows)));
}

/// The panel.
export function makeCounts(view) {
  let counter = "instructions";
  let source = [];
  let shownRun = null;
  const totals = makeTotals(view);
  const body = element("tbody");
  let rowsOf = () => new Map();
  const chooser = element("label", { text: "By line: " });
  const names = element("details");
  const root = element(
    "section",
    { class: "panel counters", "aria-label": "Counters" },
    element("p", { class: "withheld", text: "The counts are shown when you have committed to a number." }),
    element("div", { class: "scroll-x" }, totals.root),
    names,
    chooser,
    element("div", { class: "scroll" }, element("table", { class: "counts lines-of" }, body)),
  );

  /// Begins with another run: its lines, and the counters that can be chosen.
  function begin(run) {
    shownRun = run;
    source = run.kernel.source.split("\n");
    fill(body);
    rowsOf = keepRows(body, (line) => lineRow(line, source));
    const counters = view.page.counted(run.facts.totals);
    fill(names, element("summary", { text: "The profiler's names" }), namesTable(counters.map((name) => view.page.counter(name))));
    if (!counters.includes(counter)) counter = "instructions";
    const select = choose(
      counters.map((name) => [name, name]),
      {
        onchange: (event) => {
          counter = event.target.value;
          draw();
        },
      },
    );
    select.value = counter;
    fill(chooser, "By line: ", select);
  }

  function drawLines(byLine) {
    const lines = Object.keys(byLine).filter((line) => byLine[line][counter] > 0);
    const most = Math.max(1, ...lines.map((line) => byLine[line][counter]));
    const rows = rowsOf(lines);
    for (const line of lines) {
      setText(rows.get(line).now, count(byLine[line][counter]));
      rows.get(line).meter.value = byLine[line][counter] / most;
    }
  }

  function draw() {
    const { run } = view;
    if (run !== shownRun) begin(run);
    totals.draw(run.look.totals, run.facts.totals);
    drawLines(run.look.by_line);
  }
  return { root, draw };
}
