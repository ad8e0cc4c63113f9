// One run on the page: its warps, its source, and its panels. A wide view shows all panels at once, a narrow one the
// chosen one.

import { makeCounts } from "./counts.js";
import { element, fill } from "./elements.js";
import { makeFragments } from "./fragments.js";
import { makeHazards } from "./hazards.js";
import { makeMatrices } from "./matrices.js";
import { makeRegisters } from "./registers.js";
import { makeRequest } from "./request.js";
import { makeShared } from "./shared.js";
import { makeSource } from "./source.js";
import { makeWarps } from "./warps.js";

/// From these widths on, in pixels, a view shows its source beside the chosen panel, and all panels at once.
const [MIDDLE, WIDE] = [600, 980];

/// The panels in the order of their tabs.
export const PANELS = [
  ["matrices", "Matrices"],
  ["request", "Request"],
  ["shared", "Shared memory"],
  ["registers", "Registers"],
  ["fragments", "Fragments"],
  ["counts", "Counts"],
  ["hazards", "Hazards"],
];

export class View {
  /// `page` has `moved(view, time, chosen)`, which moves all views that go in step, and `counter(name)`.
  constructor(page) {
    this.page = page;
    this.run = null;
    this.panel = "matrices";
    this.source = makeSource(this);
    this.warps = makeWarps(this);
    this.panels = [
      makeMatrices(this),
      makeRequest(this),
      makeShared(this),
      makeRegisters(this),
      makeFragments(this),
      makeCounts(this),
      makeHazards(this),
    ];
    this.title = element("h2", { class: "view-title", hidden: true });
    this.sentence = element("p", { class: "view-sentence", "aria-hidden": "true" });
    const [matrices, request, shared, registers, fragments, counts, hazards] = this.panels;
    for (const panel of this.panels) panel.root.prepend(element("h2", { class: "panel-title", text: panel.title }));
    this.left = element("div", { class: "column" }, this.source.root, counts.root, hazards.root);
    this.right = element(
      "div",
      { class: "column" },
      matrices.root,
      request.root,
      shared.root,
      registers.root,
      fragments.root,
    );
    this.root = element(
      "article",
      { class: "view" },
      this.title,
      this.sentence,
      this.warps.root,
      element("div", { class: "columns" }, this.left, this.right),
    );
    this.seen = new Set();
    new ResizeObserver(() => this.resized()).observe(this.root);
    this.watch = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const panel = this.panels.find(({ root }) => root === target);
          if (isIntersecting) this.seen.add(panel);
          else this.seen.delete(panel);
          if (isIntersecting && this.run && this.wide) panel.draw();
        }
      },
      { rootMargin: "200px" },
    );
    for (const { root } of this.panels) this.watch.observe(root);
  }

  counter = (name) => this.page.counter(name);

  get wide() {
    return this.width >= WIDE;
  }

  get middle() {
    return this.width >= MIDDLE && !this.wide;
  }

  /// The pixels that a panel's drawing may take. They are measured when the view is laid out, and not in each frame.
  room() {
    return this.measured;
  }

  /// Lays the view out for its width.
  layOut() {
    this.width = this.root.clientWidth;
    this.root.classList.toggle("wide", this.wide);
    this.root.classList.toggle("middle", this.middle);
    const panel = this.panels.find(({ id }) => id === this.panel).root;
    const width = this.wide ? this.right.clientWidth : panel.clientWidth;
    this.measured = {
      width: Math.max(260, width - 2),
      height: this.wide ? 560 : Math.max(300, Math.min(440, window.innerHeight * 0.6)),
    };
  }

  resized() {
    if (this.root.clientWidth === this.width) return;
    this.layOut();
    this.draw();
  }

  /// Shows a run that has just been made.
  show(run, title) {
    this.run = run;
    this.title.textContent = title ?? "";
    this.title.hidden = !title;
    this.layOut();
    this.source.show();
    this.warps.show();
    this.draw();
  }

  /// Chooses the panel that a narrow view shows.
  choosePanel(id) {
    this.panel = id;
    for (const panel of this.panels) panel.root.classList.toggle("chosen", panel.id === id);
    if (!this.run) return;
    this.layOut();
    this.draw();
  }

  /// Draws what can be seen.
  draw() {
    if (!this.run?.look) return;
    this.warps.draw();
    this.source.draw();
    for (const panel of this.panels) if (this.wide ? this.seen.has(panel) : panel.id === this.panel) panel.draw();
  }

  /// Looks at another thread, at the same time.
  choose(chosen) {
    return this.page.moved(this, this.run.time, { ...this.run.chosen, ...chosen });
  }

  /// Goes to a time, and looks at a thread there.
  go(time, chosen = {}) {
    return this.page.moved(this, time, { ...this.run.chosen, ...chosen });
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
    this.watch.disconnect();
    this.root.remove();
    fill(this.root);
  }
}
