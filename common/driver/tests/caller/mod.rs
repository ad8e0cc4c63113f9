//! Calls functions of the driver's interface by name: all arguments are integers or addresses, and take a place of 8 bytes each.

#![allow(unsafe_code, dead_code, reason = "calls the C interface; not every program that includes this uses all of it")]

/// Finds functions of a driver.
pub struct Driver(pub Box<dyn Fn(&str) -> usize>);

impl Driver {
    /// Calls a function and returns its code.
    pub fn call(&self, name: &str, args: &[u64]) -> u32 {
        let address = (self.0)(name);
        assert_ne!(address, 0, "the driver has no {name}");
        let mut a = [0u64; 12];
        a[..args.len()].copy_from_slice(args);
        type Six = extern "C" fn(u64, u64, u64, u64, u64, u64) -> u32;
        type Twelve = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;
        // SAFETY: a function that takes fewer arguments ignores the others.
        unsafe {
            if args.len() <= 6 {
                std::mem::transmute::<usize, Six>(address)(a[0], a[1], a[2], a[3], a[4], a[5])
            } else {
                let function = std::mem::transmute::<usize, Twelve>(address);
                function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11])
            }
        }
    }

    /// Calls a function that must succeed.
    #[track_caller]
    pub fn ok(&self, name: &str, args: &[u64]) {
        assert_eq!(self.call(name, args), 0, "{name}");
    }

    /// What a function writes to the place that is its first argument.
    #[track_caller]
    pub fn get(&self, name: &str, args: &[u64]) -> u64 {
        let mut out = 0u64;
        self.ok(name, &[&[at(&mut out)], args].concat());
        out
    }

    /// Loads PTX.
    #[track_caller]
    pub fn load(&self, ptx: &str) -> u64 {
        self.get("cuModuleLoadData", &[text(ptx)])
    }

    /// A kernel of a module.
    #[track_caller]
    pub fn kernel(&self, module: u64, name: &str) -> u64 {
        self.get("cuModuleGetFunction", &[module, text(name)])
    }

    /// Launches a kernel with arguments of 8 bytes.
    pub fn launch(&self, kernel: u64, grid: u32, block: u32, shared: u32, stream: u64, args: &[u64]) -> u32 {
        let args = args.to_vec();
        let places: Vec<u64> = args.iter().map(|arg| std::ptr::from_ref(arg) as u64).collect();
        let [grid, block, shared] = [grid, block, shared].map(u64::from);
        self.call("cuLaunchKernel", &[kernel, grid, 1, 1, block, 1, 1, shared, stream, places.as_ptr() as u64, 0])
    }
}

/// The address of a place.
pub fn at<T>(place: &mut T) -> u64 {
    std::ptr::from_mut(place) as u64
}

/// The address of a text that ends with a zero. It is never freed.
pub fn text(text: &str) -> u64 {
    Box::leak(format!("{text}\0").into_boxed_str()).as_ptr() as u64
}

/// Kernels in PTX. `add` adds 1 to each element, `fill` sets each to its number, `wild` stores to an address, `odd` stores to a
/// misaligned one, `trap` traps, `beyond` stores beyond shared memory, `bounded` has at most 64 threads, `nothing` does nothing,
/// `count` adds 1 atomically; `table` is a variable.
pub const PTX: &str = r"
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b32 table[4] = {1, 2, 3, 4};
.visible .entry add(.param .u64 data, .param .u64 total)
{
    .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<5>; .reg .f32 %f<2>;
    ld.param.u64 %d0, [data]; ld.param.u64 %d1, [total];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2; cvt.u64.u32 %d2, %r3;
    setp.ge.u64 %p, %d2, %d1; @%p bra DONE;
    cvta.to.global.u64 %d0, %d0; shl.b64 %d3, %d2, 2; add.u64 %d4, %d0, %d3;
    ld.global.f32 %f0, [%d4]; add.f32 %f1, %f0, 0f3F800000; st.global.f32 [%d4], %f1;
DONE: ret;
}
.visible .entry fill(.param .u64 data)
{
    .reg .b32 %r<4>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [data]; cvta.to.global.u64 %d0, %d0;
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r0, %r1, %r2; mul.wide.u32 %d1, %r3, 4; add.u64 %d2, %d0, %d1;
    st.global.u32 [%d2], %r3; ret;
}
.visible .entry count(.param .u64 data)
{
    .reg .b32 %r<2>; .reg .b64 %d<2>;
    ld.param.u64 %d0, [data]; cvta.to.global.u64 %d0, %d0; mov.u32 %r0, 1; red.global.add.u32 [%d0], %r0; ret;
}
.visible .entry wild(.param .u64 data)
{
    .reg .b64 %d; ld.param.u64 %d, [data]; st.global.u32 [%d], 1; ret;
}
.visible .entry odd(.param .u64 data)
{
    .reg .b64 %d; ld.param.u64 %d, [data]; st.global.u32 [%d+1], 1; ret;
}
.visible .entry trap() { trap; ret; }
.visible .entry nothing() { ret; }
.visible .entry bounded() .maxntid 64, 1, 1 { ret; }
.visible .entry beyond()
{
    .reg .b32 %r; .shared .align 4 .b8 tile[64]; mov.u32 %r, tile; add.u32 %r, %r, 1048576; st.shared.u32 [%r], 1; ret;
}
";
