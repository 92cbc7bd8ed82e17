//! The rules of the house: who may depend on whom, one feature list, a README and an architecture
//! page that name what exists.
//!
//! Checks that read text only are in `cargo xtask tidy`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A package of the workspace as Cargo sees it.
struct Package {
    name: String,
    /// Every dependency of any kind that is a package of the workspace.
    siblings: BTreeSet<String>,
    features: BTreeMap<String, BTreeSet<String>>,
    examples: BTreeSet<String>,
    binaries: BTreeSet<String>,
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--format-version", "1", "--offline"];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().map(|package| text(&package["name"])).collect();
    packages.iter().map(|package| read_package(package, &names)).collect()
}

fn read_package(package: &Value, workspace: &BTreeSet<&str>) -> Package {
    let dependencies = package["dependencies"].as_array().unwrap();
    let siblings = dependencies.iter().map(|dependency| text(&dependency["name"]));
    let features = package["features"].as_object().unwrap().iter();
    let features = features.map(|(name, on)| (name.clone(), on.as_array().unwrap().iter().map(owned).collect()));
    Package {
        name: owned(&package["name"]),
        siblings: siblings.filter(|name| workspace.contains(name)).map(str::to_owned).collect(),
        features: features.collect(),
        examples: targets(package, "example"),
        binaries: targets(package, "bin"),
    }
}

fn targets(package: &Value, kind: &str) -> BTreeSet<String> {
    let targets = package["targets"].as_array().unwrap().iter();
    let of_kind = targets.filter(|target| target["kind"].as_array().unwrap().iter().any(|own| own == kind));
    of_kind.map(|target| owned(&target["name"])).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn owned(value: &Value) -> String {
    text(value).to_owned()
}

/// How far from the core a package stands; it may use only what stands nearer.
fn floor(package: &str) -> u32 {
    match package {
        "learnkit-core" => 0,
        "learnkit-adapters" | "learnkit-embed" => 1,
        "learnkit-backends" => 2,
        "learnkit" => 3,
        "learnkit-cli" | "learnkit-examples" | "learnkit-example-custom-adapter" => 4,
        "learnkit-benchmarks" | "learnkit-fuzz" | "learnkit-tests" => 5,
        // Uses nothing of the workspace, and nothing uses it.
        "xtask" => 0,
        backend if backend.starts_with("learnkit-backend-") => 1,
        other => panic!("`{other}` is new: give it a floor here and a line in ARCHITECTURE.md"),
    }
}

/// Dependencies that go up or sideways, as `from -> to`.
fn wrong_ways(packages: &[Package]) -> Vec<String> {
    let ways = packages.iter().flat_map(|package| package.siblings.iter().map(move |to| (&package.name, to)));
    let wrong = ways.filter(|(from, to)| from != to && floor(from) <= floor(to));
    wrong.map(|(from, to)| format!("{from} -> {to}")).collect()
}

fn package(name: &str, siblings: &[&str]) -> Package {
    Package {
        name: name.to_owned(),
        siblings: siblings.iter().map(|name| (*name).to_owned()).collect(),
        features: BTreeMap::new(),
        examples: BTreeSet::new(),
        binaries: BTreeSet::new(),
    }
}

#[test]
fn dependencies_point_only_towards_the_core() {
    assert_eq!(wrong_ways(&packages()), [""; 0]);
}

#[test]
fn a_dependency_that_points_elsewhere_is_seen() {
    let ways = [
        package("learnkit-core", &["learnkit-embed"]),
        package("learnkit-adapters", &["learnkit-core", "learnkit-backend-sqlite"]),
        package("learnkit", &["learnkit-core", "learnkit-cli"]),
    ];
    let expected =
        ["learnkit-core -> learnkit-embed", "learnkit-adapters -> learnkit-backend-sqlite", "learnkit -> learnkit-cli"];
    assert_eq!(wrong_ways(&ways), expected);
}

#[test]
fn the_core_uses_no_package_of_the_workspace() {
    let packages = packages();
    let core = packages.iter().find(|package| package.name == "learnkit-core").unwrap();
    assert_eq!(core.siblings.iter().filter(|name| **name != core.name).count(), 0, "{:?}", core.siblings);
}

#[test]
fn the_facade_forwards_each_backend_and_adapter_feature() {
    let packages = packages();
    let features = |name: &str| &packages.iter().find(|package| package.name == name).unwrap().features;
    let mut expected = BTreeMap::new();
    for hub in ["learnkit-backends", "learnkit-adapters"] {
        let names = features(hub).keys().filter(|name| *name != "default");
        expected.extend(names.map(|name| (name.clone(), BTreeSet::from([format!("{hub}/{name}")]))));
    }
    let mut forwarded = features("learnkit").clone();
    let default = forwarded.remove("default").unwrap();
    assert_eq!(forwarded, expected);
    assert!(default.iter().all(|name| expected.contains_key(name)), "{default:?}");
}

/// The fenced blocks of a Markdown text: what stands after the fence, and the lines.
fn blocks(markdown: &str) -> Vec<(String, Vec<String>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, Vec<String>)> = None;
    for line in markdown.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some((info.trim().to_owned(), Vec::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    blocks
}

#[test]
fn readme_code_is_compiled() {
    let hook = read("src/lib.rs").contains("include_str!(\"../README.md\")");
    assert!(hook, "src/lib.rs must include the README as a documentation test");
    let readme = read("README.md");
    let infos: Vec<String> = blocks(&readme).into_iter().map(|(info, _)| info).collect();
    assert!(infos.iter().any(|info| info.starts_with("rust")), "the README shows no Rust");
    assert!(infos.iter().all(|info| !info.is_empty()), "rustdoc reads a block without a language as Rust");
}

/// Why a `cargo` command line would not work in this workspace, if it would not.
fn unknown_target(words: &[&str], packages: &[Package]) -> Option<String> {
    let after = |flag: &str| words.iter().position(|word| *word == flag).and_then(|at| words.get(at + 1));
    let example = after("--example").filter(|name| !packages.iter().any(|own| own.examples.contains(**name)));
    let binary = after("--bin").filter(|name| !packages.iter().any(|own| own.binaries.contains(**name)));
    let package = after("-p").or_else(|| after("--package"));
    let package = package.filter(|name| !packages.iter().any(|own| own.name == **name));
    let path = after("--path").filter(|path| !root().join(path).join("Cargo.toml").exists());
    let command = after("xtask").filter(|name| !read("xtask/src/main.rs").contains(&format!("[\"{name}\"]")));
    [example, binary, package, path, command].into_iter().flatten().next().map(|name| (*name).to_owned())
}

/// The `cargo` lines of the shell blocks of a page, each checked.
fn checked_commands(page: &str) -> usize {
    let packages = packages();
    let mut commands = 0;
    for (_, lines) in blocks(&read(page)).iter().filter(|(info, _)| info == "sh") {
        for line in lines {
            let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().collect();
            if words.first() == Some(&"cargo") {
                commands += 1;
                assert_eq!(unknown_target(&words, &packages), None, "in {page}: {line}");
            }
        }
    }
    commands
}

#[test]
fn readme_commands_name_what_exists() {
    assert!(
        checked_commands("README.md") >= 3,
        "the README has to show how to run the demo and the tests and to install"
    );
    assert!(checked_commands("CONTRIBUTING.md") >= 2, "CONTRIBUTING has to show how to run the checks");
}

#[test]
fn a_command_that_names_nothing_is_seen() {
    let unknown = |line: &str| unknown_target(&line.split_whitespace().collect::<Vec<_>>(), &packages());
    assert_eq!(unknown("cargo run --example nothing").as_deref(), Some("nothing"));
    assert_eq!(unknown("cargo run -p learnkit-cli --bin nothing").as_deref(), Some("nothing"));
    assert_eq!(unknown("cargo test -p nothing").as_deref(), Some("nothing"));
    assert_eq!(unknown("cargo install --path nothing").as_deref(), Some("nothing"));
    assert_eq!(unknown("cargo xtask nothing").as_deref(), Some("nothing"));
    assert_eq!(unknown("cargo run -p learnkit-cli --bin learnkit"), None);
}

/// Every source text of the workspace in one string.
fn all_sources(folder: &Path, found: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            all_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The names in backticks after `Check:`, for each numbered invariant.
fn invariants(page: &str) -> Vec<(String, Vec<String>)> {
    let section = page.split("\n## Invariants").nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let is_number = |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    let mut items: Vec<String> = Vec::new();
    for line in section.lines() {
        if is_number(line) {
            items.push(line.to_owned());
        } else if let Some(item) = items.last_mut() {
            item.push(' ');
            item.push_str(line.trim());
        }
    }
    let checks = |item: &str| {
        item.split("Check:").nth(1).unwrap_or_default().split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    items.into_iter().map(|item| (item.clone(), checks(&item))).collect()
}

#[test]
fn every_invariant_names_a_check_that_exists() {
    let mut sources = String::new();
    all_sources(&root(), &mut sources);
    let manifest = read("Cargo.toml");
    let exists = |check: &str| match check.split_once("::") {
        Some(("tidy", name)) => sources.contains(&format!("fails(\"{name}\"")),
        Some(("clippy" | "rust", lint)) => manifest.contains(&format!("\n{lint} = \"")),
        _ => sources.contains(&format!("fn {check}(")),
    };
    let invariants = invariants(&read("ARCHITECTURE.md"));
    assert!(invariants.len() >= 10, "{} invariants", invariants.len());
    for (invariant, checks) in invariants {
        assert!(!checks.is_empty(), "no check named: {invariant}");
        checks.iter().for_each(|check| assert!(exists(check), "no check `{check}`: {invariant}"));
    }
}
