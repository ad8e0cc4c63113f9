//! Whether a kernel is as fast as a lab asks, on a GPU.

use anyhow::{Result, ensure};
use common::basics::matrix::Operands;
use common::device::session::Session;
use common::device::{self, Choice, Device, SimOptions};
use common::measure::timing::{self, Cache};
use common::verify::on_device::verify_on;

use crate::lab::candidate::Candidate;
use crate::lab::checklist::{Next, Verdict};
use crate::lab::shapes::names;
use crate::lab::task::Speed;
use crate::steps::Kernel;

pub fn words(speed: &Speed) -> String {
    let factor =
        if speed.factor > 1.0 { format!("at least {} times as fast as", speed.factor) } else { "as fast as".into() };
    format!("{factor} {} at {} on a GPU", speed.than, names(&[speed.size]))
}

impl Candidate {
    /// Times the kernel and the one it is to be faster than.
    pub fn speed(&self, speed: &Speed) -> Verdict {
        if device::cuda_devices().is_err() {
            return Verdict::LeftOut("there is no GPU here".into());
        }
        match self.speeds(speed) {
            Ok(Err(limit)) => Verdict::LeftOut(limit),
            Ok(Ok((mine, theirs))) => {
                let found = format!("{:.2} times as fast", theirs / mine);
                if mine * speed.factor <= theirs {
                    Verdict::Passed(Some(found))
                } else {
                    let text =
                        format!("it takes {mine:.3} ms, and {} takes {theirs:.3} ms; compare the two", speed.than);
                    let next = Next::new(text, self.command(speed.size, "--baseline cublas"));
                    Verdict::Failed(Some(found), next.of("too slow"))
                }
            }
            Err(error) => {
                let next = Next::new(format!("{error:#}"), self.command(speed.size, "--device cuda"));
                Verdict::Failed(None, next.of("cannot be timed"))
            }
        }
    }

    /// Milliseconds of this kernel and of another one, on the GPU, after both are verified; or why no kernel of this lab runs
    /// on that GPU.
    fn speeds(&self, speed: &Speed) -> Result<Result<(f64, f64), String>> {
        let mut device = device::open(Choice::Cuda(0), &SimOptions::default())?;
        let device: &mut dyn Device = device.as_mut();
        let problem = self.problem(speed.size);
        let operands = Operands::new(&problem)?;
        let info = device.info().clone();
        if let Err(limit) = self.kernel.plan(&problem, &info) {
            return Ok(Err(format!("{limit:#}")));
        }
        let theirs = Self::of_the_course(Kernel::named(&speed.than)?, 0)?;
        let mut times = Vec::new();
        for candidate in [self, &theirs] {
            let plan = candidate.plan_on(&info, speed.size)?;
            let committed = candidate.source.committed_folder();
            let code = candidate.source.code(&plan.specialisation, &info, committed.as_deref())?;
            let session = Session::new(device, &problem, plan, &code)?;
            let verification = verify_on(device, &session, &problem, &operands)?;
            ensure!(verification.ok, "{}: {}", candidate.source.display, verification.diagnosis.unwrap_or_default());
            let timing = timing::time(device, &session, &operands, None, &mut Cache::warm())?;
            times.push(timing.kernel_ms.median);
            session.close(device)?;
        }
        Ok(Ok((times[0], times[1])))
    }
}
