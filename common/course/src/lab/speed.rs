//! Whether a kernel is as fast as a lab asks, on a GPU.

use anyhow::{Context, Result, anyhow, ensure};
use common::check::verify_on;
use common::code::Source;
use common::describe::Request;
use common::device::{self, Choice, Device, SimOptions};
use common::exec::Session;
use common::matrix::Operands;
use common::own_launch::OwnLaunch;
use common::timing::{self, Cache};

use crate::lab::candidate::Candidate;
use crate::lab::checklist::Verdict;
use crate::lab::data::Speed;
use crate::lab::shapes::names;
use crate::steps;

pub fn words(speed: &Speed) -> String {
    let factor =
        if speed.factor > 1.0 { format!("at least {} times as fast as", speed.factor) } else { "as fast as".into() };
    format!("{factor} {} at {} on a GPU", speed.than, names(&[speed.size]))
}

impl Candidate<'_> {
    /// Times the kernel and the step it is to be faster than.
    pub fn speed(&self, speed: &Speed) -> Verdict {
        if device::cuda_devices().is_err() {
            return Verdict::LeftOut("there is no GPU here".into());
        }
        match self.speeds(speed) {
            Ok((mine, theirs)) => {
                let found = format!("{:.2} times as fast", theirs / mine);
                if mine * speed.factor <= theirs {
                    Verdict::Passed(Some(found))
                } else {
                    Verdict::Failed(
                        Some(found),
                        format!("{mine:.3} ms, and {} takes {theirs:.3} ms; compare their --counters", speed.than),
                    )
                }
            }
            Err(error) => Verdict::Failed(None, format!("{error:#}")),
        }
    }

    /// Milliseconds of this kernel and of another step's, on the GPU, after both are verified.
    fn speeds(&self, speed: &Speed) -> Result<(f64, f64)> {
        let mut device = device::open(Choice::Cuda(0), &SimOptions::default())?;
        let device: &mut dyn Device = device.as_mut();
        let problem = self.problem(speed.size);
        let operands = Operands::new(&problem)?;
        let info = device.info().clone();
        let other = steps::find()?.into_iter().find(|step| step.name == speed.than);
        let other = other.with_context(|| format!("there is no step {}; restore lab.json with git", speed.than))?;
        let theirs = Source::read(&other.source(None))?;
        let mut times = Vec::new();
        for (step, source, launch) in [(self.step, &self.source, self.launch), (&other, &theirs, OwnLaunch::default())]
        {
            let request = Request { device: Some(info.clone()), problems: vec![problem], variant: None };
            let own = step.describe(&request)?.plans.into_iter().next().context("the step plans nothing")?;
            let plan = launch.plan(&problem, own).map_err(|error| anyhow!("{error}"))?;
            let code = source.code(&plan.specialisation, &info, Some(&step.path.join("ptx")))?;
            let session = Session::new(device, &problem, plan, &code)?;
            let verification = verify_on(device, &session, &problem, &operands)?;
            ensure!(verification.ok, "{}: {}", source.display, verification.diagnosis.unwrap_or_default());
            let timing = timing::time(device, &session, &operands, None, &mut Cache::warm())?;
            times.push(timing.kernel_ms.median);
            session.close(device)?;
        }
        Ok((times[0], times[1]))
    }
}
