// Moving through time: steps, jumps, and two runs that go in step.

import { kernelTitle } from "./choice.js";
import { threadOf } from "./run.js";
import { happening, nothingLeft } from "./sentence.js";
import { place, sentenceOf } from "./words.js";

export class Travel {
  /// `page` has the `runs` and their `views`, the `timeline`, and `tell` and `say` for sentences.
  constructor(page) {
    this.page = page;
    this.wished = null;
    this.following = false;
  }

  /// From now on, looks at whichever warp executes; or at the chosen one again.
  follow(on) {
    this.following = on;
    if (on && this.runs.length > 0) this.jump(this.runs[0].time);
  }

  /// Looks at a run at a time: at the chosen thread, or at the same lane of the warp that has just executed.
  async look(run, time, chosen) {
    await run.lookAt(time, chosen);
    const { event } = run.look;
    if (!this.following || !event || (event.block === run.chosen.block && event.warp === run.chosen.warp)) return;
    await run.lookAt(time, { block: event.block, warp: event.warp, lane: run.chosen.lane });
  }

  get runs() {
    return this.page.runs;
  }

  /// Moves a view; the other one, if there is one, follows to where it has done the same share of the work.
  async moved(view, time, chosen) {
    const run = view.run;
    const other = this.runs.find((one) => one !== run);
    const travels = time !== run.time;
    const within = Math.max(0, Math.min(run.facts.length, time));
    await (travels ? this.look(run, within, chosen) : run.lookAt(within, chosen));
    if (other && travels) await this.look(other, await this.sameWork(run, other), other.chosen);
    this.drawAll();
  }

  /// The time at which `other` has done as many multiply-adds as `run` has now.
  async sameWork(run, other) {
    if (run.time === 0) return 0;
    if (run.time === run.facts.length) return other.facts.length;
    const name = run.facts.totals.fma_threads ? "fma_threads" : "flop";
    const share = (run.look.totals[name] ?? 0) / (run.facts.totals[name] || 1);
    return (await other.seek({ to: "work", share })) ?? other.facts.length;
  }

  drawAll() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = null;
      if (this.runs.length === 0) return;
      for (const view of this.page.views) view.draw();
      this.showTime();
    });
  }

  /// A step of every run. Says whether there was one.
  async step(way, unit) {
    if (this.runs.length === 0 || this.stepping) return this.stepping;
    this.stepping = true;
    const back = way < 0;
    let went = false;
    try {
      for (const run of this.runs) went = (await this.stepOne(run, unit, back)) || went;
    } catch (error) {
      this.page.tell(sentenceOf(error.message));
    } finally {
      this.stepping = false;
    }
    this.drawAll();
    this.ended = !went && !back ? unit : null;
    return went;
  }

  /// A step of one run. Before the first step lies the start; after the last one of the chosen warp it stays where it is.
  async stepOne(run, unit, back) {
    const each = this.following && unit === "instruction";
    const next = run.time + (back ? -1 : 1);
    const time = each ? (next < 0 || next > run.facts.length ? null : next) : await run.seek({ to: unit, back });
    if (time !== null) await this.look(run, time, unit === "hazard" ? this.threadAt(run, time) : run.chosen);
    else if (back && unit !== "hazard") await run.lookAt(0);
    return time !== null;
  }

  /// The thread whose access completes the hazard at a time.
  threadAt(run, time) {
    const party = run.facts.hazards.find((hazard) => hazard.time === time)?.parties.at(-1);
    return party ? threadOf(party) : run.chosen;
  }

  /// Goes to a time of the first run. While one is drawn, only the latest wish is kept.
  async jump(time) {
    if (this.runs.length === 0) return;
    this.wished = time;
    if (this.jumping) return;
    this.jumping = true;
    try {
      while (this.wished !== null) {
        const next = this.wished;
        this.wished = null;
        await this.moved(this.page.views[0], Math.min(next, this.runs[0].facts.length), this.runs[0].chosen);
      }
    } catch (error) {
      this.page.tell(sentenceOf(error.message));
    } finally {
      this.jumping = false;
    }
  }

  /// Shows the time, and says what has happened.
  showTime() {
    const { runs } = this;
    this.page.timeline.draw();
    const sentences = runs.map((run) => (runs.length > 1 ? `${kernelTitle(run.kernel)}: ` : "") + happening(run));
    if (this.ended) sentences.push(nothingLeft(runs[0], this.ended));
    this.ended = null;
    this.page.say(sentences.join(" "));
    this.page.views.forEach((view) => view.say(runs.length > 1 ? happening(view.run) : ""));
    const { look, chosen, launch } = runs[0];
    const grid = launch.grid.slice(0, launch.grid[2] > 1 ? 3 : 2).join("×");
    this.page.where.textContent = `warp ${chosen.warp} of ${look.warps.length}, block ${place(runs[0].blockName())} of ${grid}`;
    this.page.tabs.number("hazards", look.hazards);
    document.documentElement.dataset.time = String(runs[0].time);
  }
}
