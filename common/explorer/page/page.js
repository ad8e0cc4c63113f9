// The page: what is chosen, the runs that were made of it, and everything that shows them.

import { firstOf, isSide, kernelTitle, makeChoice, sensible } from "./choice.js";
import { button, element } from "./elements.js";
import { readFragment, writeFragment } from "./fragment.js";
import { listenToKeys } from "./keys.js";
import { makePaste } from "./paste.js";
import { makePredict } from "./predict.js";
import { Runner } from "./runner.js";
import { outcomeSentence } from "./sentence.js";
import { makeTabs } from "./tabs.js";
import { makeTimeline } from "./timeline.js";
import { Travel } from "./travel.js";
import { PANELS, View } from "./view.js";
import { sentenceOf, several } from "./words.js";

export class Page {
  constructor(data, wasm) {
    this.data = data;
    this.views = [];
    this.runs = [];
    this.choice = null;
    this.witness = null;
    /// Kernels whose strips stand beside those of the kernel that is shown.
    this.beside = new Set();
    /// The latencies of the strips that a stop of the tour wishes; the usual ones are left out.
    this.latencies = {};
    this.runner = new Runner(data, wasm);
    this.travel = new Travel(this);
    this.parts = Object.fromEntries(
      ["choice", "idea", "time", "travel", "more", "paste", "sentence", "message", "tabs", "predict", "views"].map((id) => [
        id,
        document.getElementById(id),
      ]),
    );
    this.controls = makeChoice(this.parts.choice, data, (choice) => this.choose(choice));
    this.makeBar();
    this.timeline = makeTimeline(this.parts.time, this.parts.travel, this, [
      this.where,
      this.turn,
      this.halt,
      this.ask,
      this.moreButton,
    ]);
    this.predict = makePredict(this.parts.predict, this);
    makePaste(this.parts.paste, this);
    this.tabs = makeTabs(this.parts.tabs, PANELS, (id) => this.choosePanel(id));
    this.timeline.enable(false);
    listenToKeys({
      toggle: () => this.runs[0] && this.timeline.toggle(),
      step: (way, unit) => this.timeline.step(way, unit),
      jump: (time) => this.travel.jump(time),
    });
    // Drawings take the height that is left, which changes with whatever stands above them.
    const above = new ResizeObserver(() => this.views.forEach((view) => view.again()));
    for (const part of ["time", "sentence", "more", "message", "predict", "tabs"]) above.observe(this.parts[part]);
    window.addEventListener("resize", () => this.views.forEach((view) => view.again()));
  }

  /// What stands in the bar beside back, play and forward.
  makeBar() {
    const opens = (id) => ({ "aria-expanded": "false", "aria-controls": id });
    const turned = () => document.body.classList.contains("at-source");
    this.where = element("span", { class: "where muted" });
    this.turn = button("Source", () => this.showSource(!turned()), { id: "turn" });
    this.halt = button("Stop", () => this.runner.stop(), { id: "stop", hidden: true });
    this.ask = button("Tour", () => this.togglePredict(), { id: "ask", ...opens("predict") });
    this.moreButton = button("More", () => this.showMore(this.parts.more.hidden), { id: "more-button", ...opens("more") });
  }

  /// On a narrow screen: shows the source, or the picture.
  showSource(on) {
    document.body.classList.toggle("at-source", on);
    this.turn.textContent = on ? "Picture" : "Source";
    for (const view of this.views) view.again();
  }

  /// Shows what lies behind "more", or hides it.
  showMore(on) {
    this.parts.more.hidden = !on;
    document.body.classList.toggle("with-more", on);
    this.moreButton.setAttribute("aria-expanded", String(on));
    this.moreButton.textContent = on ? "Less" : "More";
    this.showTabs();
    this.timeline.drawMarks();
  }

  /// The tabs lie behind "more", and are there while another panel than the matrices is shown.
  showTabs() {
    this.parts.tabs.hidden = this.parts.more.hidden && this.panel === "matrices";
    this.tabs.show(this.panel);
  }

  /// Whether there is a tour, and whether it is shown.
  asking(shown) {
    this.ask.hidden = this.chapter.tour.length === 0;
    this.ask.setAttribute("aria-expanded", String(shown));
    this.ask.classList.toggle("pressed", shown);
  }

  choosePanel(id) {
    this.panel = PANELS.some(([name]) => name === id) ? id : "matrices";
    this.showTabs();
    for (const view of this.views) view.choosePanel(this.panel);
    this.keepChoice();
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

  /// The names of the counters that are not zero, in the order in which reports have them.
  counted(counts) {
    const order = new Map((this.data.counters ?? []).map(({ name }, at) => [name, at]));
    const place = (name) => order.get(name) ?? order.size;
    return Object.keys(counts)
      .filter((name) => counts[name] > 0)
      .sort((one, other) => place(one) - place(other));
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

  /// Follows the address: what it leaves open is as usual. A counter-example or a kernel of the reader's with a fault opens on that, and so does the panel of hazards.
  async follow(hash) {
    const wanted = readFragment(hash);
    const first = this.data.own ?? this.data.chapters[0].kernels[0];
    const known = this.data.kernels.find(({ id }) => id === wanted.name || id === wanted.name.replace(/\/kernel$/, ""));
    const name = known?.id ?? this.data.chapters.find(({ id }) => id === wanted.name)?.kernels[0] ?? first;
    const predicting = wanted.predict !== null;
    this.parts.predict.hidden = !predicting;
    this.choosePanel(wanted.panel);
    await this.choose(
      {
        name,
        ...(wanted.size ? { size: wanted.size } : firstOf(this.data, name)),
        dtype: wanted.dtype,
        ...(wanted.form || wanted.size ? { form: wanted.form } : {}),
        fill: wanted.fill,
        order: wanted.order,
        with: wanted.with?.replace(/\/kernel$/, "") ?? null,
      },
      predicting && Number(wanted.predict) > 0 ? Number(wanted.predict) - 1 : undefined,
    );
    if (predicting || this.runs.length === 0) return;
    if (wanted.panel === "hazards" && wanted.order) await this.goTo({ to: "hazard" });
    else if (wanted.panel === "hazards" || (!wanted.panel && ["counter-example", "own"].includes(this.runs[0].kernel.role))) await this.openHazard();
  }

  /// Shows the hazard that says most, in an order in which the product goes wrong, if there is one.
  async openHazard() {
    const { facts } = this.runs[0];
    const hazard = facts.hazards[facts.worst];
    if (!hazard || hazard.warning) return;
    this.choosePanel("hazards");
    if (facts.outcome.right) await this.findWitness();
    if (facts.outcome.right && this.witness?.unlucky) await this.inOrder(this.witness.unlucky);
    else await this.goTo({ to: "hazard" });
  }

  /// Runs what the reader, or the address, asks for.
  async choose(wanted, stop) {
    const refused = wanted.size.find((side) => !isSide(side));
    const kept = refused !== undefined && this.choice !== null;
    if (!kept && !(await this.take(wanted))) return;
    if (refused !== undefined) {
      this.tell(
        `A side of ${refused} does not fit here: choose whole numbers from 1 to 64. Larger products run with \`cargo run\`, in the course's own folder.`,
      );
      return;
    }
    await this.make();
    if (!this.parts.predict.hidden) await this.predict.show(this.chapter.id, this.chapter.tour, stop);
  }

  /// Takes a choice over, as far as it can be run; `false` if another one was made meanwhile. Another kernel may need another size.
  async take(wanted) {
    const before = this.choice;
    const choice = sensible(this.data, wanted);
    this.choice = choice;
    this.witness = null;
    try {
      if (before && before.name !== choice.name) choice.size = await this.runner.fittingSize(choice);
      const able = await this.runner.formsFor(choice);
      if (this.choice !== choice) return false;
      this.controls.show(choice, able);
    } catch (error) {
      this.fail(error);
      return false;
    }
    this.keepChoice();
    const kernel = this.runner.kernel(this.choice.name);
    this.parts.idea.textContent = kernel.about ?? "";
    this.parts.idea.title = kernel.about ?? "";
    this.chapter = this.data.chapters.find(({ kernels }) => kernels.includes(kernel.id)) ?? this.data.chapters[0];
    this.parts.predict.hidden ||= this.chapter.tour.length === 0;
    this.asking(!this.parts.predict.hidden);
    return true;
  }

  /// Shows the chapter's tour, or hides it.
  togglePredict() {
    const { hidden } = this.parts.predict;
    this.parts.predict.hidden = !hidden;
    this.asking(hidden);
    if (hidden) this.predict.show(this.chapter.id, this.chapter.tour);
  }

  /// Runs what is chosen, and shows it.
  async make() {
    this.timeline.stop();
    this.timeline.enable(false);
    this.tell(null);
    this.busy(true);
    const begun = Date.now();
    const tell = () => {
      const seconds = Math.floor((Date.now() - begun) / 1000);
      this.say(seconds > 0 ? `Running for ${several(seconds, "second")} … "Stop" ends it.` : "Running …");
    };
    tell();
    const telling = setInterval(tell, 1000);
    try {
      const runs = await this.runner.make(this.choice);
      if (runs && runs !== this.runs) await this.show(runs);
    } catch (error) {
      this.fail(error);
    } finally {
      clearInterval(telling);
    }
    this.busy(this.runner.making !== null);
  }

  /// While a run is being made, it can be stopped.
  busy(on) {
    this.halt.hidden = !on;
    this.moreButton.hidden = on;
  }

  /// Says why there is no run, and shows none.
  fail(error) {
    this.runs = [];
    for (const view of this.views) view.root.hidden = true;
    this.say("");
    this.tell(sentenceOf(error.message));
  }

  /// Shows runs, where the first elements are loaded: before that there is nothing to see. One that comes to a fault before is shown there.
  async show(runs) {
    for (const run of runs) {
      const first = await run.first();
      if (Number.isInteger(first?.time)) await run.lookAt(first.time, { ...run.chosen, warp: first.warp });
      else if (run.facts.outcome.stopped) {
        await run.lookAt(run.facts.length);
        await run.lookAt(run.facts.length, { ...run.chosen, ...run.look.event });
      }
    }
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
      view.show(runs[index], runs.length > 1 ? kernelTitle(runs[index].kernel) : "", this.panel);
    });
    this.timeline.enable(true);
    this.timeline.drawMarks();
    // Of a product that is wrong because of a hazard, the panel of hazards tells.
    const { outcome, hazards } = runs[0].facts;
    if (outcome.stopped || !(outcome.right || hazards.some(({ warning }) => !warning))) this.tell(outcomeSentence(runs[0].facts));
    this.travel.showTime();
  }

  /// Shows what a stop of the tour is about: its kernel, at the size that it asks about, at its place.
  async visit(stop) {
    const first = firstOf(this.data, stop.kernel);
    const wanted = {
      ...this.choice,
      name: stop.kernel,
      size: stop.size ?? first.size,
      dtype: stop.dtype ?? "f32",
      form: stop.form ?? (stop.size ? null : first.form),
      order: stop.order ?? "warps",
      with: null,
    };
    const same =
      ["name", "dtype", "form", "order", "with"].every((key) => (this.choice?.[key] ?? null) === wanted[key]) &&
      this.choice.size.join() === wanted.size.join();
    if (!same || this.runs.length === 0) {
      this.choice = null;
      if (await this.take(wanted)) await this.make();
    }
    if (this.runs.length === 0) throw new Error("The run failed, so there is nothing to count.");
    if (stop.panel) this.choosePanel(stop.panel);
    if (stop.beside) this.beside = new Set(stop.beside);
    if (stop.latencies) this.latencies = stop.latencies;
    await this.goTo(stop.at);
  }

  /// Goes to a place of the run that the address or a stop names: as `seek` takes it, with `contains` for a line of the source.
  async goTo(place) {
    const run = this.runs[0];
    if (!place || !run) return;
    const { contains, array, ...options } = place;
    const line = contains && run.kernel.source.split("\n").findIndex((text) => text.includes(contains)) + 1;
    const thread = { block: 0, warp: 0, lane: 0 };
    await run.lookAt(0, thread);
    const hazard = options.to === "hazard" ? run.facts.hazards[run.facts.worst] : null;
    const time = hazard ? hazard.time : await run.seek({ ...options, array, line: line || undefined });
    if (time === null) return;
    await this.views[0].go(time, hazard ? this.travel.threadAt(run, time) : thread);
  }

  /// Looks for an order in which the product of this kernel is right, and for one in which it is wrong.
  async findWitness() {
    const run = this.runs[0];
    this.say("Trying other orders …");
    try {
      const found = await run.witness();
      if (this.runs[0] === run) this.witness = found;
    } catch (error) {
      this.tell(sentenceOf(error.message));
    }
    this.travel.drawAll();
  }

  /// Runs the same in another order, and goes to its first hazard.
  async inOrder(order) {
    const { witness } = this;
    await this.choose({ ...this.choice, order });
    this.witness = witness;
    await this.goTo({ to: "hazard" });
  }

  /// The kernels of the chapter whose strips can stand beside that of the one that is shown.
  besides() {
    const others = this.chapter.kernels.filter((id) => id !== this.choice.name && id !== this.runs[0]?.kernel.id);
    return others.map((id) => ({ id, title: kernelTitle(this.runner.kernel(id)) }));
  }

  /// The strips of the kernel that is shown, and of those beside it.
  async strips(options) {
    const [run] = this.runs;
    const own = { title: kernelTitle(run.kernel), measured: run.kernel.measured, strip: await run.strips(options) };
    const names = this.besides().filter(({ id }) => this.beside.has(id)).map(({ id }) => id);
    return [own, ...(await this.runner.stripsOf(names, this.choice, options))];
  }

  /// Runs pasted PTX with a launch. It becomes a kernel of the page, in a chapter of its own.
  async runPasted(ptx, { size, launch }) {
    const planner = { launch };
    const [m, n, k] = size;
    const { answer } = await this.runner.planning.ask({ do: "plan", planner, m, n, k, dtype: "f32" });
    if (answer.refused) throw new Error(answer.refused);
    // What the run says is told at the top, and stopped there.
    window.scrollTo(0, 0);
    const { name: specialisation } = answer.plan.specialisation;
    const form = { id: "pasted", dtype: "f32", ptx, specialisation, usual: true, planner };
    const kernel = {
      id: "pasted",
      step: "pasted",
      name: launch.entry,
      role: "own",
      about: "Pasted PTX.",
      file: "pasted.ptx",
      source: ptx,
      size,
      form: "pasted",
      forms: [form],
    };
    const { data } = this;
    data.kernels = [...data.kernels.filter(({ id }) => id !== "pasted"), kernel];
    data.chapters = [
      ...data.chapters.filter(({ id }) => id !== "pasted"),
      { id: "pasted", title: "Pasted", number: 0, kernels: ["pasted"], tour: [] },
    ];
    this.controls.list();
    this.choice = null;
    this.choosePanel("matrices");
    await this.choose({ name: "pasted", size, form: "pasted", dtype: "f32", fill: null, order: "warps", with: null });
    // The form fills a frame: it makes room for the run. A launch that is refused leaves it open.
    if (this.runs.length === 0) return;
    this.showMore(false);
    const [run] = this.runs;
    const { outcome, hazards, worst, length } = run.facts;
    if (outcome.stopped) {
      await run.lookAt(length);
      await this.views[0].go(length, run.look.event ?? {});
    } else if (hazards[worst]?.warning === false) {
      this.choosePanel("hazards");
      await this.goTo({ to: "hazard" });
    }
  }

  /// Shows where the answer of a stop comes from.
  async lookWhere(stop, { time, block, warp }) {
    if (stop.panel) this.choosePanel(stop.panel);
    await this.views[0].go(time, { block, warp });
  }
}
