//! What a user of the library calls besides [`simt::launch`]: memory of any element, arguments of any type, and the verdict of a test.

use simt::{Arg, DevicePointer, Element, Error, GlobalMemory, Hazards, LaunchConfig, Module};

/// Adds up its arguments, of which there is one of each size and class, and stores the sum; each thread adds its number first, so several threads race.
const SUM: &str = "
    .version 8.1
    .target sm_80
    .address_size 64
    .visible .entry sum(.param .s8 a, .param .u16 b, .param .s32 c, .param .u64 d, .param .f32 e, .param .f64 f, .param .u64 out)
    {
        .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f64 %fd<8>; .reg .f32 %f1;
        ld.param.s8 %r1, [a];
        cvt.rn.f64.s32 %fd1, %r1;
        ld.param.u16 %r1, [b];
        cvt.rn.f64.u32 %fd2, %r1;
        ld.param.s32 %r1, [c];
        cvt.rn.f64.s32 %fd3, %r1;
        ld.param.u64 %rd1, [d];
        cvt.rn.f64.u64 %fd4, %rd1;
        ld.param.f32 %f1, [e];
        cvt.f64.f32 %fd5, %f1;
        ld.param.f64 %fd6, [f];
        add.f64 %fd1, %fd1, %fd2;
        add.f64 %fd1, %fd1, %fd3;
        add.f64 %fd1, %fd1, %fd4;
        add.f64 %fd1, %fd1, %fd5;
        add.f64 %fd1, %fd1, %fd6;
        ld.param.u64 %rd2, [out];
        mov.u32 %r2, %tid.x;
        cvt.rn.f64.u32 %fd7, %r2;
        add.f64 %fd1, %fd1, %fd7;
        st.global.f64 [%rd2], %fd1;
        ret;
    }";

fn sum(threads: u32, hazards: &mut Hazards) -> Result<f64, Error> {
    let kernel = Module::parse(SUM)?.kernel("sum")?;
    let mut memory = GlobalMemory::new();
    let out = memory.alloc_zeros::<f64>("out", 1)?;
    let numbers: [Arg; 6] =
        [(-3i8).into(), 500u16.into(), (-70_000i32).into(), (1u64 << 40).into(), 0.5f32.into(), 0.25f64.into()];
    let args = [&numbers[..], &[out.into()]].concat();
    simt::launch(&kernel, &mut memory, &LaunchConfig::new(1, threads), &args, hazards)?;
    Ok(memory.to_vec::<f64>(out)?[0])
}

#[test]
fn a_kernel_takes_numbers_of_all_types() {
    let mut hazards = Hazards::new();
    let expected = 2f64.powi(40) - 3.0 + 500.0 - 70_000.0 + 0.75;
    assert_eq!(sum(1, &mut hazards).unwrap().to_bits(), expected.to_bits());
    hazards.assert_clean();
}

#[test]
fn a_hazard_fails_the_test_that_asks_and_can_be_read_again() {
    let mut hazards = Hazards::new();
    sum(2, &mut hazards).unwrap();
    let said = *std::panic::catch_unwind(|| hazards.assert_clean()).unwrap_err().downcast::<String>().unwrap();
    assert!(said.starts_with("hazards of the kernel: 1\ndata race: out[0]\n"), "{said}");
    assert_eq!(hazards.found().len(), 1);
    sum(1, &mut hazards).unwrap();
    assert!(hazards.found().is_empty(), "the next launch has no hazard");
}

#[test]
fn bytes_anywhere_are_those_of_a_plain_copy() {
    let mut memory = GlobalMemory::new();
    let before = memory.alloc("before", 64, 1).unwrap();
    let pointer = memory.alloc("bytes", 21, 1).unwrap();
    let mut plain = [0u8; 21];
    let data: Vec<u8> = (1..=21).collect();
    for start in 0..=21 {
        for end in start..=21 {
            let at = pointer.offset(start as i64);
            memory.write_bytes(at, &data[..end - start]).unwrap();
            plain[start..end].copy_from_slice(&data[..end - start]);
            assert_eq!(memory.to_vec::<u8>(pointer).unwrap(), plain, "{start}..{end}");
            let mut read = vec![0; end - start];
            memory.read_bytes(at, &mut read).unwrap();
            assert_eq!(read, plain[start..end]);
        }
    }
    assert!(memory.write_bytes(pointer.offset(20), &[1, 2]).is_err());
    assert!(memory.read_bytes(before.offset(64), &mut [0]).is_err());
    assert!(memory.read_bytes(DevicePointer(0), &mut [0]).is_err());
}

fn is_filled_with<T: Element + PartialEq + std::fmt::Debug>(value: T) {
    let mut memory = GlobalMemory::new();
    let pointer = memory.alloc_from("many", &[T::zeroed(); 300]).unwrap();
    memory.fill(pointer, value).unwrap();
    assert_eq!(memory.to_vec::<T>(pointer).unwrap(), [value; 300]);
    memory.upload(pointer, 299, &[T::zeroed()]).unwrap();
    assert_eq!(memory.to_vec::<T>(pointer).unwrap()[298..], [value, T::zeroed()]);
    assert!(memory.upload(pointer, 299, &[value; 2]).is_err());
    assert!(memory.download(pointer, u64::MAX, &mut [value]).is_err());
}

#[test]
fn elements_of_all_sizes_are_filled_and_copied() {
    is_filled_with(7u8);
    is_filled_with(-7i16);
    is_filled_with([1u8, 2, 3]);
    is_filled_with(1.5f32);
    is_filled_with(u64::MAX - 1);
    is_filled_with([1.0f64, 2.0, 3.0]);
    assert!(GlobalMemory::new().alloc_from::<f32>("nothing", &[]).is_err());
    assert!(GlobalMemory::new().alloc_zeros::<u64>("all", usize::MAX).is_err());
}
