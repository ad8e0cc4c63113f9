// The kernel's source: the line that the chosen warp executed last is lit, and the margin says on which lines the
// other warps are.

import { button, element, fill, setText } from "./elements.js";
import { ranges } from "./words.js";

/// The code of a line, with its comment set apart.
function codeOf(text) {
  const [indent] = /^ */.exec(text);
  const comment = text.search(/\/\/|\/\*/);
  const code = comment < 0 ? text.slice(indent.length) : text.slice(indent.length, comment);
  return element(
    "code",
    {},
    element("span", { class: "indent", text: indent }),
    code,
    comment < 0 ? null : element("span", { class: "comment", text: text.slice(comment) }),
  );
}

/// The PTX of a line, with the instruction that was executed last.
function ptxOf(run, line, last) {
  const list = run.launch.instructions
    .map((instruction, number) => ({ ...instruction, number }))
    .filter((one) => one.line === line);
  return element(
    "pre",
    { class: "ptx" },
    ...list.map(({ text, number }) => element("span", { class: number === last ? "lit" : "", text: `${text}\n` })),
  );
}

/// The panel.
export function makeSource(view) {
  const list = element("ol", { class: "lines" });
  const root = element("section", { class: "source", "aria-label": "Source of the kernel", tabindex: "0" }, list);
  let rows = [];
  let opened = null;
  let shownLine = null;
  let shownHeight = 0;

  function show() {
    opened = null;
    shownLine = null;
    const executed = new Set(view.run.facts.launches.flatMap(({ instructions }) => instructions.map(({ line }) => line)));
    rows = view.run.kernel.source
      .replace(/\n$/, "")
      .split("\n")
      .map((text, index) => {
        const line = index + 1;
        const margin = element("span", { class: "margin" });
        const attributes = { class: "plain line-number", "aria-expanded": "false", title: "Show the PTX of this line" };
        const number = executed.has(line)
          ? button(line, () => toggle(line), attributes)
          : element("span", { class: "line-number", text: line });
        const ptx = element("div", { class: "below" });
        return { row: element("li", {}, margin, number, codeOf(text), ptx), margin, number, ptx };
      });
    fill(list, ...rows.map(({ row }) => row));
    root.scrollTop = 0;
  }

  function toggle(line) {
    opened = opened === line ? null : line;
    draw();
  }

  /// Steps to where the chosen warp comes to a line next, or came to it before.
  const visit = (line, back) => view.seek({ to: "line", line, back });

  function below(line, last) {
    const visits = [button("◀ visit before", () => visit(line, true)), button("next visit ▶", () => visit(line, false))];
    return [element("div", { class: "visits" }, ...visits), ptxOf(view.run, line, last)];
  }

  function draw() {
    const { look, chosen } = view.run;
    const mine = look.warps[chosen.warp];
    const last = mine?.last ?? null;
    const current = last === null ? (mine?.line ?? null) : view.run.launch.instructions[last].line;
    const others = new Map();
    look.warps.forEach((warp, number) => {
      if (number === chosen.warp || warp.line === null || warp.state === "done" || warp.state === "waits") return;
      others.set(warp.line, [...(others.get(warp.line) ?? []), number]);
    });
    rows.forEach(({ row, margin, number, ptx }, index) => {
      const line = index + 1;
      row.classList.toggle("current", line === current);
      row.setAttribute("aria-current", String(line === current));
      const here = others.get(line) ?? [];
      setText(margin, here.length === 0 ? "" : here.length < 3 ? here.join(" ") : `×${here.length}`);
      margin.title = here.length
        ? `${here.length === 1 ? "Warp" : "Warps"} ${ranges(here)} will execute this line next`
        : "";
      if (number.tagName === "BUTTON") number.setAttribute("aria-expanded", String(opened === line));
      if (opened === line || ptx.firstChild) fill(ptx, ...(opened === line ? below(line, last) : []));
    });
    const height = root.clientHeight;
    if (current !== null && (current !== shownLine || height !== shownHeight)) keepInView(rows[current - 1]?.row);
    [shownLine, shownHeight] = [current, height];
  }

  /// Scrolls the source, and never the page around it.
  function keepInView(row) {
    if (!row) return;
    const top = row.offsetTop - list.offsetTop;
    if (top < root.scrollTop + 20 || top + row.offsetHeight > root.scrollTop + root.clientHeight - 30) {
      root.scrollTop = Math.max(0, top - root.clientHeight / 2);
    }
  }

  return { root, show, draw };
}
