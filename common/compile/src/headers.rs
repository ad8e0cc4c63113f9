//! What to do about an `#include` that NVRTC does not find.

/// Pip packages with headers of CUDA that hold functions for kernels, and the beginnings of these headers' names.
const FOR_KERNELS: [(&str, &str); 5] = [
    (
        "nvidia-cuda-runtime-cu12",
        "cuda_fp16 cuda_bf16 cuda_fp8 cooperative_groups cuda_pipeline cuda_awbarrier math_constants.h",
    ),
    ("nvidia-cuda-runtime-cu12 nvidia-cuda-nvcc-cu12", "mma.h"),
    ("nvidia-cuda-nvcc-cu12", "crt/"),
    ("nvidia-cuda-cccl-cu12", "cuda/ cub/ thrust/"),
    ("nvidia-curand-cu12", "curand_kernel.h"),
];

/// One sentence on the first header that a log of NVRTC misses; `None` if it misses none.
pub fn missing(log: &str) -> Option<String> {
    let mut lines = log.lines();
    // k.cu(1): catastrophic error: cannot open source file "stdio.h"
    // k.cu(1): catastrophic error: could not open source file "stdio.h" (no directories in search list)
    let (place, message) = lines.by_ref().find_map(|line| line.split_once(": catastrophic error: "))?;
    let header = message.split_once("not open source file \"")?.1.split('"').next()?;
    let place = place.replace('(', ":").replace(')', "");
    let local = lines.next().is_some_and(|line| line.contains(&format!("\"{header}\"")));
    let has = |beginnings: &str| beginnings.split(' ').any(|beginning| header.starts_with(beginning));
    Some(match FOR_KERNELS.iter().find(|(_, beginnings)| has(beginnings)) {
        Some((package, _)) => {
            format!("{place} includes {header}, which does not come with NVRTC; pip install {package} brings it")
        }
        None if local => format!(
            "{place} includes \"{header}\", which does not lie beside the kernel; put it there, or delete the line"
        ),
        None => format!(
            "{place} includes <{header}>, a header for the host; delete the line, because what a kernel needs, such as \
             threadIdx, sqrtf() or min(), is built in"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_header_is_deleted_and_one_for_kernels_comes_with_a_package() {
        for (name, says) in [
            ("<stdio.h>", "a/k.cu:3 includes <stdio.h>, a header for the host; delete the line"),
            ("<cuda_runtime.h>", "a/k.cu:3 includes <cuda_runtime.h>, a header for the host; delete the line"),
            ("<cuda_fp16.h>", "pip install nvidia-cuda-runtime-cu12 brings it"),
            ("<cooperative_groups/reduce.h>", "pip install nvidia-cuda-runtime-cu12 brings it"),
            ("<mma.h>", "pip install nvidia-cuda-runtime-cu12 nvidia-cuda-nvcc-cu12 brings it"),
            ("<cuda/barrier>", "pip install nvidia-cuda-cccl-cu12 brings it"),
            ("\"mine.h\"", "a/k.cu:3 includes \"mine.h\", which does not lie beside the kernel; put it there"),
        ] {
            let header = name.trim_matches(['<', '>', '"']);
            let error = format!("a/k.cu(3): catastrophic error: cannot open source file \"{header}\"");
            let text =
                missing(&format!("{error}\n  #include {name}\n      ^\n\n1 catastrophic error detected\n")).unwrap();
            assert!(text.contains(says), "{text}");
        }
    }

    #[test]
    fn any_other_error_is_no_missing_header() {
        assert_eq!(missing("k.cu(3): error: expected an expression\n"), None);
        assert_eq!(missing(""), None);
    }
}
