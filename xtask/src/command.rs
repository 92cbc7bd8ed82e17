//! Other programs: Cargo, and what a command prints.

use std::process::{Command, Stdio};

use crate::checkout::root;

/// The Cargo that runs this program, so that both use one toolchain.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// What a command prints, run in the root of the checkout; its standard error is passed on.
///
/// # Errors
/// When it cannot be run, fails, or prints something else than text.
pub fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.current_dir(root()).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let done = done.map_err(|error| format!("`{name}` cannot be run: {error}"))?;
    if !done.status.success() {
        return Err(format!("`{name}` ended with {}", done.status));
    }
    String::from_utf8(done.stdout).map_err(|error| format!("`{name}`: {error}"))
}
