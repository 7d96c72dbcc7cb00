//! All checks that a change must pass, in order.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::arch;
use crate::error::XtaskError;
use crate::{
    browser, builds, built, crates, cuda, deny, dist, golang, hardware, java, kotlin, operators,
    pages, proto, python, sizes, targets, test, timing, trials, typescript, web, wheel,
};

type Step<'a> = &'a dyn Fn() -> Result<(), XtaskError>;

/// Everything that a change must pass, cheapest first; stops at the first failure.
pub(crate) fn ci(root: &Path) -> Result<(), XtaskError> {
    let steps: [(&str, Step<'_>); 25] = [
        ("format", &|| {
            cargo(root, &["fmt", "--all", "--check"], None)
        }),
        ("arch", &|| arch::check(root)),
        ("pages", &|| pages::check(root)),
        ("sizes", &|| sizes::check(root)),
        ("operators", &|| operators::check(root)),
        ("deny", &|| deny::check(root)),
        ("proto", &|| proto::check(root)),
        ("clippy", &|| {
            let args = [
                "clippy",
                "--workspace",
                "--all-targets",
                "--quiet",
                "--profile",
                built::PROFILE,
                "--",
                "-D",
                "warnings",
            ];
            cargo(root, &args, None)
        }),
        ("cuda", &|| cuda::check(root, false)),
        ("builds", &|| builds::check(root)),
        ("targets", &|| targets::check(root)),
        ("docs", &|| {
            let args = [
                "doc",
                "--workspace",
                "--no-deps",
                "--quiet",
                "--profile",
                built::PROFILE,
            ];
            cargo(root, &args, Some(("RUSTDOCFLAGS", "-D warnings")))
        }),
        ("test", &|| test::run(root, &[])),
        ("trials", &|| trials::run(root)),
        ("crates", &|| crates::check(root)),
        // Each of them is busy on one core for most of the time.
        ("timing, hardware", &|| {
            both(&|| timing::check(root), &|| hardware::check(root))
        }),
        ("browser", &|| browser::check(root)),
        ("web", &|| web::check(root, false)),
        ("python", &|| python::check(root)),
        ("typescript", &|| typescript::check(root)),
        ("packages", &|| dist::check(root)),
        ("go", &|| golang::check(root)),
        ("java", &|| java::check(root)),
        ("kotlin", &|| kotlin::check(root)),
        ("wheel", &|| wheel::check(root)),
    ];
    for (name, step) in steps {
        let start = Instant::now();
        println!("== {name}");
        step()?;
        println!("== {name}: ok, {:.0} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Runs two checks at once.
fn both(
    one: &(dyn Fn() -> Result<(), XtaskError> + Sync),
    other: &(dyn Fn() -> Result<(), XtaskError> + Sync),
) -> Result<(), XtaskError> {
    std::thread::scope(|scope| {
        let beside = scope.spawn(other);
        let first = one();
        let second = beside
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        first.and(second)
    })
}

pub(crate) fn cargo(
    root: &Path,
    args: &[&str],
    env: Option<(&str, &str)>,
) -> Result<(), XtaskError> {
    let mut command = cargo_command(root, args);
    command.envs(env);
    succeed(&mut command)
}

/// Cargo at the workspace root: the one that started this program, if any.
pub(crate) fn cargo_command(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(args);
    for_everybody(&mut command);
    command
}

/// Removes the variables that Cargo sets for this program alone. Some build scripts depend on them, and would run again,
/// with all that is built on them, in every build that is started in another way.
pub(crate) fn for_everybody(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}

pub(crate) fn start_error(command: &Command, source: std::io::Error) -> XtaskError {
    XtaskError::Start {
        command: shown(command),
        source,
    }
}

pub(crate) fn success(
    command: &Command,
    status: std::process::ExitStatus,
) -> Result<(), XtaskError> {
    if status.success() {
        return Ok(());
    }
    Err(XtaskError::Failed {
        command: shown(command),
        status,
    })
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), XtaskError> {
    let status = command
        .status()
        .map_err(|source| start_error(command, source))?;
    success(command, status)
}

/// Runs a command that must succeed; what it prints to standard output.
pub(crate) fn printed(command: &mut Command) -> Result<Vec<u8>, XtaskError> {
    let output = command
        .output()
        .map_err(|source| start_error(command, source))?;
    success(command, output.status)?;
    Ok(output.stdout)
}

/// The commit that is checked out; `-dirty` behind it where files differ.
pub(crate) fn commit(root: &Path) -> Result<String, XtaskError> {
    let mut git = Command::new("git");
    let args = ["describe", "--always", "--dirty", "--abbrev=12"];
    let described = printed(git.current_dir(root).args(args))?;
    Ok(String::from_utf8_lossy(described.trim_ascii()).into_owned())
}

fn shown(command: &Command) -> String {
    let args: Vec<_> = command
        .get_args()
        .map(|arg| arg.to_string_lossy())
        .collect();
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    format!("{name} {}", args.join(" "))
}
