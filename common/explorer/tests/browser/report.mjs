// Counts checks, and prints a line for each group of them.

export class Report {
  passed = 0;
  failures = [];

  /// With `only`, the group of that name and no other.
  constructor(only = null) {
    this.only = only;
  }

  /// Runs a group of checks. `body` is given `check(holds, what)`.
  async group(name, body) {
    if (this.only !== null && this.only !== name) return;
    const [before, begin] = [this.failures.length, performance.now()];
    let number = 0;
    const check = (holds, what) => {
      number += 1;
      if (holds) this.passed += 1;
      else this.failures.push(`${name}: ${what}`);
    };
    let note = "";
    try {
      note = (await body(check)) ?? "";
    } catch (error) {
      check(false, String(error.message ?? error).split("\n")[0]);
    }
    const failed = this.failures.slice(before);
    const seconds = Math.round((performance.now() - begin) / 1000);
    const done = `${number} checks in ${seconds} s${note ? `; ${note}` : ""}`;
    console.log(`${failed.length === 0 ? "ok  " : "FAIL"}  ${name}: ${done}`);
    for (const failure of failed.slice(0, 8)) console.log(`      ${failure}`);
    if (failed.length > 8) console.log(`      and ${failed.length - 8} more`);
  }

  /// The last line, and the exit status.
  end() {
    console.log(`${this.passed} passed, ${this.failures.length} failed`);
    return this.failures.length === 0 && this.passed > 0 ? 0 : 1;
  }
}
