//! The streams of a real GPU: panels travel on one of them, and two multiply in turn. Every call only asks for work,
//! and returns at once; events keep the streams in step, and tell the times.

#![allow(unsafe_code, reason = "tells cudarc that events of this file order all work")]

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use common::device::{CudaDevice, Device as _};
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream, DriverError, result::stream::get_priority_range};
use serde::{Deserialize, Serialize};

/// What one GPU did from when to when, in milliseconds since its product began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The panel's number.
    pub panel: usize,
    /// Whether it was multiplied; else it travelled.
    pub multiplied: bool,
    /// When it began.
    pub from_ms: f64,
    /// When it ended.
    pub to_ms: f64,
}

/// A CUDA device with its streams.
pub struct Streams {
    pub device: CudaDevice,
    pub travel: Arc<CudaStream>,
    /// Panels are multiplied on these in turn: the device's own, and one more.
    multiply: [Arc<CudaStream>; 2],
    begin: CudaEvent,
    /// Begin and end of each panel's journey, and of its multiplication; what has no end yet goes on.
    journeys: Vec<Vec<CudaEvent>>,
    products: Vec<Vec<CudaEvent>>,
}

fn cuda(error: DriverError) -> anyhow::Error {
    anyhow!("CUDA fails between the GPUs ({error}); run the doctor (cargo course doctor)")
}

fn mark(stream: &CudaStream) -> Result<CudaEvent> {
    let event = stream.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(cuda)?;
    event.record(stream).map_err(cuda)?;
    Ok(event)
}

impl Streams {
    pub fn open(index: usize) -> Result<Self> {
        let device = CudaDevice::open(index)?;
        let own = device.stream().clone();
        let context = own.context().clone();
        // SAFETY: the streams order all their work by events of their own.
        unsafe { context.disable_event_tracking() };
        // A broadcast's few blocks go before the thousands of a product that wait: else it would start when they are
        // done.
        let (_, highest) = get_priority_range().map_err(cuda)?;
        let travel = context.new_stream_with_priority(highest).map_err(cuda)?;
        let multiply = [own, context.new_stream().map_err(cuda)?];
        let begin = mark(&travel)?;
        Ok(Self { device, travel, multiply, begin, journeys: Vec::new(), products: Vec::new() })
    }

    /// This thread talks to this GPU from here on, because it talks to one at a time.
    pub fn bind(&mut self) -> Result<&mut CudaDevice> {
        self.travel.context().bind_to_thread().map_err(cuda)?;
        Ok(&mut self.device)
    }

    /// A product begins.
    pub fn begin(&mut self) -> Result<()> {
        (self.journeys, self.products) = (Vec::new(), Vec::new());
        self.device.use_stream(self.multiply[0].clone());
        self.begin = mark(&self.multiply[0])?;
        [&self.travel, &self.multiply[1]].into_iter().try_for_each(|stream| stream.wait(&self.begin).map_err(cuda))
    }

    /// The next panel travels from here on, once panel `after` has been multiplied, whose buffers it takes.
    pub fn depart(&mut self, after: Option<usize>) -> Result<()> {
        if let Some([_, multiplied]) = after.and_then(|panel| self.products.get(panel)).map(Vec::as_slice) {
            self.travel.wait(multiplied).map_err(cuda)?;
        }
        self.journeys.push(vec![mark(&self.travel)?]);
        Ok(())
    }

    /// All of it has been asked for.
    pub fn arrive(&mut self) -> Result<()> {
        let journey = self.journeys.last_mut().context("a panel arrives that did not depart")?;
        journey.push(mark(&self.travel)?);
        Ok(())
    }

    /// Work that is asked for from here on waits for a panel's arrival.
    pub fn arrived(&mut self, panel: usize) -> Result<()> {
        let stream = &self.multiply[panel % 2];
        self.device.use_stream(stream.clone());
        let [_, arrived] = self.journeys.get(panel).map_or(&[][..], Vec::as_slice) else {
            return Err(anyhow!("a panel is multiplied before it travels"));
        };
        stream.wait(arrived).map_err(cuda)?;
        // The first panel stores C. Others add to it atomically, so the last tiles of one and the first tiles of the
        // next may be multiplied at the same time: no SM is idle between two panels.
        if let (1, Some([_, stored])) = (panel, self.products.first().map(Vec::as_slice)) {
            stream.wait(stored).map_err(cuda)?;
        }
        self.products.push(vec![mark(stream)?]);
        Ok(())
    }

    /// Whatever multiplies this panel has been asked for.
    pub fn multiplied(&mut self, panel: usize) -> Result<()> {
        let end = mark(&self.multiply[panel % 2])?;
        self.products[panel].push(end);
        Ok(())
    }

    /// Whether all is done that was asked for.
    pub fn is_done(&mut self) -> Result<bool> {
        self.bind()?;
        let mut last = self.journeys.last().into_iter().chain(self.products.iter().rev().take(2)).flatten();
        last.try_fold(true, |done, event| Ok(done && event.try_is_complete().map_err(cuda)?))
    }

    /// What this GPU did when. Whatever follows is launched on the device's own stream.
    pub fn end(&mut self) -> Result<Vec<Span>> {
        self.device.use_stream(self.multiply[0].clone());
        self.device.synchronize()?;
        let since = |event: &CudaEvent| self.begin.elapsed_ms(event).map(f64::from).map_err(cuda);
        let mut spans = Vec::new();
        // Both streams may have a panel to multiply: the second one gets SMs when the first one needs them no more.
        let mut free_ms = 0.0_f64;
        for (multiplied, events) in [(false, &self.journeys), (true, &self.products)] {
            for (panel, events) in events.iter().enumerate() {
                let [from, to] = events.as_slice() else { continue };
                let (from_ms, to_ms) = (since(from)?, since(to)?);
                let from_ms = if multiplied { from_ms.max(std::mem::replace(&mut free_ms, to_ms)) } else { from_ms };
                spans.push(Span { panel, multiplied, from_ms, to_ms });
            }
        }
        Ok(spans)
    }
}
