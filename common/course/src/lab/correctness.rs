//! Whether a kernel compiles, is right, and has no hazard.

use std::sync::atomic::Ordering;

use anyhow::Result;
use common::device::SimOptions;
use common::verify::{MOST_FOLLOWED, Verification};
use compile::NotStarted;
use findings::diagnostic::{Diagnostic, Underlined};
use findings::{HazardReport, KernelFault, diagnostic};
use plan::{OwnLaunch, Plan};
use rayon::prelude::*;
use simt::HazardKind;
use why::{Mistake, leads, may_follow};

use super::checklist::ENDLESS;
use super::{Candidate, Next, Verdict, names, smallest_ragged};

/// A size at which the product is wrong, or could not be computed.
type Failed = ([u64; 3], Result<Verification>);

/// The kind of a finding that has nothing to do with the kernel's code.
const NO_LAUNCH: &str = "launch that does not fit";

impl Candidate {
    /// Whether NVRTC and the simulator take the kernel.
    ///
    /// # Errors
    /// If the compiler does not even start.
    pub fn compiles(&self, shapes: &[[u64; 3]]) -> Result<Verdict> {
        let mut forms: Vec<Plan> = vec![];
        for plan in shapes.iter().filter_map(|&size| self.plan(size).ok()) {
            if !forms.iter().any(|form| form.specialisation == plan.specialisation) {
                forms.push(plan);
            }
        }
        // All forms that these shapes need are compiled at once, and kept. The first one tells whether the kernel compiles.
        let compiled = forms.par_iter().map(|form| self.code(form)).collect::<Vec<_>>().into_iter().next();
        if let Some(Ok(_)) = compiled {
            return Ok(Verdict::Passed(None));
        }
        // It may be the compiler's fault.
        self.source.compiler()?;
        let next = match compiled {
            Some(Err(error)) if error.is::<NotStarted>() => return Err(error),
            Some(Err(error)) => {
                let is_rust = compile::nvrtc::rust_line(&self.source.text).is_some() && !self.source.is_rust();
                let begin = if is_rust { "; cargo course lab with --rust begins one" } else { "" };
                let text = format!("{error:#}{begin}");
                Next { places: self.refused(&text), ..Next::new(text, None).of("does not compile") }
            }
            _ => {
                let say = "say yours: // launch: block 32,32 tile 32,32";
                Next::new(format!("the step has no launch for any of the lab's shapes; {say}"), None).of(NO_LAUNCH)
            }
        };
        Ok(Verdict::Failed(None, next))
    }

    /// The lines that the compiler's log names, `step04.cu(11): error: ...`.
    fn refused(&self, log: &str) -> Vec<Underlined> {
        let place = |line: &str| {
            let (number, label) =
                line.strip_prefix(self.source.display.as_str())?.strip_prefix('(')?.split_once("): error: ")?;
            let line: usize = number.parse().ok()?;
            let text = self.source.text.lines().nth(line.checked_sub(1)?)?;
            let start = text.chars().take_while(|c| c.is_whitespace()).count();
            Some(Underlined { line, span: (start, text.chars().count()), label: label.to_owned() })
        };
        log.lines().filter_map(place).collect()
    }

    /// Whether the product is right at all of these shapes. Of those at which it is not, the one that tells most is shown.
    pub fn right(&self, shapes: &[[u64; 3]]) -> Verdict {
        let fails = |size: [u64; 3]| -> Option<Failed> {
            let seen = self.run(size, &SimOptions::default()).map(|seen| seen.verification);
            (!seen.as_ref().is_ok_and(|verification| verification.ok)).then_some((size, seen))
        };
        let mut failed: Vec<Failed> = vec![];
        for &size in shapes {
            failed.extend(fails(size));
            if failed.last().is_some_and(|(_, seen)| seen.as_ref().is_err_and(is_endless)) {
                break;
            }
        }
        let endless = failed.last().is_some_and(|(_, seen)| seen.as_ref().is_err_and(is_endless));
        let wrong_shapes = if endless { shapes.len() } else { failed.len() };
        let Some(&(first, _)) = failed.first() else { return Verdict::Passed(None) };
        let is_large = |(size, _): &Failed| size.iter().product::<u64>() > MOST_FOLLOWED;
        if failed.iter().all(is_large) {
            failed.extend(self.one_block(first).and_then(fails));
        }
        // What a kernel does to its inputs is known, whatever follows from it.
        let scribbles = |(_, seen): &Failed| seen.as_ref().is_ok_and(|verification| verification.scribbles);
        // For points it is enough to be told once why.
        let told = self.silent && self.told_why.swap(true, Ordering::Relaxed);
        let why = if failed.iter().any(scribbles) || told { None } else { self.why(&failed) };
        let next = why.unwrap_or_else(|| {
            let broken = failed.iter().find_map(|(size, seen)| Some((*size, seen.as_ref().err()?)));
            let wrong = || failed.iter().filter_map(|(size, seen)| Some((*size, seen.as_ref().ok()?)));
            // A cause found in the elements themselves explains most.
            let tells = wrong().find(|(_, found)| found.scribbles).or(wrong().find(|(_, found)| !found.unclear));
            match (broken, tells.or(wrong().next())) {
                (None, Some((size, verification))) if verification.scribbles => {
                    let text =
                        format!("at {} {}", names(&[size]), verification.diagnosis.as_deref().unwrap_or_default());
                    Next::new(text, self.command(size, "--device sim")).of("writes into an input")
                }
                (Some((size, error)), _) => self.broken(size, shapes, error),
                (None, Some((size, verification))) => self.wrong(size, verification),
                (None, None) => Next::new(String::new(), None),
            }
        });
        let share = 1.0 - wrong_shapes as f64 / shapes.len() as f64;
        let found = Some(format!("not at {}", names(&[first])));
        if share > 0.0 { Verdict::Partly(share, found, Some(next)) } else { Verdict::Failed(found, next) }
    }

    /// The part of a size that one block computes.
    fn one_block(&self, [m, n, k]: [u64; 3]) -> Option<[u64; 3]> {
        let [columns, rows, _] = self.plan([m, n, k]).ok()?.main()?.grid.map(u64::from);
        Some([m.div_ceil(rows), n.div_ceil(columns), k])
    }

    /// Advice if the product could not be computed at a size.
    fn broken(&self, size: [u64; 3], shapes: &[[u64; 3]], error: &anyhow::Error) -> Next {
        let name = names(&[size]);
        if self.plan(size).is_err() {
            let ask = "the step's own launch cannot do it; ask for yours in a line of your file, such as";
            let text = format!("at {name}: {error:#}\n{ask}\n// launch: block 32,32 tile 32,32 shared 8192");
            return Next::new(text, None).of(NO_LAUNCH);
        }
        if KernelFault::behind(error).is_none() && self.launch != OwnLaunch::default() {
            let agree = "make the launch line of your file and its constants agree";
            let text = format!("at {name} {error:#}; {agree}");
            return Next::new(text, self.command(size, "--check")).of(NO_LAUNCH);
        }
        if is_endless(error) {
            return self.endless(size, shapes, error);
        }
        self.stopped(&name, error, self.command(size, "--check"))
    }

    /// An error of a run, as a finding.
    fn stopped(&self, name: &str, error: &anyhow::Error, command: Option<String>) -> Next {
        let fault = KernelFault::behind(error);
        if let Some(hazard) = fault.and_then(|fault| fault.hazard.clone()) {
            let text = format!("at {name}\n{}", picture(&hazard.diagnostic));
            return Next::new(text, command).about(&hazard, &self.source.display);
        }
        let next = Next::new(explain(name, error), command);
        match fault.and_then(KernelFault::diagnostic) {
            Some(stopped) => next.of(ENDLESS).at(stopped, &self.source.display),
            None => next.of("cannot be run"),
        }
    }

    /// Why the product is wrong, by the pairs that were multiplied or by a hazard, at the size that shows it best.
    fn why(&self, failed: &[Failed]) -> Option<Next> {
        let fault = |error| KernelFault::behind(error).and_then(|fault| fault.hazard.clone());
        let faults = failed.iter().filter_map(|(size, seen)| Some((*size, fault(seen.as_ref().err()?)?)));
        let faults: Vec<([u64; 3], HazardReport)> = faults.collect();
        let wrong = failed.iter().filter_map(|(size, seen)| Some((*size, seen.as_ref().ok()?)));
        let wrong: Vec<([u64; 3], &Verification)> = wrong.collect();
        let mut sizes: Vec<[u64; 3]> = wrong.iter().map(|(size, _)| *size).collect();
        if wrong.is_empty() {
            sizes.extend(faults.iter().map(|(size, _)| *size));
        }
        // If all indices are 0, or two sizes are equal, they cannot be told apart.
        let short = |size: &[u64; 3], most| size.iter().filter(|&&edge| edge < most).count();
        let same = |[m, n, k]: [u64; 3]| m == n || n == k || k == m;
        sizes.sort_by_key(|size| (short(size, 2), short(size, 5), same(*size), size.iter().product::<u64>()));
        sizes.truncate(3);
        // Those that may be behind it come before the others, which are shown where nothing else is found.
        let (mut at_hazard, mut hazards) = ([0; 3], vec![]);
        for &size in &sizes {
            let found = self.checked(size).unwrap_or_default();
            let hidden = found.iter().any(HazardReport::is_hidden_cause);
            if hidden || hazards.is_empty() {
                (at_hazard, hazards) = (size, found);
            }
            if hidden {
                break;
            }
        }
        if wrong.is_empty() {
            hazards.extend(faults.iter().find(|(size, _)| *size == at_hazard).map(|(_, fault)| fault.clone()));
        }
        // A reason that may follow from something else is shown if no other is found.
        let mut causes: Vec<([u64; 3], HazardReport)> = vec![];
        let astray = hazards.iter().any(HazardReport::leads_astray);
        let part = |cause: &HazardReport| matches!(Mistake::of(cause), Some(Mistake::Part | Mistake::Lost));
        let alone = |cause: &HazardReport| !may_follow(cause) || part(cause) && hazards.is_empty();
        for &size in &sizes {
            causes.extend(self.cause(size, astray).map(|cause| (size, cause)));
            if causes.last().is_some_and(|(_, cause)| alone(cause)) {
                break;
            }
        }
        let best = causes.iter().min_by_key(|(_, cause)| (may_follow(cause), !part(cause)));
        let best = best.filter(|(_, cause)| leads(cause, &hazards));
        let overrun = hazards.iter().find(|hazard| hazard.kind == HazardKind::WrongArray);
        let hazard = overrun.or(hazards.iter().find(|hazard| hazard.is_hidden_cause())).or(hazards.first());
        let (size, found) = match best {
            Some((size, cause)) => (*size, cause),
            None => (at_hazard, hazard?),
        };
        let shown = self.finding(size, found).diagnostic;
        let text = picture(&shown);
        let what = match wrong.iter().find(|(of, _)| *of == size) {
            Some((_, verification)) => {
                let whole = verification.diagnosis.as_deref().unwrap_or_default();
                // To how many bits numbers were rounded, their products tell alone.
                let rounded = Mistake::of(found) == Some(Mistake::Converted);
                let told = if rounded { whole } else { whole.split(": ").next().unwrap_or_default() };
                format!("the product is wrong: {told}")
            }
            None => format!("the kernel ends with a {}", faults.iter().find(|(of, _)| *of == size)?.1.place),
        };
        let text = format!("at {}\n{text}\n{what}", names(&[size]));
        let next = Next::new(text, self.command(size, "--check")).about(found, &self.source.display);
        Some(next.at(&shown, &self.source.display))
    }

    /// Advice if the product is wrong at a size.
    fn wrong(&self, size: [u64; 3], verification: &Verification) -> Next {
        let (name, asked) = (names(&[size]), self.asked(size));
        let mut text = format!("at {name} {}", verification.diagnosis.as_deref().unwrap_or_default());
        for mismatch in verification.mismatches.iter().take(3) {
            let name = asked.name_of_c(mismatch.row * asked.columns() + mismatch.col);
            text += &format!("\n{}, and should be {}", mismatch.words(&name), mismatch.expected);
        }
        // Without a hazard, the map of the wrong elements shows most.
        Next::new(text, self.command(size, "--device sim")).of("wrong product")
    }

    /// What to look at if a launch was stopped because it took too long. Threads that do each other's work may take for
    /// ever, too; at a small size the hazard behind it shows.
    fn endless(&self, size: [u64; 3], shapes: &[[u64; 3]], error: &anyhow::Error) -> Next {
        let name = names(&[size]);
        if let Some(&small) = smallest_ragged(&[shapes, &[size]].concat()).first()
            && let Some(hazard) = self.checked(small).unwrap_or_default().first()
        {
            let at = format!("at {}\n{}", names(&[small]), picture(&hazard.diagnostic));
            let text = format!("at {name} the kernel does not end in time, and {at}");
            return Next::new(text, self.command(small, "--check")).about(hazard, &self.source.display);
        }
        self.stopped(&name, error, self.command(size, "--device sim"))
    }

    fn checked(&self, size: [u64; 3]) -> Result<Vec<HazardReport>> {
        let seen = self.run(size, &SimOptions { check: true, ..SimOptions::default() })?;
        Ok(seen.hazards.into_iter().filter(|hazard| !hazard.diagnostic.warning).collect())
    }

    /// Whether the simulator finds no hazard at any of these shapes.
    pub fn safe(&self, shapes: &[[u64; 3]]) -> Verdict {
        for &size in shapes {
            let name = names(&[size]);
            let command = self.command(size, "--check");
            let next = match self.checked(size) {
                Ok(hazards) => {
                    let Some(first) = hazards.first() else { continue };
                    let shown = self.finding(size, first).diagnostic;
                    let text = format!("the product is right only by luck: at {name}\n{}", picture(&shown));
                    Next::new(text, command).about(first, &self.source.display).at(&shown, &self.source.display)
                }
                Err(error) => self.stopped(&name, &error, command),
            };
            return Verdict::Failed(Some(format!("not at {name}")), next);
        }
        Verdict::Passed(None)
    }
}

fn picture(diagnostic: &Diagnostic) -> String {
    diagnostic::render(diagnostic).trim_end().to_owned()
}

/// An error at a size for people: a fault of the kernel with its lines, if they are known.
pub fn explain(name: &str, error: &anyhow::Error) -> String {
    match KernelFault::behind(error).and_then(KernelFault::diagnostic) {
        Some(diagnostic) => format!("at {name}\n{}", picture(diagnostic)),
        None => format!("at {name} {error:#}"),
    }
}

/// Whether a launch was stopped because it took too long.
fn is_endless(error: &anyhow::Error) -> bool {
    KernelFault::behind(error).is_some_and(|fault| fault.stopped.is_some())
}
