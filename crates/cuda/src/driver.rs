//! A card, used through CUDA's driver.

mod pinned;

use crate::machine::CALLS;
use crate::{Arithmetic, Kernel, Launch, Machine, MachineError, Reading};
use cudarc::driver::sys;
use pinned::{Pins, Words};
use std::ffi::{CStr, CString, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The output of `nvcc` for the sources, by [`Kernel::source`].
const PTX: [&str; 6] = [
    include_str!("../kernels/rows.ptx"),
    include_str!("../kernels/transform_whole.ptx"),
    include_str!("../kernels/transform_floating.ptx"),
    include_str!("../kernels/rates.ptx"),
    include_str!("../kernels/messages.ptx"),
    include_str!("../kernels/conversions.ptx"),
];

/// Ratio of single-precision to double-precision performance from which on integers are faster.
const FEW_DOUBLES: i32 = 4;

/// Bytes of shared memory that every kernel may use; more must be requested.
const SHARED: u32 = 48 << 10;

/// Opens the first card.
///
/// Errors: those of [`Card::new`].
pub(crate) fn first_card() -> Result<Arc<dyn Machine>, MachineError> {
    Ok(Arc::new(Card::new(0)?))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Turns the driver's result into an error that names the call.
fn check(call: &'static str, result: sys::CUresult) -> Result<(), MachineError> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        failed => Err(MachineError::Call {
            call,
            found: format!("{failed:?}"),
        }),
    }
}

macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the library is loaded (see `Card::new`), and the arguments are those that the driver's manual
        // requires: handles from the driver, and memory of the stated length.
        check(stringify!($function), unsafe { sys::$function($($argument),*) })
    };
}
use call;

/// A card. It is released when its last user is dropped.
pub struct Card {
    name: String,
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
    modules: Vec<sys::CUmodule>,
    arithmetic: Arithmetic,
    functions: Vec<sys::CUfunction>,
    calls: u64,
    /// Number of words of arguments that are in use.
    taken: Mutex<usize>,
    /// Marks before and after each kernel since the clock was started.
    clock: Mutex<Option<Vec<Timed>>>,
    pins: Pins,
}

/// A kernel and the marks before and after it.
type Timed = (Kernel, [Mark; 2]);

/// An event of the driver.
struct Mark(sys::CUevent);

// SAFETY: as for the card's handles.
unsafe impl Send for Mark {}

impl Mark {
    /// Makes an event that happens when all earlier work is done.
    fn new(stream: sys::CUstream) -> Result<Self, MachineError> {
        let mut event = null_mut();
        call!(cuEventCreate(&mut event, 0))?;
        let mark = Self(event);
        call!(cuEventRecord(event, stream))?;
        Ok(mark)
    }

    fn has_happened(&self) -> bool {
        call!(cuEventQuery(self.0)).is_ok()
    }

    fn wait(&self) -> Result<(), MachineError> {
        call!(cuEventSynchronize(self.0))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = call!(cuEventDestroy_v2(self.0));
    }
}

// SAFETY: handles of the driver may be used from any thread that has made the context its own, as every call here does.
unsafe impl Send for Card {}
// SAFETY: as above; everything that is written is behind a lock.
unsafe impl Sync for Card {}

impl Card {
    /// Opens the card with this number (the first is 0) and loads its kernels.
    ///
    /// Errors: `Absent`, `Call`, `Memory`.
    pub fn new(number: i32) -> Result<Self, MachineError> {
        // SAFETY: looks for a library of this name, whose initialisers are the vendor's.
        if !unsafe { sys::is_culib_present() } {
            return Err(MachineError::Absent("no driver".into()));
        }
        let absent = |error: MachineError| MachineError::Absent(error.to_string());
        call!(cuInit(0)).map_err(absent)?;
        let (mut device, mut context) = (0, null_mut());
        call!(cuDeviceGet(&mut device, number)).map_err(absent)?;
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        let mut card = Self {
            name: String::new(),
            device,
            context,
            stream: null_mut(),
            modules: Vec::new(),
            arithmetic: Arithmetic::Whole,
            functions: Vec::new(),
            calls: 0,
            taken: Mutex::new(0),
            clock: Mutex::new(None),
            pins: Pins::default(),
        };
        card.enter()?;
        card.name = card.read_name()?;
        call!(cuStreamCreate(&mut card.stream, 0))?;
        card.arithmetic = card.fastest()?;
        for text in PTX {
            let text = CString::new(text).expect("no zero in the kernels' text");
            let mut module = null_mut();
            call!(cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
            card.modules.push(module);
        }
        for kernel in Kernel::ALL {
            let name = CString::new(kernel.name()).expect("no zero in a kernel's name");
            let (module, mut function) = (card.modules[kernel.source()], null_mut());
            call!(cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
            card.functions.push(function);
        }
        card.calls = card.allocate(CALLS)?;
        Ok(card)
    }

    /// Makes the card's context current on this thread.
    fn enter(&self) -> Result<(), MachineError> {
        call!(cuCtxSetCurrent(self.context))
    }

    /// Returns the fastest arithmetic: double precision, unless the card is slow in it.
    fn fastest(&self) -> Result<Arithmetic, MachineError> {
        let ratio =
            sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO;
        let mut singles = 0;
        call!(cuDeviceGetAttribute(&mut singles, ratio, self.device))?;
        Ok(if singles < FEW_DOUBLES {
            Arithmetic::Floating
        } else {
            Arithmetic::Whole
        })
    }

    /// Sets the arithmetic of transforms and conversions, for measurements.
    pub fn set_arithmetic(&mut self, arithmetic: Arithmetic) {
        self.arithmetic = arithmetic;
    }

    fn read_name(&self) -> Result<String, MachineError> {
        let mut name = [0; 128];
        call!(cuDeviceGetName(
            name.as_mut_ptr(),
            name.len() as i32,
            self.device
        ))?;
        // SAFETY: the driver ends the name with a zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        Ok(name.to_string_lossy().into_owned())
    }

    /// Waits until all work is done.
    ///
    /// Errors: `Call`, also for earlier work.
    pub fn wait(&self) -> Result<(), MachineError> {
        self.enter()?;
        call!(cuStreamSynchronize(self.stream))
    }

    /// Begins to time every kernel.
    pub fn start_clock(&self) {
        *lock(&self.clock) = Some(Vec::new());
    }

    /// Ends the clock, and returns the seconds of each kernel since it was started and the number of runs.
    ///
    /// Errors: `Call`.
    pub fn stop_clock(&self) -> Result<Vec<(Kernel, f64, usize)>, MachineError> {
        self.wait()?;
        let marks = lock(&self.clock).take().unwrap_or_default();
        let mut all: Vec<(Kernel, f64, usize)> = Kernel::ALL.map(|kernel| (kernel, 0.0, 0)).into();
        for (kernel, [before, after]) in &marks {
            let mut milliseconds = 0.0;
            call!(cuEventElapsedTime_v2(&mut milliseconds, before.0, after.0))?;
            let own = &mut all[kernel.number()];
            own.1 += f64::from(milliseconds) * 1e-3;
            own.2 += 1;
        }
        Ok(all)
    }

    /// Returns the free bytes and all bytes of the card's memory.
    ///
    /// Errors: `Call`.
    pub fn memory(&self) -> Result<[usize; 2], MachineError> {
        self.enter()?;
        let (mut free, mut all) = (0, 0);
        call!(cuMemGetInfo_v2(&mut free, &mut all))?;
        Ok([free, all])
    }

    /// Returns the highest clock rates of the card and of its memory, in MHz.
    ///
    /// Errors: `Call`.
    pub fn clocks(&self) -> Result<[f64; 2], MachineError> {
        use sys::CUdevice_attribute as Attribute;
        let clock = |attribute| {
            let mut kilohertz = 0;
            call!(cuDeviceGetAttribute(&mut kilohertz, attribute, self.device))?;
            Ok(f64::from(kilohertz) * 1e-3)
        };
        Ok([
            clock(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            clock(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        ])
    }

    /// Returns the version of the driver, for example 13000 for CUDA 13.0.
    ///
    /// Errors: `Call`.
    pub fn driver(&self) -> Result<i32, MachineError> {
        let mut version = 0;
        call!(cuDriverGetVersion(&mut version))?;
        Ok(version)
    }

    /// Writes a kernel's argument behind the `taken` words in use, and returns its address.
    fn place(&self, taken: &mut usize, call: &[u64]) -> Result<u64, MachineError> {
        if *taken + call.len() > CALLS {
            // Earlier kernels may still read their arguments.
            call!(cuStreamSynchronize(self.stream))?;
            *taken = 0;
        }
        let address = self.calls + 8 * *taken as u64;
        *taken += call.len();
        self.send_all(address, &[bytemuck::cast_slice(call)])?;
        Ok(address)
    }

    /// Starts a kernel whose argument is at an address.
    fn start(&self, launch: &Launch, mut call: u64) -> Result<(), MachineError> {
        let mut arguments = [(&raw mut call).cast::<c_void>()];
        let function = self.functions[launch.kernel.number()];
        if launch.shared > SHARED {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            call!(cuFuncSetAttribute(function, most, launch.shared as i32))?;
        }
        let mut clock = lock(&self.clock);
        let before = clock
            .is_some()
            .then(|| Mark::new(self.stream))
            .transpose()?;
        call!(cuLaunchKernel(
            function,
            launch.blocks,
            launch.rows,
            1,
            launch.threads,
            1,
            1,
            launch.shared,
            self.stream,
            arguments.as_mut_ptr(),
            null_mut(),
        ))?;
        if let (Some(clock), Some(before)) = (clock.as_mut(), before) {
            clock.push((launch.kernel, [before, Mark::new(self.stream)?]));
        }
        Ok(())
    }

    /// Returns a mark after all work so far. Without one, waits for this work, because what it uses may be freed then.
    fn mark(&self) -> Result<Mark, MachineError> {
        Mark::new(self.stream).inspect_err(|_| {
            let _ = call!(cuStreamSynchronize(self.stream));
        })
    }

    /// Sends parts, one after another, through pinned memory if they are large enough.
    fn send_all(&self, address: u64, parts: &[&[u8]]) -> Result<(), MachineError> {
        let bytes = parts.iter().map(|part| part.len()).sum();
        if pinned::WRITES.contains(&bytes) {
            let words = bytes.div_ceil(8);
            let mut pinned = self.pins.take(words)?;
            let mut rest: &mut [u8] = bytemuck::cast_slice_mut(pinned.words(words));
            for part in parts {
                let (own, after) = rest.split_at_mut(part.len());
                own.copy_from_slice(part);
                rest = after;
            }
            let own: &[u8] = bytemuck::cast_slice(pinned.words(words));
            let sent = self.send(address, &own[..bytes]);
            let mark = self.mark()?;
            self.pins.give(pinned, Some(mark));
            return sent;
        }
        let mut to = address;
        for part in parts {
            self.send(to, part)?;
            to += part.len() as u64;
        }
        Ok(())
    }

    fn send(&self, address: u64, bytes: &[u8]) -> Result<(), MachineError> {
        call!(cuMemcpyHtoDAsync_v2(
            address,
            bytes.as_ptr().cast::<c_void>(),
            bytes.len(),
            self.stream
        ))
    }
}

impl Machine for Card {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    fn most_shared(&self) -> Result<usize, MachineError> {
        let most = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let mut bytes = 0;
        call!(cuDeviceGetAttribute(&mut bytes, most, self.device))?;
        Ok(bytes as usize)
    }

    fn allocate(&self, words: usize) -> Result<u64, MachineError> {
        self.enter()?;
        let (mut address, needed) = (0, 8 * words);
        call!(cuMemAlloc_v2(&mut address, needed)).map_err(|error| match self.memory() {
            Ok([free, _]) if free < needed => MachineError::Memory { needed, free },
            _ => error,
        })?;
        Ok(address)
    }

    fn release(&self, address: u64, _: usize) {
        // The driver waits for users of the memory. If the card fails, there is nothing to release.
        let _ = self.enter().and_then(|()| call!(cuMemFree_v2(address)));
    }

    fn write(&self, address: u64, parts: &[&[u8]]) -> Result<(), MachineError> {
        self.enter()?;
        self.send_all(address, parts)
    }

    fn read(&self, address: u64, words: &mut [u64]) -> Result<(), MachineError> {
        self.enter()?;
        let bytes = size_of_val(words);
        let to = words.as_mut_ptr().cast::<c_void>();
        call!(cuMemcpyDtoHAsync_v2(to, address, bytes, self.stream))?;
        call!(cuStreamSynchronize(self.stream))
    }

    fn start_reading(
        self: Arc<Self>,
        address: u64,
        words: usize,
    ) -> Result<Box<dyn Reading>, MachineError> {
        self.enter()?;
        let mut pinned = self.pins.take(words)?;
        let to = pinned.words(words).as_mut_ptr().cast::<c_void>();
        call!(cuMemcpyDtoHAsync_v2(to, address, 8 * words, self.stream))?;
        let mark = self.mark()?;
        Ok(Box::new(Words::new(self, pinned, words, mark)))
    }

    fn clear(&self, address: u64, words: usize) -> Result<(), MachineError> {
        self.enter()?;
        call!(cuMemsetD8Async(address, 0, 8 * words, self.stream))
    }

    fn copy(&self, from: u64, to: u64, words: usize) -> Result<(), MachineError> {
        self.enter()?;
        call!(cuMemcpyDtoDAsync_v2(to, from, 8 * words, self.stream))
    }

    fn launch(&self, kernels: &[Launch], call: &[u64]) -> Result<(), MachineError> {
        self.enter()?;
        // Nobody may overwrite the argument until the kernels have been launched.
        let mut taken = lock(&self.taken);
        let address = self.place(&mut taken, call)?;
        kernels
            .iter()
            .try_for_each(|launch| self.start(launch, address))
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // Failures cannot be handled here.
        let _ = self.wait();
        self.pins.clear();
        let _ = call!(cuMemFree_v2(self.calls));
        for &module in &self.modules {
            let _ = call!(cuModuleUnload(module));
        }
        let _ = call!(cuStreamDestroy_v2(self.stream));
        let _ = call!(cuDevicePrimaryCtxRelease_v2(self.device));
    }
}
