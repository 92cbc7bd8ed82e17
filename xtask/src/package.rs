//! `cargo xtask package`: what crates.io would get.
//!
//! Checks the metadata and the files of each package that is published, has Cargo pack all of them and
//! prints the order of publishing. Nothing is fetched or sent: Cargo packs them offline, and finds
//! packages that are not published yet in a registry of its own that it lays over the real one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::checkout::root;
use crate::command::{cargo, output};

/// Files that Cargo adds, and those that each package needs.
const MADE: [&str; 4] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"];
const NEEDED: [&str; 3] = ["LICENSE", "NOTICE", "README.md"];
/// Folders of things that only tests need.
const FOR_TESTS: [&str; 4] = ["data", "golden", "snapshots", "tests"];
/// Limits of crates.io.
const MOST_KEYWORDS: usize = 5;
const LONGEST_KEYWORD: usize = 20;

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Pack.
    Listing,
    /// Pack, unpack and build what was packed.
    Build,
}

/// Checks every package; fails when one has a finding or Cargo cannot pack it.
pub fn run(depth: Depth) -> ExitCode {
    match execute(depth) {
        Ok(verdict) => {
            println!("xtask package passed: {verdict}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("xtask package FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn execute(depth: Depth) -> Result<String, String> {
    let metadata = output(cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]))?;
    let packages = published(&metadata)?;
    let findings = packages.iter().map(|package| Ok(findings(package, &packages, &files(package)?)));
    let findings = findings.collect::<Result<Vec<_>, String>>()?.concat();
    findings.iter().for_each(|finding| println!("{finding}"));
    if !findings.is_empty() {
        return Err(format!("{} findings", findings.len()));
    }
    output(&mut pack(&packages, depth))?;
    let order = order(&packages)?;
    println!("order of publishing: {}", order.join(", "));
    if packages.iter().all(|package| package.repository.is_none()) {
        println!("note: no package names a repository; set it in [workspace.package] once there is a public address");
    }
    Ok(format!("{} packages", packages.len()))
}

/// A package that is published, as Cargo sees it.
#[derive(Debug, Clone, Default)]
struct Package {
    name: String,
    version: String,
    folder: PathBuf,
    description: Option<String>,
    license: Option<String>,
    readme: Option<String>,
    rust_version: Option<String>,
    repository: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    siblings: Vec<Sibling>,
}

/// A dependency on a package of this workspace.
#[derive(Debug, Clone)]
struct Sibling {
    name: String,
    requirement: String,
}

/// The packages that may be published.
fn published(metadata: &str) -> Result<Vec<Package>, String> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = list(metadata.get("packages"));
    let may_be = |package: &&Value| package.get("publish").is_none_or(|registries| *registries != Value::Array(vec![]));
    Ok(packages.iter().filter(may_be).map(Package::read).collect())
}

impl Package {
    fn read(package: &Value) -> Self {
        let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
        let texts = |key: &str| list(package.get(key)).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let manifest = PathBuf::from(text("manifest_path").unwrap_or_default());
        Self {
            name: text("name").unwrap_or_default(),
            version: text("version").unwrap_or_default(),
            folder: manifest.parent().unwrap_or(&manifest).to_path_buf(),
            description: text("description"),
            license: text("license"),
            readme: text("readme"),
            rust_version: text("rust_version"),
            repository: text("repository"),
            keywords: texts("keywords"),
            categories: texts("categories"),
            siblings: list(package.get("dependencies")).iter().filter_map(Sibling::read).collect(),
        }
    }
}

impl Sibling {
    /// Cargo leaves a development dependency without a version out of the package.
    fn read(dependency: &Value) -> Option<Self> {
        let text = |key: &str| dependency.get(key).and_then(Value::as_str);
        text("path")?;
        let requirement = text("req")?.to_owned();
        let is_left_out = text("kind") == Some("dev") && requirement == "*";
        (!is_left_out).then(|| Self { name: text("name").unwrap_or_default().to_owned(), requirement })
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The files that Cargo would pack.
fn files(package: &Package) -> Result<Vec<String>, String> {
    let listing =
        output(cargo().args(["package", "--quiet", "--list", "--allow-dirty", "--offline", "-p", &package.name]))?;
    // Cargo separates with `\` on Windows.
    Ok(listing.lines().map(|line| line.replace('\\', "/")).collect())
}

fn findings(package: &Package, all: &[Package], files: &[String]) -> Vec<String> {
    let parts =
        [metadata_findings(package), sibling_findings(package, all), file_findings(files), legal_findings(package)];
    parts.concat().into_iter().map(|finding| format!("{}: {finding}", package.name)).collect()
}

fn metadata_findings(package: &Package) -> Vec<String> {
    let fields = [
        ("description", &package.description),
        ("license", &package.license),
        ("readme", &package.readme),
        ("rust-version", &package.rust_version),
    ];
    let empty = |value: &Option<String>| value.as_deref().is_none_or(|text| text.trim().is_empty());
    let missing = fields.into_iter().filter(|(_, value)| empty(value));
    let mut findings: Vec<String> = missing.map(|(name, _)| format!("no `{name}` in its Cargo.toml")).collect();
    for (name, values) in [("keywords", &package.keywords), ("categories", &package.categories)] {
        if values.is_empty() || values.len() > MOST_KEYWORDS {
            findings.push(format!("needs 1 to {MOST_KEYWORDS} `{name}`"));
        }
    }
    let long = package.keywords.iter().filter(|keyword| keyword.len() > LONGEST_KEYWORD);
    findings.extend(long.map(|keyword| format!("keyword `{keyword}` is longer than {LONGEST_KEYWORD} characters")));
    findings
}

/// Dependencies that crates.io could not resolve, or would resolve to another release.
fn sibling_findings(package: &Package, all: &[Package]) -> Vec<String> {
    let finding = |sibling: &Sibling| {
        let name = &sibling.name;
        let Some(target) = all.iter().find(|own| own.name == *name) else {
            return Some(format!("depends on `{name}`, which is not published"));
        };
        let expected = format!("^{}", target.version);
        let message = format!(
            "asks for `{name}` {}, which is {}; state that version in [workspace.dependencies]",
            sibling.requirement, target.version
        );
        (sibling.requirement != expected).then_some(message)
    };
    package.siblings.iter().filter_map(finding).collect()
}

fn file_findings(files: &[String]) -> Vec<String> {
    let has = |name: &&str| files.iter().any(|file| file == name);
    let missing = NEEDED.into_iter().filter(|name| !has(name));
    let missing = missing.map(|name| format!("holds no {name}; put it beside its Cargo.toml"));
    let needless = files.iter().filter(|file| !belongs(file));
    let needless = needless.map(|file| format!("holds `{file}`, which no user needs; narrow `include`"));
    missing.chain(needless).collect()
}

fn belongs(file: &str) -> bool {
    let is_source = file.starts_with("src/") && !file.split('/').any(|part| FOR_TESTS.contains(&part));
    is_source || MADE.contains(&file) || NEEDED.contains(&file)
}

/// Licence texts that differ from those of the root.
fn legal_findings(package: &Package) -> Vec<String> {
    let read = |folder: &Path, name: &str| std::fs::read(folder.join(name)).ok();
    let differs = |name: &&str| read(&package.folder, name) != read(&root(), name);
    let legal = ["LICENSE", "NOTICE"].into_iter().filter(differs);
    legal.map(|name| format!("its {name} differs from the one in the root; link to that")).collect()
}

/// One command for all, so that each finds the others.
fn pack(packages: &[Package], depth: Depth) -> Command {
    let mut command = cargo();
    command.args(["package", "--quiet", "--locked", "--allow-dirty", "--offline", "--no-metadata"]);
    if depth == Depth::Listing {
        command.arg("--no-verify");
    }
    command.args(packages.iter().flat_map(|package| ["-p", &package.name]));
    command
}

/// The names so that each stands after everything it depends on.
fn order(packages: &[Package]) -> Result<Vec<String>, String> {
    let mut order: Vec<String> = Vec::new();
    let mut open: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    while !open.is_empty() {
        let waits = |package: &Package| {
            package.siblings.iter().any(|sibling| open.contains(sibling.name.as_str()) && sibling.name != package.name)
        };
        let ready = packages.iter().find(|package| open.contains(package.name.as_str()) && !waits(package));
        let ready = ready.ok_or_else(|| format!("packages depend on each other in a circle: {open:?}"))?;
        open.remove(ready.name.as_str());
        order.push(ready.name.clone());
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, siblings: &[(&str, &str)]) -> Package {
        let sibling = |(name, requirement): &(&str, &str)| Sibling {
            name: (*name).to_owned(),
            requirement: (*requirement).to_owned(),
        };
        Package {
            name: name.to_owned(),
            version: "0.2.0".to_owned(),
            description: Some("Does it.".to_owned()),
            license: Some("Apache-2.0".to_owned()),
            readme: Some("README.md".to_owned()),
            rust_version: Some("1.0".to_owned()),
            keywords: vec!["memory".to_owned()],
            categories: vec!["caching".to_owned()],
            siblings: siblings.iter().map(sibling).collect(),
            ..Package::default()
        }
    }

    #[test]
    fn complete_metadata_is_expected() {
        assert_eq!(metadata_findings(&package("a", &[])), [""; 0]);
        let bare = Package { readme: None, categories: Vec::new(), ..package("a", &[]) };
        assert_eq!(metadata_findings(&bare), ["no `readme` in its Cargo.toml", "needs 1 to 5 `categories`"]);
        let long = Package { keywords: vec!["a-keyword-of-many-letters".to_owned()], ..package("a", &[]) };
        assert_eq!(metadata_findings(&long), ["keyword `a-keyword-of-many-letters` is longer than 20 characters"]);
    }

    #[test]
    fn siblings_are_published_and_of_the_same_version() {
        let all = [package("a", &[]), package("b", &[("a", "^0.2.0")])];
        assert_eq!(sibling_findings(&all[1], &all), [""; 0]);
        let stale = sibling_findings(&package("b", &[("a", "^0.1.0"), ("c", "^0.2.0")]), &all);
        assert_eq!(stale.len(), 2);
        assert!(stale[0].starts_with("asks for `a` ^0.1.0, which is 0.2.0"), "{stale:?}");
        assert_eq!(stale[1], "depends on `c`, which is not published");
    }

    #[test]
    fn a_package_holds_its_sources_and_its_licence_and_nothing_for_tests() {
        let files = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let good = ["Cargo.toml", "LICENSE", "NOTICE", "README.md", "src/lib.rs", "src/schema.sql", "src/tests.rs"];
        assert_eq!(file_findings(&files(&good)), [""; 0]);
        let bad = ["LICENSE", "README.md", "src/lib.rs", "src/snapshots/a.snap", "tests/a.rs", ".ci/run"];
        let findings = file_findings(&files(&bad));
        assert_eq!(findings.len(), 4, "{findings:?}");
        assert_eq!(findings[0], "holds no NOTICE; put it beside its Cargo.toml");
    }

    #[test]
    fn what_is_used_is_published_first() {
        let packages = [package("c", &[("b", ""), ("a", "")]), package("b", &[("a", "")]), package("a", &[("a", "")])];
        assert_eq!(order(&packages).unwrap(), ["a", "b", "c"]);
        let circle = [package("a", &[("b", "")]), package("b", &[("a", "")])];
        assert!(order(&circle).unwrap_err().contains("in a circle"));
    }

    #[test]
    fn packages_that_are_never_published_and_unversioned_development_dependencies_are_left_out() {
        let metadata = r#"{"packages": [
            {"name": "a", "version": "1.0.0", "publish": null, "manifest_path": "/x/a/Cargo.toml", "dependencies": [
                {"name": "b", "req": "^1.0.0", "kind": null, "path": "/x/b"},
                {"name": "c", "req": "*", "kind": "dev", "path": "/x/c"},
                {"name": "d", "req": "*", "kind": null, "path": "/x/d"},
                {"name": "serde", "req": "^1", "kind": null}]},
            {"name": "xtask", "version": "1.0.0", "publish": [], "dependencies": []}]}"#;
        let packages = published(metadata).unwrap();
        assert_eq!(packages.len(), 1);
        assert_eq!(packages[0].folder, Path::new("/x/a"));
        let siblings: Vec<&str> = packages[0].siblings.iter().map(|sibling| sibling.name.as_str()).collect();
        assert_eq!(siblings, ["b", "d"]);
    }
}
