//! Which device is asked for: `--device auto|cuda|cuda:N|sim`.

/// Where a problem is computed, as `--device` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// CUDA when a driver and a device are there, else the simulator.
    Auto,
    /// The CUDA device of this index.
    Cuda(usize),
    /// The embedded GPU.
    Sim,
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "sim" => Ok(Self::Sim),
            "cuda" => Ok(Self::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|index| index.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| "no such device; choose auto, cuda, cuda:N or sim".to_owned()),
        }
    }
}
