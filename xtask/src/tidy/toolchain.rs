//! Check of the Rust version: it stands in the root manifest, and nothing says another one.

use super::Finding;
use super::manifests::Manifest;
use crate::checkout::{Checkout, TextFile};

const ROOT: &str = "Cargo.toml";

/// Manifests that do not inherit the version, and files that state another one.
pub fn other_rust_versions(checkout: &Checkout) -> Vec<Finding> {
    let root = Manifest(checkout.text(ROOT));
    let Some(version) = root.value("workspace.package", "rust-version").map(|version| version.trim_matches('"')) else {
        return vec![Finding::in_file(ROOT, "[workspace.package] states no `rust-version`")];
    };
    let members = root.strings("workspace", "members").into_iter().map(|member| format!("{member}/{ROOT}"));
    let manifests = std::iter::once(ROOT.to_owned()).chain(members);
    let strangers = manifests.filter(|path| !inherits(Manifest(checkout.text(path))));
    let mut findings: Vec<Finding> =
        strangers.map(|path| Finding::in_file(&path, "write `rust-version.workspace = true`")).collect();
    for file in checkout.files() {
        let other = stated(file).into_iter().filter(|(_, own)| !is_of(own, version));
        let finding = |(line, own)| {
            let message = format!("says Rust {own}, and `rust-version` in {ROOT} is {version}");
            Finding::at_line(&file.path, line, message)
        };
        findings.extend(other.map(finding));
    }
    findings
}

fn inherits(manifest: Manifest<'_>) -> bool {
    manifest.value("package", "rust-version.workspace") == Some("true")
}

/// Whether a version is this one, or a patch of it.
fn is_of(own: &str, version: &str) -> bool {
    own.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The Rust versions that a file states, each with its line.
fn stated(file: &TextFile) -> Vec<(usize, &str)> {
    let before: &[&str] = match file.path.as_str() {
        "clippy.toml" | ".clippy.toml" => &["msrv = \""],
        // One line without a key.
        "rust-toolchain" => return file.lines().filter(|(_, line)| !line.trim().is_empty()).collect(),
        "rust-toolchain.toml" => &["channel = \""],
        ".ci/run" | ".pre-commit-config.yaml" => &["cargo +", "rustc +", "--toolchain "],
        path if path.ends_with(".md") && !path.starts_with("tests/data/") => &["Rust "],
        _ => return Vec::new(),
    };
    let in_line = |line| before.iter().flat_map(move |word| versions_after(line, word));
    file.lines().flat_map(|(number, line)| in_line(line).map(move |version| (number, version))).collect()
}

/// What follows a word and looks like `1.95` or `1.95.0`.
fn versions_after<'a>(line: &'a str, word: &str) -> Vec<&'a str> {
    let places = line.match_indices(word).filter_map(|(at, own)| line.get(at + own.len()..));
    let versions = places.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit() && c != '.').next());
    versions.map(|version| version.trim_end_matches('.')).filter(|version| version.contains('.')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
[workspace]
members = [\"m\"]
[workspace.package]
rust-version = \"1.95\"
[package]
rust-version.workspace = true
";

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let own = [(ROOT, MANIFEST), ("m/Cargo.toml", "[package]\nrust-version.workspace = true\n")];
        let files: Vec<(&str, &str)> = own.into_iter().chain(files.iter().copied()).collect();
        other_rust_versions(&Checkout::of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_same_version_may_be_stated() {
        assert_eq!(findings(&[]), [""; 0]);
        let same = [
            ("clippy.toml", "msrv = \"1.95.0\""),
            ("rust-toolchain.toml", "channel = \"1.95.2\""),
            (".ci/run", "cargo +1.95 check && cargo +nightly fmt"),
            ("README.md", "Needs Rust 1.95. Rust is a language."),
        ];
        assert_eq!(findings(&same), [""; 0]);
    }

    #[test]
    fn another_version_is_found_with_its_line() {
        let says = "says Rust 1.9, and `rust-version` in Cargo.toml is 1.95";
        assert_eq!(findings(&[("clippy.toml", "a = 1\nmsrv = \"1.9\"")]), [format!("clippy.toml:2: {says}")]);
        assert_eq!(findings(&[(".ci/run", "cargo +1.9 check")]), [format!(".ci/run:1: {says}")]);
        assert_eq!(findings(&[("README.md", "Needs Rust 1.9.")]), [format!("README.md:1: {says}")]);
        assert_eq!(findings(&[("rust-toolchain", "1.9")]), [format!("rust-toolchain:1: {says}")]);
    }

    #[test]
    fn a_manifest_of_its_own_mind_is_found() {
        let own = [(ROOT, MANIFEST), ("m/Cargo.toml", "[package]\nrust-version = \"1.95\"\n")];
        let findings = other_rust_versions(&Checkout::of(&own));
        assert_eq!(findings, [Finding::in_file("m/Cargo.toml", "write `rust-version.workspace = true`")]);
    }
}
