//! A machine that runs the kernels' source on the processor: block by block in varying order, and every other block
//! with its threads in reverse order.

use crate::machine::SOURCES;
use crate::{Arithmetic, Launch, Machine, MachineError, Reading};
use libloading::Library;
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tempfile::TempDir;

#[repr(C)]
struct Order {
    block: u32,
    row: u32,
    threads: u32,
    reversed: u32,
}

type Entry = unsafe extern "C" fn(*const Order, *const u64);

/// A machine whose memory is the processor's.
pub struct Emulated {
    sources: Arc<Sources>,
    arithmetic: Arithmetic,
    buffers: Mutex<HashMap<u64, Box<[u64]>>>,
    /// Number of kernels that run before one fails.
    good: AtomicUsize,
    /// Number of kernels that have run.
    ran: AtomicUsize,
}

/// Texts of the sources with their replacements.
pub type Changes<'a> = &'a [(&'a str, &'a str)];

/// Sources in their own folder. Each is compiled, with all checks of ranges, when one of its kernels first runs.
struct Sources {
    folder: TempDir,
    libraries: [OnceLock<Library>; SOURCES.len()],
}

/// Returns the unchanged sources.
fn unchanged() -> Arc<Sources> {
    static UNCHANGED: OnceLock<Arc<Sources>> = OnceLock::new();
    UNCHANGED
        .get_or_init(|| Arc::new(Sources::new(&[])))
        .clone()
}

impl Sources {
    /// Copies the sources with changes.
    ///
    /// Panics: if a text to be changed does not occur.
    fn new(changes: Changes<'_>) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        let folder = tempfile::tempdir().expect("a folder for files that nobody keeps");
        let mut left: Vec<_> = changes.to_vec();
        for file in fs::read_dir(from).expect("sources").flatten() {
            let mut text = fs::read_to_string(file.path()).expect("a source");
            left.retain(|(old, new)| {
                let found = text.contains(old);
                text = text.replace(old, new);
                !found
            });
            fs::write(folder.path().join(file.file_name()), text).expect("room for a source");
        }
        assert!(left.is_empty(), "texts to be changed: {left:?}");
        Self {
            folder,
            libraries: Default::default(),
        }
    }

    /// Returns the compiled library of a source.
    ///
    /// Panics: without a C compiler.
    fn library(&self, source: usize) -> &Library {
        let path = self.folder.path().join(SOURCES[source]);
        self.libraries[source].get_or_init(|| library(&path))
    }
}

/// Returns whether the compiler may use fused multiply-adds.
fn fused() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn library(source: &Path) -> Library {
    let library = source.with_extension("so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let words = "-x c -std=c11 -O2 -ffp-contract=off -DCHECKED -shared -fPIC";
    let mut command = Command::new(compiler);
    command
        .args(words.split(' '))
        .args(fused().then_some("-mfma"))
        .arg(source)
        .arg("-o")
        .arg(&library);
    let output = command.output().expect("a C compiler");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
    // SAFETY: the library has no initialisers.
    unsafe { Library::new(library).expect("a library of kernels") }
}

impl Emulated {
    /// Makes a machine without memory in use, which computes in the given arithmetic. Its kernels need a C
    /// compiler.
    #[must_use]
    pub fn new(arithmetic: Arithmetic) -> Arc<Self> {
        Self::of(arithmetic, unchanged())
    }

    /// Makes an emulated machine, or opens the first card if `OMR_CARD` is set in the environment and the crate is
    /// built for cards, so that tests can run on either.
    ///
    /// Panics: if a card is requested and there is none.
    #[must_use]
    pub fn or_card(arithmetic: Arithmetic) -> Arc<dyn Machine> {
        #[cfg(feature = "driver")]
        if std::env::var_os("OMR_CARD").is_some() {
            let mut card = crate::Card::new(0).expect("a card");
            card.set_arithmetic(arithmetic);
            return Arc::new(card);
        }
        Self::new(arithmetic)
    }

    /// Makes an emulated machine with changed sources, to test that checks find faults.
    ///
    /// Panics: if a text to be changed does not occur.
    #[must_use]
    pub fn changed(arithmetic: Arithmetic, changes: Changes<'_>) -> Arc<Self> {
        Self::of(arithmetic, Arc::new(Sources::new(changes)))
    }

    fn of(arithmetic: Arithmetic, sources: Arc<Sources>) -> Arc<Self> {
        Arc::new(Self {
            sources,
            arithmetic,
            buffers: Mutex::default(),
            good: AtomicUsize::new(usize::MAX),
            ran: AtomicUsize::new(0),
        })
    }

    /// Lets this number of kernels run; all later kernels fail.
    pub fn fail_after(&self, kernels: usize) {
        self.good.store(kernels, Ordering::Relaxed);
    }

    /// Returns the number of kernels that have run.
    #[must_use]
    pub fn ran(&self) -> usize {
        self.ran.load(Ordering::Relaxed)
    }

    fn is_good(&self) -> bool {
        let one_less = |good: usize| match good {
            usize::MAX => Some(good),
            good => good.checked_sub(1),
        };
        let before = self
            .good
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        before.is_ok()
    }

    fn run(&self, launch: &Launch, call: &[u64]) -> Result<(), MachineError> {
        let name = launch.kernel.name();
        if !self.is_good() {
            let found = "a card that was set to fail".into();
            return Err(MachineError::Call { call: name, found });
        }
        self.ran.fetch_add(1, Ordering::Relaxed);
        let library = self.sources.library(launch.kernel.source());
        // SAFETY: every kernel has this type.
        let entry = unsafe { library.get::<Entry>(name).expect("a kernel of its source") };
        let number = launch.kernel.number();
        for row in shuffled(launch.rows, number) {
            for block in shuffled(launch.blocks, row as usize) {
                let order = Order {
                    block,
                    row,
                    threads: launch.threads,
                    reversed: (block ^ row) & 1,
                };
                // SAFETY: the argument's addresses are in buffers of this machine.
                unsafe { entry(&raw const order, call.as_ptr()) };
            }
        }
        match Self::broken(library) {
            None => Ok(()),
            Some(range) => Err(MachineError::Call {
                call: name,
                found: format!("a range that does not hold: {range}"),
            }),
        }
    }

    /// Returns the first violated range of a library's kernels.
    fn broken(library: &Library) -> Option<String> {
        // SAFETY: every source has this variable.
        let broken = unsafe { library.get::<*const AtomicPtr<c_char>>("broken") };
        // SAFETY: the variable and its texts live as long as the library.
        let range =
            unsafe { (**broken.expect("a variable of every source")).load(Ordering::Relaxed) };
        // SAFETY: as above.
        (!range.is_null()).then(|| {
            unsafe { CStr::from_ptr(range) }
                .to_string_lossy()
                .into_owned()
        })
    }
}

/// Returns the numbers below `n` in an order that depends on `seed`.
fn shuffled(n: u32, seed: usize) -> impl Iterator<Item = u32> {
    let odd = (seed as u32 * 2 + 0x9E37_79B1) | 1;
    let size = n.next_power_of_two();
    (0..size)
        .map(move |i| i.wrapping_mul(odd).wrapping_add(seed as u32) % size)
        .filter(move |&i| i < n)
}

impl Reading for Vec<u64> {
    fn words(&mut self) -> Result<&[u64], MachineError> {
        Ok(self)
    }
}

impl Machine for Emulated {
    fn name(&self) -> String {
        "the processor in place of a card".into()
    }

    fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }

    fn most_shared(&self) -> Result<usize, MachineError> {
        Ok(227 << 10)
    }

    fn allocate(&self, words: usize) -> Result<u64, MachineError> {
        let buffer = vec![0xA5A5_A5A5_A5A5_A5A5; words].into_boxed_slice();
        let address = buffer.as_ptr() as u64;
        self.buffers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(address, buffer);
        Ok(address)
    }

    fn release(&self, address: u64, words: usize) {
        let buffer = self
            .buffers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&address);
        assert_eq!(buffer.map(|buffer| buffer.len()), Some(words));
    }

    fn write(&self, address: u64, parts: &[&[u8]]) -> Result<(), MachineError> {
        let mut to = address as *mut u8;
        for part in parts {
            // SAFETY: the backend's addresses are in buffers of this machine.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len()) };
            to = to.wrapping_add(part.len());
        }
        Ok(())
    }

    fn read(&self, address: u64, words: &mut [u64]) -> Result<(), MachineError> {
        // SAFETY: as above.
        unsafe {
            std::ptr::copy_nonoverlapping(address as *const u64, words.as_mut_ptr(), words.len())
        };
        Ok(())
    }

    fn start_reading(
        self: Arc<Self>,
        address: u64,
        words: usize,
    ) -> Result<Box<dyn Reading>, MachineError> {
        let mut read = vec![0; words];
        self.read(address, &mut read)?;
        Ok(Box::new(read))
    }

    fn clear(&self, address: u64, words: usize) -> Result<(), MachineError> {
        // SAFETY: as above.
        unsafe { std::ptr::write_bytes(address as *mut u64, 0, words) };
        Ok(())
    }

    fn copy(&self, from: u64, to: u64, words: usize) -> Result<(), MachineError> {
        // SAFETY: as above; the ranges do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u64, to as *mut u64, words) };
        Ok(())
    }

    fn launch(&self, kernels: &[Launch], call: &[u64]) -> Result<(), MachineError> {
        kernels.iter().try_for_each(|launch| self.run(launch, call))
    }
}
