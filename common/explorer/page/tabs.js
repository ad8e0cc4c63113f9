// The tabs, with which a view that is too narrow for all panels shows one of them.

import { button, fill } from "./elements.js";

/// The tabs of `panels`, which are `[id, title]` each. `chosen(id)` is called when the reader chooses one.
export function makeTabs(root, panels, chosen) {
  let current = panels[0][0];
  const tabs = new Map(
    panels.map(([id, text]) => [id, button(text, () => chosen(id), { role: "tab", "data-panel": id })]),
  );
  fill(root, ...tabs.values());
  root.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    const at = panels.findIndex(([id]) => id === current);
    const [next] = panels[(at + way + panels.length) % panels.length];
    chosen(next);
    tabs.get(next).focus();
  });
  return {
    /// Marks a tab as the chosen one.
    show(id) {
      current = id;
      for (const [name, tab] of tabs) {
        tab.setAttribute("aria-selected", String(name === id));
        tab.tabIndex = name === id ? 0 : -1;
      }
      // Where not all fit, the chosen one comes into view; the page around them stays where it is.
      const { offsetLeft, offsetWidth } = tabs.get(id);
      root.scrollLeft = offsetLeft - root.offsetLeft - (root.clientWidth - offsetWidth) / 2;
    },
    /// Shows a number behind the title of a tab, if it is not 0.
    number(id, value) {
      const [, text] = panels.find(([name]) => name === id);
      tabs.get(id).textContent = value ? `${text} (${value})` : text;
    },
  };
}
