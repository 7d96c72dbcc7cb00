//! Development tasks, started as `cargo xtask <command>`.
#![forbid(unsafe_code)]

mod arch;
mod book;
mod browser;
mod builds;
mod built;
mod ci;
mod crates;
mod cuda;
mod deny;
mod dist;
mod error;
mod fetched;
mod figures;
mod files;
mod fuzz;
mod golang;
mod gpu;
mod hardware;
mod java;
mod kotlin;
mod lengths;
mod licences;
mod miri;
mod npm;
mod operators;
mod pages;
mod proto;
mod python;
mod sizes;
mod targets;
mod test;
mod timing;
mod tools;
mod trials;
mod typescript;
mod venv;
mod web;
mod wheel;
mod zcash_blocks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use error::XtaskError;

const USAGE: &str = "\
usage: cargo xtask <command>

  ci                      everything that a change must pass: format, arch, pages, sizes, operators, deny, proto, clippy,
                          cuda, builds, targets, docs, timing, test, trials, crates, hardware, browser, web,
                          python, typescript, packages, go, java, kotlin, wheel
  test [ARGS]             all tests, optimised; ARGS go to nextest, and leave out those of documentation
  arch                    dependencies against the arrows in ARCHITECTURE.md and docs/dependencies.md
  pages                   columns and links of Markdown pages, first lines, words and parameters of Rust files
  sizes                   tracked files above 1 MB that are not listed
  builds                  the small and the full command: lints, and the crates that they are made of
  crates                  what is published on crates.io: packed, and used by a project that has nothing else of this
                          repository: target/crates
  targets                 the libraries on Windows, macOS, Arm, phones and WebAssembly: lints; kernels of Arm by qemu
  deny                    licences, origins and known vulnerabilities of dependencies, by cargo-deny
  proto [--accept]        lint the protocol and compare it with its baseline (or make it the baseline)
  cuda [--write]          the kernels for graphics cards: PTX made of their sources, compared (or written)
  gpu                     tests and measures the first graphics card and writes docs/gpu.md; outside CI
                          (--pack DIR: what another machine needs, which says there xtask gpu --with DIR)
  figures FILE            figures in documents, from the output of `omr-lab bench all --json` or of `omr-lab bench cluster
                          simulate --json`
  trials                  servers and mail whose processes are killed, about a minute
  hardware                the accelerator below hw/ in simulation, with its mutants: by Verilator
  browser                 the status page of a running server in a browser
  web [--real]            the package for browsers: built, and tested in node and Chromium with a running server
                          (--real: with the sets that servers have, whose figures and pictures it writes into docs)
  python                  a client in Python, written from the documents alone, against a running server
  typescript              the sender in TypeScript against the known answers and a running server
  operators               alerts by promtool, and the chart with several sets of values by Helm
  go [--write]            the sender in Go against the known answers and a running server, its calls as they are generated
                          from the protocol (or: generate them anew)
  java                    calls of a running server from Java, by classes that are generated from the protocol
  kotlin                  recipients in Kotlin, by sources that UniFFI writes, against a running server
  wheel [--release [--everywhere]]
                          the Python package: its wheel, its tests, its types (--release: as it is published, also
                          for other systems; --figures: that one measured at full size)
  cluster [--release]     the Python package on a cluster of Ray, machines of which die; outside CI
  book                    the documentation as a book of HTML, by mdBook: target/book
  packages                what users install, of the command as tests have it: archive, package for Debian, packages for
                          npm, chart, image, each installed into an empty folder: target/packages
  dist [--tag TAG]        a release: the command, the wheels, the book, a bill of materials, an image: target/parts
  timing                  no branch and no address depends on a secret: under valgrind
  fuzz [--seconds N] [--runs N] [--json] [TARGET..]
                          every parser under libFuzzer, a minute each
  miri                    the scalar kernels and all length checks of kernels under Miri, where it is installed
  file-lengths            Rust files above 400 lines
  zcash-blocks [--write]  compare (or write) the Zcash blocks of omr-transactions with their origin
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), XtaskError> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // As `cargo run` sets it: a binary from a copied `target` was compiled in another checkout.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = manifest
        .as_deref()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."));
    match args.as_slice() {
        ["ci"] => ci::ci(root),
        ["test", rest @ ..] => test::run(root, rest),
        ["arch"] => arch::check(root),
        ["pages"] => pages::check(root),
        ["deny"] => deny::check(root),
        ["sizes"] => sizes::check(root),
        ["builds"] => builds::check(root),
        ["crates"] => crates::check(root),
        ["targets"] => targets::check(root),
        ["proto"] => proto::check(root),
        ["proto", "--accept"] => proto::accept(root),
        ["cuda"] => cuda::check(root, false),
        ["cuda", "--write"] => cuda::check(root, true),
        ["gpu"] => gpu::measure(root),
        ["gpu", "--pack", folder] => gpu::pack(root, Path::new(folder)),
        ["gpu", "--with", folder] => gpu::with(root, Path::new(folder)),
        ["figures", file] => figures::take(root, Path::new(file)),
        ["gpu", "--page"] => gpu::page(root, true),
        ["trials"] => trials::run(root),
        ["hardware"] => hardware::check(root),
        ["browser"] => browser::check(root),
        ["web"] => web::check(root, false),
        ["web", "--real"] => web::check(root, true),
        ["python"] => python::check(root),
        ["typescript"] => typescript::check(root),
        ["operators"] => operators::check(root),
        ["go"] => golang::check(root),
        ["java"] => java::check(root),
        ["go", "--write"] => golang::renew(root),
        ["kotlin"] => kotlin::check(root),
        ["wheel"] => wheel::check(root),
        ["packages"] => dist::check(root),
        ["dist"] => dist::make(root, None),
        ["dist", "--tag", tag] => dist::make(root, Some(tag)),
        ["book"] => book::build(root).map(drop),
        ["wheel", "--release"] => wheel::release(root, false).map(drop),
        ["wheel", "--release", "--everywhere"] => wheel::release(root, true).map(drop),
        ["wheel", "--figures"] => wheel::figures(root),
        ["cluster"] => wheel::cluster(root, false),
        ["cluster", "--release"] => wheel::cluster(root, true),
        ["timing"] => timing::check(root),
        ["fuzz", args @ ..] => fuzz::run(root, args),
        ["miri"] => miri::check(root),
        ["file-lengths"] => lengths::report(root),
        ["zcash-blocks"] => zcash_blocks::compare(root),
        ["zcash-blocks", "--write"] => zcash_blocks::write(root),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(XtaskError::Usage {
            found: args.join(" "),
        }),
    }
}
