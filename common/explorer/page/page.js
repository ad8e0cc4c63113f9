// The page: what is chosen, the runs that were made of it, and everything that shows them.

import { formsFor, kernelTitle, makeChoice, sensible } from "./choice.js";
import { element, fill } from "./elements.js";
import { Engine } from "./engine.js";
import { readFragment, writeFragment } from "./fragment.js";
import { listenToKeys } from "./keys.js";
import { makePredict } from "./predict.js";
import { Run } from "./run.js";
import { makeTimeline } from "./timeline.js";
import { Travel } from "./travel.js";
import { PANELS, View } from "./view.js";
import { sentenceOf } from "./words.js";

const USUAL_SIZE = [64, 64, 64];
const STOPPED = "The run was stopped. Choose a smaller size or another kernel, and run again.";

export class Page {
  constructor(data, wasm) {
    this.data = data;
    this.engines = [new Engine(wasm), new Engine(wasm)];
    this.views = [];
    this.runs = [];
    this.choice = null;
    this.making = null;
    this.travel = new Travel(this);
    this.parts = Object.fromEntries(["choice", "idea", "time", "sentence", "message", "tabs", "predict", "views"].map((id) => [id, document.getElementById(id)]));
    this.controls = makeChoice(this.parts.choice, data, { changed: (choice) => this.choose(choice), stop: () => this.stop(), predict: () => this.togglePredict() });
    this.timeline = makeTimeline(this.parts.time, {
      step: (way, unit) => this.travel.step(way, unit), jump: (time) => this.travel.jump(time), follow: (on) => this.travel.follow(on), playing: (on) => this.parts.sentence.setAttribute("aria-live", on ? "off" : "polite"),
      time: () => this.runs[0]?.time ?? 0, length: () => this.runs[0]?.facts.length ?? 1, hazards: () => this.runs[0]?.facts.hazards ?? [],
    });
    this.predict = makePredict(this.parts.predict, { answer: (question) => this.answer(question), look: (question, answer) => this.lookWhere(question, answer) });
    this.timeline.enable(false);
    this.makeTabs();
    listenToKeys({ toggle: () => this.runs[0] && this.timeline.toggle(), step: (way, unit) => this.timeline.step(way, unit), jump: (time) => this.travel.jump(time) });
  }

  makeTabs() {
    const tab = ([id, text]) => element("button", { type: "button", role: "tab", id: `tab-${id}`, "data-panel": id, text, onclick: () => this.choosePanel(id) });
    fill(this.parts.tabs, ...PANELS.map(tab));
    this.parts.tabs.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!way) return;
      const at = PANELS.findIndex(([id]) => id === this.panel);
      const [id] = PANELS[(at + way + PANELS.length) % PANELS.length];
      this.choosePanel(id);
      document.getElementById(`tab-${id}`).focus();
    });
  }

  choosePanel(id) {
    this.panel = PANELS.some(([name]) => name === id) ? id : "matrices";
    for (const tab of this.parts.tabs.children) {
      tab.setAttribute("aria-selected", String(tab.dataset.panel === this.panel));
      tab.tabIndex = tab.dataset.panel === this.panel ? 0 : -1;
    }
    for (const view of this.views) view.choosePanel(this.panel);
    this.keepChoice();
  }

  /// Moves a view, as it asks for.
  moved(view, time, chosen) {
    return this.travel.moved(view, time, chosen);
  }

  /// Draws everything again, in other colours.
  redraw() {
    this.timeline.drawMarks();
    this.travel.drawAll();
  }

  /// A counter with what it counts, and the profiler's name for it.
  counter(name) {
    return this.data.counters?.find((one) => one.name === name) ?? { name, words: "", metric: null };
  }

  /// A sentence in place of the page's content; null takes it away.
  tell(sentence, calm = false) {
    this.parts.message.hidden = sentence === null;
    this.parts.message.textContent = sentence ?? "";
    this.parts.message.classList.toggle("calm", calm);
  }

  say(sentence) {
    this.parts.sentence.textContent = sentence;
  }

  keepChoice() {
    if (!this.choice) return;
    try {
      history.replaceState(null, "", writeFragment({ ...this.choice, panel: this.panel }));
    } catch {
      // Some frames have no address that could be changed.
    }
  }

  /// Follows the address: what it leaves open is as usual.
  follow(hash) {
    const wanted = readFragment(hash);
    const first = this.data.own ?? this.data.chapters[0].kernels[0];
    const known = this.data.kernels.find(({ id }) => id === wanted.name || id === wanted.name.replace(/\/kernel$/, ""));
    const name = known?.id ?? this.data.chapters.find(({ id }) => id === wanted.name)?.kernels[0] ?? first;
    const predicting = wanted.predict !== null;
    this.parts.predict.hidden = !predicting;
    this.choosePanel(wanted.panel);
    return this.choose({ name, size: wanted.size ?? this.usualSize(name), dtype: wanted.dtype, form: wanted.form, order: wanted.order, with: wanted.with?.replace(/\/kernel$/, "") ?? null },
      predicting && Number(wanted.predict) > 0 ? Number(wanted.predict) - 1 : undefined);
  }

  /// The size at which a kernel is shown if nothing else is asked for.
  usualSize(name) {
    const kernel = this.data.kernels.find(({ id }) => id === name);
    return kernel?.size ?? USUAL_SIZE;
  }

  /// Runs what the reader, or the address, asks for.
  async choose(wanted, question) {
    const refused = wanted.size.find((side) => side > 64 || side < 1 || !Number.isInteger(side));
    if (refused === undefined || !this.choice) this.take(wanted);
    if (refused !== undefined) {
      this.tell(`A side of ${refused} does not fit here: choose whole numbers from 1 to 64. Larger products run with \`cargo run\`, in the course's own folder.`);
      return;
    }
    await this.make();
    if (!this.parts.predict.hidden) await this.predict.show(this.chapter.id, this.chapter.questions, question);
  }

  /// Takes a choice over, as far as it can be run. Another kernel may need another size.
  take(wanted) {
    const before = this.choice;
    this.choice = sensible(this.data, wanted);
    if (before && before.name !== this.choice.name) this.choice.size = this.fittingSize(this.choice);
    this.controls.show(this.choice);
    this.keepChoice();
    const kernel = this.kernel(this.choice.name);
    this.parts.idea.textContent = kernel.about ?? "";
    this.parts.idea.title = kernel.about ?? "";
    this.chapter = this.data.chapters.find(({ id }) => id === kernel.step) ?? this.data.chapters[0];
    this.parts.predict.hidden ||= this.chapter.questions.length === 0;
    this.controls.asking(this.chapter.questions.length, !this.parts.predict.hidden);
  }

  /// Shows the chapter's questions, or hides them.
  togglePredict() {
    const { hidden } = this.parts.predict;
    this.parts.predict.hidden = !hidden;
    this.controls.asking(this.chapter.questions.length, hidden);
    if (hidden) this.predict.show(this.chapter.id, this.chapter.questions);
  }

  /// The size of the choice if a form of its kernel can run it, or else the kernel's usual one.
  fittingSize(choice) {
    const kernel = this.kernel(choice.name);
    return formsFor(kernel, choice).length > 0 ? choice.size : this.usualSize(choice.name);
  }

  kernel(id) {
    return this.data.kernels.find((kernel) => kernel.id === id);
  }

  /// Runs what is chosen, and shows it. A run that is being made already is not begun again.
  make() {
    const key = JSON.stringify(this.choice);
    if (this.making?.key !== key) {
      if (this.making) for (const engine of this.engines) engine.end(STOPPED);
      const making = { key };
      this.making = making;
      making.done = this.makeRuns(making);
    }
    return this.making.done;
  }

  async makeRuns(making) {
    this.timeline.stop();
    this.timeline.enable(false);
    this.tell(null);
    this.controls.busy(true);
    this.say("Running …");
    try {
      const names = [this.choice.name, this.choice.with].filter(Boolean);
      const runs = await Promise.all(names.map((name, index) => this.runOf(name, this.engines[index])));
      if (this.making === making) this.show(runs);
    } catch (error) {
      if (this.making === making) this.fail(error);
    } finally {
      if (this.making === making) {
        this.making = null;
        this.controls.busy(false);
      }
    }
  }

  /// Says why there is no run, and shows none.
  fail(error) {
    this.runs = [];
    for (const view of this.views) view.root.hidden = true;
    this.say("");
    this.tell(sentenceOf(error.message));
  }

  async runOf(name, engine) {
    const kernel = this.kernel(name);
    const form = formsFor(kernel, this.choice)[0];
    if (!form) throw new Error(`${kernelTitle(kernel)} cannot run ${this.choice.size.join("×")} with ${this.choice.dtype} here: choose another size, such as ${this.usualSize(name).join("×")}`);
    const run = new Run(engine, kernel, form);
    await run.start({ ...this.choice, limit: this.data.limit });
    return run;
  }

  show(runs) {
    this.runs = runs;
    while (this.views.length > runs.length) this.views.pop().remove();
    while (this.views.length < runs.length) {
      const view = new View(this);
      this.views.push(view);
      this.parts.views.append(view.root);
    }
    this.parts.views.classList.toggle("two", runs.length > 1);
    document.body.classList.toggle("comparing", runs.length > 1);
    this.views.forEach((view, index) => {
      view.root.hidden = false;
      view.show(runs[index], runs.length > 1 ? kernelTitle(runs[index].kernel) : null);
      view.choosePanel(this.panel);
    });
    this.timeline.enable(true);
    this.timeline.drawMarks();
    if (runs[0].facts.outcome.stopped) this.tell(sentenceOf(runs[0].facts.outcome.stopped));
    this.travel.showTime();
  }

  /// Stops a run that is being made.
  stop() {
    for (const engine of this.engines) engine.end(STOPPED);
  }

  /// What was counted, in answer to a question: the kernel is run as the question says.
  async answer(question) {
    const { kernel: name, size, dtype, form, order } = question;
    const wanted = { ...this.choice, name, size: size ?? this.usualSize(name), dtype: dtype ?? "f32", form: form ?? null, order: order ?? "warps", with: null };
    const same = ["name", "dtype", "form", "order", "with"].every((key) => (this.choice[key] ?? null) === wanted[key]) && this.choice.size.join() === wanted.size.join();
    if (!same || this.runs.length === 0) {
      this.choice = null;
      this.take(wanted);
      await this.make();
    }
    if (this.runs.length === 0) throw new Error("The run failed, so there is nothing to count.");
    return this.runs[0].question(question);
  }

  /// Shows where the answer of a question comes from.
  async lookWhere(question, { time, block, warp }) {
    if (question.panel) this.choosePanel(question.panel);
    await this.views[0].go(time, { block, warp });
  }
}
