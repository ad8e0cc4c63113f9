//! The streams of a real GPU: panels travel on one stream, and two others multiply in turn. Every call only enqueues work and
//! returns at once; events order the streams and give the times.

#![allow(unsafe_code, reason = "tells cudarc that events of this file order all work")]

use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use common::device::{CudaDevice, Device as _};
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream, DriverError, result::stream::get_priority_range};
use serde::{Deserialize, Serialize};

/// One piece of work of a GPU, with its times in milliseconds since the product began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub panel: usize,
    /// Whether the panel was multiplied; if not, it travelled.
    pub multiplied: bool,
    pub from_ms: f64,
    pub to_ms: f64,
}

/// A CUDA device with its streams.
pub struct Streams {
    pub device: CudaDevice,
    pub travel: Arc<CudaStream>,
    /// Panels are multiplied on these in turn: the device's stream, and one more.
    multiply: [Arc<CudaStream>; 2],
    begin: CudaEvent,
    /// Start and end of each panel's journey and of its multiplication; the end is missing until it has been enqueued.
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
        // SAFETY: the events of this file order all work of these streams.
        unsafe { context.disable_event_tracking() };
        // The few blocks of a broadcast go before the thousands of waiting blocks of a product; otherwise they would start after
        // them.
        let (_, highest) = get_priority_range().map_err(cuda)?;
        let travel = context.new_stream_with_priority(highest).map_err(cuda)?;
        let multiply = [own, context.new_stream().map_err(cuda)?];
        let begin = mark(&travel)?;
        Ok(Self { device, travel, multiply, begin, journeys: Vec::new(), products: Vec::new() })
    }

    /// Makes this GPU the current one of this thread, which can talk to only one at a time.
    pub fn bind(&mut self) -> Result<&mut CudaDevice> {
        self.travel.context().bind_to_thread().map_err(cuda)?;
        Ok(&mut self.device)
    }

    /// Starts a product: forgets the events of the last one and makes all streams begin together.
    pub fn begin(&mut self) -> Result<()> {
        (self.journeys, self.products) = (Vec::new(), Vec::new());
        self.device.use_stream(self.multiply[0].clone());
        self.begin = mark(&self.multiply[0])?;
        [&self.travel, &self.multiply[1]].into_iter().try_for_each(|stream| stream.wait(&self.begin).map_err(cuda))
    }

    /// Starts the journey of the next panel, once panel `after`, whose buffers it takes, has been multiplied.
    pub fn depart(&mut self, after: Option<usize>) -> Result<()> {
        if let Some([_, multiplied]) = after.and_then(|panel| self.products.get(panel)).map(Vec::as_slice) {
            self.travel.wait(multiplied).map_err(cuda)?;
        }
        self.journeys.push(vec![mark(&self.travel)?]);
        Ok(())
    }

    /// Marks the end of the journey that `depart` started.
    pub fn arrive(&mut self) -> Result<()> {
        let journey = self.journeys.last_mut().context("a panel arrives that did not depart")?;
        journey.push(mark(&self.travel)?);
        Ok(())
    }

    /// Makes the work that is enqueued next wait for a panel's arrival.
    pub fn arrived(&mut self, panel: usize) -> Result<()> {
        let stream = &self.multiply[panel % 2];
        self.device.use_stream(stream.clone());
        let [_, arrived] = self.journeys.get(panel).map_or(&[][..], Vec::as_slice) else {
            return Err(anyhow!("a panel is multiplied before it travels"));
        };
        stream.wait(arrived).map_err(cuda)?;
        // The first panel stores C, so the second one waits for it. All others add to C atomically, so the last tiles of one panel
        // and the first tiles of the next may overlap, and no SM is idle in between.
        if let (1, Some([_, stored])) = (panel, self.products.first().map(Vec::as_slice)) {
            stream.wait(stored).map_err(cuda)?;
        }
        self.products.push(vec![mark(stream)?]);
        Ok(())
    }

    /// Marks the end of the multiplication of this panel.
    pub fn multiplied(&mut self, panel: usize) -> Result<()> {
        let end = mark(&self.multiply[panel % 2])?;
        self.products[panel].push(end);
        Ok(())
    }

    /// Whether all enqueued work is done.
    pub fn is_done(&mut self) -> Result<bool> {
        self.bind()?;
        let mut last = self.journeys.last().into_iter().chain(self.products.iter().rev().take(2)).flatten();
        last.try_fold(true, |done, event| Ok(done && event.try_is_complete().map_err(cuda)?))
    }

    /// Returns what this GPU did when. Later launches go to the device's stream again.
    pub fn end(&mut self) -> Result<Vec<Span>> {
        self.device.use_stream(self.multiply[0].clone());
        self.device.synchronize()?;
        let since = |event: &CudaEvent| self.begin.elapsed_ms(event).map(f64::from).map_err(cuda);
        let mut spans = Vec::new();
        // Both streams may have a panel to multiply; the second one gets SMs only when the first no longer needs them.
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
