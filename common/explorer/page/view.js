// One run on the page: its warps, its source, and the chosen panel. In a narrow view source and panel take turns.

import { makeCounts } from "./counts.js";
import { element, fill } from "./elements.js";
import { makeFragments } from "./fragments.js";
import { makeHazards } from "./hazards.js";
import { makeMatrices } from "./matrices.js";
import { makeRegisters } from "./registers.js";
import { makeRequest } from "./request.js";
import { makeSource } from "./source.js";
import { makeStrips } from "./strips.js";
import { makeWarps } from "./warps.js";

/// From this width on, in pixels, a view shows its source beside the chosen panel.
const BESIDE_FROM = 590;
/// Pixels below a drawing, for the words that belong to it, and the least that a drawing gets.
const [WORDS, LEAST] = [64, 240];

/// The panels in the order of their tabs.
export const PANELS = [
  ["matrices", "Matrices", makeMatrices],
  ["request", "Request", makeRequest],
  ["registers", "Registers", makeRegisters],
  ["fragments", "Fragments", makeFragments],
  ["counts", "Counts", makeCounts],
  ["hazards", "Hazards", makeHazards],
  ["time", "Time", makeStrips],
];

export class View {
  constructor(page) {
    this.page = page;
    this.run = null;
    this.panel = "matrices";
    this.source = makeSource(this);
    this.warps = makeWarps(this);
    this.panels = PANELS.map(([id, , make]) => ({ id, ...make(this) }));
    this.title = element("h2", { class: "view-title", hidden: true });
    this.sentence = element("p", { class: "view-sentence", "aria-hidden": "true", hidden: true });
    this.columns = element("div", { class: "columns" }, this.source.root, ...this.panels.map(({ root }) => root));
    this.root = element("article", { class: "view" }, this.title, this.sentence, this.warps.root, this.columns);
    new ResizeObserver(() => this.resized()).observe(this.root);
  }

  /// The panel that is shown.
  get shown() {
    return this.panels.find(({ id }) => id === this.panel);
  }

  /// Lays the view out for its width, and for the height that the screen has left.
  layOut() {
    this.width = this.root.clientWidth;
    const beside = this.width >= BESIDE_FROM;
    this.root.classList.toggle("beside", beside);
    const top = this.columns.getBoundingClientRect().top + window.scrollY;
    const left = window.innerHeight - top - 10;
    const stacked = !beside && this.page.runs.length > 1;
    const height = stacked ? Math.min(440, window.innerHeight * 0.6) : Math.max(LEAST + WORDS, left);
    this.root.style.setProperty("--room", `${Math.floor(height)}px`);
    // The pixels that a panel's drawing may take: measured here, and not in each frame.
    this.room = {
      width: Math.max(240, (this.shown.root.clientWidth || this.width) - 2),
      height: height - (stacked ? 0 : WORDS),
    };
  }

  resized() {
    if (this.root.clientWidth !== this.width) this.again();
  }

  /// Lays out and draws again.
  again() {
    if (!this.run) return;
    this.layOut();
    this.draw();
  }

  /// Shows a run that has just been made, in a panel.
  show(run, title, panel) {
    this.run = run;
    this.title.textContent = title;
    this.title.hidden = title === "";
    this.source.show();
    this.choosePanel(panel);
  }

  /// Chooses the panel that is shown.
  choosePanel(id) {
    this.panel = id;
    for (const panel of this.panels) panel.root.classList.toggle("chosen", panel.id === id);
    this.again();
  }

  /// Draws what can be seen.
  draw() {
    if (!this.run?.look) return;
    this.warps.draw();
    this.source.draw();
    this.shown.draw();
  }

  /// Looks at another thread, at the same time.
  choose(chosen) {
    return this.page.travel.moved(this, this.run.time, { ...this.run.chosen, ...chosen });
  }

  /// Goes to a time, and looks at a thread there.
  go(time, chosen = {}) {
    return this.page.travel.moved(this, time, { ...this.run.chosen, ...chosen });
  }

  /// Goes where a search leads.
  async seek(options) {
    const time = await this.run.seek(options);
    if (time !== null) await this.go(time);
    else this.page.say("There is no such place in the rest of the run.");
  }

  /// Says what has happened in this view, when there are two.
  say(text) {
    this.sentence.textContent = text;
    this.sentence.hidden = text === "";
  }

  remove() {
    this.root.remove();
    fill(this.root);
  }
}
