//! Panels between GPUs: NCCL broadcasts them, on a stream beside the two that multiply.
//!
//! NCCL's library may be missing, and calling into a missing library panics: every path into it starts at [`present`].

#![allow(unsafe_code, reason = "calls NCCL, and asks it to move memory that this program allocated")]

use std::any::Any;
use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use common::code::libraries::Library;
use common::device::{CudaDevice, Device};
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaEvent, CudaStream, DriverError, result::stream::get_priority_range};
use cudarc::nccl::result::{self, NcclError};
use cudarc::nccl::sys;

use super::grid::{Grid, Line};
use super::link::{Link, Span, Transfer};
use super::post::{Label, Member};

/// Where NVIDIA's packages put NCCL.
const LIBRARY: Library = Library { so: "libnccl.so", dll: "nccl64_", wheels: &["nccl", "cu12", "cu13"], names: &[] };

/// Whether NCCL can be opened; the error says how to get it.
pub fn present() -> Result<()> {
    // SAFETY: only asks whether the library can be opened; its initialisers are NVIDIA's.
    if unsafe { sys::is_culib_present() } {
        return Ok(());
    }
    match LIBRARY.first(|file| file.is_file().then(|| file.to_owned()).context("no file is there")) {
        Some(file) => Err(anyhow!(
            "NCCL is at {file}, where the loader does not look; ln -s {file} libnccl.so in a folder, and name the folder in LD_LIBRARY_PATH",
            file = file.display()
        )),
        None => Err(anyhow!(
            "no NCCL was found, and GPUs need it to exchange panels; pip install nvidia-nccl-cu12, or add --device sim for simulated GPUs"
        )),
    }
}

/// Turns NVLink multicast (NVLS) on or off, before NCCL is first called. Off unless the user asks for it: on shared machines
/// a program that ends in the middle of it can take the switch out of service for others.
pub fn set_multicast(on: bool) {
    // SAFETY: called at the start of the program, while it has one thread.
    unsafe { std::env::set_var("NCCL_NVLS_ENABLE", if on { "1" } else { "0" }) };
}

fn explain(error: &NcclError, doing: &str) -> anyhow::Error {
    // SAFETY: both return pointers to static texts of the library, and take no communicator.
    let [name, last] = unsafe {
        [sys::ncclGetErrorString(error.0), sys::ncclGetLastError(std::ptr::null_mut())].map(|text| {
            if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().trim().to_owned() }
        })
    };
    let detail = if last.is_empty() { String::new() } else { format!(": {last}") };
    anyhow!("NCCL fails while {doing} ({name}{detail}); set NCCL_DEBUG=WARN to see what it says")
}

fn cuda(error: DriverError) -> anyhow::Error {
    anyhow!("CUDA fails between the GPUs ({error}); run the doctor (cargo course doctor)")
}

const NO_CUDA: &str = "NCCL moves the memory of GPUs only; add --device cuda";

/// The device as the CUDA device that it is.
fn of(device: &dyn Device) -> Result<&CudaDevice> {
    (device as &dyn Any).downcast_ref().context(NO_CUDA)
}

/// One GPU's connections with the others of its row and of its column.
pub struct NcclLink {
    lines: [Option<sys::ncclComm_t>; 2],
    travel: Arc<CudaStream>,
    /// Panels are multiplied on these in turn: the device's own, and one more.
    multiply: [Arc<CudaStream>; 2],
    begin: Option<CudaEvent>,
    /// Begin and end of each panel's journey, and of its multiplication.
    journeys: Vec<[CudaEvent; 2]>,
    products: Vec<[CudaEvent; 2]>,
    /// When the multiplication of the panel that has arrived begins.
    next: Option<CudaEvent>,
}

impl NcclLink {
    /// Connects a rank's GPU with the others of its row and column. All ranks must call it; it waits for them.
    pub fn connect(device: &dyn Device, member: &Member, grid: Grid) -> Result<Self> {
        if grid.gpus() > 1 {
            present()?;
        }
        let own = of(device)?.stream().clone();
        let context = own.context().clone();
        // SAFETY: this link orders all work on its streams by events of its own.
        unsafe { context.disable_event_tracking() };
        // A broadcast's few blocks go before the thousands of a product that wait: else it would start when they are done.
        let (_, highest) = get_priority_range().map_err(cuda)?;
        let travel = context.new_stream_with_priority(highest).map_err(cuda)?;
        let multiply = [own, context.new_stream().map_err(cuda)?];
        let mut lines = [None; 2];
        for (line, found) in Line::BOTH.into_iter().zip(&mut lines) {
            let ranks = grid.line(line, member.rank);
            if ranks.len() > 1 {
                *found = Some(connect(member, line, &ranks)?);
            }
        }
        Ok(Self { lines, travel, multiply, begin: None, journeys: Vec::new(), products: Vec::new(), next: None })
    }

    /// The device's launches go to the stream of this panel from here on.
    fn multiply_on(&self, device: &mut dyn Device, panel: usize) -> Result<()> {
        let device: &mut CudaDevice = (device as &mut dyn Any).downcast_mut().context(NO_CUDA)?;
        device.use_stream(self.multiply[panel % 2].clone());
        Ok(())
    }

    fn event(&self) -> Result<CudaEvent> {
        self.travel.context().new_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(cuda)
    }

    /// Records a new event on a stream.
    fn mark(&self, stream: &CudaStream) -> Result<CudaEvent> {
        let event = self.event()?;
        event.record(stream).map_err(cuda)?;
        Ok(event)
    }
}

/// The line's first rank makes a name, tells it to the others, and all meet under it.
fn connect(member: &Member, line: Line, ranks: &[usize]) -> Result<sys::ncclComm_t> {
    let label = Label::NameOf(line);
    let mut id = sys::ncclUniqueId { internal: [0; 128] };
    if member.rank == ranks[0] {
        id = result::get_uniqueid().map_err(|error| explain(&error, "starting"))?;
        let bytes: Vec<u8> = id.internal.iter().map(|&byte| byte as u8).collect();
        for &rank in &ranks[1..] {
            member.send(rank, label, bytes.as_slice().into());
        }
    } else {
        let bytes = member.receive(ranks[0], label)?;
        ensure!(bytes.len() == id.internal.len(), "a line's name is broken; start all ranks with the same program");
        id.internal = std::array::from_fn(|i| bytes[i] as c_char);
    }
    let index = ranks.iter().position(|&rank| rank == member.rank).context("a rank is not on its own line")?;
    let mut comm = MaybeUninit::uninit();
    // SAFETY: the pointer is to a place for a communicator, which is read only if the call succeeds.
    unsafe {
        result::comm_init_rank(comm.as_mut_ptr(), ranks.len() as c_int, id, index as c_int)
            .map_err(|error| explain(&error, "connecting the GPUs"))?;
        Ok(comm.assume_init())
    }
}

impl Link for NcclLink {
    fn begin(&mut self, device: &mut dyn Device) -> Result<()> {
        (self.journeys, self.products) = (Vec::new(), Vec::new());
        self.multiply_on(device, 0)?;
        let begin = self.mark(&self.multiply[0])?;
        for stream in [&self.travel, &self.multiply[1]] {
            stream.wait(&begin).map_err(cuda)?;
        }
        self.begin = Some(begin);
        Ok(())
    }

    fn travel(
        &mut self,
        device: &mut dyn Device,
        _panel: usize,
        transfers: &[Transfer],
        after: Option<usize>,
    ) -> Result<()> {
        if let Some([_, multiplied]) = after.and_then(|panel| self.products.get(panel)) {
            self.travel.wait(multiplied).map_err(cuda)?;
        }
        let begin = self.mark(&self.travel)?;
        for transfer in transfers {
            let comm = self.lines[usize::from(transfer.line == Line::Column)].context("a line is not connected")?;
            let address = (of(device)?.address(transfer.at.0)? + transfer.at.1) as *mut _;
            let stream = self.travel.cu_stream().cast();
            // SAFETY: the address is that of a live buffer with at least so many bytes from there on, which nothing else
            // uses until the events that follow; the sender's data is where it arrives.
            unsafe {
                result::broadcast(
                    address,
                    address,
                    transfer.bytes as usize,
                    sys::ncclDataType_t::ncclUint8,
                    transfer.root as c_int,
                    comm,
                    stream,
                )
            }
            .map_err(|error| explain(&error, "sending a panel"))?;
        }
        let end = self.mark(&self.travel)?;
        self.journeys.push([begin, end]);
        Ok(())
    }

    fn arrived(&mut self, device: &mut dyn Device, panel: usize) -> Result<()> {
        self.multiply_on(device, panel)?;
        let stream = &self.multiply[panel % 2];
        let [_, arrived] = self.journeys.get(panel).context("a panel is multiplied before it travels")?;
        stream.wait(arrived).map_err(cuda)?;
        // The first panel stores C. Others add to it atomically, so the last tiles of one and the first tiles of the next may be
        // multiplied at the same time: no SM is idle between two panels.
        if let (1, Some([_, stored])) = (panel, self.products.first()) {
            stream.wait(stored).map_err(cuda)?;
        }
        self.next = Some(self.mark(stream)?);
        Ok(())
    }

    fn multiplied(&mut self, _device: &mut dyn Device, panel: usize) -> Result<()> {
        let end = self.mark(&self.multiply[panel % 2])?;
        let begin = self.next.take().context("a panel is multiplied before it has arrived")?;
        self.products.push([begin, end]);
        Ok(())
    }

    fn end(&mut self, device: &mut dyn Device) -> Result<Option<(f64, Vec<Span>)>> {
        // The device's own stream last, on which whatever follows is launched.
        for panel in [1, 0] {
            self.multiply_on(device, panel)?;
            device.synchronize()?;
        }
        self.travel.synchronize().map_err(cuda)?;
        let begin = self.begin.as_ref().context("a product ends before it begins")?;
        let since = |event: &CudaEvent| begin.elapsed_ms(event).map(f64::from).map_err(cuda);
        let mut spans = Vec::new();
        for (multiplied, events) in [(false, &self.journeys), (true, &self.products)] {
            for (panel, [from, to]) in events.iter().enumerate() {
                spans.push(Span { panel, multiplied, from_ms: since(from)?, to_ms: since(to)? });
            }
        }
        // Both streams may have a panel to multiply: the second one gets SMs when the first one needs them no more.
        let mut free_ms = 0.0_f64;
        for span in spans.iter_mut().filter(|span| span.multiplied) {
            span.from_ms = span.from_ms.max(free_ms);
            free_ms = span.to_ms;
        }
        let end = spans.iter().map(|span| span.to_ms).fold(0.0, f64::max);
        Ok(Some((end, spans)))
    }

    fn name(&self) -> String {
        if self.lines == [None; 2] {
            return "nothing; there is one GPU".into();
        }
        let version = result::get_nccl_version().unwrap_or(0);
        format!("NCCL {}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
    }
}

impl Drop for NcclLink {
    fn drop(&mut self) {
        for comm in self.lines.into_iter().flatten() {
            // SAFETY: the communicator is this link's own and is not used again. What it says no longer matters.
            let _ = unsafe { result::comm_abort(comm) };
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_missing_nccl_is_said() {
        if let Err(error) = super::present() {
            let error = error.to_string();
            assert!(error.contains("NCCL") && error.contains(';'), "{error}");
        }
    }
}
