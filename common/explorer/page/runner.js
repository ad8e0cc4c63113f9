// Makes the runs of a choice: one, or two that are compared. A run that is no longer wanted is ended.

import { firstOf, kernelTitle } from "./choice.js";
import { Engine } from "./engine.js";
import { Run } from "./run.js";

const STOPPED = "The run was stopped. Choose a smaller size or another kernel, and run again.";

export class Runner {
  constructor(data, wasm) {
    this.data = data;
    this.engines = [new Engine(wasm), new Engine(wasm)];
    // Plans are asked for while a kernel runs.
    this.planning = new Engine(wasm);
    // The two that the first run needs start while the code is compiled.
    for (const engine of [this.planning, this.engines[0]]) engine.start();
    this.making = null;
  }

  kernel(id) {
    return this.data.kernels.find((kernel) => kernel.id === id);
  }

  /// The forms of a kernel that can run a size, the course's own first: those that the plan of the product takes.
  async formsFor({ name, dtype, size: [m, n, k] }) {
    const forms = this.kernel(name).forms.filter((form) => form.dtype === dtype);
    const ask = ({ planner }) => this.planning.ask({ do: "plan", planner, m, n, k, dtype });
    const answers = await Promise.all(forms.map(ask));
    return forms.filter((form, index) => answers[index].answer.plan?.specialisation.name === form.specialisation);
  }

  /// The size of a choice if a form of its kernel can run it, or else the kernel's usual one.
  async fittingSize(choice) {
    return (await this.formsFor(choice)).length > 0 ? choice.size : firstOf(this.data, choice.name).size;
  }

  /// The runs of a choice; null if another choice was made meanwhile. Runs that are being made are not begun again.
  make(choice) {
    const key = JSON.stringify(choice);
    if (this.making?.key === key) return this.making.done;
    if (this.making) this.stop();
    const making = { key };
    this.making = making;
    const current = () => this.making === making;
    making.done = this.runsOf(choice)
      .catch((error) => {
        if (current()) throw error;
      })
      .then((runs) => (current() ? runs : null))
      .finally(() => {
        if (current()) this.making = null;
      });
    return making.done;
  }

  runsOf(choice) {
    const names = [choice.name, choice.with].filter(Boolean);
    return Promise.all(names.map((name, index) => this.runOf(name, choice, this.engines[index])));
  }

  async runOf(name, choice, engine) {
    const kernel = this.kernel(name);
    const able = await this.formsFor({ ...choice, name });
    const form = able.find(({ id }) => id === choice.form) ?? able[0];
    const [asked, usual] = [choice.size, firstOf(this.data, name).size].map((size) => size.join("×"));
    if (!form) {
      throw new Error(
        `the kernel ${kernelTitle(kernel)} cannot run ${asked} with ${choice.dtype} here: choose another size, such as ${usual}`,
      );
    }
    const run = new Run(engine, kernel, form);
    await run.start(choice);
    return run;
  }

  /// The strips of kernels beside the one that is shown, at its size: each is run in turn.
  async stripsOf(names, choice, options) {
    const strips = [];
    for (const name of names) {
      const run = await this.runOf(name, { ...choice, order: "warps" }, this.planning);
      const strip = await run.strips({ ...options, block: 0, launch: 0, time: undefined });
      strips.push({ title: kernelTitle(run.kernel), measured: run.kernel.measured, strip });
    }
    return strips;
  }

  /// What can be launched in pasted PTX.
  async entries(ptx) {
    return (await this.planning.ask({ do: "entries", ptx })).answer;
  }

  /// Ends what is being made.
  stop() {
    for (const engine of this.engines) engine.end(STOPPED);
  }
}
